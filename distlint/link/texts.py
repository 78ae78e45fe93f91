"""The texts that an expression is made of, where its value is not known: parts of paths, patterns of file names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.link.walking import below, statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.project import Project

MAX_DEPTH = 6
MAX_TEXTS = 20


def texts_behind(project: Project, expr: ir.Expr, file: str, function: int) -> list[ir.Constant]:
    """The strings that an expression holds, and those behind its variables: what a file name is put together from.

    Parameters are not followed to callers. At most ``MAX_TEXTS``.
    """
    found: list[ir.Constant] = []
    for text in _texts(project, expr, file, function, set(), 0):
        found.append(text)
        if len(found) == MAX_TEXTS:
            break
    return found


def _texts(
    project: Project, expr: ir.Expr, file: str, function: int, seen: set[tuple[int, str]], depth: int
) -> Iterator[ir.Constant]:
    if depth > MAX_DEPTH:
        return
    for part in below(expr):
        if isinstance(part, ir.Constant) and isinstance(part.value, str):
            yield part
        elif isinstance(part, ir.Name):
            for place, value in _bound(project, part.id, file, function):
                if (place, part.id) not in seen:
                    seen.add((place, part.id))
                    yield from _texts(project, value, file, place, seen, depth + 1)


def _bound(project: Project, name: str, file: str, function: int) -> Iterator[tuple[int, ir.Expr]]:
    """What a function, or else what is around it, assigns to a name; a loop gives it the items of its iterable."""
    module = project.module(file)
    while True:
        body = module.body if function < 0 else module.functions[function].body
        values = [value for statement in statements(body) if (value := _value(statement, name)) is not None]
        if values or function < 0:
            yield from ((function, value) for value in values)
            return
        function = module.functions[function].parent


def _value(statement: ir.Stmt, name: str) -> ir.Expr | None:
    if isinstance(statement, ir.Assign) and any(_is(target, name) for target in statement.targets):
        return statement.value
    if isinstance(statement, ir.For) and _is(statement.target, name):
        return statement.iterable
    return None


def _is(target: ir.Expr, name: str) -> bool:
    return isinstance(target, ir.Name) and target.id == name
