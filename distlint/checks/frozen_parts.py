"""Whether a program trains a part of its model only, or may: where it stops gradients, and whether it comes there.

Parameters of ``Stops``: ``freezing`` (the attribute and the method that stop gradients where they get something else than true; to read
the attribute stops nothing) and ``stopping`` (names that change the training wherever they occur).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from distlint.checks.execution import body_of
from distlint.link.abstract import Abstract
from distlint.link.evaluate import Evaluator
from distlint.link.modules import FunctionRef
from distlint.link.project import Project
from distlint.link.walking import (
    Guard,
    asks_for_main,
    below,
    bodies_of,
    expressions_of,
    guards_of,
    names_below,
    statements,
)
from distlint.model import python as ir
from distlint.model.document import Leaf
from distlint.model.value import Confidence

_DEPTH = 3
"""Functions, one called by the other, through which it is asked whether a place is ever reached."""

_ENVIRONMENT = frozenset({"environ", "getenv"})


class Stops(NamedTuple):
    """What in a program stops the gradients of a part of the model, as a rule names it."""

    freezing: frozenset[str]
    stopping: frozenset[str]


def trains_all(project: Project, evaluator: Evaluator, files: Iterable[str], stops: Stops) -> Confidence | None:
    """How sure it is that nothing in some files stops gradients; ``None`` where something may.

    What stands behind a test that an option's default makes fail is no more than possibly left out.
    """
    sure = Confidence.CERTAIN
    for file in files:
        module = project.module(file)
        if not module.attributes & (stops.freezing | stops.stopping):
            continue
        for function, body in bodies_of(module):
            for at in _places(evaluator, file, function, body, stops):
                left_out = _never_reached(project, evaluator, FunctionRef(file, function), body, at, _DEPTH)
                if left_out is None:
                    return None
                sure = min(sure, left_out)
    return sure


def _places(
    evaluator: Evaluator, file: str, function: int, body: tuple[ir.Stmt, ...], stops: Stops
) -> Iterator[ir.Position]:
    """Where a body stops gradients."""
    for statement in statements(body):
        stored = statement.targets if type(statement) is ir.Assign else ()
        if type(statement) is ir.AugAssign:
            stored = (statement.target,)
        for target in stored:
            if type(target) is ir.Attribute and target.name in stops.freezing:
                value = statement.value if type(statement) is ir.Assign else None
                if value is None or not _is_true(evaluator.ask(value, file, function)):
                    yield target.at
        for expr in expressions_of(statement):
            called = {id(one.func): one for one in below(expr) if type(one) is ir.Call}
            for part in below(expr):
                if type(part) is not ir.Attribute:
                    continue
                call = called.get(id(part))
                if part.name in stops.stopping:
                    yield part.at
                elif part.name in stops.freezing and call is not None:
                    given = [*call.args, *[one.value for one in call.keywords]]
                    if not all(_is_true(evaluator.ask(one, file, function)) for one in given):
                        yield part.at


def _never_reached(
    project: Project, evaluator: Evaluator, ref: FunctionRef, body: tuple[ir.Stmt, ...], at: ir.Position, depth: int
) -> Confidence | None:
    """How sure it is that a place is not reached, by the tests around it and around the calls of its function."""
    for guard in guards_of(body, at) or ():
        left_out = _fails(evaluator, guard, ref)
        if left_out is not None:
            return left_out
    if ref.index < 0 or not depth:
        return None
    callers = project.callers(ref)
    if not callers or len(callers) != len(project.sites(project.function(ref).name)):
        return None  # something else of the name is called, of which nobody knows whether it is this
    sure = Confidence.CERTAIN
    for one in callers:
        caller = FunctionRef(one.file, one.site.function)
        around = body_of(project, caller.file, caller.index)
        found = _never_reached(project, evaluator, caller, around, one.site.call.at, depth - 1)
        if found is None:
            return None
        sure = min(sure, found)
    return sure


def _fails(evaluator: Evaluator, guard: Guard, ref: FunctionRef) -> Confidence | None:
    """How sure it is that a test goes the other way than a place needs."""
    if guard.test is None or guard.kind == "for" or asks_for_main(guard.test):
        return None
    if any(name in _ENVIRONMENT for name in names_below(guard.test)):
        return None  # a switch that whoever starts the program may set
    found = evaluator.ask(guard.test, ref.file, ref.index)
    if not isinstance(found, Leaf) or not found.value.is_known or bool(found.value.only) is guard.holds:
        return None
    return None if found.value.confidence is Confidence.LIKELY else found.value.confidence


def _is_true(found: Abstract) -> bool:
    return isinstance(found, Leaf) and found.value.is_known and found.value.only is True
