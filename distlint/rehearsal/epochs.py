"""Orders in which data are gone through again and again: what is remembered of them, and read when a rehearsal is over."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

from distlint.model.span import Span

SAMPLERS = "samplers that shuffle"
"""What ``Stage.kept`` holds of them."""

UNSEEN = "epochs of what is not known"
"""In ``Stage.kept`` if something that is not known was told an epoch."""


class Round(NamedTuple):
    """A pass over data. ``epoch`` tells the order, ``span`` is what is gone through.

    ``calls`` counts how often an epoch was told before, ``backward`` the backward passes, ``strangers`` the calls that nobody sees into.
    """

    epoch: Hashable
    calls: int
    backward: int
    strangers: int
    span: Span


class Shuffled:
    """A sampler whose order follows from the epoch that it was told last."""

    __slots__ = ("calls", "changed", "rounds", "span", "told")

    def __init__(self, span: Span) -> None:
        self.span = span
        self.calls = 0
        self.told: tuple[Hashable, tuple[Any, ...], Span] | None = None
        """What was told last, by which way the process went, and where."""
        self.rounds: list[Round] = []
        self.changed = False
        """Whether the program sets its attributes itself."""

    def trained(self, backward: int) -> list[Round]:
        """The passes in which a model was trained; ``backward`` counts the backward passes of the whole program."""
        ends = [*(one.backward for one in self.rounds[1:]), backward]
        return [one for one, end in zip(self.rounds, ends, strict=False) if end > one.backward]
