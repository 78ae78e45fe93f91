"""The control-flow graph of a function: its steps in the order of evaluation, and what may come after each.

A step is a call, a test, the head of a loop, an assignment and so on (``Point.kind``), so that an analysis can follow what is called under
which condition without knowing Python's statements. Short circuits, conditional expressions and comprehensions are branches and loops
like all others. A ``finally`` body and the end of a ``with`` stand once for each way on which they are passed: the normal one, an
exception, ``return``, ``break`` and ``continue``.

Edges for exceptions are kept apart (``Point.fails``): nearly every step may raise, and most questions are about the ways without one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from functools import cached_property

from distlint.model import python as ir
from distlint.model.record import dataclass

MAX_POINTS = 60_000
"""Steps that a graph holds at most; a longer body is cut there."""

ENTRY, EXIT, FAILURE = 0, 1, 2
"""The first points of every graph: where it starts, ends, and is left by an exception that nothing in it handles."""


@dataclass(slots=True, eq=False)
class Point:
    """One step of a function.

    ``kind`` is ``entry``, ``exit``, ``failure``; ``call`` (``expr`` is the call; it has no successor if it ends the process); ``test``
    (``expr``, or ``None`` where the pattern of a case takes its subject apart; edges ``true`` and ``false``); ``loop`` (``expr`` is
    the iterable; edges ``item`` and ``done``); ``enter`` and ``leave`` (``expr`` is the context of a ``with``); ``bind`` (an assignment,
    import, definition or ``del``); ``return``, ``raise``, ``yield`` (and ``await``); ``handlers`` (where an exception comes to, edges
    ``handler`` and ``unhandled``); ``handler`` (``expr`` is its type, or ``None``); ``join`` (nothing happens).

    ``next`` are the points that may follow, each with the label of the edge; ``fails`` is where an exception of this step goes.
    """

    index: int
    kind: str
    expr: ir.Expr | None
    statement: ir.Stmt | None
    at: ir.Position
    fails: int
    next: list[tuple[int, str]] = field(default_factory=list)


class ControlFlow:
    """The graph of one body. ``cut`` says that only a part of it is there, because the body is too long."""

    entry = ENTRY
    exit = EXIT
    failure = FAILURE

    def __init__(self, points: tuple[Point, ...], *, cut: bool) -> None:
        self.points = points
        self.cut = cut

    @cached_property
    def _calls(self) -> dict[ir.Position, tuple[int, ...]]:
        found: dict[ir.Position, list[int]] = {}
        for point in self.points:
            if point.kind == "call":
                found.setdefault(point.at, []).append(point.index)
        return {at: tuple(indices) for at, indices in found.items()}

    def of_call(self, at: ir.Position) -> tuple[int, ...]:
        """The points of a call: none if it is never reached, several where a ``finally`` body stands for several ways."""
        return self._calls.get(at, ())

    @cached_property
    def before(self) -> tuple[tuple[int, ...], ...]:
        """For each point those from which a normal edge leads to it."""
        found: list[list[int]] = [[] for _ in self.points]
        for point in self.points:
            for target, _ in point.next:
                found[target].append(point.index)
        return tuple(tuple(one) for one in found)

    @cached_property
    def _postdominators(self) -> tuple[int, ...]:
        order = self._from_the_end()
        position = {index: place for place, index in enumerate(order)}
        nearest = [-1] * len(self.points)
        nearest[EXIT] = EXIT
        changed = True
        while changed:
            changed = False
            for index in order[1:]:
                best = -1
                for target, _ in self.points[index].next:
                    if target in position and nearest[target] >= 0:
                        best = target if best < 0 else _common(nearest, position, best, target)
                if best >= 0 and nearest[index] != best:
                    nearest[index] = best
                    changed = True
        nearest[EXIT] = -1
        return tuple(nearest)

    def postdominators(self) -> tuple[int, ...]:
        """For each point the nearest one that every normal way from it to the end passes; -1 where no way leads to the end."""
        return self._postdominators

    def _from_the_end(self) -> list[int]:
        """The points from which the end can be reached, by normal edges, in reverse postorder of the reversed graph."""
        before = self.before
        seen = {EXIT}
        done: list[int] = []
        stack: list[tuple[int, int]] = [(EXIT, 0)]
        while stack:
            index, place = stack.pop()
            if place < len(before[index]):
                stack.append((index, place + 1))
                following = before[index][place]
                if following not in seen:
                    seen.add(following)
                    stack.append((following, 0))
            else:
                done.append(index)
        done.reverse()
        return done

    def reachable(self, starts: Iterable[int], *, failing: bool = False) -> frozenset[int]:
        """The points that can be reached from some others (these included); by exceptions too, if asked."""
        seen = set(starts)
        stack = sorted(seen)
        while stack:
            point = self.points[stack.pop()]
            following = [target for target, _ in point.next]
            if failing and point.fails >= 0:
                following.append(point.fails)
            for target in following:
                if target not in seen:
                    seen.add(target)
                    stack.append(target)
        return frozenset(seen)


def _common(nearest: list[int], position: dict[int, int], one: int, other: int) -> int:
    """The first point that the postdominators of two points share (Cooper, Harvey and Kennedy's walk)."""
    while one != other:
        while position[one] > position[other]:
            one = nearest[one]
        while position[other] > position[one]:
            other = nearest[other]
    return one
