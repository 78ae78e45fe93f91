"""What a walk through a script shares from its first statement to its last: results, budgets, ways out of blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from distlint.link.shell_commands import EvaluatedCommand, EvaluatedWord
from distlint.link.shell_state import State, join_states
from distlint.model.launch import ScriptCall
from distlint.model.shell import ShellFacts
from distlint.model.span import Span

MAX_STEPS = 20_000
MAX_COMMANDS = 600

Unwrap = Callable[[Sequence[EvaluatedWord]], int]
"""How many words in front of a command only wrap it (``srun -n 4``, ``env A=1``); 0 for none."""


class Context(NamedTuple):
    """What is the same for all statements of a block."""

    guards: int = 0
    branch: tuple[int, ...] = ()
    background: bool = False
    wrapped: EvaluatedCommand | None = None
    functions: int = 0
    calls: int = 0

    def guarded(self) -> Context:
        """The context of statements that may not run, or run several times."""
        return self._replace(guards=self.guards + 1)

    def in_arm(self, decision: int, arm: int) -> Context:
        """The context of one arm of a decision that is not known."""
        return self._replace(guards=self.guards + 1, branch=(*self.branch, decision * 100 + min(arm, 99)))


class Seen(NamedTuple):
    """What a shell may see of a project.

    ``scripts`` are all shell scripts by path, ``exists`` tells whether the project has a file. ``unwrap`` finds the
    command inside a scheduler's command line, so that strings and scripts handed to it are followed. ``read`` gives the
    text of a file.
    """

    scripts: Mapping[str, ShellFacts]
    exists: Callable[[str], bool]
    unwrap: Unwrap = lambda _: 0
    read: Callable[[str], str | None] = lambda _: None


class Walk:
    """One evaluation: the scripts that it may enter, what it found so far, and how much it may still do.

    ``written`` are the texts, with their places, that here-documents wrote into files, by the word that names the file.
    ``exits`` and ``returns`` collect, innermost last, the states that left a loop, one turn of it, or a function early.
    """

    def __init__(self, seen: Seen) -> None:
        self.files, self.exists, self.unwrap, self.read = seen
        self.commands: list[EvaluatedCommand] = []
        self.calls: list[ScriptCall] = []
        self.notes: list[tuple[Span, str]] = []
        self.exits: list[list[State]] = []
        self.returns: list[list[State]] = []
        self.written: dict[str, tuple[str, Span]] = {}
        self.aliases: dict[str, EvaluatedWord] = {}
        self.steps = 0
        self.iterations = 1
        self._decisions = 0

    def may_run(self, span: Span) -> bool:
        """Counts a statement; false, with a note, once the budget is spent."""
        self.steps += 1
        if self.steps <= MAX_STEPS and len(self.commands) < MAX_COMMANDS:
            return True
        if not self.notes:
            self.notes.append((span, "the script is too long to follow to its end"))
        return False

    def next_decision(self) -> int:
        """A number for a decision whose outcome is not known."""
        self._decisions += 1
        return self._decisions

    @contextmanager
    def isolated(self) -> Iterator[None]:
        """While statements run whose ``break`` and ``return`` do not concern what is around them."""
        exits, returns = self.exits, self.returns
        self.exits, self.returns = [], [[]]
        yield
        self.exits, self.returns = exits, returns


def joined_into(state: State, others: Sequence[State]) -> None:
    """Makes a state cover those that left early too."""
    for other in others:
        state.replace_by(join_states(state, other))
