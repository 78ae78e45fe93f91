"""The way of one process through a function, with the functions that it calls: the collectives that it meets, in order.

What is not known of a test is decided by ``Choices``, the same way for both processes of a pair.
"""

from __future__ import annotations

import builtins
from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

from distlint.checks.collectives import Operation
from distlint.checks.rank_shapes import Shape, Shapes, Step
from distlint.checks.rank_tests import Decision, Failing, Frame, Tests, text_of_test
from distlint.link.call_graph import CallEdge
from distlint.link.control_flow import ENTRY, EXIT, FAILURE, Point
from distlint.link.modules import FunctionRef
from distlint.model import python as ir
from distlint.model.record import dataclass

if TYPE_CHECKING:
    from distlint.checks.rank_summaries import Summaries
    from distlint.link.project import Project

MAX_STEPS = 3_000
"""Points that one way passes; a longer one is given up."""

MAX_DEPTH = 6
"""Calls inside each other that a way follows."""

MAX_ROUNDS = 3
"""How often one point is passed in one call; a way that needs more is given up."""


ANYTHING = "*"
"""Stands for the class of an exception of which only is known that reading or converting something raised it."""

DOUBTFUL = 1_000
"""Stands among the conditions of an event that may only be met where there is one process."""


class AbandonedError(Exception):
    """A way is too long, or can't be followed."""


class Parting(NamedTuple):
    """A test, loop or decorator at which the processes of a pair go different ways."""

    file: str
    at: ir.Position
    kind: str
    decision: Decision
    depth: int
    """Calls between the function that is judged and the test."""
    test: ir.Expr | None = None
    function: int = -1
    statement: ir.Stmt | None = None
    side: int = 0
    """The process of the pair that passed it so."""
    holds: bool = True
    """What the test gave there, or whether the loop made another round."""


class Event(NamedTuple):
    """A collective on a way; ``chain`` are the calls that led to it, ``conditional`` how deep tests lie that it depends on."""

    operation: Operation
    chain: tuple[tuple[str, ir.Call], ...]
    conditional: tuple[int, ...]
    uneven: bool


@dataclass(slots=True, eq=False)
class Choices:
    """What is chosen where nothing is known: the same for the same question. Gone through one combination after the other."""

    taken: dict[tuple[object, ...], int] = field(default_factory=dict)
    order: list[tuple[tuple[object, ...], int]] = field(default_factory=list)
    prefix: list[int] = field(default_factory=list)

    def choose(self, key: tuple[object, ...], options: int) -> int:
        """The option for a question, from 0."""
        if key not in self.taken:
            place = len(self.order)
            self.taken[key] = self.prefix[place] if place < len(self.prefix) else 0
            self.order.append((key, options))
        return self.taken[key]

    def following(self) -> Choices | None:
        """The next combination, or ``None`` after the last."""
        picked = [self.taken[key] for key, _ in self.order]
        while picked:
            if picked[-1] + 1 < self.order[len(picked) - 1][1]:
                picked[-1] += 1
                return Choices(prefix=picked)
            picked.pop()
        return None


@dataclass(slots=True, eq=False)
class Way:
    """What one process met: its events, the partings with the number of events before them, and how it ended.

    ``ended`` is ``end``, ``failure`` (an exception, or an exit with an error), or ``gone`` (the process ended well).
    """

    events: list[Event] = field(default_factory=list)
    partings: list[tuple[int, Parting]] = field(default_factory=list)
    ended: str = "end"
    split: dict[tuple[str, int], Parting] = field(default_factory=dict)
    """Tests that differ from rank to rank for other reasons than the rank, passed on the way."""


