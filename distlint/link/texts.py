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


class _Assigned(dict[tuple[str, int], dict[str, list[ir.Expr]]]):
    """For the bodies of a project what they assign to their variables, by name."""


def _assigned(project: Project, file: str, function: int) -> dict[str, list[ir.Expr]]:
    kept: _Assigned = project.kept.setdefault(_Assigned, _Assigned())
    if (file, function) not in kept:
        found: dict[str, list[ir.Expr]] = {}
        module = project.module(file)
        for statement in statements(module.body if function < 0 else module.functions[function].body):
            targets: tuple[ir.Expr, ...] = ()
            value: ir.Expr | None = None
            if isinstance(statement, ir.Assign):
                targets, value = statement.targets, statement.value
            elif isinstance(statement, ir.For):
                targets, value = (statement.target,), statement.iterable
            if value is not None:
                for name in dict.fromkeys(target.id for target in targets if isinstance(target, ir.Name)):
                    found.setdefault(name, []).append(value)
        kept[file, function] = found
    return kept[file, function]


def _bound(project: Project, name: str, file: str, function: int) -> Iterator[tuple[int, ir.Expr]]:
    """What a function, or else what is around it, assigns to a name; a loop gives it the items of its iterable."""
    module = project.module(file)
    while True:
        values = _assigned(project, file, function).get(name, [])
        if values or function < 0:
            yield from ((function, value) for value in values)
            return
        function = module.functions[function].parent
