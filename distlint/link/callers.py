"""Who calls a function of the project, as far as that can be told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from distlint.link.modules import ClassRef, FunctionRef
from distlint.link.starters import STARTERS, started_call
from distlint.link.walking import below, expressions_of, statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.project import CallSite, Project

MAX_CANDIDATES = 40
"""A method name with more call sites than this is not followed to its callers."""


class Caller(NamedTuple):
    """A call of a project function.

    ``shift`` is added to a parameter's position to find its argument (1 behind ``partial(f, ...)``). ``starter`` is the
    last name of the call where it starts the function in a process of its own. ``looked_up`` says that a table holds the
    function, so that which one is called may depend on the run. ``is_begun``: more arguments are given later, by calls that are not seen.
    """

    file: str
    site: ir.Site
    shift: int = 0
    starter: str = ""
    looked_up: bool = False
    is_begun: bool = False


def callers_of(project: Project, ref: FunctionRef) -> Iterator[Caller]:
    """The call sites of a project function, through imports, ``super()``, ``partial`` and what starts processes."""
    function = project.function(ref)
    owner = ClassRef(ref.file, function.owner) if function.owner >= 0 else None
    if owner is not None and function.name == "__init__":
        name = project.class_(owner).name
        yield from (
            Caller(c.file, c.site)
            for c in project.sites(name)
            if project.modules.resolve(c.site.call.func, c.file) == owner
        )
        yield from _super_calls(project, owner)
        yield from (Caller(one.file, one.site, looked_up=True) for one in project.table_calls.of(owner))
    elif owner is not None:
        yield from _method_callers(project, ref, owner, function.name)
        if function.name == "__call__":
            yield from _object_callers(project, ref, owner)
    else:
        for found in _named_sites(project, function.name):
            if _refers(project, found.site.call.func, found, ref):
                yield Caller(found.file, found.site)
        for found in project.sites("partial"):
            call = found.site.call
            if call.args and _refers(project, call.args[0], found, ref):
                if not project.partial_calls.is_followed(found.file, call):
                    yield Caller(found.file, found.site, 1, is_begun=True)
        for name in sorted(STARTERS):
            for found in project.sites(name):
                started = started_call(found.site.call, name)
                if started is not None and _refers(project, started.func, found, ref):
                    yield Caller(found.file, ir.Site(started, found.site.function), STARTERS[name], name)
        yield from (Caller(one.file, one.site, looked_up=True) for one in project.table_calls.of(ref))


def _named_sites(project: Project, name: str) -> Iterator[CallSite]:
    """Calls under a function's own name, and under names that it is imported as."""
    for one in sorted({name, *project.imported_as.get(name, ())}):
        yield from project.sites(one)


def _refers(project: Project, expr: ir.Expr, found: CallSite, ref: FunctionRef) -> bool:
    """Whether an expression at a call site names a function.

    At module level, or a function nested around the call.
    """
    if project.modules.resolve(expr, found.file) == ref:
        return True
    if type(expr) is not ir.Name or found.file != ref.file or expr.id != project.function(ref).name:
        return False
    around = found.site.function
    while around >= 0 and around != project.function(ref).parent:
        around = project.module(found.file).functions[around].parent
    return around >= 0


def _super_calls(project: Project, owner: ClassRef) -> Iterator[Caller]:
    for found in project.sites("__init__"):
        func = found.site.call.func
        if type(func) is ir.Attribute and type(func.base) is ir.Call and found.site.function >= 0:
            around = project.module(found.file).functions[found.site.function]
            if around.owner >= 0 and any(
                project.modules.resolve(base, found.file) == owner
                for base in project.module(found.file).classes[around.owner].bases
            ):
                yield Caller(found.file, found.site)


def _method_callers(project: Project, ref: FunctionRef, owner: ClassRef, name: str) -> Iterator[Caller]:
    from distlint.link.abstract import Instance, options_of

    sites = project.sites(name)
    if len(sites) > MAX_CANDIDATES:
        return
    evaluator = project.evaluator(None)
    for found in sites:
        func = found.site.call.func
        if type(func) is not ir.Attribute:
            continue
        for option in options_of(evaluator.ask(func.base, found.file, found.site.function)):
            if isinstance(option, Instance) and isinstance(option.callee, ClassRef):
                if project.modules.method(option.callee, name) == ref:
                    yield Caller(found.file, found.site)
                    break


def _object_callers(project: Project, ref: FunctionRef, owner: ClassRef) -> Iterator[Caller]:
    """The calls of objects of a class itself (``score(model, loader)``), by the names that they are put into where they are made."""
    from distlint.link.abstract import Instance, options_of

    evaluator = project.evaluator(None)
    for name in sorted(set(_names_of_objects(project, owner))):
        sites = project.sites(name)
        if len(sites) > MAX_CANDIDATES:
            continue
        for found in sites:
            for option in options_of(evaluator.ask(found.site.call.func, found.file, found.site.function)):
                if isinstance(option, Instance) and isinstance(option.callee, ClassRef) and not option.part:
                    if project.modules.method(option.callee, "__call__") == ref:
                        yield Caller(found.file, found.site)
                        break


def _names_of_objects(project: Project, owner: ClassRef) -> Iterator[str]:
    for made in project.sites(project.class_(owner).name):
        body = project.body(made.file, made.site.function)
        yield from _parameters_given(project, made, body)
        for one in statements(body):
            if type(one) is ir.Assign and one.value is made.site.call:
                for target in one.targets:
                    if type(target) is ir.Name:
                        yield target.id
                    elif type(target) is ir.Attribute:
                        yield target.name


def _parameters_given(project: Project, made: CallSite, body: tuple[ir.Stmt, ...]) -> Iterator[str]:
    """The parameters of functions of the project to which an object is handed at the place where it is made."""
    for call in (part for one in statements(body) for expr in expressions_of(one) for part in below(expr)):
        if type(call) is not ir.Call:
            continue
        yield from (one.name for one in call.keywords if one.value is made.site.call and one.name is not None)
        if any(one is made.site.call for one in call.args):
            target = project.modules.resolve(call.func, made.file)
            if isinstance(target, ClassRef):
                target = project.modules.method(target, "__init__")
            if isinstance(target, FunctionRef):
                function = project.function(target)
                place = next(number for number, one in enumerate(call.args) if one is made.site.call)
                place += int(function.owner >= 0 and function.name == "__init__")
                yield from (one.name for one in function.parameters[place : place + 1])
