"""Configuration trees in the tests: as plain values, node by node, and as slices of their text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from distlint.model.document import Leaf, Mapping, Node
from distlint.model.span import LineIndex, Span
from distlint.read.config import ConfigReading

HOLE = "<hole>"
"""Stands for a value that is not known."""


def plain(node: Node) -> Any:
    """The plain value of a tree, with ``HOLE`` for what is not known."""
    if isinstance(node, Leaf):
        return node.value.only if node.value.is_known else HOLE
    if isinstance(node, Mapping):
        return {entry.key: plain(entry.node) for entry in node.entries}
    return [plain(item) for item in node.items]


def only(reading: ConfigReading) -> Node:
    """The root of the one document."""
    (document,) = reading.documents
    return document.root


def nodes(node: Node) -> Iterator[Node]:
    """A node and all below it."""
    yield node
    if isinstance(node, Mapping):
        for entry in node.entries:
            yield from nodes(entry.node)
    elif not isinstance(node, Leaf):
        for item in node.items:
            yield from nodes(item)


def keys(node: Node) -> Iterator[tuple[Any, Span]]:
    """All keys with their spans."""
    for inner in nodes(node):
        if isinstance(inner, Mapping):
            for entry in inner.entries:
                yield entry.key, entry.key_span


def slice_of(text: str, span: Span) -> str:
    """What a span covers."""
    return LineIndex(text).slice(span)


def same(left: Any, right: Any) -> bool:
    """Equal values of equal types, whatever the types of the containers; ``HOLE`` equals anything, NaN itself."""
    if isinstance(left, str) and left == HOLE:
        return True
    if isinstance(left, dict):
        return (
            isinstance(right, dict) and list(left) == list(right) and all(same(left[key], right[key]) for key in left)
        )
    if isinstance(left, list):
        return isinstance(right, list) and len(left) == len(right) and all(map(same, left, right))
    return type(left) is type(right) and (left == right or left != left)
