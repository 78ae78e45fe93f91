"""Gradients that are cleared in each pass of a loop although the optimizer steps only after several passes.

Parameters: ``optimizers`` and ``scalers`` (classes, as protocols name them), ``models`` (classes whose ``zero_grad`` clears the same).
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from typing import NamedTuple

from distlint.checks.protocol_events import fits_any
from distlint.checks.protocol_things import Things
from distlint.checks.registry import CheckContext, check
from distlint.link.abstract import Frame, Instance, Reference, options_of
from distlint.link.modules import ClassRef, FunctionRef
from distlint.link.program import names_leading_to
from distlint.link.project import Project
from distlint.link.walking import Guard, below, calls_in, guards_of, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related
from distlint.model.span import Span

MAX_DEPTH = 2
"""Helpers, one called by the other, that are looked into from the body of a loop."""

_EVENTS = frozenset({"backward", "zero_grad", "step"})


class _Event(NamedTuple):
    """What happens in a round of a loop: always (no guards), or under tests."""

    kind: str
    span: Span
    guards: tuple[tuple[Guard, Frame], ...]


@check("cleared-passes")
def cleared_passes(context: CheckContext) -> Iterator[Finding]:
    """A finding for each clearing that stands in each round of a loop whose steps wait for a count."""
    project: Project = context.project
    if not all(project.sites(name) for name in _EVENTS):
        return
    loops = _Loops(context)
    reported: set[Span] = set()
    for file in project.python_files:
        module = project.module(file)
        if not loops.leading["zero_grad"] & module.calls.keys():
            continue
        for index in range(-1, len(module.functions)):
            body = module.functions[index].body if index >= 0 else module.body
            for statement in statements(body):
                if isinstance(statement, ir.For | ir.While) and loops.may_come_to_all(statement, file):
                    for finding in loops.judged(statement, loops.frame(file, index)):
                        if finding.span not in reported:
                            reported.add(finding.span)
                            yield finding


def _last_name(func: ir.Expr) -> str:
    return func.name if type(func) is ir.Attribute else func.id if type(func) is ir.Name else ""


class _Loops:
    def __init__(self, context: CheckContext) -> None:
        self._context = context
        self._project: Project = context.project
        self._things = Things(self._project, (), (), ())
        self.leading = {name: names_leading_to(self._project, {name}) | {name} for name in sorted(_EVENTS)}
        """By each event the names of what may come to it, its own among them."""
        self._leading = frozenset().union(*self.leading.values())
        self._inside: dict[tuple[FunctionRef, int, bool], tuple[_Event, ...]] = {}
        """The events of functions that loops come to, by the depth at which they do, and whether only those that always happen."""

    def may_come_to_all(self, loop: ir.For | ir.While, file: str) -> bool:
        """Whether a loop may hold every one of the events, as far as names tell."""
        calls = list(calls_in(loop.body))
        if not any(_last_name(call.func) in self.leading["zero_grad"] for call in calls):
            return False
        return all(any(self._may_lead(call.func, file, names) for call in calls) for names in self.leading.values())

    def _may_lead(self, func: ir.Expr, file: str, names: frozenset[str]) -> bool:
        """Whether a call may come to what some names lead to: by its own, or because it may call something under another one."""
        if type(func) is ir.Attribute:
            return func.name in names or self._project.is_stored(func.name)
        if type(func) is not ir.Name or func.id in names:
            return True
        plain = isinstance(self._project.modules.resolve(func, file), FunctionRef | ClassRef)
        return not plain and not hasattr(builtins, func.id)

    def frame(self, file: str, function: int) -> Frame:
        return self._things.evaluator.frame(file, function)

    def judged(self, loop: ir.For | ir.While, frame: Frame) -> Iterator[Finding]:
        """What is wrong with one loop, where it goes backward itself."""
        # following every call takes long, and few loops always go backward
        always = list(self._events(loop.body, frame, 0, always=True))
        cleared = [one for one in always if one.kind == "zero_grad"]
        if not cleared or not any(one.kind == "backward" for one in always):
            return
        steps = [one for one in self._events(loop.body, frame, 0) if one.kind == "step"]
        if steps and all(any(self._minds_count(guard, inside) for guard, inside in one.guards) for one in steps):
            yield self._context.finding(
                "the gradients are cleared in each pass, but the optimizer steps only after several: it takes those of the last pass",
                cleared[0].span,
                related=[Related(steps[0].span, "this step waits for a number of passes")],
            )

    def _events(self, body: tuple[ir.Stmt, ...], frame: Frame, depth: int, *, always: bool = False) -> Iterator[_Event]:
        """The events of a body, those of the functions that it calls among them; those under no test alone with ``always``."""
        for call in calls_in(body):
            if _last_name(call.func) not in _EVENTS and not self._may_follow(call, frame, depth):
                continue
            guards = guards_of(body, call.at)
            if guards is not None and not (always and guards):
                under = tuple((guard, frame) for guard in guards)
                for one in self._of_call(call, frame, depth, always=always):
                    yield one._replace(guards=(*under, *one.guards))

    def _may_follow(self, call: ir.Call, frame: Frame, depth: int) -> bool:
        """Whether a call may come to events in a function of the project."""
        return (
            depth < MAX_DEPTH
            and self._may_lead(call.func, frame.file, self._leading)
            and not self._things.evaluator.modules.dotted(call.func, frame.file)
        )

    def _of_call(self, call: ir.Call, frame: Frame, depth: int, *, always: bool) -> tuple[_Event, ...]:
        """The events that a call comes to, under the tests behind it."""
        kind = self._kind(call, frame)
        if kind:
            return (_Event(kind, ir.unpack(call.at, frame.file), ()),)
        if not self._may_follow(call, frame, depth):
            return ()
        found: list[_Event] = []
        for option in options_of(self._things.evaluator.ask_in(call.func, frame, everywhere=True)):
            if isinstance(option, Reference) and isinstance(option.target, FunctionRef):
                key = (option.target, depth + 1, always)
                if key not in self._inside:
                    inner = self.frame(option.target.file, option.target.index)
                    inside = self._project.function(option.target).body
                    self._inside[key] = tuple(self._events(inside, inner, depth + 1, always=always))
                found += self._inside[key]
        return tuple(found)

    def _kind(self, call: ir.Call, frame: Frame) -> str:
        func = call.func
        if type(func) is not ir.Attribute or func.name not in _EVENTS:
            return ""
        if func.name == "backward":
            return func.name
        mention = self._things.mention(func.base, frame)
        wanted = self._context.parameters["optimizers"]
        wanted = wanted + self._context.parameters["scalers" if func.name == "step" else "models"]
        made = [not one.part and fits_any(self._made_by(one), wanted) for one in mention.options]
        return func.name if made and all(made) and (mention.certain or mention.whole) else ""

    def _made_by(self, instance: Instance) -> str:
        return self._things.made_by(instance)

    def _minds_count(self, guard: Guard, frame: Frame) -> bool:
        """Whether a test counts passes: a remainder, also where a variable holds the result."""
        if guard.test is None or guard.kind == "for":
            return False
        return self._counts(guard.test, frame, 0)

    def _counts(self, expr: ir.Expr, frame: Frame, depth: int) -> bool:
        for part in below(expr):
            if type(part) is ir.Operation and "%" in part.operators:
                return True
            if type(part) is ir.Name and depth < MAX_DEPTH:
                state = self._things.evaluator.state(frame, expr.at)
                for value, _, inside in self._things.definitions(part.id, frame, state):
                    if self._counts(value, inside, depth + 1):
                        return True
        return False
