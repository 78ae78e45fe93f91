"""Questions for the size of the job or the place of the process that are answered even where there is no group: with 1, or with 0.

Parameters: ``asks`` (library functions that ask the group, each with what a program of one process takes for the answer), ``tells``
(library functions that tell whether there is a group).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.checks.execution import handles_errors_around
from distlint.checks.spread_names import calls_of
from distlint.link.modules import FunctionRef
from distlint.link.walking import below, last_name, statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.checks.registry import CheckContext
    from distlint.link.project import Project

MAX_DEPTH = 4
"""Functions, one called by the other, to the one that asks."""

Kind = str | tuple[str, ...]
"""The library function that an expression asks, by its last name; for a row of several, those of its items (``""``: none)."""


class GuardedAsks:
    """What expressions of a project ask in this way."""

    def __init__(self, context: CheckContext) -> None:
        self._project: Project = context.project
        self._asks: dict[str, int] = context.parameters["asks"]
        self._tells = frozenset(context.parameters["tells"])
        self._known: dict[tuple[str, int], Kind | None] = {}

    def kind(self, expr: ir.Expr, file: str, depth: int = 0) -> Kind | None:
        """What an expression asks, where it is answered without a group too; ``None`` for every other expression."""
        if type(expr) is ir.Conditional:
            answers = [self._answer(one, file) for one in (expr.body, expr.orelse)]
            return self._both(answers) if self.tells(expr.test, file) else None
        if type(expr) is not ir.Call:
            return None
        if last_name(expr.func) in ("int", "max") and expr.args and type(expr.func) is ir.Name:
            found = [self.kind(one, file, depth) for one in expr.args]
            return next((one for one in found if one is not None), None)
        target = self._project.modules.resolve(expr.func, file)
        return self._of_function(target, depth) if isinstance(target, FunctionRef) else None

    def tells(self, test: ir.Expr, file: str, depth: int = 0) -> bool:
        """Whether a test asks if there is a group, itself or through a function of the project."""
        for part in below(test):
            if type(part) is not ir.Call:
                continue
            target = self._project.modules.resolve(part.func, file, library=True)
            if isinstance(target, FunctionRef):
                body = self._project.function(target).body
                if depth < MAX_DEPTH and any(self.tells(one, target.file, depth + 1) for one in calls_of(body)):
                    return True
            elif self._project.modules.dotted(part.func, file) in self._tells:
                return True
        return False

    def asked(self, expr: ir.Expr, file: str) -> str:
        """The last name of the library function that a call is of, if it asks the group."""
        if type(expr) is not ir.Call or expr.args or expr.keywords:
            return ""
        name = self._project.modules.canonical(self._project.modules.dotted(expr.func, file))
        return name.rpartition(".")[2] if name in self._asks else ""

    def is_answer(self, expr: ir.Expr | None, kind: str) -> bool:
        """Whether an expression is what one process takes for the answer."""
        wanted = {name.rpartition(".")[2]: number for name, number in self._asks.items()}[kind]
        return type(expr) is ir.Constant and type(expr.value) is int and expr.value == wanted

    def _answer(self, expr: ir.Expr, file: str) -> str | int | tuple[str | int, ...] | None:
        """What an expression asks, or the number that it is."""
        if type(expr) is ir.Constant:
            return expr.value if type(expr.value) is int else None
        if type(expr) is ir.ListDisplay:
            items = [self._answer(one, file) for one in expr.items]
            return tuple(one for one in items if isinstance(one, str | int)) if None not in items else None
        return self.asked(expr, file) or None

    def _both(self, answers: list[str | int | tuple[str | int, ...] | None]) -> Kind | None:
        """What is asked where some answers are those of the group, and the others those of one process."""
        if not answers or None in answers:
            return None
        rows = [one if isinstance(one, tuple) else (one,) for one in answers if one is not None]
        if len({len(row) for row in rows}) != 1:
            return None
        kinds = []
        for column in zip(*rows, strict=True):
            names = {one for one in column if isinstance(one, str)}
            numbers = {one for one in column if not isinstance(one, str)}
            if len(names) != 1 or len(numbers) != 1:
                return None
            name = names.pop()
            if not self.is_answer(ir.Constant(numbers.pop(), 0), name):
                return None
            kinds.append(name)
        return tuple(kinds) if isinstance(answers[0], tuple) else kinds[0]

    def _of_function(self, ref: FunctionRef, depth: int) -> Kind | None:
        key = (ref.file, ref.index)
        if key not in self._known:
            self._known[key] = None
            self._known[key] = self._given(ref, depth) if depth < MAX_DEPTH else None
        return self._known[key]

    def _given(self, ref: FunctionRef, depth: int) -> Kind | None:
        """What a function asks that gives one answer with a group, and another one without."""
        body = self._project.function(ref).body
        returned = [one.value for one in statements(body) if type(one) is ir.Return]
        values = [value for one in returned for value in self._values(body, one)]
        if len(values) == 1:
            return self.kind(values[0], ref.file, depth + 1)
        tested = any(type(one) is ir.If and self.tells(one.test, ref.file) for one in statements(body))
        caught = any(self.asked(call, ref.file) and handles_errors_around(body, call.at) for call in calls_of(body))
        if not tested and not caught:
            return None
        return self._both([self._answer(one, ref.file) for one in values])

    def _values(self, body: tuple[ir.Stmt, ...], expr: ir.Expr | None) -> Iterator[ir.Expr]:
        """What is returned: of a variable everything that it is set to."""
        if type(expr) is ir.Name:
            for one in statements(body):
                if type(one) is ir.Assign and one.value is not None:
                    if any(type(target) is ir.Name and target.id == expr.id for target in one.targets):
                        yield one.value
        elif expr is not None:
            yield expr
