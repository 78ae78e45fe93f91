"""Orders in which data are gone through again and again: what is remembered of them, and read when a rehearsal is over."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

from distlint.model.span import Span

if TYPE_CHECKING:
    from distlint.rehearsal.stage import Stage

SAMPLERS = "samplers that shuffle"
"""What ``Stage.kept`` holds of them."""

UNSEEN = "epochs of what is not known"
"""In ``Stage.kept`` if something that is not known was told an epoch."""


class Round:
    """A pass over data. ``epoch`` tells the order, ``span`` is what is gone through.

    ``calls`` counts how often an epoch was told before, ``backward`` the backward passes, ``strangers`` the calls that nobody sees into.
    """

    __slots__ = ("backward", "calls", "epoch", "span", "strangers", "trains")

    def __init__(self, stage: Stage, epoch: Hashable, calls: int, span: Span) -> None:
        self.epoch = epoch
        self.calls = calls
        self.span = span
        self.backward = stage.kept.get("backward", 0)
        self.strangers = stage.strangers
        self.trains = False
        """Whether a backward pass was made before the end of it."""


class Shuffled:
    """A sampler whose order follows from the epoch that it was told last."""

    __slots__ = ("calls", "changed", "rounds", "span", "told", "what")

    def __init__(self, span: Span) -> None:
        self.span = span
        self.calls = 0
        self.told: tuple[Hashable, tuple[Any, ...], Span] | None = None
        """What was told last, by which way the process went, and where."""
        self.rounds: list[Round] = []
        self.changed = False
        """Whether the program sets its attributes itself."""
        self.what = "sampler"
        """What messages call it."""


def opened(stage: Stage, one: Round | None) -> None:
    """A pass over a loader begins, with which the one before it is over."""
    closed(stage, None)
    stage.under_way = one


def closed(stage: Stage, earlier: Round | None) -> None:
    """The pass that is under way is over, unless it is the one that was under way ``earlier``."""
    one = stage.under_way
    if one is not None and one is not earlier:
        one.trains = stage.kept.get("backward", 0) > one.backward
        stage.under_way = None
