"""Goes through a program with a protocol in hand: which states an object may be in at each step, and which faults are certain.

A fault counts only if nothing else can happen: either every way to the event leads through a bad state (under the same results of the
tests that decide about it), or every way on from the event that brought the bad state leads to the fault.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from distlint.checks.protocol_events import LOST, Events, Met
from distlint.checks.protocol_model import Fault, Move, Protocol, State
from distlint.checks.protocol_tests import Results, Tests
from distlint.link.walking import below, expressions_of, statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.abstract import Frame
    from distlint.link.program import Program, Step

MAX_NODES = 12_000
"""Steps with a state that are looked at for one object; beyond, nothing is said."""

UNBORN: State = ("", "unborn")
GONE: State = ("", "lost")

DOUBT = "?"
"""The value of a variable that an event may or may not have changed: no condition holds for it."""

Moved = tuple[tuple[int, "Move | None"], ...]
"""The variables that an event gave a value, with what says so."""


class Node(NamedTuple):
    """A step, the state before it, and the results of tests on the way."""

    step: int
    state: State
    results: Results


class Hit(NamedTuple):
    """A certain fault: the event, the step, and for each variable the step whose event gave it its value."""

    fault: Fault
    met: Met
    step: int
    moved: dict[int, tuple[int, Move | None]]


class _Way(NamedTuple):
    """One way on from a node: what happened, and where it leads."""

    to: Node
    acted: bool
    sure: bool
    hits: tuple[tuple[Fault, Met], ...]
    moved: Moved


class _Told(NamedTuple):
    """A test about the state: it gives ``holds`` where the state fits, and the opposite else; ``None``: nobody knows what it gives."""

    when: object
    holds: bool


class Walk:
    """The states of one object in one program."""

    def __init__(self, protocol: Protocol, program: Program, events: Events, tests: Tests) -> None:
        self._protocol = protocol
        self._steps = program.steps
        self._end = program.end
        self._calls = program.calls
        self._heads: dict[int, list[int]] = {}
        for step in program.steps:
            if step.point.kind == "loop":
                self._heads.setdefault(id(step.frame), []).append(step.index)
        self._tests = tests
        self._events = events
        self._met: dict[int, list[Met]] = {}
        self._asked: dict[int, _Told | None] = {}
        self._ways: dict[Node, list[_Way]] = {}
        self._parents: dict[Node, tuple[Node, _Way]] = {}
        self._loops: dict[int, list[list[int]]] = {}
        self._ending: set[int] | None = None
        self._between: dict[int, tuple[int | None, bool | None]] = {}
        self.cut = False

    def hits(self) -> Iterator[Hit]:
        """The certain faults, each event once."""
        self._explore()
        if self.cut:
            return
        seen: set[tuple[int, str]] = set()
        certain = {**self._before(), **self._after(), **self._always(), **self._in_rounds()}
        for (node, fault), met in sorted(certain.items(), key=lambda one: (one[0][0].step, one[0][1].message)):
            if (node.step, fault.message) not in seen:
                seen.add((node.step, fault.message))
                yield Hit(fault, met, node.step, self._moved(node))

    # States ----------------------------------------------------------------------------------------------------------

    def _explore(self) -> None:
        # what is known by the calls that get it may be made where the program is not followed
        born = self._protocol.program or self._protocol.given_to
        start = Node(0, self._protocol.start if born else UNBORN, ())
        queue = deque([start])
        seen = {start}
        while queue:
            node = queue.popleft()
            ways = self._ways[node] = list(self._ways_on(node))
            for way in ways:
                if way.to not in seen:
                    if len(seen) >= MAX_NODES:
                        self.cut = True
                        return
                    seen.add(way.to)
                    self._parents[way.to] = (node, way)
                    queue.append(way.to)

    def met(self, step: int) -> list[Met]:
        """The events of a step."""
        if step not in self._met:
            found = self._events.at(self._steps[step])
            if step == self._end:
                found = [*found, Met("end", certain=True)]
            self._met[step] = found
        return self._met[step]

    def _ways_on(self, node: Node) -> Iterator[_Way]:
        step = self._steps[node.step]
        outcomes: list[tuple[State, Results, bool, bool, tuple[tuple[Fault, Met], ...], Moved]]
        outcomes = [(node.state, node.results, False, True, (), ())]
        for met in self.met(node.step):
            following = []
            for state, results, acted, sure, hits, moved in outcomes:
                for after, known, did, certain in self._applied(met, state, results):
                    if after is None:
                        continue
                    new, faults, by = after
                    following.append((new, known, acted or did, sure and certain, (*hits, *faults), (*moved, *by)))
            outcomes = following
        if step.fails >= 0 and step.point.kind in ("call", "raise", "enter", "test", "bind"):
            yield _Way(Node(step.fails, node.state, node.results), False, True, (), ())
        test = step.point.expr if step.point.kind == "test" else None
        told = self._told(step) if self._protocol.tells and test is not None else None
        for state, results, acted, sure, hits, moved in outcomes:
            if hits and self._protocol.stops:
                yield _Way(Node(self._end, GONE, results), acted, sure, hits, moved)
                continue
            if not step.next and (acted or hits):
                yield (
                    _Way(Node(self._end, state, results), acted, sure, hits, moved)
                    if node.step != self._end
                    else _Way(node, acted, sure, hits, moved)
                )
            for target, label in step.next:
                here = state
                if told is not None and state not in (UNBORN, GONE):
                    if told.when is None:
                        here = GONE
                    elif label in ("true", "false") and (label == "true") is not (
                        _fits(told.when, state) is told.holds
                    ):
                        continue
                for known in self._tests.after(step, label, results):
                    if test is None or label not in ("true", "false"):
                        yield _Way(Node(target, here, known), acted, sure, hits, moved)
                        continue
                    for holds, told_now in self._tests.outcomes(test, step.frame, known):
                        if holds is None or holds is (label == "true"):
                            yield _Way(Node(target, here, told_now), acted, sure, hits, moved)

    def _told(self, step: Step) -> _Told | None:
        """What a test says of the state, where it asks for that; the same in each of the many states that come to it."""
        if step.index not in self._asked:
            self._asked[step.index] = self._told_anew(step)
        return self._asked[step.index]

    def _told_anew(self, step: Step) -> _Told | None:
        expr, holds = step.point.expr, True
        while isinstance(expr, ir.Operation) and expr.operators == ("not",):
            expr, holds = expr.operands[0], not holds
        if expr is None:
            return None
        asked = self._events.asked(expr, step.frame)
        if asked == "":
            return None
        return _Told(self._protocol.tells.get(asked), holds)

    def _applied(
        self, met: Met, state: State, results: Results
    ) -> Iterator[
        tuple[
            tuple[State, tuple[tuple[Fault, Met], ...], Moved] | None,
            Results,
            bool,
            bool,
        ]
    ]:
        """What an event makes of a state: the new state with faults and changed variables, what is known now, whether it acted."""
        happens: tuple[bool, ...] = (True,) if met.certain else (True, False)
        if met.guard:
            doubtful = False
            for holds, now in self._guarded(met, results):
                if holds is None:
                    doubtful = True
                elif holds:
                    yield self._event(met, state), now, self._acts(met, state), True
                else:
                    yield (state, (), ()), now, False, True
            if not doubtful:
                return
            happens = (True, False)
        if len(happens) > 1 and self._acts(met, state):
            # what rests on something that may not have happened is no certain fault
            done = self._event(met, state)
            if done is not None and len(done[0]) == len(state) and done[0] != GONE:
                both = tuple(one if one == other else DOUBT for one, other in zip(state, done[0], strict=True))
                yield (both, (), ()), results, True, False
            else:
                yield (GONE, (), ()), results, True, False
            return
        for one in happens:
            if one:
                yield self._event(met, state), results, self._acts(met, state), len(happens) == 1
            else:
                yield (state, (), ()), results, self._acts(met, state), False

    def _guarded(self, met: Met, results: Results) -> list[tuple[bool | None, Results]]:
        """Whether the tests let an event happen, with what is known of tests then."""
        ways: list[tuple[bool | None, Results]] = [(True, results)]
        for expr, frame, wanted in met.guard:
            following: list[tuple[bool | None, Results]] = []
            for so_far, known in ways:
                if so_far is False:
                    following.append((so_far, known))
                    continue
                for holds, now in self._tests.outcomes(expr, frame, known):
                    result = None if holds is None else holds is wanted
                    following.append((so_far if result else result, now))
            ways = following
        return ways

    def _event(self, met: Met, state: State) -> tuple[State, tuple[tuple[Fault, Met], ...], Moved] | None:
        if met.event == "made":
            after, _, moved = self._moves_on("made", self._protocol.start)
            return after, (), moved or tuple((index, None) for index in range(len(after)))
        if met.event == LOST:
            return (GONE if state != UNBORN else state), (), ()
        if state == UNBORN:
            # it has not been made on this way, so the program would fail here if it came along it
            return (state, (), ()) if met.event == "end" or not met.own else None
        if state == GONE:
            return state, (), ()
        faults = tuple(
            (fault, met) for fault in self._protocol.faults if fault.event == met.event and _fits(fault.when, state)
        )
        after, _, moved = self._moves_on(met.event, state)
        return after, faults, moved

    def _moves_on(self, event: str, state: State) -> tuple[State, tuple[tuple[Fault, Met], ...], Moved]:
        for move in self._protocol.moves:
            if move.event != event:
                continue
            if not _fits(move.when, state) and _may_fit(move.when, state):
                doubtful = tuple(DOUBT if index in move.set else one for index, one in enumerate(state))
                return doubtful, (), ()
            if _fits(move.when, state):
                changed = list(state)
                for index, value in move.set.items():
                    changed[index] = value
                return tuple(changed), (), tuple((index, move) for index in move.set)
        return state, (), ()

    def _acts(self, met: Met, state: State) -> bool:
        """Whether an event changes a state, or is a fault in it."""
        done = self._event(met, state)
        return done is not None and (done[0] != state or bool(done[1]))

    # Certainty -------------------------------------------------------------------------------------------------------

    def _before(self) -> dict[tuple[Node, Fault], Met]:
        """The faults to which every way leads through a bad state, under the same results of tests."""
        groups: dict[tuple[int, Results], list[Node]] = {}
        for node in self._ways:
            if any(met.event != LOST for met in self.met(node.step)):
                known = node.results if self._tests.tells(self._steps[node.step]) else ()
                groups.setdefault((node.step, known), []).append(node)
        found: dict[tuple[Node, Fault], Met] = {}
        for nodes in groups.values():
            common: dict[tuple[str, str], tuple[Node, Fault, Met]] | None = None
            for node in nodes:
                ways = self._ways[node]
                if not ways:
                    continue
                here: dict[tuple[str, str], tuple[Node, Fault, Met]] = {}
                if all(way.sure for way in ways):
                    for way in ways:
                        here.update(
                            {
                                (fault.event, fault.message): (node, fault, met)
                                for fault, met in way.hits
                                if fault.ways in ("either", "before")
                            }
                        )
                common = here if common is None else {key: one for key, one in common.items() if key in here}
            for node, fault, met in (common or {}).values():
                found[(node, fault)] = met
        return found

    def _always(self) -> dict[tuple[Node, Fault], Met]:
        """The faults to which every way at all leads through a bad state, and whose exception nobody handles."""
        groups: dict[int, list[Node]] = {}
        for node in self._ways:
            if any(met.event != LOST for met in self.met(node.step)):
                groups.setdefault(node.step, []).append(node)
        found: dict[tuple[Node, Fault], Met] = {}
        for step, nodes in groups.items():
            fails = self._steps[step].fails
            if fails >= 0 and self._steps[fails].point.kind == "handlers":
                continue
            if not self._may_end(step) and self._may_end(0):
                continue  # on its way out anyhow: a branch that refuses its arguments
            hits = [
                {fault: (node, met) for way in self._ways[node] if way.sure for fault, met in way.hits}
                for node in nodes
            ]
            for fault, (node, met) in hits[0].items():
                if fault.ways == "always" and all(fault in one for one in hits):
                    found[(node, fault)] = met
        return found

    def _may_end(self, step: int) -> bool:
        """Whether the normal end of the program can be reached from a step."""
        if self._ending is None:
            before: dict[int, list[int]] = {}
            for one in self._steps:
                for target, _ in one.next:
                    before.setdefault(target, []).append(one.index)
            self._ending = {self._end}
            stack = [self._end]
            while stack:
                for index in before.get(stack.pop(), ()):
                    if index not in self._ending:
                        self._ending.add(index)
                        stack.append(index)
        return step in self._ending

    def _after(self) -> dict[tuple[Node, Fault], Met]:
        """The faults to which every way leads on from the event that brought the bad state."""
        found: dict[tuple[Node, Fault], Met] = {}
        for node, ways in self._ways.items():
            for way in ways:
                if not (way.acted and way.sure and way.moved) or way.to.state in (UNBORN, GONE):
                    continue
                if not any(_may_fault(fault, way.to.state) for fault in self._protocol.faults):
                    continue
                if self._is_chained(way) and not self._leads_here(node):
                    continue
                outcomes = self._outcomes(way.to, node.step)
                if outcomes:
                    found.update(outcomes)
        return found

    def _in_rounds(self) -> dict[tuple[Node, Fault], Met]:
        """The faults to which the passes within a round lead, from an event of each turn: what its tests let happen comes later."""
        declared = [fault for fault in self._protocol.faults if fault.in_rounds]
        found: dict[tuple[Node, Fault], Met] = {}
        for node, ways in self._ways.items() if declared else ():
            for way in ways:
                if not (way.acted and way.sure and way.moved) or way.to.state in (UNBORN, GONE):
                    continue
                if not any(_may_fault(fault, way.to.state) for fault in declared):
                    continue
                around = self._around(node.step)
                if around and self._tests.of_each_turn(self._steps[node.step]):
                    outcomes, _ = self._coming(way.to, frozenset(around[0]), in_between=True)
                    found.update({one: met for one, met in (outcomes or {}).items() if one[1].in_rounds})
        return found

    def _is_chained(self, way: _Way) -> bool:
        """Whether the move itself has to be the only thing that can come."""
        return any(move is not None and move.chained for _, move in way.moved)

    def _leads_here(self, node: Node) -> bool:
        """Whether what brought the state of a node leads to nothing but such an event."""
        origin: Node | None = node
        while origin is not None and origin in self._parents:
            before, way = self._parents[origin]
            if way.acted and way.moved:
                return self._outcomes(way.to, before.step, chained=True) is not None
            origin = before
        return False

    def _outcomes(self, start: Node, origin: int, *, chained: bool = False) -> dict[tuple[Node, Fault], Met] | None:
        """The faults that come next on every way from a node; ``None`` if something else may come.

        A loop around the place where it began goes on for another round; one in which nothing comes any more is left.
        """
        around = self._around(origin)
        for left in range(len(around) + 1):
            heads = frozenset(head for group in around[left:] for head in group)
            found, reached = self._coming(start, heads, chained=chained)
            if found is None or reached:
                return found
        return None

    def _coming(
        self, start: Node, around: frozenset[int], *, chained: bool = False, in_between: bool = False
    ) -> tuple[dict[tuple[Node, Fault], Met] | None, bool]:
        """The faults that come next on every way that leaves no loop ``around``, and whether any does; ``None``: something else may.

        ``in_between``: tests of a round go as they do in a pass that neither begins nor ends one.
        """
        found: dict[tuple[Node, Fault], Met] = {}
        reached = False
        seen = {start}
        stack = [start]
        while stack:
            node = stack.pop()
            if node.state in (GONE, UNBORN):
                return None, False
            for way in self._ways.get(node, ()):
                if way.acted or way.hits:
                    faulty = [(fault, met) for fault, met in way.hits if fault.ways in ("either", "after")]
                    if not way.sure or not (faulty or (chained and self._is_chained(way))):
                        return None, False
                    found.update({(node, fault): met for fault, met in faulty})
                    reached = True
                    continue
                if node.step in around and self._leaves(node.step, way.to.step):
                    continue
                if in_between and not self._goes_between(node.step, way.to):
                    continue
                if way.to not in seen:
                    seen.add(way.to)
                    stack.append(way.to)
        return found, reached

    def _goes_between(self, index: int, to: Node) -> bool:
        """Whether a pass within a round may go from a step to a node."""
        step = self._steps[index]
        if index not in self._between:
            self._between[index] = self._tests.in_between_at(step)
        number, gives = self._between[index]
        if gives is None:
            return True
        if number is not None:
            return (number, not gives) not in to.results
        return any(goal == to.step and label != ("false" if gives else "true") for goal, label in step.next)

    def _leaves(self, head: int, target: int) -> bool:
        return any(label == "done" for goal, label in self._steps[head].next if goal == target)

    def _around(self, step: int) -> list[list[int]]:
        """The heads of the loops around a step, also of those around the calls that led to it: inner ones first.

        A loop has two: one for the first round and one for those behind.
        """
        if step not in self._loops:
            loops: list[list[int]] = []
            inner: int | None = step
            while inner is not None:
                frame, at = self._steps[inner].frame, self._steps[inner].point.at
                here: dict[int, list[int]] = {}
                for head in self._heads.get(id(frame), ()):
                    if _is_inside(self._steps[head], at, self._body(frame)):
                        here.setdefault(self._steps[head].point.index, []).append(head)
                loops += [heads for _, heads in sorted(here.items(), reverse=True)]
                inner = self._calls.get(id(frame))
            self._loops[step] = loops
        return self._loops[step]

    def _body(self, frame: Frame) -> tuple[ir.Stmt, ...]:
        module = self._events.project.module(frame.file)
        return module.body if frame.function < 0 else module.functions[frame.function].body

    # Messages --------------------------------------------------------------------------------------------------------

    def _moved(self, node: Node) -> dict[int, tuple[int, Move | None]]:
        """For each variable the step that gave it its value on the way to a node, with what to say of it."""
        found: dict[int, tuple[int, Move | None]] = {}
        current: Node | None = node
        rounds = 0
        while current is not None and current in self._parents and rounds < MAX_NODES:
            rounds += 1
            before, way = self._parents[current]
            for index, move in way.moved:
                found.setdefault(index, (before.step, move))
            current = before
        return found

    def step(self, index: int) -> Step:
        """A step by its number."""
        return self._steps[index]


def _is_inside(head: Step, at: ir.Position, body: tuple[ir.Stmt, ...]) -> bool:
    """Whether a place lies in the body of a loop, or in the element of a comprehension."""
    statement = head.point.statement
    if isinstance(statement, ir.For):
        return any(ir.encloses(one.at, at) for one in statement.body)
    for statement in statements(body):
        if ir.encloses(statement.at, at):
            for expr in expressions_of(statement):
                for part in below(expr):
                    if isinstance(part, ir.Comprehension) and ir.encloses(part.at, at):
                        if any(iterable is head.point.expr for _, iterable, _ in part.generators):
                            return True
    return False


def _fits(when: object, state: State) -> bool:
    assert isinstance(when, dict)  # noqa: S101 - made by the reader of protocols
    return all(state[index] in values for index, values in when.items())


def _may_fit(when: object, state: State) -> bool:
    assert isinstance(when, dict)  # noqa: S101 - made by the reader of protocols
    return all(state[index] in values or state[index] == DOUBT for index, values in when.items())


def _may_fault(fault: Fault, state: State) -> bool:
    return _fits(fault.when, state)
