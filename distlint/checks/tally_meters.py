"""Objects of the project that are told, in a loop, what is counted: meters of losses, metrics."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.checks.execution import body_of
from distlint.checks.loaders import Pass
from distlint.checks.spread_names import JOINING, Region, called_name, calls_of, comes_to_joining
from distlint.link.abstract import Instance, options_of
from distlint.link.modules import ClassRef, External, FunctionRef
from distlint.link.walking import below, expressions_of, statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.project import Project

_FEEDING = frozenset({"update", "add", "step", "record", "accumulate", "push", "__call__"})


def fed_meters(project: Project, place: Pass, *, joined: bool = False) -> Iterator[str]:
    """The variables that hold such objects, where nothing that is asked of them brings anything together over the ranks.

    With ``joined`` those of which something that is asked does.
    """
    evaluator = project.evaluator(None)
    asked: dict[str, bool] = {}
    for func, named in _fed(place):
        if named.id in asked:
            continue
        asked[named.id] = False
        options = options_of(evaluator.ask(named, place.file, place.function))
        made = [one for one in options if isinstance(one, Instance) and isinstance(one.callee, ClassRef)]
        if not made or len(made) != len(options):
            continue
        used = {func.name if type(func) is ir.Attribute else "__call__"} | set(_used(project, place, named.id))
        classes = {one.callee for one in made if isinstance(one.callee, ClassRef)}
        if all(_adds_up(project, one) and _joins(project, one, used) is joined for one in classes):
            yield named.id


def may_feed(project: Project, place: Pass) -> bool:
    """Whether a loop calls something that may be such an object, as far as its text tells."""
    return any(
        not hasattr(builtins, named.id)
        and not isinstance(project.modules.resolve(named, place.file), FunctionRef | ClassRef | External)
        for _, named in _fed(place)
    )


def _fed(place: Pass) -> Iterator[tuple[ir.Expr, ir.Name]]:
    """What a loop calls in statements of their own, with the variable that it is called by."""
    for statement in statements(place.body):
        if type(statement) is ir.Evaluate and type(statement.value) is ir.Call:
            func = statement.value.func
            named = func.base if type(func) is ir.Attribute and func.name in _FEEDING else func
            if type(named) is ir.Name:
                yield func, named


def _used(project: Project, place: Pass, name: str) -> Iterator[str]:
    """The attributes and methods of an object that a function asks for."""
    for statement in statements(body_of(project, place.file, place.function)):
        for expr in expressions_of(statement):
            for part in below(expr):
                if type(part) is ir.Attribute and type(part.base) is ir.Name and part.base.id == name:
                    yield part.name


def _methods(project: Project, ref: ClassRef) -> Iterator[tuple[FunctionRef, ir.Function]]:
    for one in project.modules.ancestry(ref):
        for index, method in enumerate(project.module(one.file).functions):
            if method.owner == one.index:
                yield FunctionRef(one.file, index), method


def _adds_up(project: Project, ref: ClassRef) -> bool:
    """Whether the objects of a class add to what they hold."""
    return any(
        type(statement) is ir.AugAssign and statement.operator == "+"
        for _, method in _methods(project, ref)
        for statement in statements(method.body)
    )


def _joins(project: Project, ref: ClassRef, used: set[str]) -> bool:
    """Whether one of some methods of a class, or one that it calls, may bring something together over the ranks."""
    for where, method in _methods(project, ref):
        if method.name not in used:
            continue
        for call in calls_of(method.body):
            region = Region(where.file, where.index, frozenset())
            if JOINING.search(called_name(call)) or comes_to_joining(project, call, region):
                return True
    return False
