"""Functions and classes that decorators put into a table of a module: ``@register("zero")`` above ``def make(...)``.

The function that fills the table is either the decorator itself (``@register``), one that the decorator's call gives
(``@register("zero")``), or is called with what it puts there (``register("zero", make)``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from distlint.link.abstract import Delayed, Frame, Reference
from distlint.link.modules import ClassRef, FunctionRef
from distlint.model import python as ir
from distlint.model.span import Span

if TYPE_CHECKING:
    from distlint.link.evaluate import Evaluator
    from distlint.link.project import Project

MAX_REGISTERED = 64
"""Things that one function puts into a table; of a table with more nothing is said."""


class Registration(NamedTuple):
    """One run of the function that fills a table.

    ``call`` is the decorator's, or that of the function itself (made in ``function`` of ``file``); ``target`` what is decorated.
    """

    file: str
    function: int
    call: ir.Call | None
    target: FunctionRef | ClassRef | None


def registrations(project: Project, filler: FunctionRef) -> tuple[Registration, ...]:
    """The runs of a function of a module that fills a table, in the order of files and text; nothing where they are too many."""
    function = project.function(filler)
    if function.owner >= 0:
        return ()
    maker = FunctionRef(filler.file, function.parent) if function.parent >= 0 else None
    if maker is not None and not _gives(project, maker, function.name):
        return ()
    found = list(_decorated(project, maker or filler, called=maker is not None))
    if maker is None:
        for site in project.sites(function.name):
            if project.modules.resolve(site.site.call.func, site.file) == filler:
                found.append(Registration(site.file, site.site.function, site.site.call, None))
    return tuple(found) if len(found) <= MAX_REGISTERED else ()


def frame_of(evaluator: Evaluator, filler: FunctionRef, run: Registration, span: Span) -> Frame | None:
    """The frame of the function that fills a table in one of its runs."""
    from distlint.link.calls import bound_parameters, given_arguments

    project = evaluator.project
    function = project.function(filler)
    outer = None
    bindings: dict[str, Delayed] = {}
    if run.call is not None:
        place = evaluator.frame(run.file, run.function)
        given = given_arguments(evaluator, run.call, place, evaluator.state(place, run.call.at))
        called = project.function(FunctionRef(filler.file, function.parent)) if function.parent >= 0 else function
        bindings = bound_parameters(evaluator, called.parameters, given, span)
        if function.parent >= 0:
            outer = Frame(filler.file, function.parent, bindings, 1, bound=True)
            evaluator.keep(outer)
            bindings = {}
    if run.target is not None:
        if not function.parameters:
            return None
        bindings = {function.parameters[0].name: Delayed(value=Reference(run.target, span))}
    return Frame(filler.file, filler.index, bindings, 1, bound=True, outer=outer)


def gives_back(project: Project, decorator: ir.Expr, file: str) -> bool:
    """Whether a decorator of the project leaves what it decorates as it is, as those do that only put it into a table."""
    called = type(decorator) is ir.Call
    target = project.modules.resolve(decorator.func if isinstance(decorator, ir.Call) else decorator, file)
    if not isinstance(target, FunctionRef) or project.function(target).decorators:
        return False
    if called:
        inner = [
            FunctionRef(target.file, index)
            for index, one in enumerate(project.module(target.file).functions)
            if one.parent == target.index and _gives(project, target, one.name)
        ]
        if len(inner) != 1 or len(project.flow(target.file, target.index).ends()) != 1:
            return False
        target = inner[0]
    function, flow = project.function(target), project.flow(target.file, target.index)
    own = function.parameters[0].name if function.parameters else ""
    returns = [one.value for one, _ in flow.returns]
    is_same = all(type(value) is ir.Name and value.id == own for value in returns)
    return bool(returns) and is_same and own not in flow.bound and flow.exit is None


def _gives(project: Project, maker: FunctionRef, name: str) -> bool:
    """Whether a function returns the inner one of a name."""
    flow = project.flow(maker.file, maker.index)
    return any(type(one.value) is ir.Name and one.value.id == name for one, _ in flow.returns)


def _decorated(project: Project, decorator: FunctionRef, *, called: bool) -> Iterator[Registration]:
    """What stands below a decorator."""
    name = project.function(decorator).name
    for file in project.python_files:
        module = project.module(file)
        for index, function in enumerate(module.functions):
            if function.decorators and function.owner < 0 and function.parent < 0:
                yield from _below(
                    project, file, function.decorators, FunctionRef(file, index), decorator, name, called=called
                )
        for index, one in enumerate(module.classes):
            if one.decorators and one.parent < 0:
                yield from _below(project, file, one.decorators, ClassRef(file, index), decorator, name, called=called)


def _below(
    project: Project,
    file: str,
    decorators: tuple[ir.Expr, ...],
    target: FunctionRef | ClassRef,
    decorator: FunctionRef,
    name: str,
    *,
    called: bool,
) -> Iterator[Registration]:
    for expr in decorators:
        if (type(expr) is ir.Call) is not called:
            continue
        func = expr.func if isinstance(expr, ir.Call) else expr
        last = func.name if type(func) is ir.Attribute else func.id if type(func) is ir.Name else ""
        if last and (last == name or last in project.imported_as.get(name, ())):
            if project.modules.resolve(func, file) == decorator:
                yield Registration(file, -1, expr if isinstance(expr, ir.Call) else None, target)
