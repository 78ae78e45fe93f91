"""Decorators that let a function run on some ranks only: those of libraries by their names, those of the project by what they do."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING

from distlint.link.abstract import Instance, options_of
from distlint.link.modules import FunctionRef
from distlint.link.project import CallSite, Project
from distlint.link.walking import below, calls_in, expressions_of, statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.checks.rank_guard import Split


def is_named(project: Project, decorator: ir.Expr, ref: FunctionRef, names: Collection[str]) -> bool:
    """Whether a decorator of a function is a library's of one of the names (``pkg.function`` or ``pkg.Class().method``)."""
    if not names:
        return False
    dotted = project.modules.dotted(decorator, ref.file)
    if dotted or type(decorator) is not ir.Attribute:
        return dotted in names
    if decorator.name not in {name.rpartition(".")[2] for name in names}:
        return False
    evaluator = project.evaluator(None)
    options = options_of(evaluator.ask(decorator.base, ref.file, project.function(ref).parent))
    return all(
        isinstance(one, Instance)
        and project.modules.canonical(f"{evaluator.instance_name(one)}.{decorator.name}") in names
        for one in options
    )


def split_inside(
    project: Project, decorator: ir.Expr, file: str, judge: Callable[[CallSite], Split | None]
) -> Split | None:
    """The test of the rank under which a decorator of the project calls what it decorates.

    ``judge`` says which test parts the ranks before a call. ``None`` where there is none, or where the decorator is not understood:
    it has to return a function of its own that does nothing with the decorated one but call it, always on the same side.
    """
    target = project.modules.resolve(decorator, file)
    if not isinstance(target, FunctionRef):
        return None
    definition = project.function(target)
    if not definition.parameters:
        return None
    inner = _returned(project, target)
    if inner is None:
        return None
    name = definition.parameters[0].name
    body = project.function(inner).body
    calls = [call for call in calls_in(body) if type(call.func) is ir.Name and call.func.id == name]
    if not calls or len(calls) != sum(1 for part in _names(body) if part.id == name):
        return None
    splits = [judge(CallSite(inner.file, ir.Site(call, inner.index))) for call in calls]
    first = splits[0]
    return first if all(one is not None and first and one.main_only is first.main_only for one in splits) else None


def _names(body: tuple[ir.Stmt, ...]) -> Iterator[ir.Name]:
    for statement in statements(body):
        for expr in expressions_of(statement):
            yield from (part for part in below(expr) if type(part) is ir.Name)


def _returned(project: Project, decorator: FunctionRef) -> FunctionRef | None:
    """The function inside a decorator that it returns, if that is all that it returns."""
    inside = {
        function.name: index
        for index, function in enumerate(project.module(decorator.file).functions)
        if function.parent == decorator.index and function.owner < 0
    }
    found = set()
    for statement in statements(project.function(decorator).body):
        if type(statement) is ir.Return:
            value = statement.value
            found.add(inside.get(value.id) if type(value) is ir.Name else None)
    only = found.pop() if len(found) == 1 else None
    return FunctionRef(decorator.file, only) if only is not None else None
