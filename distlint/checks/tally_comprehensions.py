"""Figures that a comprehension works out over what it goes through: ``losses = [loss(row) for row in loader]``."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from distlint.checks.execution import body_of
from distlint.checks.loaders import Pass
from distlint.link.walking import below, expressions_of, statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.project import Project

_COLLECTING = frozenset({"list", "generator"})


def collected(project: Project, files: Collection[str]) -> Iterator[Pass]:
    """Each such comprehension as the loop that adds what it works out to the variable that its statement binds."""
    for file in sorted(files):
        if file not in project.facts or project.facts[file].module is None:
            continue
        for function in range(-1, len(project.module(file).functions)):
            for statement in statements(body_of(project, file, function)):
                target = _target(statement)
                if target is None:
                    continue
                for expr in expressions_of(statement):
                    for part in below(expr):
                        if type(part) is ir.Comprehension and part.kind in _COLLECTING and _works_out(part.element):
                            adding = ir.AugAssign(target, "+", part.element, statement.at)
                            yield Pass(file, function, part.generators[0][1], part.at, (adding,))


def _works_out(expr: ir.Expr) -> bool:
    """Whether something is made of an item, and not only handed on."""
    return any(type(one) is ir.Call for one in below(expr))


def _target(statement: ir.Stmt) -> ir.Name | None:
    """The one variable that a statement binds, or adds to."""
    if type(statement) is ir.AugAssign and statement.operator == "+":
        return statement.target if type(statement.target) is ir.Name else None
    if type(statement) is ir.Assign and len(statement.targets) == 1:
        target = statement.targets[0]
        return target if type(target) is ir.Name else None
    return None
