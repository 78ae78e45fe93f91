"""What a value is made of, field by field: the other things that an object holds have no part in one of its fields.

The order of statements is ignored, so this errs on the side of more; ``derivations`` errs further, as it takes objects for all that is in
them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.checks.derivations import Part
from distlint.checks.execution import body_of
from distlint.link.arguments import find_argument
from distlint.link.modules import FunctionRef
from distlint.link.walking import below, children, expressions_of, statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.project import Project

MAX_PARTS = 300
"""Expressions that are looked at for one value."""


def name_of(expr: ir.Expr) -> str:
    """The name that an expression is, or that of an attribute; ``""`` for others."""
    return expr.name if type(expr) is ir.Attribute else expr.id if type(expr) is ir.Name else ""


def made_of(
    project: Project,
    start: Part,
    *,
    bodies: bool = False,
    placing: frozenset[str] = frozenset(),
    most: int = MAX_PARTS,
) -> Iterator[Part]:
    """The parts of a value, but for the other fields of the objects that it is read from; ``fixed`` marks where there are too many.

    ``bodies`` says that all that the functions of the project do which give it counts, not only what they return. ``placing`` names
    methods and keywords whose arguments say where a value goes, and not what it is; with them what is handed to a function of the project
    counts only where that function uses it, and so does what a method of others is called on. ``most`` is how many there may be.
    """
    waiting, seen = [start], set[tuple[object, ...]]()
    while waiting:
        part = waiting.pop()
        expr, file, function = part.expr, part.file, part.function
        yield part._replace(fixed=len(seen) > most)
        key: tuple[object, ...] = (name_of(expr) or expr.at, type(expr), file, function)
        if key in seen or len(seen) > most:
            continue
        seen.add(key)
        inner: list[ir.Expr] = list(children(expr))
        if type(expr) is ir.Attribute:
            inner = []
            waiting += _stored(project, expr.name)
        elif type(expr) is ir.Call:
            inner = _given(expr, placing)
            edges = project.call_graph.targets(file, function, expr)
            for edge in edges:
                given = statements(project.function(edge.target).body)
                waiting += [
                    Part(value, edge.target.file, edge.target.index)
                    for one in given
                    if bodies or type(one) is ir.Return
                    for value in expressions_of(one)
                ]
            if placing and edges and all(_takes_by_name(project, edge.target, expr) for edge in edges):
                inner = []  # its parameters lead to them
            if not edges:
                # a function that is not known says by its name what it gives
                inner.append(expr.func)
                if placing and type(expr.func) is ir.Attribute:
                    inner.append(expr.func.base)
        elif type(expr) is ir.Name:
            waiting += _bound(project, expr.id, file, function)
        waiting += [Part(one, file, function) for one in inner]


def sources(project: Project, part: Part) -> list[Part]:
    """What a variable or an attribute is given, everywhere; nothing for other expressions."""
    if type(part.expr) is ir.Attribute:
        return list(_stored(project, part.expr.name))
    return list(_bound(project, part.expr.id, part.file, part.function)) if type(part.expr) is ir.Name else []


def _given(call: ir.Call, placing: frozenset[str]) -> list[ir.Expr]:
    """What a call is given that may have a part in what it gives."""
    if type(call.func) is ir.Attribute and call.func.name in placing:
        return []
    return [*call.args, *(word.value for word in call.keywords if word.name not in placing)]


def _takes_by_name(project: Project, target: FunctionRef, call: ir.Call) -> bool:
    """Whether each argument of a call of a function goes to a parameter of a name."""
    starred = any(type(one) is ir.Starred for one in call.args) or any(word.name is None for word in call.keywords)
    return not starred and not any(one.kind.startswith("var-") for one in project.function(target).parameters)


def _bound(project: Project, name: str, file: str, function: int) -> Iterator[Part]:
    """What a variable is given in its function, by its callers, or in the module."""
    given = list(_assigned(body_of(project, file, function), name))
    yield from (Part(one, file, function) for one in given)
    if function < 0 or given:
        return
    ref = FunctionRef(file, function)
    definition = project.function(ref)
    position = next((i for i, one in enumerate(definition.parameters) if one.name == name), None)
    if position is None:
        yield from _bound(project, name, file, definition.parent)
        return
    default = definition.parameters[position].default
    for caller in project.callers(ref):
        passed, _ = find_argument(caller.site.call, name, position - (definition.owner >= 0) + caller.shift)
        if passed is not None:
            yield Part(passed, caller.file, caller.site.function)
        elif default is not None:
            yield Part(default, file, definition.parent)


def _assigned(body: tuple[ir.Stmt, ...], name: str) -> Iterator[ir.Expr]:
    for statement in statements(body):
        if type(statement) is ir.For and _holds(statement.target, name):
            yield statement.iterable
        elif type(statement) is ir.AugAssign and _holds(statement.target, name):
            yield statement.value
        elif type(statement) is ir.Assign and statement.value is not None:
            for target in statement.targets:
                if _holds(target, name):
                    yield from _part_of(target, statement.value, name)


def _holds(target: ir.Expr, name: str) -> bool:
    return any(type(one) is ir.Name and one.id == name for one in below(target))


def _part_of(target: ir.Expr, value: ir.Expr, name: str) -> Iterator[ir.Expr]:
    """What a name gets of a value that is taken apart: that which stands in its place, if that is written out."""
    shown = type(target) is ir.ListDisplay and type(value) is ir.ListDisplay
    if shown and len(target.items) == len(value.items):  # type: ignore[union-attr]
        for one, part in zip(target.items, value.items, strict=True):  # type: ignore[union-attr]
            if _holds(one, name):
                yield from _part_of(one, part, name)
    else:
        yield value


class _Stored(dict[str, tuple[Part, ...]]):
    """What is put into attributes of a project's objects, by their names."""


def _stored(project: Project, name: str) -> tuple[Part, ...]:
    """What is put into attributes of a name anywhere: an object's own, or those of others."""
    known: _Stored = project.kept.setdefault(_Stored, _Stored())
    if name not in known:
        known[name] = tuple(_stores(project, name))
    return known[name]


def _stores(project: Project, name: str) -> Iterator[Part]:
    for file, store in project.outside_stores(name):
        if store.value is not None:
            yield Part(store.value, file, store.function)
    for file in project.python_files:
        if not project.stores_attribute(file, name):
            continue
        for function in range(-1, len(project.module(file).functions)):
            for statement in statements(body_of(project, file, function)):
                target = statement.target if type(statement) is ir.AugAssign else None
                targets = statement.targets if type(statement) is ir.Assign else (target,)
                if any(type(one) is ir.Attribute and one.name == name for one in targets):
                    if statement.value is not None:  # type: ignore[union-attr]
                        yield Part(statement.value, file, function)  # type: ignore[union-attr]
