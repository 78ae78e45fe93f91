"""What a program itself writes into its environment."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from distlint.checks.execution import body_of
from distlint.link.project import Project
from distlint.link.walking import expressions_of, statements
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.model.value import Value


class Store(NamedTuple):
    """One statement that sets a variable: where, which, to what, and whether only where it is missing.

    ``literal`` says that the value stands in the statement itself, so that no test before it can speak against it.
    """

    file: str
    function: int
    at: ir.Position
    name: str
    value: Value
    only_if_missing: bool
    literal: bool
    expr: ir.Expr

    @property
    def span(self) -> Span:
        """The place of the statement."""
        return ir.unpack(self.at, self.file)


def environment_stores(project: Project, names: Collection[str]) -> Iterator[Store]:
    """The statements ``os.environ["NAME"] = value`` and ``os.environ.setdefault("NAME", value)`` for some names."""
    for file in project.python_files:
        module = project.module(file)
        if "environ" not in module.attributes and not any(item.name == "environ" for item in module.imports):
            continue
        for function in range(-1, len(module.functions)):
            for statement in statements(body_of(project, file, function)):
                for name, expr, missing in _stored(project, statement, file):
                    if name in names:
                        value = project.evaluator(None).value(expr, file, function)
                        yield Store(file, function, statement.at, name, value, missing, type(expr) is ir.Constant, expr)


def _stored(project: Project, statement: ir.Stmt, file: str) -> Iterator[tuple[str, ir.Expr, bool]]:
    if type(statement) is ir.Assign and statement.value is not None:
        for target in statement.targets:
            if (
                type(target) is ir.Subscript
                and type(target.index) is ir.Constant
                and _environ(project, target.base, file)
            ):
                yield str(target.index.value), statement.value, False
    elif type(statement) is ir.Evaluate:
        for call in expressions_of(statement):
            if type(call) is not ir.Call or type(call.func) is not ir.Attribute or len(call.args) != 2:
                continue
            by_default = call.func.name == "setdefault" and _environ(project, call.func.base, file)
            if (by_default or call.func.name == "putenv") and type(call.args[0]) is ir.Constant:
                yield str(call.args[0].value), call.args[1], by_default


def _environ(project: Project, expr: ir.Expr, file: str) -> bool:
    return project.modules.dotted(expr, file) == "os.environ"