class Walker:
    """Follows one process of a pair; ``side`` is 0 or 1, ``focus`` the place of a split test at which the two go apart."""

    def __init__(
        self,
        project: Project,
        shapes: Shapes,
        tests: Tests,
        pair: tuple[int, int],
        side: int,
        choices: Choices,
        focus: tuple[str, int] | None,
        flipped: bool,
        main_only: frozenset[str],
        summaries: Summaries | None,
        failing: Failing | None = None,
    ) -> None:
        self._project = project
        self._shapes = shapes
        self._tests = tests
        self._pair = pair
        self._side = side
        self._choices = choices
        self._focus = focus
        self._flipped = flipped
        self._main_only = main_only
        self._summaries = summaries
        self._failing = failing
        self.steps = 0
        self._raised = ""
        self._uneven = 0
        self._conditions: list[list[int]] = []
        self._doubts: list[tuple[int, int]] = []
        self._stopped: dict[tuple[str, int, ir.Position], int] = {}
        self.way = Way()

    def follow(self, file: str, function: int) -> Way:
        """The way through a body. Raises ``AbandonedError``."""
        how, _ = self._walk(Frame(file, function), ENTRY, ())
        self.way.ended = how
        return self.way

    def _walk(
        self, frame: Frame, start: int, chain: tuple[tuple[str, ir.Call], ...], *, to_yield: bool = False
    ) -> tuple[str, int]:
        """Follows a body from a point; how it ended, and at which point if that is a ``yield``."""
        shape = self._shapes.of(frame.file, frame.function, frame.given)
        if shape is None:
            return "end", -1
        points = shape.flow.points
        visits: dict[int, int] = {}
        self._conditions.append([])
        try:
            index = start
            while True:
                self.steps += 1
                if self.steps > MAX_STEPS:
                    raise AbandonedError
                if index == EXIT:
                    return "end", -1
                if index <= FAILURE and index != ENTRY:
                    return "failure", -1
                open_tests = self._conditions[-1]
                while index in open_tests:
                    open_tests.remove(index)
                while (len(self._conditions), index) in self._doubts:
                    self._doubts.remove((len(self._conditions), index))
                point = points[index]
                visits[index] = visits.get(index, 0) + 1
                if visits[index] > MAX_ROUNDS + 1:
                    raise AbandonedError
                if to_yield and point.kind == "yield" and index != start:
                    return "yield", index
                if self._failing is not None and self._fails_here(frame, point, visits[index]):
                    index = point.fails
                    continue
                if index in shape.steps:
                    how = self._perform_all(frame, point, shape.steps[index], chain)
                    if how == "failure":
                        index = point.fails
                        continue
                    if how == "gone":
                        return "gone", -1
                index = self._after(frame, shape, point, visits[index])
                if index == -2:
                    return ("gone" if _ends_well(point) else "failure"), -1
        finally:
            self._doubts = [one for one in self._doubts if one[0] < len(self._conditions)]
            self._conditions.pop()

    def _fails_here(self, frame: Frame, point: Point, visit: int) -> bool:
        """Whether the call that is looked at fails on this side: it does on one of the two, the first time."""
        if point.kind != "call" or visit > 1 or (frame.file, point.at) != self._focus or self._failing is None:
            return False
        fails = (self._side == 0) is not self._flipped
        parting = self._parting(frame, point, self._failing.decision)._replace(holds=fails, kind="exception")
        self.way.partings.append((len(self.way.events), parting))
        if fails:
            self._raised = self._failing.raised
        return fails

    def _after(self, frame: Frame, shape: Shape, point: Point, visit: int) -> int:
        """The point that follows; -2 where the process ends."""
        if point.kind == "raise":
            self._raised = _raised_name(point) or self._raised
            if self.way.partings:
                count, parting = self.way.partings[-1]
                self.way.partings[-1] = (count, parting._replace(kind="exception"))
            return point.fails
        if point.kind == "handlers":
            return self._handler(shape, point)
        if point.kind == "call" and point.fails > FAILURE and self._is_exhausted(frame, point, visit):
            return point.fails
        if not point.next:
            if point.kind == "call":
                return -2
            raise AbandonedError
        if point.kind not in ("test", "loop") or len(point.next) < 2:
            return point.next[0][0]
        meets = shape.meets[point.index]
        if point.index in shape.raising and meets >= 0 and not frame.protected:
            # an exception that nobody handles ends the job; only that some ranks go no further matters
            if not self._tests.decide(point.expr, frame).parts(self._pair):
                return meets
        if point.index not in shape.relevant and point.index not in shape.raising and meets >= 0:
            return meets
        holds = self._branch(frame, shape, point, visit)
        label = ("item" if holds else "done") if point.kind == "loop" else ("true" if holds else "false")
        return next(target for target, name in point.next if name == label)

    def _is_exhausted(self, frame: Frame, point: Point, visit: int) -> bool:
        """Whether ``next`` finds no further item on this process: at the latest in the third round, sooner where there are fewer."""
        call = point.expr
        if type(call) is not ir.Call or type(call.func) is not ir.Name or call.func.id != "next" or len(call.args) != 1:
            return False
        ended = visit > 2
        decision = self._tests.decide(call.args[0], frame, is_loop=True)
        place = (frame.file, point.at)
        if decision.is_split:
            parting = self._parting(frame, point, decision)._replace(kind="loop", test=call.args[0])
            self.way.split.setdefault(place, parting)
            if place == self._focus and visit == 1:
                ended = (self._side == 0) is self._flipped
                self.way.partings.append((len(self.way.events), parting._replace(holds=not ended)))
        if ended:
            self._raised = "StopIteration"
        return ended

    def _branch(self, frame: Frame, shape: Shape, point: Point, visit: int) -> bool:
        """Which way a test goes, or whether a loop makes another round."""
        is_loop = point.kind == "loop"
        decision = self._tests.decide(point.expr, frame, is_loop=is_loop, repeated=type(point.statement) is ir.While)
        value = decision.on(self._pair)[self._side]
        if value is not None and not is_loop:
            if decision.parts(self._pair):
                self._part(frame, point, decision, value)
            return value
        place = (frame.file, point.at)
        if decision.is_split:
            self.way.split.setdefault(place, self._parting(frame, point, decision))
            if place == self._focus and visit == 1:
                holds = (self._side == 0) is not self._flipped
                self._part(frame, point, decision, holds)
                return holds
        if point.index in shape.raising:
            normal = not _leads_to_raise(shape, point)
            if not self.way.partings:
                return normal
            text = text_of_test(point.expr) if point.expr is not None else str(point.at)
            return (self._choices.choose((frame.file, frame.function, text, visit), 2) == 0) is normal
        if is_loop or type(point.statement) is ir.While:
            return self._another_round(frame, point, visit)
        meets = shape.meets[point.index]
        if decision.mode:
            # there may be one process only where it holds, or where it does not: nothing that depends on it is certain
            self._doubts.append((len(self._conditions), meets))
        self._conditions[-1].append(meets)
        text = text_of_test(point.expr) if point.expr is not None else str(point.at)
        return self._choices.choose((frame.file, frame.function, text, visit), 2) == 0

    def _another_round(self, frame: Frame, point: Point, visit: int) -> bool:
        key = (frame.file, frame.function, point.at, visit)
        if visit == 1:
            return self._choices.choose(key, 2) == 0
        if visit == 2 and self.way.partings:
            # the process that stays behind may go on for another round
            return self._choices.choose(key, 2) == 1
        return False

    def _parting(self, frame: Frame, point: Point, decision: Decision) -> Parting:
        return Parting(
            frame.file,
            point.at,
            point.kind,
            decision,
            frame.depth,
            point.expr,
            frame.function,
            point.statement,
            self._side,
        )

    def _part(self, frame: Frame, point: Point, decision: Decision, holds: bool) -> None:
        parting = self._parting(frame, point, decision)._replace(holds=holds)
        self.way.partings.append((len(self.way.events), parting))

    # What points do ----------------------------------------------------------------------------------------------

    def _perform_all(
        self, frame: Frame, point: Point, steps: tuple[Step, ...], chain: tuple[tuple[str, ir.Call], ...]
    ) -> str:
        for step in steps:
            how = self._perform(frame, point, step, chain)
            if how in ("failure", "gone"):
                return how
        return "end"

    def _perform(self, frame: Frame, point: Point, step: Step, chain: tuple[tuple[str, ir.Call], ...]) -> str:
        if step.kind == "operation":
            assert step.operation is not None  # noqa: S101 - made so
            self._meet(step.operation, chain)
        elif step.kind in ("first-enter", "first-leave"):
            assert step.operation is not None  # noqa: S101 - made so
            if (self._pair[self._side] in (0, 3)) is (step.kind == "first-leave"):
                self._meet(step.operation, chain)
        elif step.kind == "uneven-enter":
            self._uneven += 1
        elif step.kind == "uneven-leave":
            self._uneven -= 1
        elif step.kind == "inner":
            return self._inner(frame, point, chain)
        else:
            return self._call(frame, point, step, chain)
        return "end"

    def _meet(self, operation: Operation, chain: tuple[tuple[str, ir.Call], ...]) -> None:
        conditional = tuple(depth for depth, tests in enumerate(self._conditions) if tests)
        if self._doubts:
            conditional = (*conditional, DOUBTFUL)
        self.way.events.append(Event(operation, chain, conditional, self._uneven > 0))

    def _edge_parts(self, frame: Frame, edge: CallEdge) -> bool:
        """Whether the arguments of a call part the ranks in a function that does not part them by itself."""
        assert self._summaries is not None  # noqa: S101 - tested by the caller
        return self._summaries.edge_parts(edge, frame)

    def _pass(self, events: tuple[Event, ...], chain: tuple[tuple[str, ir.Call], ...]) -> str:
        """Meets what all ranks meet in a function."""
        depth = len(self._conditions)
        outer = tuple(level for level, tests in enumerate(self._conditions) if tests)
        doubts = (DOUBTFUL,) if self._doubts else ()
        for event in events:
            inner = tuple(level if level == DOUBTFUL else level + depth for level in event.conditional)
            self.way.events.append(
                Event(
                    event.operation,
                    (*chain, *event.chain),
                    (*outer, *inner, *doubts),
                    event.uneven or self._uneven > 0,
                )
            )
        return "end"

    def _inner(self, frame: Frame, point: Point, chain: tuple[tuple[str, ir.Call], ...]) -> str:
        """A decorator's function calls what it was given."""
        assert type(point.expr) is ir.Call  # noqa: S101 - made so
        return self._enter_chain(frame, point, frame.inner, frame.call or point.expr, frame.caller, frame.shift, chain)

    def _call(self, frame: Frame, point: Point, step: Step, chain: tuple[tuple[str, ir.Call], ...]) -> str:
        # where a call may come to one of several functions, nothing certain follows
        if len(step.edges) != 1 or frame.depth >= MAX_DEPTH:
            return "end"
        edge = step.edges[0]
        if self._is_active(frame, edge.target):
            return "end"
        longer = (*chain, (frame.file, edge.call))
        if edge.how in ("call", "callback") and self._summaries is not None:
            plain = None if self._project.function(edge.target).decorators else self._summaries.events(edge.target)
            if plain is not None and not self._edge_parts(frame, edge):
                return self._pass(plain, longer)
        if edge.how in ("enter", "leave"):
            return self._context(frame, point, edge, longer)
        target = edge.target
        definition = self._project.function(target)
        if definition.is_async:
            return "end"
        inner: list[FunctionRef] = [target]
        if definition.decorators:
            wrappers = self._project.call_graph.wrappers(target)
            for decorator, wrapper in zip(reversed(definition.decorators), reversed(wrappers), strict=True):
                if wrapper is not None:
                    inner.append(wrapper)
                elif self._is_main_only(decorator, target):
                    values = (True, False, False, True, False)
                    decision = Decision(values)
                    if decision.parts(self._pair):
                        holds = values[self._pair[self._side]]
                        where = Parting(
                            target.file,
                            decorator.at,
                            "decorator",
                            decision,
                            frame.depth + 1,
                            decorator,
                            side=self._side,
                            holds=holds,
                        )
                        self.way.partings.append((len(self.way.events), where))
                    if not values[self._pair[self._side]]:
                        return "end"
        return self._enter_chain(frame, point, tuple(inner), edge.call, frame, edge.shift, longer)

    def _enter_chain(
        self,
        frame: Frame,
        point: Point,
        inner: tuple[FunctionRef, ...],
        call: ir.Call,
        caller: Frame | None,
        shift: int,
        chain: tuple[tuple[str, ir.Call], ...],
    ) -> str:
        """Runs the outermost of a function and the decorators' functions around it."""
        if not inner:
            return "end"
        target, rest = inner[-1], inner[:-1]
        given = ""
        if rest:
            outer = self._project.module(target.file).functions[target.index].parent
            parameters = self._project.module(target.file).functions[outer].parameters if outer >= 0 else ()
            if not parameters:
                return "end"
            given = parameters[0].name
        protected = frame.protected or point.fails > FAILURE
        following = Frame(
            target.file,
            target.index,
            call,
            caller,
            shift,
            rest,
            given,
            frame.depth + 1,
            protected,
        )
        return self._walk(following, ENTRY, chain)[0]

    def _context(self, frame: Frame, point: Point, edge: CallEdge, chain: tuple[tuple[str, ir.Call], ...]) -> str:
        """Runs a context manager on the way in or out; a generator function up to its ``yield``, or on from there."""
        target = edge.target
        inside = Frame(target.file, target.index, edge.call, frame, edge.shift, depth=frame.depth + 1)
        if not self._project.flow(target.file, target.index).has_yield:
            return self._walk(inside, ENTRY, chain)[0]
        place = (frame.file, frame.function, edge.call.at)
        if edge.how == "enter":
            how, index = self._walk(inside, ENTRY, chain, to_yield=True)
            self._stopped[place] = index
            return "end" if how == "yield" else how
        index = self._stopped.get(place, -1)
        return self._walk(inside, index, chain, to_yield=True)[0] if index >= 0 else "end"

    def _is_active(self, frame: Frame, target: FunctionRef) -> bool:
        around: Frame | None = frame
        while around is not None:
            if (around.file, around.function) == (target.file, target.index):
                return True
            around = around.caller
        return False

    def _is_main_only(self, decorator: ir.Expr, ref: FunctionRef) -> bool:
        from distlint.checks.rank_decorators import is_named

        return is_named(self._project, decorator, ref, self._main_only)

    def _handler(self, shape: Shape, point: Point) -> int:
        """The handler that takes the exception that is under way."""
        for target, label in point.next:
            if label == "handler" and catches(shape.flow.points[target].expr, self._raised):
                return target
        for target, label in point.next:
            if label == "unhandled":
                return target
        return point.fails


