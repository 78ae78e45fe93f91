"""A schedule that is sized with the batches of one process, under an object that moves it on once for every process.

Parameters: ``prepare`` (see ``preparing``), ``schedulers`` (prefixes of what makes a schedule), ``switches`` (arguments of the
preparing object that may change how often it moves a schedule on), ``splitting`` (the one of them by which batches are split),
``counts`` (names of the number of processes).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from distlint.checks.derivations import Part, derivation
from distlint.checks.number_sources import Step, called, inside, measured, returned, step_of
from distlint.checks.preparing import Preparations, splits_batches
from distlint.checks.registry import CheckContext, check
from distlint.checks.schedule_numbers import (
    Number,
    Place,
    is_behind,
    mentions_processes,
    numbers_of,
    places_of,
    reached,
)
from distlint.link.abstract import Instance
from distlint.link.evaluate import Evaluator
from distlint.link.project import Project
from distlint.link.walking import last_name
from distlint.model import python as ir
from distlint.model.finding import Finding, Related
from distlint.model.span import Span

_ARITHMETIC = frozenset({"+", "-", "*", "/", "//", "**"})
_ROUNDING = frozenset({"int", "float", "max", "min", "ceil", "floor", "round"})
_DEPTH = 8


class Length(NamedTuple):
    """The length of a loader that goes into a schedule, and what it is multiplied by: the number of processes so many times."""

    at: Span
    prepared: bool
    times: int
    factor: Span | None


@check("schedule-length")
def schedule_length(context: CheckContext) -> Iterator[Finding]:
    """A finding for each such schedule that is handed over."""
    found = Preparations.of_context(context)
    prefixes = tuple(context.parameters["schedulers"])
    for handed in found.handed:
        made = handed.instance
        if made is None or not found.things.made_by(made).startswith(prefixes):
            continue
        split = splits_batches(context, found, handed.found)
        length = _length(context, found, made) if split is not None else None
        if split is None or length is None:
            continue
        # with batches that are split a prepared loader has as many as before, and one step is one step
        excess = length.times - (1 if length.prepared and not split else 0)
        if excess:
            yield context.finding(
                _TOO_SHORT if excess < 0 else _TOO_LONG, made.span(), related=_related(length, handed.found.span, split)
            )


_TOO_SHORT = "the schedule is as long as the batches of one process, but moves on once for each process in every step"
_TOO_LONG = "the schedule is as many times too long as there are processes, and is not at its end when the training is"


def _related(length: Length, prepared: Span, split: bool) -> list[Related]:
    whose = "the prepared loader has the batches of one process only" if length.prepared else "these are all batches"
    moves = (
        "with split batches a schedule moves on once in every step"
        if split
        else "a schedule that is prepared moves on as many steps as there are processes"
    )
    related = [Related(length.at, "these are the steps of every process" if split else whose)]
    if length.factor is not None:
        related.append(Related(length.factor, "here the number of processes goes in"))
    return [*related, Related(prepared, moves)]


def _length(context: CheckContext, found: Preparations, made: Instance) -> Length | None:
    """The length of a loader that goes into a schedule, and how often the number of processes does; ``None`` if that is not known."""
    places = places_of(made)
    for numbers in numbers_of(found.things.evaluator, made):
        length = _of_numbers(context, found, numbers, places)
        if length is not None:
            return length
    return None


def _of_numbers(
    context: CheckContext, found: Preparations, numbers: list[Number], places: tuple[Place, ...]
) -> Length | None:
    """The same of numbers that belong together."""
    project: Project = context.project
    evaluator = project.evaluator(None)
    parts, near = list[Part](), list[Step]()
    for number in numbers:
        loose = derivation(project, number.part.expr, number.part.file, number.part.function).parts
        parts += [one for one in loose if number.late or not is_behind(one, places)]
        near += [one for one in reached(project, number) if number.late or not is_behind(one, places)]
    lengths = [one for part in parts if (one := _of_loader(found, part)) is not None]
    exprs = [*(part.expr for part in parts), *(step.expr for step in near)]
    certain = [one for step in near if (one := _of_loader(found, step)) is not None]
    counted = any(last_name(expr) in context.parameters["counts"] for expr in exprs) or mentions_processes(near)
    if certain and not counted and all(prepared for _, prepared in (*lengths, *certain)):
        return Length(certain[0][0], True, 0, None)
    exact = [_arithmetic(evaluator, step_of(evaluator, number.part), 0) for number in numbers]
    known = [one for one in exact if one is not None]
    told = [[step for step in one if last_name(step.expr) in context.parameters["counts"]] for one in known]
    sized = [[one for step in way if (one := _of_loader(found, step)) is not None] for way in known]
    if len(known) < len(exact) or any(some and not all_ for some, all_ in zip(told, sized, strict=True)):
        return None
    for way, some, of_way in zip(known, told, sized, strict=True):
        times = _times(context, way)
        # where the number of processes is asked for at some other place, it may be among what is multiplied
        if len(of_way) == 1 and times is not None and len(times) == len(some) and bool(some) == counted:
            at, prepared = of_way[0]
            factor = ir.unpack(some[0].expr.at, some[0].file) if some else None
            return Length(at, prepared, sum(times), factor)
    return None


def _arithmetic(evaluator: Evaluator, step: Step, depth: int) -> list[Step] | None:
    """The numbers that a number is worked out from, in the one way that there is; ``None`` where there are several."""
    found, expr = [step], step.expr
    inner: list[Step]
    if type(expr) is ir.Name or type(expr) is ir.Attribute or type(expr) is ir.Subscript:
        inner = list(inside(evaluator, step))
        if type(expr) is ir.Subscript and any(one.expr is expr.base for one in inner):
            return found
        if len(inner) > 1 or depth > _DEPTH:
            return None
    elif type(expr) is ir.Operation:
        if not set(expr.operators) <= _ARITHMETIC:
            return None
        inner = [Step(one, step.frame) for one in expr.operands]
    elif type(expr) is ir.Lambda:
        inner = [Step(expr.body, step.frame)]
    elif type(expr) is ir.Call and last_name(expr.func) in _ROUNDING:
        inner = [Step(one, step.frame) for one in expr.args]
    elif type(expr) is ir.Call and (target := called(evaluator, step)) is not None:
        inner = list(returned(evaluator, target))
        if len(inner) != 1:
            return None
    else:
        return None if type(expr) is ir.Conditional else found
    for one in inner:
        more = _arithmetic(evaluator, one, depth + 1)
        if more is None:
            return None
        found += more[1:] if one.expr is expr else more  # a variable of the function around is the same
    return found


def _of_loader(found: Preparations, part: Part | Step) -> tuple[Span, bool] | None:
    """Where the length of a loader is asked for, and whether it is a prepared one or one that is going to be."""
    asked = measured(part.expr)
    if asked is None:
        return None
    objects = found.objects_in(asked, step_of(found.things.evaluator, part).frame)
    if objects and all(found.is_prepared(thing) for thing in objects):
        return ir.unpack(part.expr.at, part.file), True
    if objects and all(found.handed_as(thing) is not None for thing in objects):
        return ir.unpack(part.expr.at, part.file), False
    return None


def _times(context: CheckContext, parts: list[Step]) -> list[int] | None:
    """For each multiplication by the number of processes 1, for each division -1; ``None`` for what else is done with it."""
    found = []
    for part in parts:
        if type(part.expr) is not ir.Operation:
            continue
        for place, operand in enumerate(part.expr.operands):
            called = operand.func if type(operand) is ir.Call else operand
            if last_name(called) not in context.parameters["counts"]:
                continue
            operator = part.expr.operators[max(place - 1, 0)]
            if operator not in ("*", "/", "//") or (operator != "*" and place == 0):
                return None
            found.append(1 if operator == "*" else -1)
    return found
