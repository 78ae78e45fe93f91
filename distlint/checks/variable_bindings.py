"""What the statements of a body put into its variables, by name and whatever their order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.checks.execution import body_of
from distlint.link.walking import access_path, statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.project import Project


class _Bindings(dict[tuple[str, int], dict[str, list[tuple[ir.Stmt, list[ir.Expr]]]]]):
    """For the bodies of a project what is put into their variables, by name."""


def bindings_of(project: Project, file: str, function: int) -> dict[str, list[tuple[ir.Stmt, list[ir.Expr]]]]:
    """The statements of a body that put something into a variable or what is behind it, each with what it puts there; by name."""
    kept: _Bindings = project.kept.setdefault(_Bindings, _Bindings())
    if (file, function) not in kept:
        found: dict[str, list[tuple[ir.Stmt, list[ir.Expr]]]] = {}
        for statement in statements(body_of(project, file, function)):
            for name, values in _put(statement).items():
                found.setdefault(name, []).append((statement, values))
        kept[file, function] = found
    return kept[file, function]


def _put(statement: ir.Stmt) -> dict[str, list[ir.Expr]]:
    """What a statement puts into variables, by their names."""
    if type(statement) is ir.Assign and statement.value is not None:
        put: dict[str, list[ir.Expr]] = {}
        for target in statement.targets:
            for one, value in _paired(target, statement.value):
                for name in _reached(one):
                    put.setdefault(name, []).extend((value,) if type(one) is ir.Name else (value, one))
        return put
    if type(statement) is ir.AugAssign:
        return {name: [statement.value] for name in _reached(statement.target)}
    if type(statement) is ir.For:
        return {name: [statement.iterable] for name in _reached(statement.target)}
    found: dict[str, list[ir.Expr]] = {}
    if type(statement) is ir.With:
        for context, bound in statement.items:
            for name in dict.fromkeys(_reached(bound)) if bound is not None else ():
                found.setdefault(name, []).append(context)
    elif type(statement) is ir.Evaluate and type(statement.value) is ir.Call:
        call = statement.value
        found = {one.id: [call] for one in call.args if type(one) is ir.Name}
        if type(call.func) is ir.Attribute and (root := access_path(call.func)[0]):
            found[root] = [*call.args, *(keyword.value for keyword in call.keywords), call.func]
    return found


def _paired(target: ir.Expr, value: ir.Expr) -> Iterator[tuple[ir.Expr, ir.Expr]]:
    """The single targets of an assignment, each with what it gets, or with the whole that is taken apart."""
    if type(target) is not ir.ListDisplay:
        yield target, value
        return
    rows = (*target.items, *(value.items if type(value) is ir.ListDisplay else ()))
    alike = type(value) is ir.ListDisplay and len(value.items) == len(target.items)
    for place, one in enumerate(target.items):
        known = alike and not any(type(item) is ir.Starred for item in rows)
        yield from _paired(one, value.items[place] if known else value)  # type: ignore[union-attr]


def is_of_other(statement: ir.Stmt, field: str) -> bool:
    """Whether an assignment only fills other attributes of what a name stands for."""
    targets = statement.targets if type(statement) is ir.Assign else ()
    return bool(targets) and all(
        type(one) is ir.Attribute and type(one.base) is ir.Name and one.name != field for one in _flat(targets)
    )


def _flat(targets: tuple[ir.Expr, ...]) -> Iterator[ir.Expr]:
    """The targets of an assignment, those of one that takes a row apart one by one."""
    for one in targets:
        if type(one) is ir.ListDisplay:
            yield from _flat(one.items)
        else:
            yield one


def is_inner(statement: ir.Stmt, name: str) -> bool:
    """Whether an assignment changes only what is behind a name."""
    if type(statement) is not ir.Assign:
        return False
    return all(type(one) in (ir.Subscript, ir.Attribute) for one in statement.targets if name in _reached(one))


def _reached(target: ir.Expr) -> Iterator[str]:
    """The names whose meaning an assignment to a target changes."""
    if type(target) is ir.ListDisplay:
        for item in target.items:
            yield from _reached(item)
    elif type(target) is ir.Starred:
        yield from _reached(target.value)
    else:
        name = access_path(target)[0]
        if name:
            yield name
