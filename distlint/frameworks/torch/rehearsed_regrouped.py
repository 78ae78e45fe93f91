"""Functions that give the groups of an optimizer other parameters by hand, as they are written.

Source: torch 2.13, ``optim/optimizer.py``: a step goes over ``group["params"]`` of each of ``param_groups``, whatever was put in there.
An optimizer that was made before ``fully_shard`` trains the sharded parameters once these stand in its groups.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.link.modules import FunctionRef
from distlint.link.walking import below, bound_names, calls_in, statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.project import Project

_GROUPS, _HELD = "param_groups", "params"
_HANDING = frozenset({"iter", "next", "enumerate", "zip", "reversed", "list", "tuple"})
_FILLING = frozenset({"append", "extend", "insert", "pop", "remove", "clear", "__setitem__"})
_MERGING = frozenset({"update", "setdefault"})
_ROUNDS = 3
"""Names, one behind the other, that stand for groups."""


class _Regrouping(dict[FunctionRef, bool]):
    """For a project, of the functions that were asked for whether they do."""


def regroups(project: Project, ref: FunctionRef) -> bool:
    """Whether a function (or a module's top level) that asks for the groups of an optimizer puts parameters into them."""
    known: _Regrouping = project.kept.setdefault(_Regrouping, _Regrouping())
    if ref not in known:
        known[ref] = _puts(project, ref, set(), deep=True)
    return known[ref]


def _puts(project: Project, ref: FunctionRef, names: set[str], *, deep: bool) -> bool:
    module = project.module(ref.file)
    body = module.body if ref.index < 0 else module.functions[ref.index].body
    for _ in range(_ROUNDS):
        found = names | {name for one in statements(body) for name in _named(one, names)}
        if found == names:
            break
        names = found
    if any(_stores(target, names, one) for one in statements(body) for target in _targets(one)):
        return True
    return any(_fills(call, names) or (deep and _hands_on(project, ref, call, names)) for call in calls_in(body))


def _named(statement: ir.Stmt, names: set[str]) -> Iterator[str]:
    """The names that stand for groups, or for the list of them, behind a statement."""
    if type(statement) is ir.For and _is_of_groups(statement.iterable, names):
        yield from bound_names(statement.target)
    elif type(statement) is ir.Assign and statement.value is not None and _is_of_groups(statement.value, names):
        yield from (name for target in statement.targets if not _is_path(target) for name in bound_names(target))


def _is_path(expr: ir.Expr) -> bool:
    return isinstance(expr, ir.Attribute | ir.Subscript)


def _is_of_groups(expr: ir.Expr, names: set[str]) -> bool:
    """Whether an expression is the groups of an optimizer, one of them, or what one holds: not a copy of that."""
    while True:
        if type(expr) is ir.Name:
            return expr.id in names
        if type(expr) is ir.Attribute:
            if expr.name == _GROUPS:
                return True
            expr = expr.base
        elif type(expr) is ir.Subscript:
            expr = expr.base
        elif type(expr) is ir.Call and type(expr.func) is ir.Name and expr.func.id in _HANDING:
            copies = expr.func.id in ("list", "tuple")
            return any(_is_of_groups(one, names) and not (copies and _names_held(one)) for one in expr.args)
        else:
            return False


def _names_held(expr: ir.Expr) -> bool:
    return any(type(part) is ir.Constant and part.value == _HELD for part in below(expr))


def _targets(statement: ir.Stmt) -> tuple[ir.Expr, ...]:
    if type(statement) is ir.Assign and statement.value is not None:
        return statement.targets
    return (statement.target,) if type(statement) is ir.AugAssign else ()


def _stores(target: ir.Expr, names: set[str], statement: ir.Stmt) -> bool:
    """Whether an assignment puts something where the parameters of a group, or groups, stand."""
    if type(statement) is ir.AugAssign and statement.operator == "|" and _is_of_groups(target, names):
        return _brings_held(statement.value)
    if type(target) is not ir.Subscript or not _is_of_groups(target, names):
        return False
    return _names_held(target) or _is_list(target.base)


def _is_list(expr: ir.Expr) -> bool:
    return type(expr) is ir.Attribute and expr.name == _GROUPS


def _brings_held(value: ir.Expr) -> bool:
    """Whether what is merged into a group may have parameters in it."""
    if type(value) is ir.DictDisplay:
        return any(key is None or (type(key) is ir.Constant and key.value == _HELD) for key in value.keys)
    return True


def _fills(call: ir.Call, names: set[str]) -> bool:
    """Whether a call of a method changes groups, or what they hold, in place."""
    func = call.func
    if type(func) is not ir.Attribute or not _is_of_groups(func.base, names):
        return False
    if func.name in _MERGING:
        given = any(word.name in (None, _HELD) for word in call.keywords)
        return given or any(
            _brings_held(one) for one in call.args if type(one) is not ir.Constant or one.value == _HELD
        )
    return func.name in _FILLING and (_names_held(func.base) or _is_list(func.base) or type(func.base) is ir.Name)


def _hands_on(project: Project, ref: FunctionRef, call: ir.Call, names: set[str]) -> bool:
    """Whether a function of the project gets a group and puts something into it."""
    given = [*call.args, *(word.value for word in call.keywords)]
    if not any(_is_of_groups(one, names) for one in given if type(one) is not ir.Starred):
        return False
    func = call.func
    target = project.modules.resolve(func, ref.file)
    found = [target] if isinstance(target, FunctionRef) else []
    if not found and type(func) is ir.Attribute:
        functions = project.module(ref.file).functions
        found = [FunctionRef(ref.file, at) for at, one in enumerate(functions) if one.name == func.name]
    return any(_puts(project, one, {own.name for own in project.function(one).parameters}, deep=False) for one in found)
