"""What the configuration readers have in common: their result, spans of embedded texts, holes, building of trees."""

from __future__ import annotations

import re
from typing import Any

from distlint.model.document import Document, Entry, Leaf, Mapping, Node, Sequence
from distlint.model.facts import ReadError
from distlint.model.record import dataclass
from distlint.model.span import LineIndex, Span, whole_line
from distlint.model.value import State, Value, unknown

MAX_DEPTH = 200
"""Containers nested deeper than this are not read; no real configuration comes near."""

MAX_NODES = 50_000
"""Keys and values of one text that are kept; containers that lose some are marked open."""

TOO_DEEP = "nested too deeply"
"""The message for a text that is."""

HOLE = "template hole"
"""The reason that the value of a placeholder is unknown."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """The first place where a loader (``json``, ``hjson`` …) would refuse the text, and why."""

    loader: str
    span: Span
    message: str


@dataclass(frozen=True, slots=True)
class ConfigReading:
    """What a configuration text holds.

    ``documents`` are in the order of the text; a broken text gives what could be read of it, in containers marked
    open. ``errors`` are faults for every loader that the text may be meant for. ``loaders`` accept the text as it is:
    ``json`` (Python's ``json``), ``jsonc`` (JSON with comments and trailing commas), ``hjson``, ``yaml``, ``toml``.
    ``refusals`` says where and why other loaders don't. ``template`` is true for a text in which placeholders stand
    where no loader expects them.
    """

    documents: tuple[Document, ...] = ()
    errors: tuple[ReadError, ...] = ()
    loaders: tuple[str, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    template: bool = False


class Places:
    """Spans of a text's offsets; the text may begin further down in its file (``line_offset`` lines above it)."""

    __slots__ = ("_line", "_line_end", "_line_start", "_offset", "file", "index")

    def __init__(self, text: str, file: str, line_offset: int = 0) -> None:
        self.index = LineIndex(text)
        self.file = file
        self._offset = line_offset
        self._line = self._line_start = self._line_end = 0

    def span(self, start: int, end: int) -> Span:
        """The span between two code-point offsets of the text."""
        if self._line_start <= start and end < self._line_end:
            before = self._line_start - 1
            return Span(self.file, self._line, start - before, self._line, end - before)
        line, column = self.index.position(start)
        self._line = line + self._offset
        self._line_start = start - column + 1
        self._line_end = self.index.offset(line + 1, 1) if line < self.index.line_count else 0
        end_line, end_column = self.index.position(end)
        return Span(self.file, line + self._offset, column, end_line + self._offset, end_column)

    def offset(self, span: Span) -> int:
        """The offset at which a span of this text begins."""
        return self.index.offset(span.line - self._offset, span.column)

    def document(self, root: Node, carrier: str, format_: str, index: int = 0) -> Document:
        """The document for a tree: a file stands at the start of the file, anything else where its text stands."""
        span = whole_line(self.file) if carrier == "file" else self.span(0, len(self.index.text))
        return Document(root, span, carrier, format_, index)


_SHELL_HOLE = re.compile(r"\$[A-Za-z_{(]")
_KEY_HOLE = re.compile(r"\$(?:[{(]|[A-Z_]{2})|\{\{|\{%|<%")


def has_hole(text: str) -> bool:
    """Whether a string holds what is filled in later: ``${x}``, ``$x``, ``$(x)``, ``{{ x }}``, ``<% x %>``."""
    if "$" in text and _SHELL_HOLE.search(text):
        return True
    if "{" not in text and "<" not in text:
        return False
    return any((at := text.find(opening)) >= 0 and text.find(closing, at) > 0 for opening, closing in _TEMPLATE_MARKS)


def is_open_key(key: str) -> bool:
    """Whether a key is filled in later; names such as ``$schema`` are keys in their own right."""
    return ("$" in key and _KEY_HOLE.search(key) is not None) or ("$" not in key and has_hole(key))


_TEMPLATE_MARKS = (("{{", "}}"), ("{%", "%}"), ("<%", "%>"))


class Frame:
    """A container that is still being read."""

    __slots__ = ("entries", "items", "key", "key_span", "mapping", "open", "start")

    def __init__(self, mapping: bool, start: int) -> None:
        self.mapping = mapping
        self.start = start
        self.open = False
        self.entries: list[Entry] = []
        self.items: list[Node] = []
        self.key: Any = None
        self.key_span: Span | None = None


class TreeBuilder:
    """Makes a tree of what a scanner meets one after the other, without recursion and of bounded size.

    ``certain`` is what new entries get. Keys and values beyond ``MAX_NODES`` are dropped, and their container is open.
    """

    __slots__ = ("_left", "certain", "frames", "places", "root")

    def __init__(self, places: Places) -> None:
        self.places = places
        self.root: Node | None = None
        self.frames: list[Frame] = []
        self.certain = True
        self._left = MAX_NODES

    @property
    def too_deep(self) -> bool:
        """Whether no further container may be started here."""
        return len(self.frames) >= MAX_DEPTH

    @property
    def full(self) -> bool:
        """Whether nothing more is kept."""
        return self._left < 1

    def start(self, mapping: bool, offset: int) -> None:
        """A mapping or a sequence begins."""
        self.frames.append(Frame(mapping, offset))

    def key(self, key: Any, start: int, end: int) -> None:
        """The key of the value that comes next."""
        frame = self.frames[-1]
        frame.key = key
        frame.key_span = self.places.span(start, end)

    def no_key(self) -> None:
        """The key can't be told, so the value that comes next has no place in the mapping."""
        self.frames[-1].key_span = None
        self.frames[-1].open = True

    def scalar(self, plain: Any, start: int, end: int) -> None:
        """A value that is written down; a string with a placeholder in it is a hole."""
        if self._left < 1 and self.frames:
            self.frames[-1].open = True
            return
        span = self.places.span(start, end)
        if isinstance(plain, str) and has_hole(plain):
            self.add(Leaf(unknown(HOLE, span), span))
        else:
            self.add(Leaf(Value(State.KNOWN, (plain,), (span,)), span))

    def unknown(self, reason: str, start: int, end: int) -> None:
        """A value that can't be told."""
        span = self.places.span(start, end)
        self.add(Leaf(unknown(reason, span), span))

    def add(self, node: Node, size: int = 1) -> None:
        """A finished value; ``size`` is the number of keys and values that it stands for."""
        if not self.frames:
            self.root = node
            return
        frame = self.frames[-1]
        self._left -= size
        if self._left < 0:
            self._left += size
            frame.open = True
        elif not frame.mapping:
            frame.items.append(node)
        elif frame.key_span is not None:
            frame.entries.append(Entry(frame.key, frame.key_span, node, self.certain))

    def end(self, offset: int) -> Node:
        """The innermost container ends before ``offset``."""
        frame = self.frames.pop()
        span = self.places.span(frame.start, offset)
        node: Node = (
            Mapping(tuple(frame.entries), span, frame.open)
            if frame.mapping
            else Sequence(tuple(frame.items), span, frame.open)
        )
        self.add(node)
        return node

    def abandon(self, offset: int) -> None:
        """The text breaks off or can't be followed any further: all containers end here and may hold more."""
        while self.frames:
            self.frames[-1].open = True
            self.end(offset)
