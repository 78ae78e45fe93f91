"""Finding the command that a shell edit is about, and the regions of its words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from functools import lru_cache
from typing import Any

from distlint.fix.operations import CannotFixError
from distlint.fix.place import Place
from distlint.model.record import dataclass
from distlint.model.shell import Command
from distlint.model.span import LineIndex, Span


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A simple command by the regions of its words; ``texts`` has them without quotes, ``None`` where they expand."""

    start: int
    words: tuple[tuple[int, int], ...]
    texts: tuple[str | None, ...]
    environment: tuple[tuple[str, tuple[int, int]], ...]

    def find(self, flag: str) -> int:
        """The number of the last word that is ``flag`` or ``flag=value``, or -1."""
        for number in range(len(self.texts) - 1, -1, -1):
            text = self.texts[number]
            if text is not None and (text == flag or text.startswith(flag + "=")):
                return number
        return -1

    def is_flag(self, number: int) -> bool:
        """Whether a word begins like an option; a negative number does not."""
        return re.match(r"-(?![\d.])", self.texts[number] or "") is not None


def command_at(place: Place) -> CommandLine:
    """The command at the place, or the one whose word stands there.

    Raises:
        CannotFixError: there is none.
    """
    command = _smallest(place.text, place.start, place.end) if place.language == "shell" else None
    if command is None or place.start not in (command.start, *(low for low, _ in command.words)):
        # Within a word (``bash -c "..."``), or in another kind of file: the text of the place is a command line itself.
        command = _smallest(_only(place.text, place.start, place.end), place.start, place.end)
    if command is None or not command.words:
        raise CannotFixError("there is no command at this place")
    return command


def _only(text: str, start: int, end: int) -> str:
    """The text with all outside the region blanked: how a command line in another kind of file is read in its place."""
    return re.sub(r"[^\r\n]", " ", text[:start]) + text[start:end] + re.sub(r"[^\r\n]", " ", text[end:])


@lru_cache(maxsize=8)
def _smallest(text: str, start: int, end: int) -> CommandLine | None:
    from distlint.read.shell import read_shell

    index = LineIndex(text)

    def region(span: Span) -> tuple[int, int]:
        return index.offset(span.line, span.column), index.offset(span.end_line, span.end_column)

    best: Command | None = None
    size = len(text) + 1
    for command in nodes(read_shell(text, "")[0].statements):
        if not isinstance(command, Command):
            continue
        low, high = region(command.span)
        if low <= start and end <= high and high - low < size:
            best, size = command, high - low
    if best is None:
        return None
    return CommandLine(
        region(best.span)[0],
        tuple(region(word.span) for word in best.words),
        tuple(word.literal for word in best.words),
        tuple((assignment.name, region(assignment.span)) for assignment in best.environment),
    )


def nodes(root: Any) -> Iterator[Any]:
    """Every node below the statements of a script: statements, words and their parts, redirections."""
    pending: list[Any] = [root]
    while pending:
        node = pending.pop()
        if isinstance(node, Span):
            continue
        if isinstance(node, tuple):
            pending += node
        elif hasattr(node, "__dataclass_fields__"):
            yield node
            pending += [getattr(node, part.name) for part in fields(node)]
