"""Where a call is made, seen from each function that leads to it, and what the tests on the way there ask, however they are spelled.

``do(optimizer)`` makes the step that the body of ``do`` makes: a check that compares places of calls compares them in the function that
leads to all of them. A test may stand in a variable, be negated, leave the turn early, or be the result of a function of the project.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from distlint.checks.execution import body_of
from distlint.checks.protocol_keys import Keys
from distlint.link.abstract import Frame, node_of, options_of
from distlint.link.arguments import find_argument
from distlint.link.calls import frame_of_call
from distlint.link.flow import BINDS, Bind, Env, Join
from distlint.link.modules import FunctionRef
from distlint.link.walking import Guard, below, guards_of
from distlint.model import python as ir
from distlint.model.document import node_value

if TYPE_CHECKING:
    from distlint.link.callers import Caller
    from distlint.link.project import CallSite, Project
    from distlint.model.launch import Run
    from distlint.model.value import Value

MAX_LEVELS = 4
"""Functions that are gone up from a call."""

MAX_CALLERS = 4
"""Calls of one function that are gone up to."""

MAX_WAYS = 8
"""Ways to one call."""

_Place = tuple[str, int, ir.Call]

MAX_MEANT = 6
"""Variables, parameters and functions that are gone through to what a test or a value is."""


class Level(NamedTuple):
    """A call, or the call that leads to it, with the execution of the function that it stands in."""

    frame: Frame
    at: ir.Position

    @property
    def place(self) -> tuple[str, int]:
        """The function that it stands in."""
        return self.frame.file, self.frame.function

    def body(self, project: Project) -> tuple[ir.Stmt, ...]:
        """The statements of the function."""
        return body_of(project, self.frame.file, self.frame.function)


class Asked(NamedTuple):
    """A part of a test on a way that has to be true, or has to be false, with the guard that asks it."""

    expr: ir.Expr
    frame: Frame
    holds: bool
    guard: Guard


Way = tuple[Level, ...]
"""A call, then the call that leads to it, and so on up, as far as it is followed."""


class Levels:
    """The ways to calls, and what is asked on them."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._keys = Keys(project, tests_only=False)
        self._known: dict[tuple[str, int, ir.Position], tuple[Way, ...]] = {}

    @classmethod
    def of_project(cls, project: Project) -> Levels:
        """Those that the checks of a project share."""
        known: Levels = project.kept.setdefault(cls, cls(project))
        return known

    def ways(self, found: CallSite) -> tuple[Way, ...]:
        """The ways to a call, at least one; each ends where nobody calls, or too many places do."""
        key = (found.file, found.site.function, found.site.call.at)
        if key not in self._known:
            place = (found.file, found.site.function, found.site.call)
            self._known[key] = tuple(self._framed(one) for one in self._places((place,)))
        return self._known[key]

    def _places(self, so_far: tuple[_Place, ...]) -> list[tuple[_Place, ...]]:
        file, function, _ = so_far[-1]
        if function < 0 or len(so_far) > MAX_LEVELS:
            return [so_far]
        callers = self.project.callers(FunctionRef(file, function))
        entered = {place[:2] for place in so_far}
        plain = not any(one.shift or one.starter or (one.file, one.site.function) in entered for one in callers)
        if not plain or not 0 < len(callers) <= MAX_CALLERS:
            return [so_far]
        ways = [way for one in callers for way in self._places((*so_far, (one.file, one.site.function, one.site.call)))]
        return ways if len(ways) <= MAX_WAYS else [so_far]

    def _framed(self, places: tuple[_Place, ...]) -> Way:
        evaluator = self.project.evaluator(None)
        frame = evaluator.frame(*places[-1][:2])
        levels = [Level(frame, places[-1][2].at)]
        for (file, function, call), (_, _, leading) in zip(places[-2::-1], places[:0:-1], strict=True):
            options = options_of(evaluator.ask_in(leading.func, frame))
            inner = frame_of_call(evaluator, options[0], leading, frame) if len(options) == 1 else None
            fits = inner is not None and (inner.file, inner.function) == (file, function)
            frame = inner if fits and inner is not None else evaluator.frame(file, function)
            levels.append(Level(frame, call.at))
        return tuple(levels[::-1])

    def beside(self, way: Way, other: CallSite) -> Iterator[tuple[int, Way, int]]:
        """The ways of another call that come through a function of this way, with the level of both in the nearest such function."""
        places = {level.place: number for number, level in enumerate(way)}
        for one in self.ways(other):
            number = next((number for number, level in enumerate(one) if level.place in places), None)
            if number is None:
                continue
            own = places[one[number].place]
            # what leads to that function has to be the same
            if [(level.place, level.at) for level in way[own + 1 :]] == [
                (level.place, level.at) for level in one[number + 1 :]
            ]:
                yield own, one, number

    def guards(self, way: Way) -> Iterator[tuple[Guard, Frame]]:
        """The tests on a way, in the function of the call and in those that lead to it."""
        for level in way:
            for guard in guards_of(level.body(self.project), level.at) or ():
                yield guard, level.frame

    def asked(self, guard: Guard, frame: Frame) -> list[Asked]:
        """What a test on a way asks, taken apart; nothing for one that is none, such as that of a loop over something."""
        if guard.test is None or guard.kind == "for":
            return []
        return list(self._asked(guard.test, frame, guard, 0, holds=guard.holds))

    def _asked(self, expr: ir.Expr, frame: Frame, guard: Guard, depth: int, *, holds: bool) -> Iterator[Asked]:
        if type(expr) is ir.Operation and expr.operators == ("not",):
            yield from self._asked(expr.operands[0], frame, guard, depth, holds=not holds)
        elif type(expr) is ir.Operation and expr.operators[0] == ("and" if holds else "or"):
            for operand in expr.operands:
                yield from self._asked(operand, frame, guard, depth, holds=holds)
        else:
            meant = self.meant(expr, frame) if depth < MAX_MEANT else None
            if meant is None:
                yield Asked(expr, frame, holds, guard)
            else:
                yield from self._asked(*meant, guard, depth + 1, holds=holds)

    def meant(self, expr: ir.Expr, frame: Frame) -> tuple[ir.Expr, Frame] | None:
        """What a variable, a parameter or the result of a function of the project is, where one place says so."""
        if type(expr) is ir.Name:
            bound = bound_by(expr, self.project.flow(frame.file, frame.function).before(expr.at))
            if bound is not None and not bound.part and isinstance(bound.expr, ir.Expr):
                return bound.expr, frame
        return self._keys.meant(expr, frame)

    def value(self, expr: ir.Expr, frame: Frame, run: Run | None = None) -> Value:
        """What is known of an expression's value in an execution of its function."""
        span = ir.unpack(expr.at, frame.file)
        return node_value(node_of(self.project.evaluator(run).ask_in(expr, frame), span)).at(span)

    def mentioned(self, expr: ir.Expr, frame: Frame) -> Iterator[tuple[ir.Expr, Frame]]:
        """All parts of an expression, and of what its variables, parameters and calls are."""
        waiting, seen = [(expr, frame, 0)], set[tuple[int, int]]()
        while waiting:
            one, inside, depth = waiting.pop()
            if (id(one), id(inside)) in seen:
                continue
            seen.add((id(one), id(inside)))
            for part in below(one):
                yield part, inside
                meant = self.meant(part, inside) if depth < MAX_MEANT else None
                if meant is not None:
                    waiting.append((*meant, depth + 1))


def handed_by(project: Project, expr: ir.Expr, file: str, function: int) -> Iterator[tuple[Caller, ir.Expr | None]]:
    """The calls that hand a function its parameter of this name, each with what it is given; ``None`` where that can't be told."""
    if function < 0 or type(expr) is not ir.Name:
        return
    ref = FunctionRef(file, function)
    definition = project.function(ref)
    position = next((i for i, one in enumerate(definition.parameters) if one.name == expr.id), None)
    if position is None:
        return
    for caller in project.callers(ref):
        place = position - (definition.owner >= 0) + caller.shift
        yield caller, find_argument(caller.site.call, expr.id, place)[0]


def bound_by(name: ir.Name, state: Env) -> Bind | None:
    """The one assignment that gives a variable its value; ``None`` where it is none of the function, or ways differ in it."""
    place: Env | None = state
    while place is not None:
        if isinstance(place, Bind) and place.name == name.id:
            return place
        if isinstance(place, Join) and name.id + BINDS in place.touched.how:
            return None
        place = place.prev
    return None
