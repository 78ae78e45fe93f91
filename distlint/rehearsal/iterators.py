"""What gives its items one after the other, or is worked out only when it is asked for, in the rehearsal of a program."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from distlint.rehearsal.unknowns import UNKNOWN
from distlint.rehearsal.values import derived


class Generated:
    """An iterator. ``run`` gives its items as they are asked for; ``partly`` once not all of them are known.

    ``sample`` is what one of them is like, ``count`` what tells their number then.
    """

    __slots__ = (
        "born",
        "count",
        "counting",
        "given",
        "guarded",
        "many",
        "over",
        "partly",
        "run",
        "sample",
        "total",
        "watched",
    )

    def __init__(
        self, run: Iterator[Any] | None, sample: Any = None, *, watched: bool = False, count: Any = UNKNOWN
    ) -> None:
        self.run = run
        self.sample = sample
        self.partly = run is None
        self.count = count
        self.total: Any = UNKNOWN
        """How many items it has altogether, where that is known before all of them were asked for."""
        self.counting = False
        """Whether somebody asks for all of its items, so that one may stand for many of which the number is known."""
        self.given = 0
        """How many items it has handed out, where that is counted."""
        self.many = False
        """Whether one of these stood for several."""
        self.watched = watched
        """Whether code of the project is executed for each item."""
        self.born: int | None = None
        """In how many ``while`` loops it was made, where that is known."""
        self.over: Any = None
        """The list that it goes over from its beginning, where it is made of one."""
        self.guarded = False
        """Whether it has handed an item out inside a ``try``: of a context it meets the exceptions of the body."""

    def is_cut(self) -> bool:
        """Whether not all of its items are known."""
        return self.partly

    def depends(self, *why: Any) -> None:
        """From here on its items are not known one by one: their number is what these values tell."""
        self.partly = True
        self.count = derived("turns", [*([] if self.count is UNKNOWN else [self.count]), *why])


class Later:
    """What is worked out of some values only once somebody asks for it."""

    __slots__ = ("action", "values")

    def __init__(self, action: Callable[[], Any], values: Sequence[Any]) -> None:
        self.action = action
        self.values = values
