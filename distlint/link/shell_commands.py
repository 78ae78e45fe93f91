"""What evaluating a script yields: the commands that it runs, in order, with all that is known at that point."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from distlint.link.shell_state import Directory, Variable, environment_of
from distlint.link.shell_values import Chunk, Hole, Text, known_prefix, plain, shown, value_of
from distlint.model.launch import ScriptCall
from distlint.model.span import Span
from distlint.model.value import Value


class EvaluatedWord(NamedTuple):
    """One word of a command after expansion: its possible texts, and where to edit it."""

    texts: tuple[Text, ...]
    span: Span

    @property
    def value(self) -> Value:
        """Its value as a string; the first span is the word's own, the assignments that it came through follow."""
        return value_of(self.texts, self.span)

    @property
    def text(self) -> str:
        """The word with ``${NAME}`` for what is not known; its first possibility if there are several."""
        return shown(self.texts[0])

    @property
    def literal(self) -> str | None:
        """The word's text if exactly one is possible."""
        return plain(self.texts[0]) if len(self.texts) == 1 else None

    @property
    def prefix(self) -> str:
        """What is known of the beginning of every possible text."""
        prefixes = [known_prefix(text) for text in self.texts]
        shared = min(prefixes, key=len)
        while not all(prefix.startswith(shared) for prefix in prefixes):
            shared = shared[:-1]
        return shared

    @property
    def is_open(self) -> bool:
        """Whether it may stand for any number of words.

        One that has known text around the unknown part is taken for one word.
        """
        return any(_is_any_number(text) for text in self.texts)

    @property
    def holes(self) -> tuple[str, ...]:
        """The names of the variables that are not known in it."""
        return tuple(piece.name for text in self.texts for piece in text if isinstance(piece, Hole))


def _is_any_number(text: Text) -> bool:
    """Whether a text is nothing but unknown parts, one of which may be any number of words."""
    many = False
    for piece in text:
        if isinstance(piece, Hole):
            many = many or piece.many
        elif isinstance(piece, Chunk) and piece.text:
            return False
    return many


class Output(NamedTuple):
    """Text that a command writes to a file: a here-document, ``path`` being where it goes.

    ``text`` has known variables replaced and ``${NAME}`` for the others; ``original`` is what the script says; ``span``
    its place there.
    """

    path: EvaluatedWord
    file: str
    text: str
    original: str
    span: Span


class EvaluatedCommand(NamedTuple):
    """A simple command about to run.

    ``variables`` is the shell's whole state, ``environment`` what the command inherits. ``script`` is the file that it
    stands in; ``wrapped`` the command that runs it (``srun bash -c '...'``). ``branch`` names the branches around it as
    ``decision * 100 + arm``.
    """

    words: tuple[EvaluatedWord, ...]
    span: Span
    script: str
    variables: Mapping[str, Variable]
    directory: Directory
    guards: int = 0
    branch: tuple[int, ...] = ()
    background: bool = False
    outputs: tuple[Output, ...] = ()
    wrapped: EvaluatedCommand | None = None

    @property
    def environment(self) -> dict[str, Value]:
        """What the command inherits, by name; absent values were unset."""
        return environment_of(self.variables)


class Evaluation(NamedTuple):
    """The commands that a script runs, in order; the scripts that it starts; and why it was cut short, if it was."""

    script: str
    commands: tuple[EvaluatedCommand, ...]
    calls: tuple[ScriptCall, ...] = ()
    notes: tuple[tuple[Span, str], ...] = ()
