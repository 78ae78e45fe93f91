"""The numbers that a schedule is made with: what the call that makes it is given, and what the functions among that work with.

A number may stand in an argument, in a parameter of a function of the project that makes the schedule, in a function that computes the rate
of a step and sees the variables around it, or in an object or a partial function that is made with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from distlint.checks.derivations import Derivation, Part
from distlint.checks.execution import body_of
from distlint.checks.preparing import last_name, texts_of
from distlint.link.abstract import Frame, Instance, Reference, options_of
from distlint.link.arguments import find_argument
from distlint.link.evaluate import Evaluator
from distlint.link.modules import ClassRef, FunctionRef
from distlint.link.project import Project
from distlint.link.walking import below, expressions_of, statements
from distlint.model import python as ir

_MAX_PARTS = 400
_MAX_CALLERS = 8
_DEPTH = 6


class Number(NamedTuple):
    """A number by the expression for it; ``late``: it is read each time that the rate is computed, so that what happens later counts."""

    part: Part
    late: bool = False


class Place(NamedTuple):
    """A call in a function, or the last argument of one: what comes behind it has no part in what the call makes."""

    file: str
    function: int
    at: ir.Position


def numbers_of(evaluator: Evaluator, made: Instance) -> Iterator[list[Number]]:
    """The numbers in each argument of the call that made a schedule, but for the optimizer; those of one argument belong together."""
    words = [word.value for word in made.call.keywords if word.name != "optimizer"]
    for given in (*made.call.args[1:], *words):
        yield list(_opened(evaluator, given, made.frame, made, 0))


def places_of(made: Instance) -> tuple[Place, ...]:
    """Where a schedule is made: the call, and the calls that led there as far as that is known by what they gave."""
    found = [Place(made.frame.file, made.frame.function, made.call.at)]
    frames = [made.frame]
    for _ in range(_DEPTH):
        given = [one for frame in frames for one in frame.bindings.values() if one.frame is not None]
        frames = []
        for one in given:
            if one.expr is not None and one.frame is not None and one.frame not in frames:
                frames.append(one.frame)
                here = [two.expr.at for two in given if two.expr is not None and two.frame is one.frame]
                found.append(Place(one.frame.file, one.frame.function, max(here)))
    return tuple(found)


def is_behind(part: Part, places: tuple[Place, ...]) -> bool:
    """Whether an expression is evaluated after a schedule was made: lengths are often worked out anew later."""
    return any(
        (part.file, part.function) == (place.file, place.function)
        and part.expr.at > place.at
        and not ir.encloses(place.at, part.expr.at)
        for place in places
    )


def _opened(evaluator: Evaluator, expr: ir.Expr, frame: Frame, made: Instance, depth: int) -> Iterator[Number]:
    if type(expr) is ir.Name and depth < _DEPTH:
        bound = frame.bindings.get(expr.id)
        if bound is not None and bound.expr is not None and bound.frame is not None:
            yield from _opened(evaluator, bound.expr, bound.frame, made, depth + 1)
            return
    if type(expr) is ir.Name or type(expr) is ir.Attribute:
        options = options_of(evaluator.ask_in(expr, frame, made.state if frame is made.frame else None))
        only = options[0] if len(options) == 1 else None
        if isinstance(only, Reference) and isinstance(only.target, FunctionRef):
            yield from _seen_by(evaluator, only.target, only.scope, made, depth)
            return
    yield Number(Part(expr, frame.file, frame.function))


def _seen_by(
    evaluator: Evaluator, ref: FunctionRef, scope: Frame | None, made: Instance, depth: int
) -> Iterator[Number]:
    """What a function that computes the rate reads of the variables around it, and of its object."""
    project = evaluator.project
    definition = project.function(ref)
    hidden = {one.name for one in definition.parameters} | set(_stored(definition.body))
    around = scope if scope is not None and scope.function == definition.parent else None
    seen = set()
    for statement in statements(definition.body):
        for expr in expressions_of(statement):
            for part in below(expr):
                if type(part) is ir.Attribute:
                    yield Number(Part(part, ref.file, ref.index), late=True)
                if type(part) is not ir.Name or part.id in hidden or part.id in seen:
                    continue
                seen.add(part.id)
                bound = around.bindings.get(part.id) if around is not None else None
                if bound is not None and bound.expr is not None and bound.frame is not None and depth < _DEPTH:
                    yield from _opened(evaluator, bound.expr, bound.frame, made, depth + 1)
                else:
                    yield Number(Part(part, ref.file, definition.parent), late=True)


def _stored(body: tuple[ir.Stmt, ...]) -> Iterator[str]:
    """The variables that statements set."""
    for statement in statements(body):
        for target in targets_of(statement):
            yield from (part.id for part in below(target) if type(part) is ir.Name)


def targets_of(statement: ir.Stmt) -> tuple[ir.Expr, ...]:
    """What a statement sets: the targets of an assignment, the variables of a loop."""
    if type(statement) is ir.Assign:
        return statement.targets
    return (statement.target,) if type(statement) is ir.AugAssign or type(statement) is ir.For else ()


def mentions_processes(parts: list[Part]) -> bool:
    """Whether one of some expressions has to do with the number of processes, as far as names tell."""
    return Derivation(tuple(parts), whole=True).mentions_rank()


def reached(project: Project, number: Number) -> Iterator[Part]:
    """The expressions that a number certainly is worked out from, on one way or another: what merely lies beside it is left out."""
    waiting = [number.part]
    seen: set[tuple[str, int, ir.Position, type]] = set()
    while waiting and len(seen) < _MAX_PARTS:
        part = waiting.pop()
        key = (part.file, part.function, part.expr.at, type(part.expr))
        if key not in seen:
            seen.add(key)
            yield part
            waiting += _inside(project, part)


def handed(project: Project, part: Part) -> Iterator[Part]:
    """An expression, and what is put into the variables and parameters that it names: nothing that is worked out of that."""
    waiting = [part]
    seen: set[tuple[str, int, ir.Position]] = set()
    while waiting and len(seen) < _MAX_PARTS:
        one = waiting.pop()
        key = (one.file, one.function, one.expr.at)
        if key not in seen:
            seen.add(key)
            yield one
            if type(one.expr) is ir.Name or type(one.expr) is ir.Attribute:
                waiting += _stores(project, one)


def is_length_of(project: Project, part: Part, things: tuple[Instance, ...]) -> bool:
    """Whether an expression is the length of one of some objects."""
    expr = part.expr
    if type(expr) is not ir.Call or last_name(expr.func) != "len" or len(expr.args) != 1:
        return False
    wanted = {one.identity for one in things}
    evaluator = project.evaluator(None)
    for one in handed(project, Part(expr.args[0], part.file, part.function)):
        found = options_of(evaluator.ask(one.expr, one.file, one.function))
        if found and all(isinstance(thing, Instance) for thing in found):
            # what is put into the variable otherwise, before or behind, is not what it is here
            return all(isinstance(thing, Instance) and thing.identity in wanted for thing in found)
    return False


def _inside(project: Project, part: Part) -> Iterator[Part]:
    expr, inner = part.expr, list[ir.Expr]()
    if type(expr) is ir.Name or type(expr) is ir.Attribute:
        yield from _stores(project, part)
    elif type(expr) is ir.Operation:
        inner += expr.operands
    elif type(expr) is ir.Conditional:
        inner += (expr.body, expr.orelse)
    elif type(expr) is ir.ListDisplay:
        inner += expr.items
    elif type(expr) is ir.Lambda:
        inner.append(expr.body)
    elif type(expr) is ir.Call:
        target = _called(project, part, expr)
        if target is not None:
            yield from _returned(project, target)
        elif not _is_length(expr):
            inner += (expr.func, *expr.args, *(word.value for word in expr.keywords))
    elif type(expr) is ir.Subscript:
        inner += (expr.base, expr.index)
    yield from (Part(one, part.file, part.function) for one in inner)


def _of_property(project: Project, owner: ClassRef, name: str) -> Iterator[Part]:
    """What a property of a class gives."""
    for index, one in enumerate(project.module(owner.file).functions):
        if (
            one.owner == owner.index
            and one.name == name
            and any("property" in texts_of(mark) for mark in one.decorators)
        ):
            yield from _returned(project, FunctionRef(owner.file, index))


def _called(project: Project, part: Part, call: ir.Call) -> FunctionRef | None:
    """The function or method of the project that a call runs, if it can be no other."""
    target = project.modules.resolve(call.func, part.file)
    if isinstance(target, FunctionRef) or type(call.func) is not ir.Attribute:
        return target if isinstance(target, FunctionRef) else None
    options = options_of(project.evaluator(None).ask(call.func, part.file, part.function))
    found = [one.target for one in options if isinstance(one, Reference) and isinstance(one.target, FunctionRef)]
    return found[0] if len(found) == len(options) == 1 else None


def _returned(project: Project, target: FunctionRef) -> Iterator[Part]:
    for statement in statements(project.function(target).body):
        if type(statement) is ir.Return and statement.value is not None:
            yield Part(statement.value, target.file, target.index)


def _is_length(call: ir.Call) -> bool:
    return type(call.func) is ir.Name and call.func.id == "len"


def _stores(project: Project, part: Part) -> Iterator[Part]:
    """What is put into a variable, an attribute or a parameter."""
    name, function = texts_of(part.expr), part.function
    found = False
    for statement in statements(body_of(project, part.file, function)):
        if type(statement) is ir.Assign or type(statement) is ir.AugAssign:
            if statement.value is not None and any(texts_of(one) == name for one in targets_of(statement)):
                found = True
                yield Part(statement.value, part.file, function)
    definition = project.module(part.file).functions[function] if function >= 0 else None
    if definition is None or found:
        return
    if name.startswith("self.") and name.count(".") == 1 and definition.owner >= 0:
        owner = ClassRef(part.file, definition.owner)
        stores = project.attribute_stores(owner).get(name[len("self.") :], ())
        yield from _of_property(project, owner, name[len("self.") :])
        yield from (Part(value, where.file, where.index) for where, value, _ in stores if value is not None)
        return
    position = next((at for at, one in enumerate(definition.parameters) if one.name == name), None)
    if position is None:
        if type(part.expr) is ir.Name:
            yield Part(part.expr, part.file, definition.parent)
        return
    shift = 1 if definition.owner >= 0 else 0
    for caller in project.callers(FunctionRef(part.file, function))[:_MAX_CALLERS]:
        given, _ = find_argument(caller.site.call, name, position - shift + caller.shift)
        if given is not None:
            yield Part(given, caller.file, caller.site.function)
