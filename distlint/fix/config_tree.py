"""The tree of the settings document around a place, read again from the current text by the project's own readers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from distlint.fix.operations import CannotFixError
from distlint.fix.place import Place, language_of
from distlint.model.document import Entry, Mapping, Node, Sequence
from distlint.model.span import LineIndex, Span

if TYPE_CHECKING:
    from distlint.read.config import ConfigReading

Step = Entry | int
"""One step down a tree: into the value of an entry, or to the item with a number."""


class ConfigTree:
    """One document in a text: ``format`` is ``json``, ``yaml`` or ``toml``; ``step`` the indentation of one level."""

    def __init__(self, text: str, root: Node, format_: str, loaders: tuple[str, ...]) -> None:
        self.text = text
        self.root = root
        self.format = format_
        self.loaders = loaders
        self._index = LineIndex(text)
        start, end = self.region(root.span)
        first = re.compile(r"^([ \t]+)[^\s#/]", re.MULTILINE).search(text, start, end)
        self.step = first.group(1) if first and (format_ != "yaml" or "\t" not in first.group(1)) else "  "

    def region(self, span: Span) -> tuple[int, int]:
        """Start and end of a span of this document in the text."""
        return self._index.offset(span.line, span.column), self._index.offset(span.end_line, span.end_column)

    def mapping_at(self, start: int, end: int) -> tuple[list[Step], Mapping]:
        """The mapping that begins at a place, or the smallest around it, with the steps that lead to it.

        An empty region at the start of the text means the root.

        Raises:
            CannotFixError: there is none.
        """
        best: tuple[list[Step], Mapping] | None = None
        size = len(self.text) + 1
        for steps, node in self._nodes():
            if not isinstance(node, Mapping):
                continue
            low, high = self.region(node.span)
            if low == start or (not steps and start == end == 0):
                return steps, node
            if low <= start and end <= high and high - low < size:
                best, size = (steps, node), high - low
        if best is None:
            raise CannotFixError("there is no mapping at this place")
        return best

    def key_at(self, start: int) -> tuple[list[Step], Mapping, Entry]:
        """The entry whose key begins at a place, its mapping, and the steps that lead to the mapping.

        Raises:
            CannotFixError: no key stands there.
        """
        for steps, node in self._nodes():
            if isinstance(node, Mapping):
                for entry in node.entries:
                    low, high = self.region(entry.key_span)
                    if low <= start < high:
                        return steps, node, entry
        raise CannotFixError("there is no key at this place")

    def value_at(self, start: int, end: int) -> tuple[list[Step], Node]:
        """The value that stands at a place, with the steps that lead to it.

        Raises:
            CannotFixError: no value stands there.
        """
        for steps, node in self._nodes():
            if self.region(node.span) == (start, end):
                return steps, node
        raise CannotFixError("there is no value at this place")

    def _nodes(self) -> Iterator[tuple[list[Step], Node]]:
        pending: list[tuple[list[Step], Node]] = [([], self.root)]
        while pending:
            steps, node = pending.pop(0)
            yield steps, node
            if isinstance(node, Mapping):
                pending += [([*steps, entry], entry.node) for entry in node.entries]
            elif isinstance(node, Sequence):
                pending += [([*steps, number], item) for number, item in enumerate(node.items)]


def config_tree(place: Place) -> ConfigTree:
    """The document at a place.

    Raises:
        CannotFixError: no settings can be read there.
    """
    tree = tree_at(place.file, place.text, place.start)
    if tree is None:
        raise CannotFixError("there is no document with settings at this place")
    return tree


@lru_cache(maxsize=8)
def tree_at(file: str, text: str, offset: int) -> ConfigTree | None:
    """The document of a configuration file, or of the here-document of a script, that holds an offset."""
    language, region = language_of(file, text), (0, len(text))
    body = text
    if language == "shell":
        found = _here_document(text, offset)
        if found is None:
            return None
        region = found
        body = re.sub(r"[^\r\n]", " ", text[: region[0]]) + text[region[0] : region[1]]
        language = "json" if body.lstrip().startswith(("{", "[")) else "yaml"
    reading = reading_of(language, body, file)
    trees = [ConfigTree(text, document.root, language, reading.loaders) for document in reading.documents]
    for tree in trees:
        start, end = tree.region(tree.root.span)
        if start <= offset < end:
            return tree
    return trees[0] if trees else None


@lru_cache(maxsize=8)
def reading_of(language: str, text: str, file: str) -> ConfigReading:
    """What the reader of a language makes of a text."""
    if language == "json":
        from distlint.read.json import read_json

        return read_json(text, file)
    if language == "yaml":
        from distlint.read.yaml import read_yaml

        return read_yaml(text, file)
    from distlint.read.toml import read_toml

    return read_toml(text, file)


def _here_document(text: str, offset: int) -> tuple[int, int] | None:
    """The region of the here-document that holds an offset."""
    from distlint.read.shell import read_shell

    index = LineIndex(text)
    best: tuple[int, int] | None = None
    for span in _body_spans(read_shell(text, "")[0].statements):
        start = index.offset(span.line, span.column)
        end = index.offset(span.end_line, span.end_column)
        if start <= offset < end and (best is None or end - start < best[1] - best[0]):
            best = start, end
    return best


def _body_spans(statements: Any) -> Iterator[Span]:
    from distlint.fix.shell_commands import nodes
    from distlint.model.shell import Redirect

    for node in nodes(statements):
        if isinstance(node, Redirect) and node.body_span is not None:
            yield node.body_span
