"""Questions that lead to questions: each is answered once, a circle ends where it closes, and the whole is bounded."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

A = TypeVar("A")

MAX_ALLOWANCE = 600_000
"""Steps for a whole project: about ten seconds."""


class Allowance:
    """How many steps all questions about a project may take together; what comes later is given up.

    A count and not a time, so that the same project has the same answers on any machine.
    """

    def __init__(self, steps: int) -> None:
        self.left = steps


class Questions(Generic[A]):
    """Answers by key. ``most_steps`` bounds what one outer question may lead to, ``most_open`` how many may be open.

    ``allowance`` is shared with the other questions about the project.

    An answer is remembered unless it depends on how it was asked: it was cut short by a bound, or by a question further out that is
    still open. So what is remembered is the same in whatever order questions come.
    """

    def __init__(self, most_steps: int, most_open: int, allowance: Allowance | None = None) -> None:
        self._allowance = allowance or Allowance(MAX_ALLOWANCE)
        self._most_steps = most_steps
        self._most_open = most_open
        self._answers: dict[Hashable, A] = {}
        self._open: dict[Hashable, int] = {}
        self._steps = 0
        self._none = most_open + 1
        self._lowest = self._none
        """The outermost open question that the answer being worked out was cut short by; -1 for a bound."""
        self._alive: list[Any] = []

    def begin(self) -> None:
        """A new outer question: steps are counted anew."""
        if not self._open:
            self._steps = 0

    def knows(self, key: Hashable) -> bool:
        """Whether the answer is remembered."""
        return key in self._answers

    def keep(self, thing: object) -> None:
        """Keeps something alive whose identity is part of a key."""
        self._alive.append(thing)

    def is_spent(self) -> bool:
        """Counts a step, and tells whether there were too many; what is worked out then is not remembered."""
        self._steps += 1
        self._allowance.left -= 1
        spent = self._steps > self._most_steps or self._allowance.left < 0
        if spent:
            self._lowest = -1
        return spent

    def charge(self, steps: int) -> None:
        """Counts what was done besides asking: a long walk through a function."""
        self._steps += steps
        self._allowance.left -= steps

    def guarded(self, key: Hashable, work: Callable[[], A], around: A, given_up: A) -> A:
        """The answer that ``work`` gives; ``around`` where the question is open already, ``given_up`` beyond a bound."""
        if key in self._answers:
            return self._answers[key]
        depth = len(self._open)
        if key in self._open:
            self._lowest = min(self._lowest, self._open[key])
            return around
        if self.is_spent() or depth >= self._most_open:
            self._lowest = -1
            return given_up
        outer, self._lowest = self._lowest, self._none
        self._open[key] = depth
        try:
            found = work()
        finally:
            del self._open[key]
            lowest = self._lowest
            self._lowest = min(outer, lowest if lowest < depth else self._none)
        if lowest >= depth:
            self._answers[key] = found
        return found
