"""A program from one of its starts on: the steps of a function and of the project functions that it calls, as one graph.

Each call of a function has its own copy of the steps, with what the parameters are there (``Frame``), so that an object can be
followed from the function that makes it into those that use it. Functions that cannot matter are not entered; the whole is bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field
from typing import TYPE_CHECKING

from distlint.link.abstract import Abstract, Frame, Instance, PartialValue, Reference, options_of
from distlint.link.calls import bound_parameters, decorated, given_arguments, is_static
from distlint.link.control_flow import EXIT, FAILURE, Point
from distlint.link.modules import ClassRef, FunctionRef
from distlint.link.starters import IN_PROCESSES, STARTERS, started_call
from distlint.link.walking import last_name
from distlint.model import python as ir
from distlint.model.record import dataclass

if TYPE_CHECKING:
    from distlint.link.evaluate import Evaluator
    from distlint.link.flow import Env
    from distlint.link.project import Project

MAX_STEPS = 5_000
"""Steps that a program holds at most; functions that no longer fit are not entered."""

"""Last names of the calls that start a function in a process of its own."""

MAX_WAVES = 12
"""Calls, one inside the other, that are followed by their names."""

MAX_DEPTH = 8
"""Calls that are entered one inside the other."""


@dataclass(slots=True, eq=False)
class Step:
    """One step: a point of a function's control flow in one call of it.

    ``next`` are the steps that may follow, with the label of the edge; ``fails`` where an exception goes that something in the program
    handles, else -1. ``opaque`` says that a project function is called that was not entered. ``process`` marks the call that starts
    other processes (``start``) and the end of what they run (``end``).
    """

    index: int
    frame: Frame
    point: Point
    fails: int
    next: list[tuple[int, str]] = field(default_factory=list)
    opaque: bool = False
    process: str = ""


class Program:
    """The steps of a program; the first is the start, ``end`` where it ends."""

    def __init__(
        self, start: FunctionRef, steps: list[Step], end: int, copies: dict[tuple[str, int], int], calls: dict[int, int]
    ) -> None:
        self.start = start
        self.steps = steps
        self.end = end
        self.copies = copies
        """How often each function is in it, by file and index."""
        self.calls = calls
        """The step that calls, by the frame (its identity) of what is called."""


def program_of(project: Project, start: FunctionRef, enters: Callable[[str], bool]) -> Program:
    """The program that starts with a function (index -1: with a module's top level).

    ``enters`` tells by name which functions and classes may matter.
    """
    builder = _Builder(project, enters)
    evaluator = project.evaluator(None)
    entry, end = builder.body(evaluator.frame(start.file, start.index), -1, ())
    assert entry == 0  # noqa: S101 - the first step that is made
    return Program(start, builder.steps, end, builder.copies, builder.calls)


class _Builder:
    def __init__(self, project: Project, enters: Callable[[str], bool]) -> None:
        self.project = project
        self.evaluator: Evaluator = project.evaluator(None)
        self.enters = enters
        self.steps: list[Step] = []
        self.copies: dict[tuple[str, int], int] = {}
        self.calls: dict[int, int] = {}
        self._contexts: dict[tuple[int, ir.Position], Frame] = {}

    def body(self, frame: Frame, fails: int, around: tuple[FunctionRef, ...]) -> tuple[int, int]:
        """Adds the steps of a function; gives the first and the last of them."""
        flow = self.project.control_flow(frame.file, frame.function)
        place = (frame.file, frame.function)
        self.copies[place] = self.copies.get(place, 0) + 1
        first = len(self.steps)
        for point in flow.points:
            target = point.fails if point.fails >= 0 else FAILURE
            goes = fails if target == FAILURE else first + target
            self.steps.append(Step(first + point.index, frame, point, goes))
        starts = {point.index: self._first_round(point, first, frame) for point in flow.points if point.kind == "loop"}
        for point in flow.points:
            step = self.steps[first + point.index]
            following = [(first + target, label) for target, label in point.next if target != FAILURE]
            if any(target == FAILURE for target, _ in point.next) and fails >= 0:
                following.append((fails, ""))
            following = [
                (starts.get(one - first, one) if one - first > point.index else one, way) for one, way in following
            ]
            step.next = self._decided(step, following)
            if point.kind == "call" and point.next:
                self._enter(step, around)
            elif point.kind in ("enter", "leave") and point.expr is not None:
                self._pass_context(step, around)
        return first, first + EXIT

    def _first_round(self, point: Point, first: int, frame: Frame) -> int:
        """The head of a loop as it is met from outside: a loop is taken to have at least one round."""
        made = Step(len(self.steps), frame, point, self.steps[first + point.index].fails)
        made.next = [(first + target, label) for target, label in point.next if label == "item"]
        self.steps.append(made)
        return made.index if made.next else first + point.index

    def _decided(self, step: Step, following: list[tuple[int, str]]) -> list[tuple[int, str]]:
        """The ways on from a test whose result is known are one."""
        if step.point.kind != "test" or step.point.expr is None:
            return following
        result = self.evaluator.truth(step.point.expr, step.frame, self.state(step))
        if result is None:
            return following
        wanted = "true" if result else "false"
        return [edge for edge in following if edge[1] == wanted] or following

    def state(self, step: Step) -> Env:
        return self.evaluator.state(step.frame, step.point.at)

    def _enter(self, step: Step, around: tuple[FunctionRef, ...]) -> None:
        """Puts the steps of the functions that a call comes to between it and what follows."""
        call = step.point.expr
        if not isinstance(call, ir.Call):
            return
        entered = []
        for ref, frame in self._callees(call, step):
            function = self.project.function(ref)
            if function.is_async or self.project.flow(ref.file, ref.index).has_yield:
                continue
            if not self._fits(ref, around):
                step.opaque = True
                continue
            self.calls[id(frame)] = step.index
            entered.append(self.body(frame, step.fails, (*around, ref)))
        if not entered:
            return
        following = step.next
        if last_name(call.func) in IN_PROCESSES:
            step.process = "start"
            for _, last in entered:
                self.steps[last].process = "end"
        step.next = [(first, "") for first, _ in entered]
        if step.opaque:
            step.next.extend(following)
        for _, last in entered:
            self.steps[last].next = list(following)

    def _pass_context(self, step: Step, around: tuple[FunctionRef, ...]) -> None:
        """Puts what a context of the project does behind its ``enter``, or its ``leave``.

        Of a generator that yields in one place that is what stands in front of it, or behind it.
        """
        context, entering = step.point.expr, step.point.kind == "enter"
        if isinstance(context, ir.Call) and self.enters(last_name(context.func)):
            for ref, frame in self._targets(context, context.func, step, 0)[:1]:
                function = self.project.function(ref)
                if not function.is_async and decorated(function.decorators, "contextmanager"):
                    self._pass_generator(
                        step, ref, self._contexts.setdefault((id(step.frame), context.at), frame), around
                    )
                    return
        name = "__enter__" if entering else "__exit__"
        options = (
            options_of(self.evaluator.evaluate(context, step.frame, self.state(step)))
            if context and self.enters(name)
            else ()
        )
        for option in options[:1]:
            if isinstance(option, Instance) and isinstance(option.callee, ClassRef) and not option.part:
                method = self.evaluator.modules.method(option.callee, name)
                if method is not None and self._fits(method, around):
                    frame = Frame(method.file, method.index, {}, 0, option)
                    self.evaluator.keep(frame)
                    self.calls[id(frame)] = step.index
                    first, last = self.body(frame, step.fails, (*around, method))
                    self.steps[last].next, step.next = step.next, [(first, "")]

    def _pass_generator(self, step: Step, ref: FunctionRef, frame: Frame, around: tuple[FunctionRef, ...]) -> None:
        points = self.project.control_flow(ref.file, ref.index).points
        pauses = [point.index for point in points if point.kind == "yield"]
        if len(pauses) != 1 or not self._fits(ref, around):
            return
        self.calls.setdefault(id(frame), step.index)
        first, last = self.body(frame, step.fails, (*around, ref))
        pause = self.steps[first + pauses[0]]
        if step.point.kind == "enter":
            pause.next, step.next = step.next, [(first, "")]
        else:
            self.copies[(ref.file, ref.index)] -= 1  # the other half of what was entered
            self.steps[last].next, step.next = step.next, list(pause.next)

    def _fits(self, ref: FunctionRef, around: tuple[FunctionRef, ...]) -> bool:
        size = len(self.project.control_flow(ref.file, ref.index).points)
        return ref not in around and len(around) < MAX_DEPTH and len(self.steps) + size <= MAX_STEPS

    def _callees(self, call: ir.Call, step: Step) -> list[tuple[FunctionRef, Frame]]:
        """The project functions that a call comes to, each with what its parameters are."""
        name = last_name(call.func)
        if name in STARTERS:
            started = started_call(call, name)
            if started is not None:
                return self._targets(started, started.func, step, STARTERS[name])
        return self._targets(call, call.func, step, 0) if self.enters(name) else []

    def _targets(self, call: ir.Call, func: ir.Expr, step: Step, before: int) -> list[tuple[FunctionRef, Frame]]:
        state = self.state(step)
        found = []
        for option in options_of(self.evaluator.evaluate(func, step.frame, state)):
            made = self._target(option, call, step, state, before)
            if made is not None:
                found.append(made)
        return found

    def _target(
        self, option: Abstract, call: ir.Call, step: Step, state: Env, before: int
    ) -> tuple[FunctionRef, Frame] | None:
        evaluator = self.evaluator
        shift = -before
        given = given_arguments(evaluator, call, step.frame, state)
        if isinstance(option, PartialValue):
            first = given_arguments(evaluator, option.call, option.frame, option.state)
            given.positional[:0] = first.positional[1:]
            given.keywords = {**first.keywords, **given.keywords}
            inner = options_of(option.callee)
            option = inner[0] if len(inner) == 1 else option
        receiver: Instance | Reference | None = None
        scope = None
        if isinstance(option, Reference) and isinstance(option.target, ClassRef):
            receiver = Instance(option.target, call, step.frame, state)
            method = evaluator.modules.method(option.target, "__init__")
        elif isinstance(option, Instance) and isinstance(option.callee, ClassRef) and not option.part:
            receiver, method = option, evaluator.modules.method(option.callee, "__call__")
        elif isinstance(option, Reference) and isinstance(option.target, FunctionRef):
            receiver, method, scope = option.receiver, option.target, option.scope
        else:
            return None
        if method is None:
            return None
        function = self.project.function(method)
        if receiver is not None and function.owner >= 0 and not is_static(function):
            shift += 1
        bindings = bound_parameters(evaluator, function.parameters[shift:], given, ir.unpack(call.at, step.frame.file))
        frame = Frame(method.file, method.index, bindings, 0, receiver, bound=True, outer=scope)
        evaluator.keep(frame)
        return method, frame


class _Leading(dict[frozenset[str], frozenset[str]]):
    """For a project, by the last names that were asked for, the names that may come to them."""


def names_leading_to(project: Project, lasts: Iterable[str]) -> frozenset[str]:
    """The names of functions and classes that may come to a call with one of some last names, by names alone, so rather too many."""
    known: _Leading = project.kept.setdefault(_Leading, _Leading())
    wanted = frozenset(lasts)
    if wanted not in known:
        known[wanted] = _names_leading_to(project, wanted)
    return known[wanted]


def _names_leading_to(project: Project, lasts: frozenset[str]) -> frozenset[str]:
    aliases = project.imported_as
    derived: dict[str, set[str]] = {}
    for file in project.python_files:
        for definition in project.module(file).classes:
            for base in definition.bases:
                derived.setdefault(last_name(base), set()).add(definition.name)
    wave = {one for last in lasts for one in (last, *aliases.get(last, ()))}
    found: set[str] = set()
    for _ in range(MAX_WAVES):
        names: set[str] = set()
        for name in sorted(wave):
            for site in project.sites(name):
                index = site.site.function
                while index >= 0:
                    function = project.module(site.file).functions[index]
                    names.add(function.name)
                    if function.owner >= 0:
                        names.add(project.module(site.file).classes[function.owner].name)
                    index = function.parent
        for name in sorted(names):
            names |= {*aliases.get(name, ()), *derived.get(name, ())}
        wave = names - found
        if not wave:
            break
        found |= wave
    return frozenset(found)
