"""Tensors that a program certainly makes on the CPU, also where they, or the device, come from somewhere else.

Parameters of a rule that asks: ``makers`` (functions that make a new tensor, on the CPU unless ``device`` says otherwise).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from distlint.checks.execution import body_of
from distlint.checks.rank_objects import SETTINGS
from distlint.link.followed import followed
from distlint.link.handed import handed
from distlint.link.modules import ClassRef, FunctionRef
from distlint.link.walking import bound_names, statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.checks.registry import CheckContext
    from distlint.link.callers import Caller
    from distlint.link.project import CallSite, Project

MAX_DEPTH = 3
"""Functions whose parameters are followed, one handing on to the next."""
MAX_CALLERS = 8


class Made(NamedTuple):
    """Where a tensor is made on the CPU: an expression, its file, and the calls that hand it, or no device, on from there."""

    expr: ir.Expr
    file: str
    calls: tuple[Caller, ...] = ()


def made_on_cpu(context: CheckContext, given: ir.Expr, site: CallSite) -> Made | None:
    """Where a tensor that is given to a call is made on the CPU, if some way to the call certainly brings such a one."""
    return _made(context, given, site.file, site.site.function, site.site.call.at, ())


def _made(
    context: CheckContext, given: ir.Expr, file: str, function: int, at: ir.Position, calls: tuple[Caller, ...]
) -> Made | None:
    project: Project = context.project
    expr = followed(given, project.flow(file, function).before(at))
    if type(expr) is ir.Call:
        found = _by_call(context, expr, file, function)
        return found._replace(calls=calls + found.calls) if found is not None else None
    kept = _kept(context, given, file, function)
    if kept is not None:
        return kept._replace(calls=calls)
    for caller, one in _handed(project, expr, file, function) if len(calls) < MAX_DEPTH else ():
        if one is None:
            continue
        found = _made(context, one, caller.file, caller.site.function, caller.site.call.at, (*calls, caller))
        if found is not None:
            return found
    return None


def _by_call(context: CheckContext, made: ir.Call, file: str, function: int) -> Made | None:
    """A call that makes a new tensor on the CPU."""
    project: Project = context.project
    if type(made.func) is ir.Attribute and made.func.name == "cpu" and not made.args:
        return Made(made, file) if not project.modules.dotted(made.func, file) else None
    if project.modules.dotted(made.func, file) not in context.parameters["makers"]:
        return None
    if any(word.name is None for word in made.keywords) or any(type(one) is ir.Starred for one in made.args):
        return None
    device = next((word.value for word in made.keywords if word.name == "device"), None)
    calls = _to_no_device(project, device, file, function, ()) if device is not None else ()
    return Made(made, file, calls) if calls is not None else None


def _kept(context: CheckContext, given: ir.Expr, file: str, function: int) -> Made | None:
    """The first tensor that an attribute of a method's object holds, where all that is ever stored there is on the CPU."""
    project: Project = context.project
    owner = _owner_of(project, given, file, function)
    if owner is None or type(given) is not ir.Attribute:
        return None
    stores = project.attribute_stores(owner).get(given.name, ())
    if not stores or _stores_others(project, given.name):
        return None
    made = [
        _by_call(context, value, at.file, at.index) if type(value) is ir.Call and not part else None
        for at, value, part in stores
    ]
    return made[0] if all(one is not None for one in made) else None


# Devices that nobody names --------------------------------------------------------------------------------------------


def _to_no_device(
    project: Project, device: ir.Expr, file: str, function: int, calls: tuple[Caller, ...]
) -> tuple[Caller, ...] | None:
    """The calls by which a device is certainly ``None`` or the CPU on some way; ``None`` where no way is known to be such.

    A choice between devices is none: it may go by whether there are any.
    """
    if type(device) is ir.Constant:
        return calls if device.value is None or device.value == "cpu" else None
    if len(calls) >= MAX_DEPTH:
        return None
    owner = _owner_of(project, device, file, function)
    if owner is not None and type(device) is ir.Attribute:
        stores = project.attribute_stores(owner).get(device.name, ())
        if len(stores) != 1 or stores[0][1] is None or stores[0][2] or _stores_others(project, device.name):
            return None
        at, value, _ = stores[0]
        return _to_no_device(project, value, at.file, at.index, calls)  # type: ignore[arg-type]
    for caller, one in _handed(project, device, file, function):
        if one is None:
            continue
        found = _to_no_device(project, one, caller.file, caller.site.function, (*calls, caller))
        if found is not None:
            return found
    return None


def _handed(project: Project, expr: ir.Expr, file: str, function: int) -> Iterator[tuple[Caller, ir.Expr | None]]:
    """What the callers of a function hand to a parameter that nothing is put into: its default where they hand nothing."""
    if function < 0 or type(expr) is not ir.Name:
        return
    definition = project.module(file).functions[function]
    place = next((at for at, one in enumerate(definition.parameters) if one.name == expr.id), None)
    if place is None or expr.id in _bound_in(body_of(project, file, function)):
        return
    ref = FunctionRef(file, function)
    if len(project.callers(ref)) > MAX_CALLERS:
        return
    for caller, given, certain in handed(project, ref, place, MAX_CALLERS):
        yield caller, given if given is not None or not certain else definition.parameters[place].default


def _bound_in(body: tuple[ir.Stmt, ...]) -> set[str]:
    """The names that a function puts something into."""
    found: set[str] = set()
    for statement in statements(body):
        if type(statement) is ir.Assign:
            found.update(name for target in statement.targets for name in bound_names(target))
        elif type(statement) in (ir.AugAssign, ir.For):
            found.update(bound_names(statement.target))  # type: ignore[union-attr]
    return found


def _stores_others(project: Project, name: str) -> bool:
    """Whether something is put into an attribute of that name from outside of methods, but for the settings of a program."""
    return any(
        type(store.base) is not ir.Name or store.base.id not in SETTINGS for _, store in project.outside_stores(name)
    )


def _owner_of(project: Project, expr: ir.Expr, file: str, function: int) -> ClassRef | None:
    """The class of the object of a method whose attribute an expression is."""
    if type(expr) is not ir.Attribute or type(expr.base) is not ir.Name or function < 0:
        return None
    definition = project.module(file).functions[function]
    if definition.owner < 0 or not definition.parameters or definition.parameters[0].name != expr.base.id:
        return None
    return ClassRef(file, definition.owner)
