"""Compares the ways of two ranks through the functions of a project, and finds where what they meet does not fit together.

Calls of one kind over one group meet each other wherever they stand, so that both arms of a test may hold them, and a rank that
waits at one place is let go by another's call at another. Only the first difference of two ways is a fault: what follows is shifted
by it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from distlint.checks.collectives import Operation
from distlint.checks.process_groups import Groups, covers
from distlint.checks.rank_failures import failing_calls
from distlint.checks.rank_paths import AbandonedError, Choices, Event, Parting, Walker, Way
from distlint.checks.rank_shapes import Shapes
from distlint.checks.rank_summaries import Summaries
from distlint.checks.rank_tests import PAIRS, PROCESSES, Failing, Tests
from distlint.link.modules import FunctionRef
from distlint.model.record import dataclass

if TYPE_CHECKING:
    from distlint.link.project import Project

MAX_COMBINATIONS = 32
"""Combinations of unknown tests that are gone through for one function and one reason."""

MAX_FOCUSES = 8
"""Tests of one function that differ for other reasons than the rank, and are looked at."""

MAX_FAILING = 8
"""Calls that may fail on some ranks only, of a body and of what it calls."""

MAX_STEPS = 25_000
"""Points that the ways through one function pass, all together."""

MAX_CIRCLING = 6
"""Functions that call each other have together the steps of so many: each is passed again on the ways through the others."""

MAX_LEVELS = 4
"""Callers of callers that are asked."""

MAX_CALLERS = 6
"""Callers of a function that may still put right what it leaves open."""


class Mismatch(NamedTuple):
    """Two ways that do not fit together: the function that was judged, where they part, and what each side meets next.

    ``ours`` and ``theirs`` are the events of the two sides from the first difference on; ``pair`` are the indices of the processes.
    """

    file: str
    function: int
    parting: Parting
    ours: tuple[Event, ...]
    theirs: tuple[Event, ...]
    pair: tuple[int, int]
    gone: tuple[bool, bool] = (False, False)
    """Whether the sides ended their process."""
    is_open: bool = False
    """Whether one side just has more to come, which a caller may answer."""
    extra: int = -1
    """The side that has calls which the other leaves out, where that is plain."""


@dataclass(slots=True, eq=False)
class _Budget:
    left: int = 0


class Meetings:
    """The mismatches of a project, over the operations that count."""

    def __init__(self, project: Project, operations: dict[tuple[str, int], Operation]) -> None:
        self._project = project
        self._shapes = Shapes(project, operations)
        self._tests = Tests(project)
        self._groups = Groups.of_project(project)
        self._main_only = frozenset(name for one in project.specs for name in one.main_only)
        self._budget = _Budget()
        self._circling = {
            ref: shared
            for component in self._shapes.cone.components
            if len(component) > 1
            for shared in [_Budget(MAX_STEPS * min(len(component), MAX_CIRCLING))]
            for ref in component
        }
        self._summaries = Summaries(project, self._shapes, self._tests, self._plain_events, self._may_fail)
        self._fails: dict[tuple[str, int], tuple[Failing, ...]] = {}
        self._judged: dict[tuple[str, int], tuple[Mismatch, ...]] = {}

    def mismatches(self) -> Iterator[Mismatch]:
        """All mismatches, callees before their callers, each fault once."""
        said: set[tuple[object, ...]] = set()
        for file, function in self._shapes.roots():
            for one in self.of(file, function):
                first = (one.ours or one.theirs)[0].operation.key
                key = (one.parting.file, one.parting.at, first)
                if key in said or self._is_answered(one):
                    continue
                said.add(key)
                yield one

    def of(self, file: str, function: int) -> tuple[Mismatch, ...]:
        """The mismatches of the ways through one body and what it calls."""
        key = (file, function)
        if key not in self._judged:
            self._judged[key] = ()
            self._judged[key] = tuple(self._judge(file, function))
        return self._judged[key]

    def _judge(self, file: str, function: int) -> Iterator[Mismatch]:
        if not self._summaries.parts(file, function):
            return
        self._budget = self._circling.get(FunctionRef(file, function)) or _Budget(MAX_STEPS)
        found: dict[tuple[object, ...], Mismatch] = {}
        splits: dict[tuple[str, int], Parting] = {}
        for number, pair in enumerate(PAIRS):
            if number and not self._parts_otherwise(file, function, pair):
                continue
            self._go_through(file, function, pair, None, found, splits)
        for place in list(splits)[:MAX_FOCUSES]:
            for flipped in (False, True):
                self._go_through(file, function, PAIRS[0], place, found, {}, flipped=flipped)
        for where, one in self._failing_in(file, function):
            for flipped in (False, True):
                self._go_through(file, function, PAIRS[0], (where, one.at), found, {}, flipped=flipped, failing=one)
        yield from found.values()

    def _may_fail(self, file: str, function: int) -> bool:
        """Whether a body handles a call that may fail on some ranks only."""
        return bool(self._failing(file, function))

    def _failing(self, file: str, function: int) -> tuple[Failing, ...]:
        """The calls of a body that may fail on some ranks only."""
        key = (file, function)
        if key not in self._fails:
            # what comes to no collective fails as a whole, for whoever calls it
            leads = function < 0 or FunctionRef(file, function) in self._shapes.cone
            shape = self._shapes.of(file, function) if leads else None
            found = failing_calls(self._project, shape, file, function) if shape is not None else ()
            self._fails[key] = tuple(found)
        return self._fails[key]

    def _failing_in(self, file: str, function: int) -> list[tuple[str, Failing]]:
        """Those of a body, and of what it calls."""
        found: list[tuple[str, Failing]] = []
        seen = {(file, function)}
        stack = [(file, function)]
        while stack and len(found) < MAX_FAILING:
            one = stack.pop()
            found += [(one[0], failing) for failing in self._failing(*one)]
            shape = self._shapes.of(*one)
            steps = shape.steps.values() if shape is not None else ()
            inner = [(edge.target.file, edge.target.index) for each in steps for step in each for edge in step.edges]
            more = [each for each in dict.fromkeys(inner) if each not in seen]
            seen.update(more)
            stack += more
        return found

    def _plain_events(self, file: str, function: int) -> tuple[Event, ...] | None:
        """What every rank meets in a body that all pass alike, where it comes to its end."""
        walker = Walker(
            self._project,
            self._shapes,
            self._tests,
            PAIRS[0],
            0,
            Choices(),
            None,
            False,
            self._main_only,
            self._summaries,
        )
        try:
            way = walker.follow(file, function)
        except AbandonedError:
            return None
        return tuple(way.events) if way.ended == "end" else None

    def _parts_otherwise(self, file: str, function: int, pair: tuple[int, int]) -> bool:
        """Whether some test of the body parts the processes of a pair, but not those of the first one."""
        shape = self._shapes.of(file, function)
        if shape is None:
            return False
        from distlint.checks.rank_tests import Frame

        frame = Frame(file, function)
        for index in sorted(shape.relevant):
            point = shape.flow.points[index]
            if point.kind == "test":
                decision = self._tests.decide(point.expr, frame)
                if decision.parts(pair) and not decision.parts(PAIRS[0]):
                    return True
        return False

    def _go_through(
        self,
        file: str,
        function: int,
        pair: tuple[int, int],
        focus: tuple[str, int] | None,
        found: dict[tuple[object, ...], Mismatch],
        splits: dict[tuple[str, int], Parting],
        *,
        flipped: bool = False,
        failing: Failing | None = None,
    ) -> None:
        """Compares both sides for one combination of what is not known after the other."""
        choices: Choices | None = Choices()
        for _ in range(MAX_COMBINATIONS):
            if choices is None or self._budget.left <= 0:
                return
            sides = [
                Walker(
                    self._project,
                    self._shapes,
                    self._tests,
                    pair,
                    side,
                    choices,
                    focus,
                    flipped,
                    self._main_only,
                    self._summaries,
                    failing,
                )
                for side in (0, 1)
            ]
            try:
                ways = [walker.follow(file, function) for walker in sides]
            except AbandonedError:
                choices = choices.following()
                continue
            finally:
                self._budget.left -= sum(walker.steps for walker in sides)
            splits.update(ways[0].split | ways[1].split)
            if not ways[0].partings and not ways[1].partings:
                if not choices.order:
                    return
                choices = choices.following()
                continue
            one = self._compare(file, function, ways[0], ways[1], pair, focus)
            if one is not None:
                first = (one.ours or one.theirs)[0].operation.key
                found.setdefault((one.parting.file, one.parting.at, first), one)
            choices = choices.following()

    def _compare(
        self, file: str, function: int, one: Way, other: Way, pair: tuple[int, int], focus: tuple[str, int] | None
    ) -> Mismatch | None:
        ranks = (PROCESSES[pair[0]].rank, PROCESSES[pair[1]].rank)
        ours, theirs = self._counting(one, ranks), self._counting(other, ranks)
        index = 0
        while index < len(ours) and index < len(theirs) and self._meet(ours[index][1], theirs[index][1]):
            index += 1
        if index == len(ours) and index == len(theirs):
            return None
        if "failure" in (one.ended if index == len(ours) else "", other.ended if index == len(theirs) else ""):
            return None
        is_open = index in (len(ours), len(theirs))
        parted = [count for count, parting in one.partings if (parting.file, parting.at) == focus][:1]
        if focus is not None and not parted:
            return None
        after = sum(1 for place, _ in ours if place < parted[0]) if parted else 0
        extra, start = self._inserted(ours, theirs, after)
        if extra >= 0:
            index = start
        before = (
            ours[index][0] if index < len(ours) else len(one.events),
            theirs[index][0] if index < len(theirs) else len(other.events),
        )
        parting = self._responsible(one, other, before, focus)
        if parting is None:
            return None
        return Mismatch(
            file,
            function,
            parting,
            tuple(event for _, event in ours[index:]),
            tuple(event for _, event in theirs[index:]),
            pair,
            (one.ended == "gone", other.ended == "gone"),
            is_open,
            extra,
        )

    def _counting(self, way: Way, ranks: tuple[int, int]) -> list[tuple[int, Event]]:
        """The events that both processes take part in, with their places among all."""
        return [
            (place, event)
            for place, event in enumerate(way.events)
            if not event.uneven and covers(self._groups.of(event.operation), ranks)
        ]

    def _meet(self, one: Event, other: Event) -> bool:
        if one.operation.key == other.operation.key:
            return True
        if one.operation.spec.kind != other.operation.spec.kind:
            return False
        mine, yours = self._groups.of(one.operation), self._groups.of(other.operation)
        return mine is None or yours is None or mine.made == yours.made

    def _responsible(
        self, one: Way, other: Way, before: tuple[int, int], focus: tuple[str, int] | None
    ) -> Parting | None:
        """The last place where the sides parted before they differ; what only one of them comes to lies behind that."""
        places = [{(parting.file, parting.at) for _, parting in way.partings} for way in (one, other)]
        passed = [
            (count, place, parting.kind == "exception", parting)
            for way, limit in ((one, before[0]), (other, before[1]))
            for place, (count, parting) in enumerate(way.partings)
            if count <= limit
            and (parting.file, parting.at) in places[0] & places[1]
            and focus in (None, (parting.file, parting.at))
        ]
        return max(passed, key=lambda item: item[:3])[3] if passed else None

    def _inserted(self, ours: list[tuple[int, Event]], theirs: list[tuple[int, Event]], after: int) -> tuple[int, int]:
        """The side that has some calls in one place that the other leaves out, and where; (-1, 0) if the ways differ otherwise.

        The place is tried where the sides part, behind so many events, and where other calls than before come first.
        """
        more = len(ours) - len(theirs)
        if not more:
            return -1, 0
        side, longer, shorter = (0, ours, theirs) if more > 0 else (1, theirs, ours)
        keys = [[event.operation.key for _, event in way] for way in (longer, shorter)]
        first = next((i for i, key in enumerate(keys[1]) if key != keys[0][i]), len(shorter))
        for start in (first, after):
            rest = zip(longer[start + abs(more) :], shorter[start:], strict=False)
            if start <= len(shorter) and all(self._meet(one[1], other[1]) for one, other in rest):
                return side, start
        return -1, 0

    def _is_answered(self, one: Mismatch, inner: frozenset[FunctionRef] = frozenset()) -> bool:
        """Whether what a function leaves open is met by what another rank does in its callers, or in theirs.

        ``inner`` are the functions that were asked about already on the way out.
        """
        if not one.is_open or one.function < 0 or any(one.gone):
            return False
        own = FunctionRef(one.file, one.function)
        if own in inner or len(inner) > MAX_LEVELS:
            return False
        wanted = (one.ours or one.theirs)[0].operation.key
        callers = self._project.call_graph.callers(FunctionRef(one.file, one.function))
        answered = False
        for edge in callers[:MAX_CALLERS]:
            if edge.how == "callback" or self._shapes.of(edge.file, edge.function) is None:
                return False
            inside = self.of(edge.file, edge.function)
            same = [two for two in inside if wanted in {event.operation.key for event in (*two.ours, *two.theirs)}]
            if not all(self._is_answered(two, inner | {own}) for two in same):
                return False
            answered = True
        return answered
