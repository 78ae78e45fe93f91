"""Shell texts that are put together from parts of a file of another kind, with the way back to the file."""

from __future__ import annotations

from bisect import bisect_right

from distlint.model.shell import Assignment, Assignments, Command, Expansion, Literal, Part, ShellFacts, Word
from distlint.model.span import LineIndex, Span

MAX_CARRIED = 400
"""So many scripts are read out of one file."""

MAX_SCRIPT = 40_000


class PiecedText:
    """A text in the making: pieces of a file, and words that do not stand there."""

    def __init__(self, index: LineIndex) -> None:
        self.index = index
        self._parts: list[str] = []
        self._starts: list[int] = []
        self._sources: list[tuple[int, bool]] = []
        self.size = 0

    def add(self, text: str, source: int, *, exact: bool = True) -> None:
        """Adds a text that stands at an offset of the file; with ``exact`` false, all of it stands at that place."""
        if text:
            self._starts.append(self.size)
            self._sources.append((source, exact))
            self._parts.append(text)
            self.size += len(text)

    @property
    def text(self) -> str:
        """All that was added."""
        return "".join(self._parts)

    def offset(self, at: int) -> int:
        """The place in the file of a place in the text."""
        number = bisect_right(self._starts, at) - 1
        if number < 0:
            return 0
        source, exact = self._sources[number]
        return source + (min(at - self._starts[number], len(self._parts[number])) if exact else 0)


class _PiecedIndex(LineIndex):
    """Gives positions in the file for offsets into a text that was put together from it."""

    __slots__ = ("_pieces",)

    def __init__(self, pieces: PiecedText) -> None:
        super().__init__(pieces.text)
        self._pieces = pieces

    def position(self, offset: int) -> tuple[int, int]:
        return self._pieces.index.position(self._pieces.offset(offset))

    def span(self, file: str, start: int, end: int) -> Span:
        first = self._pieces.offset(start)
        last = self._pieces.offset(end - 1) + 1 if end > start else first
        return self._pieces.index.span(file, first, max(first, last))

    def slice(self, span: Span) -> str:
        return self._pieces.index.slice(span)


def pieced_script(pieces: PiecedText, file: str) -> ShellFacts:
    """The statements of a text that was put together; what a shell refuses in it is left out."""
    from distlint.read.shell import read_shell

    return read_shell(pieces.text, file, _PiecedIndex(pieces))[0]


def literal_word(text: str, span: Span) -> Word:
    """A word that stands for itself."""
    return Word((Literal(text, True, span.line, span.column),), span, True)


def hole_word(name: str, span: Span) -> Word:
    """A word of which nothing is known."""
    return Word((Expansion(name, quoted=True, span=span),), span, True)


def exported(name: str, value: Word, span: Span) -> Assignments:
    """A variable of the environment."""
    return Assignments((Assignment(name, value, span, exported=True),), span)


def command_of(words: list[Word]) -> Command:
    """A command by its words, which are at least one."""
    first, last = words[0].span, words[-1].span
    end = last.end if last.end > first.start else first.end
    return Command(tuple(words), Span(first.file, *first.start, *end))


def parts_word(parts: list[Part], span: Span) -> Word:
    """A word made of parts."""
    return Word(tuple(parts), span, True)
