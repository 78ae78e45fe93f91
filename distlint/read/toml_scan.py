"""Where keys and values stand in a TOML text. Values are the business of ``tomli``; this only finds their places."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import field

from distlint.model.record import dataclass

MAX_PARTS = 50
"""Longer dotted keys are not followed."""

MAX_BRACKETS = 100
"""Arrays and inline tables nested deeper are not followed."""

_BLANK = re.compile(r"[ \t]*")
_BLANK_LINES = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_STRING = re.compile(
    r'"""[^"\\]*(?:(?:\\.|"{1,2}(?!"))[^"\\]*)*"{3,5}'
    r"|'''[^']*(?:'{1,2}(?!')[^']*)*'{3,5}"
    r'|"(?!"")[^"\\\n]*(?:\\.[^"\\\n]*)*"'
    r"|'(?!'')[^'\n]*'",
    re.DOTALL,
)
_PLAIN = re.compile(r"\d{4}-\d\d-\d\d \d\d:[\d:.+Zz-]+|[^\s,\]}#=]+")


@dataclass(slots=True)
class Scalar:
    """The place of a scalar."""

    start: int
    end: int


@dataclass(slots=True)
class Table:
    """The place of a table, and of its keys: start, end and what stands there."""

    start: int
    end: int
    keys: dict[str, tuple[int, int, Place]] = field(default_factory=dict)


@dataclass(slots=True)
class Array:
    """The place of an array or of an array of tables."""

    start: int
    end: int
    items: list[Place] = field(default_factory=list)


Place = Scalar | Table | Array


class Lost(Exception):  # noqa: N818 - ends the scan, nothing more
    """The text is not TOML at ``offset``, or nested too deeply (``deep``)."""

    def __init__(self, offset: int, *, deep: bool = False) -> None:
        super().__init__(offset)
        self.offset = offset
        self.deep = deep


class TomlScanner:
    """Reads one text. After ``scan``, ``root`` holds the places, ``statements`` where headers and assignments begin."""

    def __init__(self, text: str, decode_key: Callable[[str], str]) -> None:
        self.text = text
        self.root = Table(0, len(text))
        self.statements: list[int] = []
        self._decode_key = decode_key
        self._depth = 0

    def scan(self) -> Lost | None:
        """Reads as far as the text is TOML; what stopped it, if anything did."""
        table = self.root
        at = self._blank_lines(0)
        try:
            while at < len(self.text):
                self.statements.append(at)
                if self.text[at] == "[":
                    table, at = self._header(at)
                else:
                    at = self._assignment(table, at)
                    table.end = max(table.end, at)
                at = self._line_end(at)
        except Lost as lost:
            return lost
        return None

    def _header(self, at: int) -> tuple[Table, int]:
        array = self.text.startswith("[[", at)
        parts, end = self._dotted(at + 1 + array)
        closing = "]]" if array else "]"
        if not self.text.startswith(closing, end):
            raise Lost(end)
        end += len(closing)
        if not array:
            return self._descend(self.root, parts, at, end), end
        parent = self._descend(self.root, parts[:-1], at, end)
        name, start, stop = parts[-1]
        place = parent.keys.setdefault(name, (start, stop, Array(at, end)))[2]
        if not isinstance(place, Array):
            raise Lost(at)
        table = Table(at, end)
        place.items.append(table)
        place.end = end
        return table, end

    def _assignment(self, table: Table, at: int) -> int:
        """Reads ``key = value`` into a table; returns where the value ends."""
        parts, end = self._dotted(at)
        if self.text[end : end + 1] != "=":
            raise Lost(end)
        value, end = self._value(self._blank(end + 1))
        parent = self._descend(table, parts[:-1], at, end)
        name, start, stop = parts[-1]
        if name in parent.keys:
            raise Lost(start)
        parent.keys[name] = (start, stop, value)
        parent.end = max(parent.end, end)
        return end

    def _descend(self, table: Table, parts: list[tuple[str, int, int]], start: int, end: int) -> Table:
        for name, key_start, key_end in parts:
            place = table.keys.setdefault(name, (key_start, key_end, Table(start, end)))[2]
            if isinstance(place, Array) and place.items:
                place = place.items[-1]
            if not isinstance(place, Table):
                raise Lost(key_start)
            table = place
        return table

    def _dotted(self, at: int) -> tuple[list[tuple[str, int, int]], int]:
        """The parts of a dotted key with their places, and the offset after it and blanks."""
        parts: list[tuple[str, int, int]] = []
        while True:
            at = self._blank(at)
            match = _BARE_KEY.match(self.text, at) or _STRING.match(self.text, at)
            if match is None:
                raise Lost(at)
            raw = match[0]
            name = (
                self._decode_key(raw)
                if raw[0] == '"' and "\\" in raw
                else raw.strip(raw[0])
                if raw[0] in "\"'"
                else raw
            )
            parts.append((name, at, match.end()))
            if len(parts) > MAX_PARTS:
                raise Lost(at, deep=True)
            at = self._blank(match.end())
            if self.text[at : at + 1] != ".":
                return parts, at
            at += 1

    def _value(self, at: int) -> tuple[Place, int]:
        char = self.text[at : at + 1]
        if char not in ("[", "{"):
            match = _STRING.match(self.text, at) or _PLAIN.match(self.text, at)
            if match is None:
                raise Lost(at)
            return Scalar(at, match.end()), match.end()
        if self._depth >= MAX_BRACKETS:
            raise Lost(at, deep=True)
        self._depth += 1
        value = self._array(at) if char == "[" else self._inline_table(at)
        self._depth -= 1
        return value, value.end

    def _array(self, at: int) -> Array:
        array = Array(at, at)
        at = self._blank_lines(at + 1)
        while self.text[at : at + 1] != "]":
            item, at = self._value(at)
            array.items.append(item)
            at = self._comma(at, "]")
        array.end = at + 1
        return array

    def _inline_table(self, at: int) -> Table:
        table = Table(at, at)
        at = self._blank_lines(at + 1)
        while self.text[at : at + 1] != "}":
            at = self._comma(self._assignment(table, at), "}")
        table.end = at + 1
        return table

    def _comma(self, at: int, closing: str) -> int:
        at = self._blank_lines(at)
        char = self.text[at : at + 1]
        if char == ",":
            return self._blank_lines(at + 1)
        if char != closing:
            raise Lost(at)
        return at

    def _line_end(self, at: int) -> int:
        """Nothing but a comment may follow a statement in its line; returns where the next one begins."""
        end = self._blank(at)
        if self.text[end : end + 1] not in ("", "\n", "\r", "#"):
            raise Lost(end)
        return self._blank_lines(end)

    def _blank(self, at: int) -> int:
        return _BLANK.match(self.text, at).end()  # type: ignore[union-attr]

    def _blank_lines(self, at: int) -> int:
        return _BLANK_LINES.match(self.text, at).end()  # type: ignore[union-attr]
