"""Source frames: lines of a file with line numbers and labelled underlines.

    6 |     "stage": 2,
      |              - `stage` is 2
    7 |     "offload_param": {"device": "cpu"}
      |     ^^^^^^^^^^^^^^^

Widths are counted in terminal cells, tabs go to the next stop, long lines are clipped around what is marked, and
characters that a terminal would act upon are shown as stand-ins.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from distlint.model.span import Span
from distlint.report.excerpts import Excerpts
from distlint.report.terminal import Painter, character_width, harmless, text_width, visible_character

TAB_STOP = 4
LONG_LINE = 4000
"""Of lines with more characters than this only the part near the mark is laid out at all."""


class Mark(NamedTuple):
    """One span to underline.

    ``style`` is a style of the painter; a ``primary`` mark is drawn with carets and shows the lines around it.
    """

    span: Span
    label: str
    style: str
    primary: bool = False


class _Stroke(NamedTuple):
    """The part of a mark that lies on one line; ``end`` is exclusive, columns are 1-based code points."""

    line: int
    start: int
    end: int
    mark: Mark
    label: str


def gutter_width(marks: Iterable[Mark]) -> int:
    """Number of columns that the line numbers of all these marks need."""
    return max((len(str(mark.span.end_line + 1)) for mark in marks), default=1)


def frame(excerpts: Excerpts, marks: list[Mark], gutter: int, width: int, painter: Painter) -> Iterator[str]:
    """The lines of the frame for marks in one file, without the ``-->`` line; nothing if the file has no text there."""
    file = marks[0].span.file
    strokes = [
        stroke for mark in marks for stroke in _strokes(excerpts, mark) if stroke.line <= excerpts.line_count(file)
    ]
    numbers = sorted({stroke.line for stroke in strokes} | _context(excerpts, marks))
    if not any(excerpts.line(file, number).strip() for number in numbers):
        return
    room = max(width - gutter - 3, 20)
    blank = painter.paint(" " * gutter + " |", "gutter")
    yield blank
    previous = 0
    for number in _close_small_gaps(numbers):
        if previous and number > previous + 1:
            yield painter.paint("...", "gutter")
        previous = number
        margin = painter.paint(f"{number:>{gutter}} |", "gutter")
        text = excerpts.line(file, number)
        here = sorted((s for s in strokes if s.line == number), key=lambda s: (not s.mark.primary, s.start, s.end))
        for shown, underlines in _layout(text, here, room, painter):
            yield f"{margin} {shown}".rstrip()
            for underline in underlines:
                yield f"{blank} {underline}".rstrip()
    yield blank


def _strokes(excerpts: Excerpts, mark: Mark) -> list[_Stroke]:
    span = mark.span
    line = max(span.line, 1)
    if span.end_line <= line:
        return [_Stroke(line, span.column, max(span.end_column, span.column + 1), mark, mark.label)]
    first = excerpts.line(span.file, line)
    last = excerpts.line(span.file, span.end_line)[: span.end_column - 1]
    head = _Stroke(line, span.column, max(len(first.rstrip()) + 1, span.column + 1), mark, "")
    if not last.strip():
        return [_Stroke(head.line, head.start, head.end, mark, mark.label)]
    indent = len(last) - len(last.lstrip())
    return [head, _Stroke(span.end_line, indent + 1, span.end_column, mark, mark.label)]


def _context(excerpts: Excerpts, marks: list[Mark]) -> set[int]:
    """The lines just before and after the primary marks, where they say something."""
    near = {line for mark in marks if mark.primary for line in (mark.span.line - 1, mark.span.end_line + 1)}
    file = marks[0].span.file
    return {line for line in near if 1 <= line <= excerpts.line_count(file) and excerpts.line(file, line).strip()}


def _close_small_gaps(numbers: list[int]) -> list[int]:
    """The line numbers with gaps of a single line filled: showing it takes no more room than the dots."""
    between = {number + 1 for number in numbers if number + 2 in numbers}
    return sorted({*numbers, *between})


def _layout(text: str, strokes: list[_Stroke], room: int, painter: Painter) -> Iterator[tuple[str, list[str]]]:
    """The line with its underlines; as often as it takes to show every stroke on it, where it is too long."""
    if not strokes:
        yield _clip(text, 1, room).text, []
    while strokes:
        view = _clip(text, strokes[0].start, room)
        fitting = [stroke for stroke in strokes if stroke is strokes[0] or view.holds(stroke.start)]
        strokes = [stroke for stroke in strokes if stroke not in fitting]
        yield (
            view.text,
            [_underline(view, stroke, painter) for stroke in sorted(fitting, key=lambda s: (s.start, s.end))],
        )


def _underline(view: _View, stroke: _Stroke, painter: Painter) -> str:
    start, end = view.cell(stroke.start), view.cell(stroke.end)
    drawn = ("^" if stroke.mark.primary else "-") * max(end - start, 1)
    label = f" {harmless(stroke.label)}" if stroke.label else ""
    return " " * start + painter.paint(drawn + label, stroke.mark.style)


class _View(NamedTuple):
    """A line as it is shown: its text, and the cell where each column from ``first`` on starts, and the end."""

    text: str
    first: int
    cells: list[int]

    def holds(self, column: int) -> bool:
        """Whether a column is in the part that is shown, or right behind it."""
        return self.first <= column < self.first + len(self.cells)

    def cell(self, column: int) -> int:
        """The terminal cell of a column; columns outside of the part that is shown are moved to its ends."""
        return self.cells[min(max(column - self.first, 0), len(self.cells) - 1)]


def _clip(text: str, column: int, room: int) -> _View:
    """The part of a line around ``column`` that fits into ``room`` cells, with ``…`` where something is left out."""
    offset = max(column - LONG_LINE // 2, 0) if len(text) > LONG_LINE else 0
    pieces = _pieces(text[offset : offset + LONG_LINE])
    whole = offset == 0 and len(text) <= LONG_LINE
    at = min(max(column - 1 - offset, 0), len(pieces))
    if whole and sum(text_width(piece) for piece in pieces) <= room:
        first, last = 0, len(pieces)
    else:
        first, last = _window(pieces, at, room - 2)
    before = "…" if first + offset > 0 else ""
    after = "…" if last + offset < len(text) else ""
    cells = [len(before)]
    for piece in pieces[first:last]:
        cells.append(cells[-1] + text_width(piece))
    return _View(before + "".join(pieces[first:last]) + after, first + offset + 1, cells)


def _window(pieces: list[str], at: int, room: int) -> tuple[int, int]:
    """The half-open range of pieces that fits into ``room`` cells and has a quarter of it before ``at``."""
    first, used = at, 0
    while first > 0 and used + text_width(pieces[first - 1]) <= room // 4:
        first -= 1
        used += text_width(pieces[first])
    last = first
    used = 0
    while last < len(pieces) and used + text_width(pieces[last]) <= room:
        used += text_width(pieces[last])
        last += 1
    while first > 0 and used + text_width(pieces[first - 1]) <= room:
        first -= 1
        used += text_width(pieces[first])
    return first, last


def _pieces(text: str) -> list[str]:
    """What is printed for each character: itself, spaces for a tab, a stand-in for what must not reach the terminal."""
    pieces: list[str] = []
    cell = 0
    for index, char in enumerate(text):
        if char == "\t":
            piece = " " * (TAB_STOP - cell % TAB_STOP)
        elif char == "[" and text.startswith("##", index - 2) and index >= 2:
            piece = "［"
        else:
            piece = visible_character(char) if not " " <= char <= "~" else char
        pieces.append(piece)
        cell += sum(map(character_width, piece)) if len(piece) > 1 else character_width(piece)
    return pieces
