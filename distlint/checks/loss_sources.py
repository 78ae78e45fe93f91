"""Whether a value was computed from what a wrapped model gave, so that its backward pass goes through that model."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from distlint.link.abstract import Instance, options_of
from distlint.link.flow import Bind, Env, Join
from distlint.link.modules import FunctionRef
from distlint.link.walking import children
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.project import Project

MAX_DEPTH = 25
MAX_STEPS = 400


class LossSources:
    """Follows values back to the calls of objects that one of the makers made (``pkg.Class``)."""

    def __init__(self, project: Project, makers: Collection[str]) -> None:
        self._project = project
        self._makers = makers
        self._steps = 0
        self._seen: set[tuple[int, int]] = set()
        self._callees: dict[tuple[str, int, str], bool] = {}

    def comes_from(self, expr: ir.Expr, file: str, function: int) -> bool:
        """Whether an expression of a function (-1: the module) was computed by such a call, on some way."""
        self._steps = 0
        self._seen = set()
        return self._from(expr, file, function, self._project.flow(file, function).before(expr.at), 0)

    def _from(self, expr: ir.Expr, file: str, function: int, state: Env, depth: int) -> bool:
        self._steps += 1
        key = (id(expr), id(state))
        if depth > MAX_DEPTH or self._steps > MAX_STEPS or key in self._seen:
            return False
        self._seen.add(key)
        if type(expr) is ir.Name:
            return self._name(expr.id, file, function, state, depth)
        if type(expr) is ir.Call:
            if self._is_wrapped(expr.func, file, function):
                return True
            target = self._project.modules.resolve(expr.func, file)
            if isinstance(target, FunctionRef) and self._returned(target, depth):
                return True
            if type(expr.func) is ir.Attribute and type(expr.func.base) is ir.Name and expr.func.base.id == "self":
                edges = self._project.call_graph.targets(file, function, expr)
                if len(edges) == 1 and self._returned(edges[0].target, depth):
                    return True
            if type(expr.func) is ir.Name:
                return any(self._from(one, file, function, state, depth + 1) for one in _arguments(expr))
        return any(self._from(one, file, function, state, depth + 1) for one in children(expr))

    def _is_wrapped(self, func: ir.Expr, file: str, function: int) -> bool:
        if type(func) not in (ir.Name, ir.Attribute):
            return False
        if self._project.modules.dotted(func, file):
            return False
        evaluator = self._project.evaluator(None)
        options = options_of(evaluator.ask(func, file, function))
        return any(
            isinstance(one, Instance) and evaluator.instance_name(one).removesuffix("()") in self._makers
            for one in options
        )

    def _returned(self, target: FunctionRef, depth: int) -> bool:
        flow = self._project.flow(target.file, target.index)
        return any(
            statement.value is not None and self._from(statement.value, target.file, target.index, state, depth + 1)
            for statement, state in flow.returns
        )

    def _name(self, name: str, file: str, function: int, state: Env, depth: int) -> bool:
        place: Env | None = state
        while place is not None:
            if isinstance(place, Bind) and place.name == name:
                value = place.expr
                if isinstance(value, ir.AugAssign):
                    return self._from(value.value, file, function, place.at, depth + 1) or (
                        place.prev is not None and self._name(name, file, function, place.prev, depth + 1)
                    )
                # mypy does not know that a statement other than these is no expression
                return value is not None and self._is_expression(value, file, function, place.at, depth)
            if isinstance(place, Join) and name in place.touched:
                self._steps += 1
                if depth > MAX_DEPTH or self._steps > MAX_STEPS:
                    return False
                return any(self._name(name, file, function, branch, depth + 1) for branch in place.branches)
            place = place.prev
        return False

    def _is_expression(self, value: ir.Expr | ir.Stmt, file: str, function: int, state: Env, depth: int) -> bool:
        if isinstance(value, ir.Define):
            return False
        return self._from(value, file, function, state, depth + 1)  # type: ignore[arg-type]


def _arguments(call: ir.Call) -> list[ir.Expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]
