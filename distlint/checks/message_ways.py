"""The ways that processes which pass messages may go, and on which of them what they do can be compared.

A test that is not known says something about messages only if all processes that pass any make the same one, or if the numbers that
one process computes by itself decide it: then that process may go either way, whatever the others do. A loop of which not all turns
are followed has to be one that makes as many turns on all of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from distlint.checks.message_rows import PASSING, Row, are_comparable, of_events, of_nodes
from distlint.checks.traces import places, settled
from distlint.rehearsal.performance import Performance
from distlint.rehearsal.stage import Event, Stage
from distlint.rehearsal.trace import (
    Attempt,
    Branch,
    Choice,
    End,
    Frame,
    Laps,
    Round,
    Waited,
    follow,
)

if TYPE_CHECKING:
    from distlint.rehearsal.trace import Step

MAX_WAYS = 24
"""Tests whose ways are gone through, of one performance."""

_ENDS = ("return", "continue", "break", "exit")
_NOTHING = dict.fromkeys(_ENDS, False)


class Way(NamedTuple):
    """What the processes do on one way: ``part`` is the test that sends one of them another way than usual, ``rank`` which one."""

    rows: list[Row]
    part: Branch | None = None
    rank: int = -1


class Telling:
    """Which tests and loops of a process decide about calls: they hold some, or lead past some."""

    def __init__(self, stage: Stage) -> None:
        self.found: dict[int, Branch | Round] = {}
        self._mark(stage.trace, _NOTHING)

    def _mark(self, nodes: list[Any], skipped: dict[str, bool]) -> bool:
        """Goes backwards through nodes; ``skipped`` says which ways to end leave calls out. Whether anything in them tells."""
        any_ = False
        for node in reversed(nodes):
            if isinstance(node, Event | Waited):
                found = True
            elif isinstance(node, End):
                found = skipped.get(node.kind, False)
            else:
                found = self._inside(node, skipped)
            if found:
                any_ = True
                skipped = dict.fromkeys(_ENDS, True)
        return any_

    def _inside(self, node: Any, skipped: dict[str, bool]) -> bool:
        if isinstance(node, Frame):
            return self._mark(node.body, {**_NOTHING, "exit": skipped["exit"]})
        if isinstance(node, Branch):
            found = self._any(node.arms, skipped)
        elif isinstance(node, Laps | Round):
            turns = node.turns if isinstance(node, Laps) else [node.body]
            inner = self._any(turns, {**skipped, "continue": False, "break": False})
            # where turns do something, leaving in one of them leaves the others out
            again = dict.fromkeys(_ENDS, inner)
            again["continue"] = False
            found = self._any(turns, again) or inner
        elif isinstance(node, Attempt):
            return self._any([node.body, *node.handlers, node.orelse, node.final], skipped)
        else:
            return False
        if found and isinstance(node, Branch | Round):
            self.found[id(node)] = node
        return found

    def _any(self, bodies: list[list[Any]], skipped: dict[str, bool]) -> bool:
        """Whether anything in some bodies tells, all of which are gone through."""
        return sum(self._mark(body, skipped) for body in bodies) > 0


class _Noted(Choice):
    """A choice that notes what it was asked for."""

    def __init__(self, arms: dict[Hashable, int]) -> None:
        super().__init__(arms, None, 0, settled)
        self.asked: dict[int, Branch | Round] = {}

    def arm(self, branch: Branch, reached: int) -> list[Any]:
        """The arm that is taken."""
        self.asked[id(branch)] = branch
        return super().arm(branch, reached)

    def number(self, loop: Round) -> int:
        """How many turns a loop makes."""
        self.asked[id(loop)] = loop
        return super().number(loop)


class _Line(NamedTuple):
    """What one process does on one way, and the tests and loops that decided about it."""

    row: Row
    telling: list[Branch | Round]


class Ways:
    """The ways of one performance."""

    def __init__(self, performance: Performance) -> None:
        self.performance = performance
        self.telling = [Telling(stage).found for stage in performance.stages]

    def loops(self, stage: Stage) -> frozenset[Hashable]:
        """What tells the number of turns of the loops of a process that decide about calls."""
        telling = self.telling[self.performance.stages.index(stage)]
        return frozenset(node.key for node in telling.values() if isinstance(node, Round))

    def usual(self) -> Iterator[Way]:
        """What certainly happens; where that is not certain, what happens on the usual way."""
        lines = [self._line(stage, {}, hidden=True) for stage in self.performance.stages]
        whole = [line for line in lines if line is not None]
        if len(whole) < len(lines) or not self._agree(whole, None):
            return
        rows = [of_events(stage) for stage in self.performance.stages]
        certain = [row for row in rows if row is not None]
        if len(certain) == len(rows) and are_comparable(certain):
            yield Way(certain)
        if all(self._line(stage, {}) is not None for stage in self.performance.stages):
            usual = [line.row for line in whole]
            if are_comparable(usual):
                yield Way(usual)

    def others(self) -> Iterator[Way]:
        """Ways on which one test goes another way: for all processes that make it, or for one where its own numbers decide."""
        count, seen = 0, set()
        for stage, telling in zip(self.performance.stages, self.telling, strict=True):
            for node, needed in places(stage.trace, {}, [0], idle=True):
                if id(node) not in telling or not isinstance(node, Branch) or node.fails:
                    continue
                own = self.decides_alone(node, stage)
                key = (node.key, stage.rank if own else -1)
                if key in seen:
                    continue
                seen.add(key)
                for arm in range(len(node.arms)):
                    count += 1
                    if count > MAX_WAYS:
                        return
                    way = self._way(node, stage.rank if own else None, needed, arm)
                    if way is not None:
                        yield way

    def decides_alone(self, branch: Branch, stage: Stage) -> bool:
        """Whether one process may go either way, whatever the others do."""
        if branch.source is not None:
            return True
        others = zip(self.performance.stages, self.telling, strict=True)
        shared = any(one.key == branch.key for other, found in others if other is not stage for one in found.values())
        return branch.measured and not shared

    def _way(self, node: Branch, rank: int | None, needed: dict[Hashable, int], arm: int) -> Way | None:
        found = []
        for stage in self.performance.stages:
            arms = needed if rank not in (None, stage.rank) else {**needed, node.key: arm}
            line = self._line(stage, arms)
            if line is None:
                return None
            found.append(line)
        rows = [line.row for line in found]
        if not are_comparable(rows) or not self._agree(found, node if rank is not None else None):
            return None
        return Way(rows, node, rank if rank is not None else -1)

    def _line(self, stage: Stage, arms: dict[Hashable, int], *, hidden: bool = False) -> _Line | None:
        """The line of a process; ``hidden`` calls that are not seen into may stand in it."""
        choice = _Noted(arms)
        nodes: list[Step] = []
        if follow(stage.trace, choice, nodes) in ("cut", "raise"):
            return None
        row = of_nodes(nodes, None if hidden else stage)
        telling = self.telling[self.performance.stages.index(stage)]
        return None if row is None else _Line(row, [one for key, one in choice.asked.items() if key in telling])

    def _agree(self, lines: list[_Line], own: Branch | None) -> bool:
        """Whether all processes that pass messages made the same tests and the same loops, but for one that decides alone."""
        passing = [line for line in lines if any(step.event.name in PASSING for step in line.row)]
        alone: list[tuple[Branch, int]] = []
        for number, line in enumerate(passing):
            for node in line.telling:
                if isinstance(node, Branch) and node.fails:
                    continue
                if node is not own and all(any(_twins(node, one) for one in other.telling) for other in passing):
                    continue
                if not isinstance(node, Branch) or (node.source is None and not node.measured):
                    return False
                alone.append((node, number))
        # tests of two processes at different places may be two sides of one: of what they compute alike, or told each other
        return all(
            one.span == two.span and one.chain == two.chain
            for one, first in alone
            for two, second in alone
            if first != second
        )


def _twins(one: Branch | Round, other: Branch | Round) -> bool:
    """Whether tests go the same way, or loops make as many turns."""
    if one is other or (type(one) is type(other) and one.key == other.key):
        return True
    return isinstance(one, Round) and isinstance(other, Round) and one.count is not None and one.count == other.count


def ways_of(performance: Performance) -> Iterator[Way]:
    """The ways that the processes may go, the usual one first; none where these cannot be compared."""
    ways = Ways(performance)
    usual = list(ways.usual())
    yield from usual
    if usual:
        yield from ways.others()
