"""Text under repair: patches on offsets, and the draft that carries the steps of one fix out one after the other."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

from distlint.fix.operations import CannotFixError
from distlint.model.finding import Edit
from distlint.model.span import LineIndex, Span


class Patch(NamedTuple):
    """Replaces ``text[start:end]``; offsets are code points."""

    start: int
    end: int
    text: str


class _Piece(NamedTuple):
    """A part of a draft: a slice of the original (``origin`` is its offset there), or new text (``origin`` -1)."""

    origin: int
    text: str


class Draft:
    """One file during a fix: every step works on the text that the steps before it left.

    Positions of the original text can be translated to the current one, and in the end the difference is given as edits
    of the original.
    """

    def __init__(self, file: str, original: str) -> None:
        self.file = file
        self.original = original
        self.index = LineIndex(original)
        self._pieces = [_Piece(0, original)]
        self._text = original

    @property
    def text(self) -> str:
        """The text after the steps so far."""
        return self._text

    def region(self, span: Span) -> tuple[int, int]:
        """Start and end of an original span in the current text.

        Raises:
            CannotFixError: an earlier step has replaced the place.
        """
        start = self.index.offset(span.line, span.column)
        end = max(start, self.index.offset(span.end_line, span.end_column))
        at = self._current(start)
        return at, at if end == start else self._current(end - 1) + 1

    def apply(self, patches: Iterable[Patch]) -> None:
        """Carries out patches of the current text.

        Raises:
            CannotFixError: patches overlap.
        """
        for patch in reversed(checked(patches)):
            self._replace(patch)
        self._text = "".join(piece.text for piece in self._pieces)

    def edits(self) -> tuple[Edit, ...]:
        """The difference to the original text: sorted, not overlapping, each as small as it can be."""
        patches = []
        at, pending = 0, ""
        for piece in (*self._pieces, _Piece(len(self.original), "")):
            if piece.origin < 0:
                pending += piece.text
                continue
            if pending or piece.origin > at:
                patches.append(trimmed(self.original, Patch(at, piece.origin, pending)))
            at, pending = piece.origin + len(piece.text), ""
        changes = [patch for patch in patches if patch.text or patch.end > patch.start]
        return tuple(Edit(self.index.span(self.file, patch.start, patch.end), patch.text) for patch in changes)

    def _current(self, offset: int) -> int:
        at = 0
        for piece in self._pieces:
            if 0 <= piece.origin <= offset < piece.origin + len(piece.text):
                return at + offset - piece.origin
            at += len(piece.text)
        if offset == len(self.original):
            return at
        raise CannotFixError("two steps of the fix change the same place")

    def _replace(self, patch: Patch) -> None:
        before: list[_Piece] = []
        after: list[_Piece] = []
        at = 0
        for piece in self._pieces:
            end = at + len(piece.text)
            if at < patch.start:
                before.append(_Piece(piece.origin, piece.text[: patch.start - at]))
            if end > patch.end:
                cut = max(0, patch.end - at)
                after.append(_Piece(piece.origin + cut if piece.origin >= 0 else -1, piece.text[cut:]))
            at = end
        self._pieces = [*before, _Piece(-1, patch.text), *after] if patch.text else [*before, *after]


def checked(patches: Iterable[Patch]) -> list[Patch]:
    """The patches by place, insertions at one place in the order given; raises ``CannotFixError`` where two overlap."""
    ordered = sorted(patches, key=lambda patch: (patch.start, patch.end))
    for before, after in pairwise(ordered):
        if after.start < before.end:
            raise CannotFixError("two steps of the fix change the same place")
    return ordered


def patched(text: str, patches: Iterable[Patch]) -> str:
    """The text after all patches."""
    parts = []
    at = 0
    for patch in checked(patches):
        parts += [text[at : patch.start], patch.text]
        at = patch.end
    return "".join([*parts, text[at:]])


def trimmed(text: str, patch: Patch) -> Patch:
    """The same change without the characters that stay the same at either end; never cuts a line end in two."""
    old, new = text[patch.start : patch.end], patch.text
    limit = min(len(old), len(new))
    head = 0
    while head < limit and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < limit - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    start, end = patch.start + head, patch.end - tail
    if start > 0 and text[start - 1 : start + 1] == "\r\n" and head:
        start, head = start - 1, head - 1
    if end > 0 and text[end - 1 : end + 1] == "\r\n" and tail:
        end, tail = end + 1, tail - 1
    return Patch(start, end, new[head : len(new) - tail])


def difference(old: str, new: str) -> list[Patch]:
    """Small patches that turn ``old`` into ``new``, found line by line and then trimmed."""
    from difflib import SequenceMatcher
    from io import StringIO

    before, after = list(StringIO(old, newline="")), list(StringIO(new, newline=""))
    starts = [0]
    for line in before:
        starts.append(starts[-1] + len(line))
    changes = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return [
        trimmed(old, Patch(starts[low], starts[high], "".join(after[first:last])))
        for tag, low, high, first, last in changes
        if tag != "equal"
    ]


def line_start(text: str, offset: int) -> int:
    """Offset of the first character of the line that holds ``offset``."""
    start = text.rfind("\n", 0, offset) + 1
    return max(start, text.rfind("\r", start, offset) + 1)


def line_end(text: str, offset: int) -> int:
    """Offset of the end of the line that holds ``offset``, before its line break."""
    end = text.find("\n", offset)
    end = len(text) if end < 0 else end
    carriage = text.find("\r", offset, end)
    return carriage if carriage >= 0 else end


def next_line(text: str, offset: int) -> int:
    """Offset of the first character of the next line; the end of the text if there is none."""
    end = line_end(text, offset)
    return end + 2 if text.startswith("\r\n", end) else min(end + 1, len(text))


def indentation(text: str, offset: int) -> str:
    """The white space that the line of ``offset`` begins with."""
    start = line_start(text, offset)
    at = start
    while at < len(text) and text[at] in " \t":
        at += 1
    return text[start:at]


def begins_line(text: str, offset: int) -> bool:
    """Whether only white space stands before ``offset`` on its line."""
    return not text[line_start(text, offset) : offset].strip()


def newline_of(text: str) -> str:
    """The line break that the text uses: that of its first line."""
    end = line_end(text, 0)
    return "\r\n" if text.startswith("\r\n", end) else text[end : end + 1] or "\n"


def whole_lines(text: str, start: int, end: int) -> tuple[int, int]:
    """The region of all lines that ``text[start:end]`` touches, with their line breaks.

    At the end of a text without final newline the break before goes instead, so that the text still has none.
    """
    first, last = line_start(text, start), next_line(text, max(start, end - 1))
    if last == len(text) and first > 0 and not text.endswith(("\n", "\r")):
        first -= 2 if text[:first].endswith("\r\n") else 1
    return first, last
