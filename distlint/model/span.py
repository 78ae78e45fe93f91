"""Places in files, and the conversion between offsets and positions.

Everywhere in distlint a position is a 1-based line and a 1-based column counted in Unicode code points, and the end of a
span is exclusive. Readers whose parser counts bytes (``ast``, tree-sitter) convert once, here; the language server and the
SARIF report convert to what their protocol wants.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple


class Span(NamedTuple):
    """A region of one file: ``file`` is the path relative to the project root, with forward slashes.

    A named tuple rather than a dataclass: a large configuration holds tens of thousands, and a tuple costs a third.
    """

    file: str
    line: int
    column: int
    end_line: int
    end_column: int

    @property
    def start(self) -> tuple[int, int]:
        """First position, as (line, column)."""
        return (self.line, self.column)

    @property
    def end(self) -> tuple[int, int]:
        """First position after the region, as (line, column)."""
        return (self.end_line, self.end_column)

    def contains(self, other: Span) -> bool:
        """Whether ``other`` lies in the same file and within this region."""
        return self.file == other.file and self.start <= other.start and other.end <= self.end


def whole_line(file: str, line: int = 1) -> Span:
    """A span for something that has a file but no better place: the start of ``line``."""
    return Span(file, line, 1, line, 1)


class LineIndex:
    r"""Converts between code-point offsets, UTF-8 byte columns and positions of one text.

    Lines end at ``\n``, ``\r\n`` or a lone ``\r``, as for Python's tokenizer and for editors; form feeds and
    U+2028 do not end a line.
    """

    __slots__ = ("_ascii", "_starts", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._ascii = text.isascii()
        self._starts = _line_starts(text)

    @property
    def line_count(self) -> int:
        """Number of lines; a text that ends in a newline has an empty last line."""
        return len(self._starts)

    def position(self, offset: int) -> tuple[int, int]:
        """(line, column) of a code-point offset into the text."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def offset(self, line: int, column: int) -> int:
        """Code-point offset of a position; positions outside the text are clamped to it."""
        if line < 1:
            return 0
        if line > len(self._starts):
            return len(self.text)
        end = self._starts[line] if line < len(self._starts) else len(self.text)
        return min(self._starts[line - 1] + max(column, 1) - 1, end)

    def line_text(self, line: int) -> str:
        """The text of a 1-based line without its line end; empty outside the text."""
        if not 1 <= line <= len(self._starts):
            return ""
        end = self._starts[line] if line < len(self._starts) else len(self.text)
        return self.text[self._starts[line - 1] : end].rstrip("\r\n")

    def wide_lines(self) -> frozenset[int]:
        """The lines that hold other characters than ASCII, in which byte columns differ from ours."""
        if self._ascii:
            return frozenset()
        ends = [*self._starts[1:], len(self.text)]
        return frozenset(
            n for n, (a, b) in enumerate(zip(self._starts, ends, strict=True), 1) if not self.text[a:b].isascii()
        )

    def column_of_byte(self, line: int, byte_column: int) -> int:
        """1-based code-point column of a 0-based UTF-8 byte column (what ``ast`` and tree-sitter report)."""
        if self._ascii:
            return byte_column + 1
        encoded = self.line_text(line).encode("utf-8", "surrogatepass")
        return len(encoded[:byte_column].decode("utf-8", "replace")) + 1

    def span(self, file: str, start: int, end: int) -> Span:
        """The span between two code-point offsets."""
        return Span(file, *self.position(start), *self.position(end))

    def slice(self, span: Span) -> str:
        """The text that a span covers."""
        return self.text[self.offset(span.line, span.column) : self.offset(span.end_line, span.end_column)]


def _line_starts(text: str) -> list[int]:
    starts = [0]
    find = text.find
    if "\r" not in text:
        at = find("\n")
        while at >= 0:
            starts.append(at + 1)
            at = find("\n", at + 1)
        return starts
    at, size = 0, len(text)
    while at < size:
        char = text[at]
        if char == "\r" and at + 1 < size and text[at + 1] == "\n":
            at += 1
        if char in "\r\n":
            starts.append(at + 1)
        at += 1
    return starts