def _ends_well(point: Point) -> bool:
    """Whether a call that ends the process says that all went well, so that nobody stops the others."""
    call = point.expr
    if type(call) is not ir.Call:
        return False
    if _last(call.func) in ("abort", "_exit") and not call.args:
        return False
    code = call.args[0] if call.args else None
    return code is None or (type(code) is ir.Constant and code.value in (0, None))


def _raised_name(point: Point) -> str:
    if type(point.statement) is ir.Assert:
        return "AssertionError"
    expr = point.expr.func if type(point.expr) is ir.Call else point.expr
    return _last(expr) if expr is not None else ""


def _last(expr: ir.Expr) -> str:
    return expr.id if type(expr) is ir.Name else expr.name if type(expr) is ir.Attribute else ""


def catches(handler: ir.Expr | None, raised: str) -> bool:
    """Whether an ``except`` of this type takes an exception of this class name, as far as names tell."""
    if handler is None:
        return True
    if type(handler) is ir.ListDisplay:
        return any(catches(item, raised) for item in handler.items)
    name = _last(handler)
    if raised == ANYTHING:
        return name not in ("KeyboardInterrupt", "StopIteration", "ImportError", "ModuleNotFoundError")
    if name in (raised, "Exception", "BaseException"):
        return True
    one, other = getattr(builtins, raised, None), getattr(builtins, name, None)
    return isinstance(one, type) and isinstance(other, type) and issubclass(one, other)


def _leads_to_raise(shape: Shape, point: Point) -> bool:
    """Whether the way on which a test holds ends in an exception, and the other does not."""
    target = next((one for one, label in point.next if label == "true"), -1)
    return target >= 0 and shape.meets[target] < 0
