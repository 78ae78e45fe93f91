"""What a function gives that a decorator lets one rank run alone, used by all of them: the others get ``None``.

Parameters: ``sending`` (names of calls that give the others what one rank has), ``computing`` (how the names of library functions begin
that make something else of ``None`` than of a value), ``refusing`` (functions that raise for ``None``, by their dotted names; builtins
by theirs).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from distlint.checks.execution import body_of
from distlint.checks.rank_decorators import is_named
from distlint.checks.rank_ways import may_be_for_rank_0
from distlint.checks.registry import CheckContext, check
from distlint.checks.spread_names import called_name, calls_of
from distlint.link.callers import Caller
from distlint.link.modules import FunctionRef
from distlint.link.stores import stored_into
from distlint.link.walking import below, expressions_of, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related

if TYPE_CHECKING:
    from distlint.link.project import Project

MAX_CALLERS = 8
"""Callers of one function that are looked at."""

_SHOWING = re.compile(r"print|log|info|warn|debug|write|error|critical|exception", re.IGNORECASE)
"""Names of calls that merely show a text."""
_ARITHMETIC = frozenset({"+", "-", "*", "/", "//", "%", "@", "<", ">", "<=", ">="})
"""Operators that ``None`` has not."""


class _Result(NamedTuple):
    """What the result goes by: the call itself, or the variable (``name``) or attribute (``owner.name``) that it is kept in."""

    call: ir.Call
    name: str = ""
    owner: str = ""

    def is_read(self, expr: ir.Expr) -> bool:
        """Whether an expression is the result, and nothing around it."""
        if not self.name:
            return expr.at == self.call.at
        if type(expr) is ir.Attribute:
            return bool(self.owner) and expr.name == self.name and _is_name(expr.base, self.owner)
        return not self.owner and _is_name(expr, self.name)


@check("result-of-one")
def result_of_one(context: CheckContext) -> Iterator[Finding]:
    """A finding for each function of that kind whose result all ranks go on with."""
    project: Project = context.project
    names = frozenset(name for one in project.specs for name in one.main_only)
    for file in project.python_files:
        for index, function in enumerate(project.module(file).functions):
            ref = FunctionRef(file, index)
            alone = next((one for one in function.decorators if is_named(project, one, ref, names)), None)
            if alone is None or not _gives_something(function.body):
                continue
            for caller in project.callers(ref)[:MAX_CALLERS]:
                used = _use(context, caller)
                if used is not None:
                    yield context.finding(
                        f"`{function.name}` runs on the first rank only, and all ranks go on with what it gives: the others have `None`",
                        ir.unpack(alone.at, file),
                        related=[
                            Related(ir.unpack(caller.site.call.at, caller.file), "it is called here"),
                            Related(ir.unpack(used.at, caller.file), "every rank goes on with the result here"),
                        ],
                    )
                    break


def _gives_something(body: tuple[ir.Stmt, ...]) -> bool:
    """Whether each ``return`` of a function gives something else than a plain ``None``."""
    given = [one.value for one in statements(body) if type(one) is ir.Return]
    return bool(given) and all(
        value is not None and not (type(value) is ir.Constant and value.value is None) for value in given
    )


def _use(context: CheckContext, caller: Caller) -> ir.Expr | None:
    """Where all ranks work with the result of a call; ``None`` where they do not, or may know what the others get."""
    project: Project = context.project
    file, function, call = caller.file, caller.site.function, caller.site.call
    body = body_of(project, file, function)
    sending = re.compile(context.parameters["sending"])
    if may_be_for_rank_0(project, file, function, call.at):
        return None
    if any(sending.search(called_name(one)) for one in calls_of(body)):
        return None
    for statement in statements(body):
        if type(statement) is ir.Assign and statement.value is not None and statement.value.at == call.at:
            if any(type(one) is ir.ListDisplay for one in statement.targets):
                return call  # taken apart into several variables
            kept = _kept(call, statement)
            return None if kept is None else _worked_with(context, file, _readers(project, file, function, kept), kept)
    return _worked_with(context, file, [function], _Result(call))


def _kept(call: ir.Call, statement: ir.Assign) -> _Result | None:
    """What the result of a call is kept in; ``None`` for what is not followed."""
    target = statement.targets[0]
    if len(statement.targets) != 1:
        return None
    if type(target) is ir.Name:
        return _Result(call, target.id)
    if type(target) is ir.Attribute and type(target.base) is ir.Name:
        return _Result(call, target.name, target.base.id)
    return None


def _readers(project: Project, file: str, function: int, kept: _Result) -> list[int]:
    """The functions in which the result goes by the same name: the methods of the class where it is an attribute of the object."""
    functions = project.module(file).functions
    if function < 0 or not kept.owner or not _is_own(functions[function], kept.owner):
        return [function]
    owner = functions[function].owner
    return [index for index, one in enumerate(functions) if one.owner == owner and _is_own(one, kept.owner)]


def _is_own(function: ir.Function, name: str) -> bool:
    """Whether a name is that of the object which a method is called for."""
    return function.owner >= 0 and bool(function.parameters) and function.parameters[0].name == name


def _worked_with(context: CheckContext, file: str, functions: list[int], result: _Result) -> ir.Expr | None:
    """The first place that works with the result where all ranks come; ``None`` where something asks for it, or may put another there."""
    project: Project = context.project
    found: ir.Expr | None = None
    stores = 0
    for index in functions:
        for statement in statements(body_of(project, file, index)):
            if result.name and any(result.is_read(target) for target in stored_into(statement)):
                stores += not _is_nothing(statement)
            for expr in expressions_of(statement):
                read = [one for one in below(expr) if result.is_read(one)]
                if not read:
                    continue
                if type(statement) in (ir.If, ir.While, ir.Match) or any(_is_asking(one, read) for one in below(expr)):
                    return None
                worked = next((one for one in below(expr) if _works(context, file, one, result)), None)
                turned = expr if type(statement) is ir.For and result.is_read(expr) else None
                taken = worked or turned or _path_in(expr, result)
                if found is None and taken is not None and not may_be_for_rank_0(project, file, index, taken.at):
                    found = taken
    return found if stores <= 1 else None


def _is_nothing(statement: ir.Stmt) -> bool:
    """Whether a statement stores ``None``, as one does where an attribute is declared."""
    value = statement.value if type(statement) is ir.Assign else None
    return type(value) is ir.Constant and value.value is None


def _is_asking(expr: ir.Expr, read: list[ir.Expr]) -> bool:
    """Whether an expression chooses by something that is read in it, or tells it from ``None``."""
    if type(expr) is ir.Conditional:
        asked: tuple[ir.Expr, ...] = (expr.test,)
    elif type(expr) is ir.Operation and {"or", "and", "is", "is not", "not", "==", "!=", "in"} & set(expr.operators):
        asked = expr.operands
    else:
        return False
    return any(ir.encloses(part.at, one.at) for part in asked for one in read)


def _works(context: CheckContext, file: str, expr: ir.Expr, result: _Result) -> bool:
    """Whether an expression takes something from the result, counts with it, or hands it to a function that makes something of it."""
    if type(expr) is ir.Call:
        name = context.project.modules.dotted(expr.func, file)
        given = (*expr.args, *(one.value for one in expr.keywords))
        if not name and type(expr.func) is ir.Name and not _is_defined(context.project, file, expr.func.id):
            name = expr.func.id
        takes = name.startswith(tuple(context.parameters["computing"])) or name in context.parameters["refusing"]
        return takes and any(map(result.is_read, given))
    if type(expr) is ir.Operation:
        return bool(_ARITHMETIC & set(expr.operators)) and any(map(result.is_read, expr.operands))
    if type(expr) is ir.Comprehension:
        return any(result.is_read(iterable) for _, iterable, _ in expr.generators)
    return type(expr) in (ir.Attribute, ir.Subscript) and result.is_read(expr.base)  # type: ignore[union-attr]


def _path_in(expr: ir.Expr, result: _Result) -> ir.Expr | None:
    """A path that a text makes of the result (``f"{result}/last.pt"``), unless it is merely shown."""
    shown = [one.at for one in below(expr) if type(one) is ir.Call and _SHOWING.search(called_name(one))]
    for one in below(expr):
        if type(one) is ir.Formatted and not any(ir.encloses(around, one.at) for around in shown):
            for part, behind in zip(one.parts, one.parts[1:], strict=False):
                text = behind.value if type(behind) is ir.Constant else ""
                if _is_result(part, result) and isinstance(text, str) and text.startswith("/"):
                    return one
    return None


def _is_result(part: ir.Expr, result: _Result) -> bool:
    """Whether a part of a text is the result, as it is."""
    return result.is_read(part.value if type(part) is ir.Wrapped and part.value is not None else part)


def _is_defined(project: Project, file: str, name: str) -> bool:
    """Whether a file defines or imports a function of this name itself."""
    module = project.module(file)
    return any(one.name == name for one in module.functions) or any(
        name in (one.alias, one.name) for one in module.imports
    )


def _is_name(expr: ir.Expr, name: str) -> bool:
    return type(expr) is ir.Name and expr.id == name
