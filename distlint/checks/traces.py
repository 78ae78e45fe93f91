"""Where the traces of two processes of a rehearsal part and their collectives no longer meet.

Two lines of events are compared: those of two processes on the same way through every test that is not known (they part where the rank
is tested), or those of one process on the two ways of a test that differs between processes. Messages between two processes are
others' business (``meeting_messages``), and so are groups with members that we don't know.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from distlint.checks.rank_tests import mode_of, names_a_mode
from distlint.checks.trace_agreements import agreed
from distlint.checks.trace_limits import has_limit, limited_unlike
from distlint.checks.trace_lines import Clash, Line, Part, clash_of, counts
from distlint.checks.trace_orders import told
from distlint.rehearsal.failing import ENDING
from distlint.rehearsal.joined_tests import Joins
from distlint.rehearsal.performance import Performance
from distlint.rehearsal.stage import Event, Stage
from distlint.rehearsal.trace import (
    MAYBE,
    TURNS,
    Attempt,
    Branch,
    Choice,
    End,
    Frame,
    Laps,
    Round,
    follow,
    is_idle,
)

if TYPE_CHECKING:
    from distlint.link.project import Project
    from distlint.rehearsal.trace import Step

MAX_PLACES = 60
"""Tests and loops that are looked at in one trace."""

MAX_NODES = 6_000

MAX_LOOKED = 400_000
"""Nodes of the trace of one process that are gone through for all ways together."""

USUAL_TURNS = 4
"""How often the nodes of a trace are passed where loops lie in others as they usually do."""


class Compared(NamedTuple):
    """Events that do not meet, each place once, and whether all was looked at: where it was not, no clash says little.

    ``told`` are the calls that only some processes come to, in programs in which what others have sent says who does what.
    """

    clashes: tuple[Clash, ...]
    whole: bool
    told: frozenset[tuple[str, int]] = frozenset()


Place = tuple[Branch | Round, dict[Hashable, int]]
"""A test or loop of a trace, and the arms that lead there."""


class _EveryComparison(dict[tuple[str, int, int, bool], Compared]):
    """What was compared, by the file, the function and the number of processes."""


def compared(project: Project, performance: Performance) -> Compared:
    """What the comparison of a performance's processes shows, worked out once."""
    kept: _EveryComparison = project.kept.setdefault(_EveryComparison, _EveryComparison())
    key = (performance.file, performance.function, performance.world, performance.usual)
    if key not in kept:
        comparison = Comparison(performance)
        seen: dict[tuple[str, int], Clash] = {}
        for found in (*comparison.between_ways(), *comparison.between_ranks()):
            place, beside = _call_of(found.event), _call_of(found.other)
            if beside in seen and _call_of(seen[beside].other) == place and seen[beside].different:
                continue  # the same two calls, seen from the other side
            seen.setdefault(place, found)
        kept[key] = Compared((*seen.values(),), comparison.whole, comparison.told_calls())
    return kept[key]


def _call_of(event: Event | None) -> tuple[str, int]:
    return (event.file, event.call.at) if event is not None else ("", -1)


def settled(branch: Branch) -> int | None:
    """The arm that a job of several processes takes of a test that asks whether there are several; ``MAYBE`` where it may ask that."""
    done, arm = branch.known
    if not done:
        # a test lies on most of the hundreds of ways through a trace
        arm = _settled(branch)
        branch.known = (True, arm)
    return arm


def _settled(branch: Branch) -> int | None:
    if branch.source is not None:
        return None
    mode = mode_of(branch.test)
    if mode is True:
        return 0
    return MAYBE if mode is not None and names_a_mode(branch.test) else None


