"""The numbers that a schedule is made with: what the call that makes it is given, and what the functions among that work with.

A number may stand in an argument, in a parameter of a function of the project that makes the schedule, in a function that computes the rate
of a step and sees the variables around it, or in an object or a partial function that is made with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from distlint.checks.derivations import RANK_WORDS, Part
from distlint.checks.number_sources import Step, frame_of_partial, inside, measured, method_frame, step_of, stores
from distlint.link.abstract import Abstract, Frame, Instance, LambdaValue, PartialValue, Reference, options_of
from distlint.link.evaluate import Evaluator
from distlint.link.modules import FunctionRef
from distlint.link.project import Project
from distlint.link.walking import below, expressions_of, last_name, statements
from distlint.model import python as ir

_MAX_PARTS = 400
_DEPTH = 6


class Number(NamedTuple):
    """A number by the expression for it; ``late``: it is read each time that the rate is computed, so that what happens later counts."""

    part: Part | Step
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


def is_behind(part: Part | Step, places: tuple[Place, ...]) -> bool:
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
    if type(expr) is ir.Name or type(expr) is ir.Attribute or type(expr) is ir.Call:
        options = options_of(evaluator.ask_in(expr, frame, made.state if frame is made.frame else None))
        rate = _frame_of_rate(evaluator, options[0]) if len(options) == 1 else None
        if rate is not None:
            yield from _seen_by(evaluator, rate, made, depth)
            return
        if len(options) == 1 and isinstance(options[0], LambdaValue):
            yield Number(Step(options[0].lambda_, options[0].frame), late=True)
            return
    yield Number(Step(expr, frame))


def _frame_of_rate(evaluator: Evaluator, value: Abstract) -> Frame | None:
    """The frame of a function, a partial function or a callable object of the project."""
    if isinstance(value, Reference) and isinstance(value.target, FunctionRef):
        frame = Frame(value.target.file, value.target.index, instance=value.receiver, outer=value.scope)
        evaluator.keep(frame)
        return frame
    if isinstance(value, PartialValue):
        return frame_of_partial(evaluator, value)
    return method_frame(evaluator, value, "__call__") if isinstance(value, Instance) else None


def _seen_by(evaluator: Evaluator, frame: Frame, made: Instance, depth: int) -> Iterator[Number]:
    """What a function that computes the rate reads of its arguments, of the variables around it, and of its object."""
    definition = evaluator.project.function(FunctionRef(frame.file, frame.function))
    hidden = ({one.name for one in definition.parameters} | set(_stored(definition.body))) - set(frame.bindings)
    around = frame.outer if frame.outer is not None and frame.outer.function == definition.parent else None
    outer = around or evaluator.frame(frame.file, definition.parent)
    seen, told = set[str](), set[int]()
    for statement in statements(definition.body):
        for expr in expressions_of(statement):
            for part in below(expr):
                if id(part) in told:
                    continue
                if type(part) is ir.Subscript and type(part.index) is ir.Constant:
                    told |= {id(one) for one in below(part.base)}  # one item, whatever else is in there
                    yield Number(Step(part, frame), late=True)
                if type(part) is ir.Attribute or type(part) is ir.Lambda:
                    yield Number(Step(part, frame), late=True)
                if type(part) is not ir.Name or part.id in hidden or part.id in seen:
                    continue
                seen.add(part.id)
                of = frame if part.id in frame.bindings else outer
                bound = of.bindings.get(part.id)
                if bound is not None and bound.expr is not None and bound.frame is not None and depth < _DEPTH:
                    yield from _opened(evaluator, bound.expr, bound.frame, made, depth + 1)
                else:
                    yield Number(Step(part, of), late=True)


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


def mentions_processes(parts: Iterable[Part | Step]) -> bool:
    """Whether one of some expressions has to do with the number of processes, as far as names tell."""
    return any(RANK_WORDS.search(word) or is_of_many(word) for one in parts for word in names_in(one.expr))


_MANY = re.compile(
    r"world|rank|gpu|device|card|nproc|proc|replica|worker|node|shard|parallel|global|total_batch|effective|(?:^|_)(?:dp|tp|ws|n_?dev)(?:_|$)",
    re.IGNORECASE,
)
"""Names behind which a number of processes may stand, or a batch of all of them."""
_OF_EACH = re.compile(r"per_(?:device|gpu|rank|proc|process|worker|card|replica|node)|micro|local", re.IGNORECASE)


def is_of_many(name: str) -> bool:
    """Whether a number of processes may stand behind a name, or a batch of all of them."""
    return _MANY.search(name) is not None and _OF_EACH.search(name) is None


def names_in(expr: ir.Expr) -> Iterator[str]:
    """The names in an expression, and those of variables of the environment."""
    for part in below(expr):
        name = part.value if type(part) is ir.Constant and type(part.value) is str else last_name(part)
        if name:
            yield name


def reached(project: Project, number: Number) -> Iterator[Step]:
    """The expressions that a number certainly is worked out from, on one way or another: what merely lies beside it is left out."""
    evaluator = project.evaluator(None)
    waiting = [step_of(evaluator, number.part)]
    seen: set[tuple[str, int, ir.Position, type, int]] = set()
    while waiting and len(seen) < _MAX_PARTS:
        step = waiting.pop()
        key = (step.file, step.function, step.expr.at, type(step.expr), id(step.frame))
        if key not in seen:
            seen.add(key)
            yield step
            waiting += inside(evaluator, step)


def handed(project: Project, part: Part | Step) -> Iterator[Step]:
    """An expression, and what is put into the variables and parameters that it names: nothing that is worked out of that."""
    evaluator = project.evaluator(None)
    waiting = [step_of(evaluator, part)]
    seen: set[tuple[str, int, ir.Position, int]] = set()
    while waiting and len(seen) < _MAX_PARTS:
        one = waiting.pop()
        key = (one.file, one.function, one.expr.at, id(one.frame))
        if key not in seen:
            seen.add(key)
            yield one
            if type(one.expr) is ir.Name or type(one.expr) is ir.Attribute:
                waiting += stores(evaluator, one)


def is_length_of(project: Project, part: Part | Step, things: tuple[Instance, ...]) -> bool:
    """Whether an expression is the length of one of some objects."""
    evaluator = project.evaluator(None)
    asked = measured(part.expr)
    if asked is None:
        return False
    wanted = {one.identity for one in things}
    for one in handed(project, Step(asked, step_of(evaluator, part).frame)):
        found = options_of(evaluator.ask_in(one.expr, one.frame))
        if found and all(isinstance(thing, Instance) for thing in found):
            # what is put into the variable otherwise, before or behind, is not what it is here
            return all(isinstance(thing, Instance) and thing.identity in wanted for thing in found)
    return False
