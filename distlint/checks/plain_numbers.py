"""Which variables certainly stand for numbers: no call that one is handed to can change it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distlint.checks.execution import body_of
from distlint.link.arguments import find_argument
from distlint.link.modules import FunctionRef
from distlint.link.walking import statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.project import Project

MAX_DEPTH = 5
MAX_CALLERS = 6
_COUNTING = ("range", "enumerate")
"""Functions that give numbers, or numbers with something beside."""
_MAKING = frozenset({"len", "int", "float"})
"""Functions that give a number whatever they are given."""
_KEEPING = frozenset({"round", "abs", "min", "max", "sum"})
"""Functions that give a number for numbers."""
_ARITHMETIC = frozenset({"+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^"})


def is_number(project: Project, expr: ir.Expr, file: str, function: int, depth: int = 0) -> bool:
    """Whether an expression of a function (-1: the module) certainly is a number.

    Every value that a variable is given counts, in whatever order. Of an expression of which nothing is known nothing is shown.
    """
    if depth > MAX_DEPTH:
        return False
    if type(expr) is ir.Constant:
        return isinstance(expr.value, int | float)
    if type(expr) is ir.Name:
        return _is_variable(project, expr.id, file, function, depth)
    if type(expr) is ir.Operation:
        numeric = all(one in _ARITHMETIC for one in expr.operators)
        return numeric and all(is_number(project, one, file, function, depth + 1) for one in expr.operands)
    if type(expr) is ir.Conditional:
        return all(is_number(project, one, file, function, depth + 1) for one in (expr.body, expr.orelse))
    if type(expr) is ir.Call and type(expr.func) is ir.Name and expr.func.id in _MAKING | _KEEPING:
        if project.modules.lookup(expr.func.id, file) is not None:
            return False  # the project gives the name another meaning
        plain = bool(expr.args) and all(is_number(project, one, file, function, depth + 1) for one in expr.args)
        return expr.func.id in _MAKING or plain
    return False


def _is_variable(project: Project, name: str, file: str, function: int, depth: int) -> bool:
    given = _given(body_of(project, file, function), name)
    if given is None or not all(is_number(project, one, file, function, depth + 1) for one in given if one is not None):
        return False
    definition = project.module(file).functions[function] if function >= 0 else None
    for position, parameter in enumerate(definition.parameters if definition is not None else ()):
        if parameter.name == name:
            return _is_parameter(project, FunctionRef(file, function), position, depth)
    return bool(given)


def _given(body: tuple[ir.Stmt, ...], name: str) -> list[ir.Expr | None] | None:
    """What a variable is given in a body, ``None`` for a number that a loop counts; nothing at all where it may be something else."""
    found: list[ir.Expr | None] = []
    for statement in statements(body):
        if type(statement) is ir.For and name in _names(statement.target):
            if not _counts(statement, name):
                return None
            found.append(None)
        elif type(statement) is ir.Assign and any(name in _names(one) for one in statement.targets):
            if any(type(one) is not ir.Name and name in _names(one) for one in statement.targets):
                return None
            found.append(statement.value)
        elif type(statement) is ir.AugAssign and type(statement.target) is ir.Name and statement.target.id == name:
            found.append(statement.value)
        elif type(statement) is ir.With and any(
            bound is not None and name in _names(bound) for _, bound in statement.items
        ):
            return None
    return found


def _counts(loop: ir.For, name: str) -> bool:
    """Whether a loop gives a variable a number in each turn."""
    call = loop.iterable
    if type(call) is not ir.Call or type(call.func) is not ir.Name or call.func.id not in _COUNTING:
        return False
    if call.func.id == "range":
        return type(loop.target) is ir.Name
    target = loop.target
    return type(target) is ir.ListDisplay and type(target.items[0]) is ir.Name and target.items[0].id == name


def _names(target: ir.Expr) -> set[str]:
    """The variables that an assignment to a target gives a value."""
    if type(target) is ir.ListDisplay:
        return set().union(*map(_names, target.items))
    if type(target) is ir.Starred:
        return _names(target.value)
    return {target.id} if type(target) is ir.Name else set()


def _is_parameter(project: Project, ref: FunctionRef, position: int, depth: int) -> bool:
    """Whether a function is given a number, as it says itself or as all its callers do."""
    definition = project.function(ref)
    parameter = definition.parameters[position]
    if type(parameter.annotation) is ir.Name and parameter.annotation.id in ("int", "float", "bool"):
        return True
    callers = project.callers(ref)
    if not callers or len(callers) > MAX_CALLERS:
        return False
    shift = 1 if definition.owner >= 0 else 0
    for caller in callers:
        given, certain = find_argument(caller.site.call, parameter.name, position - shift + caller.shift)
        if given is None and certain:
            given = parameter.default
        if given is None or not is_number(project, given, caller.file, caller.site.function, depth + 1):
            return False
    return True