class Comparison:
    """The comparison of one performance. ``whole`` says that no budget was spent so far.

    With ``files`` lines hold what a process does with files too, and tests behind which nothing else happens are looked at.
    """

    def __init__(self, performance: Performance, *, files: bool = False) -> None:
        self.performance = performance
        self.files = files
        self.whole = True
        self._joins = Joins(performance.stages)
        self._looked: dict[int, int] = {}
        self._of_stages: dict[int, list[Branch | Round]] = {}
        self._of_pairs: dict[tuple[int, int], frozenset[int]] = {}

    # One process, a test that differs ---------------------------------------------------------------------------------

    def between_ways(self) -> Iterator[Clash]:
        """One process, and a test that differs: what one of its ways comes to, and the other not."""
        for stage in self.performance.stages[:2]:
            met_anyway = agreed(stage.trace)
            for node, needed in self._some(place for place in self._places(stage) if place[0].source is not None):
                assert node.source is not None  # noqa: S101 - chosen so
                if id(node) in met_anyway or self._is_alone(stage, node):
                    continue
                fails = isinstance(node, Branch) and bool(node.fails)
                turns = isinstance(node, Round) or node.fails == ENDING
                part = Part(node.span, node.chain, node.source.why, node.source.span, turns, fails and not turns)
                for usual in (0, 1):
                    found = self._of_place(stage, node, needed, usual, part)
                    if found is not None:
                        yield found
                        break

    def _is_alone(self, stage: Stage, node: Branch | Round) -> bool:
        """Whether only the first process makes a test, and may tell the others what follows: its two ways are none of two processes.

        What it tells each of the others, so that they take different ways, it knows as well.
        """
        if stage.rank and id(node) in self._told(self.performance.stages[0], stage):
            return True
        others = [one for one in self.performance.stages if one is not stage]
        if stage.rank or not others or not all(self._told(stage, other) for other in others):
            return False
        place = (node.span, node.chain)
        return not any((one.span, one.chain) == place for other in others for one in self._tests(other))

    def _of_place(
        self, stage: Stage, node: Branch | Round, needed: dict[Hashable, int], usual: int, part: Part
    ) -> Clash | None:
        if isinstance(node, Round):
            if has_limit(node.body):
                return None
            lines = [self._line(stage, self._choice(needed, {node.key: turns}, usual)) for turns in (TURNS, TURNS - 1)]
            return clash_of(lines[0], lines[1], stage.rank, stage.rank, stage, part)
        if node.fails:
            return self._of_failure(stage, node, needed, usual, part)
        lines = [
            self._line(stage, self._choice({**needed, node.key: arm}, None, usual)) for arm in range(len(node.arms))
        ]
        for one in range(len(lines)):
            for other in range(one + 1, len(lines)):
                found = clash_of(lines[one], lines[other], stage.rank, stage.rank, stage, part)
                if found is not None:
                    return self._of_raised(stage, node, lines, found) or found
        return None

    def _of_raised(self, stage: Stage, node: Branch, lines: list[Line], found: Clash) -> Clash | None:
        """The same clash where one way of a test raises an exception that some handler takes, and that leads past an operation."""
        raising = [_raises(arm) for arm in node.arms]
        if len(lines) != 2 or raising[0] is raising[1] or found.part is None:
            return None
        usually, failed = lines if raising[1] else lines[::-1]
        again = clash_of(usually, failed, stage.rank, stage.rank, stage, found.part._replace(fails=True))
        is_left_out = again is not None and any(again.event is event for event in usually.events)
        return again if is_left_out else None

    def _of_failure(
        self, stage: Stage, node: Branch, needed: dict[Hashable, int], usual: int, part: Part
    ) -> Clash | None:
        """An exception that one process meets once, and goes on behind it: to others that the rest come to, not to its end."""
        choice = self._choice({**needed, node.key: 1}, None, usual)
        usually, failed = self._line(stage, self._choice(needed, None, usual)), self._line(stage, choice)
        if choice.failed is None:
            return None
        later = any(counts(one, stage.rank, stage.rank) for one in failed.events[choice.failed :])
        if not later and node.fails != ENDING:
            return None
        return clash_of(usually, failed, stage.rank, stage.rank, stage, part)

    # Two processes ----------------------------------------------------------------------------------------------------

    def between_ranks(self) -> Iterator[Clash]:
        """Two processes, on the same way through all that is not known."""
        first, *others = self.performance.stages
        for other in others:
            clashes = (self._of_ranks(first, other, *choice) for choice in self._choices(first, other))
            found = [clash for clash in clashes if clash is not None]
            if found and not limited_unlike(first, other):
                yield from found

    def lines_of_two(self) -> Iterator[tuple[Stage, Stage, Line, Line]]:
        """The lines of rank 0 and of another process, on the same ways through all that is not known."""
        first, *others = self.performance.stages
        for other in others:
            for arms, usual in self._choices(first, other):
                lines = [self._line(stage, self._choice(arms, None, usual)) for stage in (first, other)]
                yield first, other, lines[0], lines[1]

    def _choices(self, first: Stage, other: Stage) -> Iterator[tuple[dict[Hashable, int], int]]:
        """Ways through tests that are not known: the usual ones, and each that a single test opens."""
        yield {}, 0
        yield {}, 1
        seen = set()
        rows = [
            [*self._some(place for place in self._places(stage) if isinstance(place[0], Branch))]
            for stage in (first, other)
        ]
        met_anyway = agreed(first.trace) | agreed(other.trace)
        for row, theirs in zip(rows, reversed(rows), strict=True):
            keys = {(node.span, node.chain): node.key for node, _ in theirs}
            for node, needed in row:
                assert isinstance(node, Branch)  # noqa: S101 - chosen so
                if id(node) in met_anyway or (
                    _takes_turns(node, row) and keys.get((node.span, node.chain), node.key) != node.key
                ):
                    continue
                for arm in range(len(node.arms)):
                    if (node.key, arm) not in seen:
                        seen.add((node.key, arm))
                        yield {**needed, node.key: arm}, 0

    def _of_ranks(self, first: Stage, other: Stage, arms: dict[Hashable, int], usual: int) -> Clash | None:
        ends = self._told(first, other)
        choices = [self._choice(arms, None, usual, ends), self._choice(arms, None, usual, ends)]
        lines = [self._line(stage, choice) for stage, choice in zip((first, other), choices, strict=True)]
        more = _more_turns(*choices)
        if any(more):
            choices = [self._choice(arms, turns, usual, ends) for turns in more]
            lines = [self._line(stage, choice) for stage, choice in zip((first, other), choices, strict=True)]
        return clash_of(lines[0], lines[1], first.rank, other.rank, first, None)

    # Lines ------------------------------------------------------------------------------------------------------------

    def _choice(
        self,
        arms: dict[Hashable, int],
        turns: dict[Hashable, int] | None,
        usual: int,
        ends: frozenset[int] = frozenset(),
    ) -> Choice:
        return Choice(self._joins.followed(arms), turns, usual, settled, files=self.files, told=ends)

    def _told(self, first: Stage, other: Stage) -> frozenset[int]:
        """What others have sent decides these tests and loops (by ``id``) of two processes, in a way that we don't know."""
        pair = (first.rank, other.rank)
        if pair not in self._of_pairs:
            self._of_pairs[pair] = told((first, self._tests(first)), (other, self._tests(other)))
        return self._of_pairs[pair]

    def told_calls(self) -> frozenset[tuple[str, int]]:
        """The calls of operations that only one of two processes comes to, where one may tell the other what to do next."""
        first, *others = self.performance.stages
        found: set[tuple[str, int]] = set()
        for other in others:
            if self._told(first, other):
                ways = [{event.place for event in stage.events} for stage in (first, other)]
                found |= {(file, at) for file, at, _ in ways[0] ^ ways[1]}
        return frozenset(found)

    def _tests(self, stage: Stage) -> list[Branch | Round]:
        """The tests and loops of a process behind which something happens."""
        if stage.rank not in self._of_stages:
            self._of_stages[stage.rank] = [node for node, _ in places(stage.trace, {}, [0], idle=self.files)]
        return self._of_stages[stage.rank]

    def _line(self, stage: Stage, choice: Choice) -> Line:
        events: list[Step] = []
        looked = self._looked.get(stage.rank, 0) + stage.grown
        ended = follow(stage.trace, choice, events) if looked <= MAX_LOOKED else "cut"
        # loops are passed several times: those in a few others for nothing
        self._looked[stage.rank] = looked + max(0, choice.passed - USUAL_TURNS * stage.grown)
        self.whole = self.whole and ended != "cut"
        return Line(events, ended)

    def _places(self, stage: Stage) -> Iterator[Place]:
        """The tests and loops of a trace, as far as we go, each with the arms that lead there."""
        count = [0]
        yield from places(stage.trace, {}, count, idle=self.files)
        self.whole = self.whole and count[0] <= MAX_NODES

    def _some(self, places: Iterable[Place]) -> Iterator[Place]:
        """As many of these as we look at."""
        for number, place in enumerate(places):
            if number == MAX_PLACES:
                self.whole = False
                return
            yield place


