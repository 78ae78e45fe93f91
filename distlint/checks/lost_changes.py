"""Objects are changed inside a context that throws the changes away, because it was not told to keep them.

Parameters: ``contexts`` (library classes, with the position of what they hold as first argument), ``keeps`` (the argument that
makes them keep changes, and its position), ``changers`` (prefixes of library functions whose names end in ``_`` and that change
their first argument), ``loaders`` (methods that fill an object), ``wholes`` (methods that give all parts of an object), ``message``.
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.execution import body_of
from distlint.checks.registry import CheckContext, check
from distlint.link.arguments import find_argument
from distlint.link.project import CallSite, Project
from distlint.link.walking import below, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Operation, Related

_QUIET = frozenset({"requires_grad_", "retain_grad_", "detach_", "share_memory_", "pin_memory_"})
"""Methods with a trailing underscore that change no values."""


@check("lost-changes")
def lost_changes(context: CheckContext) -> Iterator[Finding]:
    """A finding for the first change in each such context."""
    project: Project = context.project
    keeps, position = context.parameters["keeps"]
    contexts = list(project.calls_to(set(context.parameters["contexts"])))
    for found in contexts:
        given, certain = find_argument(found.site.call, keeps, position)
        if given is None and not certain:
            continue
        if given is not None and not (type(given) is ir.Constant and given.value is None):
            continue
        holder = _block(body_of(project, found.file, found.site.function), found.site.call)
        held = _paths_held(context, found.site.call.args[0]) if found.site.call.args else set()
        if holder is None or not held or _holds_other_context(holder, found, contexts):
            continue
        change = _first_change(context, holder.body, held, found.file)
        if change is not None:
            step = Operation("set-argument", found.span, {"name": keeps, "value": 0})
            yield context.finding(
                context.parameters["message"],
                ir.unpack(change, found.file),
                related=[Related(found.span, f"the context is entered without `{keeps}` here")],
                plan=context.plan(step),
                symbol=found.name,
            )


def _block(body: tuple[ir.Stmt, ...], call: ir.Call) -> ir.With | None:
    """The ``with`` statement whose header is the call."""
    for statement in statements(body):
        if isinstance(statement, ir.With) and any(context.at == call.at for context, _ in statement.items):
            return statement
    return None


def _holds_other_context(holder: ir.With, found: CallSite, others: list[CallSite]) -> bool:
    """Whether a further such context lies in the statement: that one may keep what is changed in it."""
    places = [one.site.call.at for one in others if one.file == found.file and one.span != found.span]
    return any(ir.encloses(holder.at, at) for at in places)


def _paths_held(context: CheckContext, expr: ir.Expr) -> set[str]:
    """The paths of the things that an argument names: ``model.embed.weight``, ``model`` for ``model.parameters()``."""
    if isinstance(expr, ir.ListDisplay):
        return {path for item in expr.items for path in _paths_held(context, item)}
    if isinstance(expr, ir.Call):
        if isinstance(expr.func, ir.Name) and expr.func.id in ("list", "tuple", "set", "sorted") and expr.args:
            return _paths_held(context, expr.args[0])
        if isinstance(expr.func, ir.Attribute) and expr.func.name in context.parameters["wholes"]:
            return {path} if (path := _path(expr.func.base)) else set()
        return set()
    return {path} if (path := _path(expr)) else set()


def _path(expr: ir.Expr) -> str:
    """``a.b.c`` as text; ``""`` for what is no chain of names."""
    if isinstance(expr, ir.Name):
        return expr.id
    base = _path(expr.base) if isinstance(expr, ir.Attribute) else ""
    return f"{base}.{expr.name}" if base and isinstance(expr, ir.Attribute) else ""


def _first_change(context: CheckContext, body: tuple[ir.Stmt, ...], held: set[str], file: str) -> ir.Position | None:
    held = set(held)
    for statement in statements(body):
        if isinstance(statement, ir.For) and isinstance(statement.target, ir.Name):
            if any(_is_held(part, held) for part in below(statement.iterable)):
                held.add(statement.target.id)
        if isinstance(statement, ir.Assign):
            names = {target.id for target in statement.targets if isinstance(target, ir.Name)}
            held -= {path for path in held if path.partition(".")[0] in names}
            for target in statement.targets:
                if isinstance(target, ir.Subscript) and _is_held(target.base, held):
                    return statement.at
        if isinstance(statement, ir.AugAssign):
            target = statement.target.base if isinstance(statement.target, ir.Subscript) else statement.target
            if isinstance(target, ir.Attribute | ir.Name) and _is_held(target, held):
                return statement.at
        if isinstance(statement, ir.Evaluate) and isinstance(statement.value, ir.Call):
            if _changes(context, statement.value, held, file):
                return statement.value.at
    return None


def _changes(context: CheckContext, call: ir.Call, held: set[str], file: str) -> bool:
    project: Project = context.project
    name = project.modules.dotted(call.func, file)
    if name.endswith("_") and name.startswith(tuple(context.parameters["changers"])):
        return bool(call.args) and _is_held(call.args[0], held)
    func = call.func
    if not isinstance(func, ir.Attribute):
        return False
    if func.name in context.parameters["loaders"]:
        return _path(func.base) in held
    in_place = func.name.endswith("_") and not func.name.startswith("_") and func.name not in _QUIET
    return in_place and _is_held(func.base, held)


def _is_held(expr: ir.Expr, held: set[str]) -> bool:
    """Whether an expression is one of the things, or lies in it: ``model.fc.weight.data`` for ``model``."""
    while isinstance(expr, ir.Subscript):
        expr = expr.base
    path = _path(expr)
    return bool(path) and any(path == one or path.startswith(f"{one}.") for one in held)
