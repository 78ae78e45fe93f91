"""Texts that are joined from several lines, with the way back to the file."""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from distlint.model.span import LineIndex, Span


class JoinedText(NamedTuple):
    """One logical line: its text, and where each physical piece of it begins (in it, in the file), the first at 0."""

    text: str
    pieces: tuple[tuple[int, int], ...]

    def offset(self, at: int) -> int:
        """The offset in the file of a position in the text."""
        start, source = self.pieces[bisect_right(self.pieces, at, key=lambda piece: piece[0]) - 1]
        return source + at - start

    def span(self, start: int, end: int, index: LineIndex, file: str) -> Span:
        """The place in the file of a part of the text; ``index`` belongs to the whole file."""
        last = self.offset(end - 1) + 1 if end > start else self.offset(start)
        return index.span(file, self.offset(start), last)