def _takes_turns(node: Branch, row: list[Place]) -> bool:
    """Whether a test leaves out items of a loop that are another process's, and no other test leaves out some of the rest.

    Such a test asks each process something else, and all of them keep as many items, as far as we know.
    """
    if node.source is not None or not _skips(node):
        return False
    return not any(
        other is not node and isinstance(other, Branch) and _skips(other) and other.chain == node.chain
        for other, _ in row
    )


def _raises(arm: list[Any]) -> bool:
    return bool(arm) and isinstance(arm[-1], End) and arm[-1].kind == "raise"


def _skips(node: Branch) -> bool:
    return any(bool(arm) and isinstance(arm[-1], End) and arm[-1].kind == "continue" for arm in node.arms)


def places(nodes: list[Any], needed: dict[Hashable, int], count: list[int], *, idle: bool) -> Iterator[Place]:
    """The tests and loops of a trace, each with the arms that lead there; ``count`` holds the number of nodes so far."""
    for node in nodes:
        count[0] += 1
        if count[0] > MAX_NODES:
            return
        if not idle and is_idle(node):
            continue
        if isinstance(node, Branch):
            yield node, needed
            for number, arm in enumerate(node.arms):
                yield from places(arm, {**needed, node.key: number}, count, idle=idle)
        elif isinstance(node, Round):
            yield node, needed
            yield from places(node.body, needed, count, idle=idle)
        elif isinstance(node, Frame):
            yield from places(node.body, needed, count, idle=idle)
        elif isinstance(node, Laps):
            for turn in node.turns:
                yield from places(turn, needed, count, idle=idle)
        elif isinstance(node, Attempt):
            for inner in (node.body, *node.handlers, node.orelse, node.final):
                yield from places(inner, needed, count, idle=idle)


def _more_turns(one: Choice, other: Choice) -> tuple[dict[Hashable, int], dict[Hashable, int]]:
    """Loops of which one process is known to make more turns than the other."""
    more: tuple[dict[Hashable, int], dict[Hashable, int]] = ({}, {})
    for key, loop in one.rounds.items():
        again = other.rounds.get(key)
        if again is None or loop.count is None or again.count is None or loop.count == again.count:
            continue
        if not has_limit(loop.body):
            more[0 if loop.count > again.count else 1][key] = TURNS + 1
    return more
