"""Positions as the protocol counts them, and as distlint does.

The protocol counts lines from 0 and columns in code units of the negotiated encoding (UTF-16 unless both sides agree on
another); distlint counts both from 1, columns in code points. The conversion needs the text of the line.
"""

from __future__ import annotations

from lsprotocol import types

from distlint.model.span import LineIndex, Span

UTF8 = types.PositionEncodingKind.Utf8.value
UTF16 = types.PositionEncodingKind.Utf16.value
UTF32 = types.PositionEncodingKind.Utf32.value


def _units(text: str, encoding: str) -> int:
    """Length of a text in code units of an encoding."""
    if encoding == UTF32 or text.isascii():
        return len(text)
    if encoding == UTF8:
        return len(text.encode("utf-8", "surrogatepass"))
    return len(text) + sum(char > "\uffff" for char in text)


def _code_points(text: str, units: int, encoding: str) -> int:
    """Code points of ``text`` before a column in units: inside a character its start, past the end the end."""
    if encoding == UTF32 or text.isascii():
        return min(units, len(text))
    passed = 0
    for count, char in enumerate(text):
        passed += _units(char, encoding)
        if passed > units:
            return count
    return len(text)


class Positions:
    """Converts places of one text. ``encoding`` is the negotiated one: ``utf-8``, ``utf-16`` or ``utf-32``."""

    def __init__(self, text: str, encoding: str) -> None:
        self.text = text
        self._index = LineIndex(text)
        self._encoding = encoding

    def position(self, line: int, column: int) -> types.Position:
        """The protocol's position for a line and column of ours, clamped to the text."""
        line, column = self._index.position(self._index.offset(line, column))
        before = self._index.line_text(line)[: column - 1]
        return types.Position(line - 1, _units(before, self._encoding))

    def range(self, span: Span) -> types.Range:
        """The protocol's range for a span in this text."""
        return types.Range(self.position(*span.start), self.position(*span.end))

    def place(self, position: types.Position) -> tuple[int, int]:
        """(line, column) of ours for a position of the protocol, clamped to the text."""
        line = position.line + 1
        if line > self._index.line_count:
            return self._index.position(len(self.text))
        return line, _code_points(self._index.line_text(line), position.character, self._encoding) + 1

    def offset(self, position: types.Position) -> int:
        """Code-point offset into the text of a position of the protocol."""
        return self._index.offset(*self.place(position))

    def line_text(self, line: int) -> str:
        """The text of a 1-based line, without its line end."""
        return self._index.line_text(line)
