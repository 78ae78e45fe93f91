"""Configurations that shell scripts write with here-documents, as documents with the places in the script.

The text with the known variables filled in gives the values, the text as it stands in the script gives the places: filling in moves
columns, so both are read and laid over each other.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from distlint.model.document import Document, Leaf, Mapping, Node, Sequence
from distlint.model.launch import LaunchIndex, WrittenFile
from distlint.model.value import unknown

if TYPE_CHECKING:
    from distlint.link.documents import WrittenDocument
    from distlint.read.config import ConfigReading

EDITORS = re.compile(r"(?<![\w./-])(?:g?sed|perl|jq|yq|envsubst|awk)\s")
"""Commands that make another text out of a file."""


def written_documents(index: LaunchIndex, text_of: Callable[[str], str]) -> Iterator[WrittenDocument]:
    """The configuration files that the scripts of a project write, in the order of the scripts."""
    from distlint.link.documents import WrittenDocument

    for written in index.written:
        values = _read(written, written.text)
        if values is None or not values.documents:
            continue
        places = _read(written, written.original)
        root = values.documents[0].root
        if places is not None and places.documents:
            root = _placed(root, places.documents[0].root)
        if is_edited(text_of(written.script), written_path(written)):
            root = _in_doubt(root)
        kind = values.documents[0].format
        document = Document(root, written.span, "here-document", kind)
        yield WrittenDocument(written_path(written), document, written.script, written.path.value.symbol)


def is_edited(script: str, path: str) -> bool:
    """Whether a script changes a file in place, or writes it anew out of itself, by a command that we do not carry out.

    The file is known by its name, or by a variable that is given a path with that name.
    """
    name = re.escape(posixpath.basename(path))
    holders = re.findall(rf"""^\s*(?:export\s+)?(\w+)=["']?[^\s"']*{name}["']?\s*$""", script, re.MULTILINE)
    words = "|".join([rf"(?<![\w.-]){name}(?![\w.-])", *(rf"\$\{{?{holder}\b" for holder in holders)])
    mentions = re.compile(words)
    return any(EDITORS.search(line) and mentions.search(line) for line in script.replace("\\\n", " ").splitlines())


def _in_doubt(node: Node) -> Node:
    """The same keys, with values that are not known."""
    if isinstance(node, Leaf):
        return Leaf(unknown("the script changes the file", node.span), node.span)
    if isinstance(node, Mapping):
        entries = tuple(replace(entry, node=_in_doubt(entry.node)) for entry in node.entries)
        return Mapping(entries, node.span, True)
    return Leaf(unknown("the script changes the file", node.span), node.span)


def written_path(written: WrittenFile) -> str:
    """The path that a here-document is written to, relative to the root as far as it can be told; may hold ``${NAME}``."""
    if written.path.file:
        return written.path.file
    symbol = written.path.value.symbol
    for place in ("${PWD}/", "${PROJECT}/"):
        if symbol.startswith(place) and symbol.count("$") == 1:
            return posixpath.normpath(symbol.removeprefix(place))
    return posixpath.normpath(written.path.text)


def _read(written: WrittenFile, text: str) -> ConfigReading | None:
    from distlint.read.json import read_json
    from distlint.read.yaml import read_yaml

    name = written.path.text.lower()
    shift = written.span.line - 1
    if name.endswith((".yaml", ".yml")):
        return read_yaml(text, written.script, line_offset=shift)
    if name.endswith((".json", ".hjson")) or text.lstrip().startswith("{"):
        return read_json(text, written.script, line_offset=shift)
    return None


def _placed(values: Node, places: Node) -> Node:
    """``values`` with the spans of ``places``, as far as both have the same shape."""
    if isinstance(values, Leaf):
        if not isinstance(places, Leaf):
            return values
        return Leaf(replace(values.value, spans=(places.span, *values.value.spans[1:])), places.span)
    if isinstance(values, Mapping) and isinstance(places, Mapping) and len(values.entries) == len(places.entries):
        if all(one.key == other.key for one, other in zip(values.entries, places.entries, strict=True)):
            entries = tuple(
                replace(one, key_span=other.key_span, node=_placed(one.node, other.node))
                for one, other in zip(values.entries, places.entries, strict=True)
            )
            return Mapping(entries, places.span, values.open)
    if isinstance(values, Sequence) and isinstance(places, Sequence) and len(values.items) == len(places.items):
        items = tuple(_placed(one, other) for one, other in zip(values.items, places.items, strict=True))
        return Sequence(items, places.span, values.open)
    return values
