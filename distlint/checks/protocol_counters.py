"""Counters that go along with the variable of a loop: ``n`` is ``i + 1`` where it starts at 0 and is raised once in each turn.

``n % every`` behind such a loop asks the same as ``(i + 1) % every`` in its last turn. A counter goes along if it gets a number in front of
the loop, in the same block, and is raised by one in each turn, whatever happens there, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from distlint.checks.execution import body_of
from distlint.checks.protocol_rounds import CONSTANT, limits_of, sum_of
from distlint.link.walking import below, blocks_of, bound_names, expressions_of, holder_of, statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.project import Project

_COUNTING = frozenset({"%", "+", "-"})


class _Twin(NamedTuple):
    """A counter: what it is more than the variable of a loop (``follows``) in front of the place where it is ``raised``."""

    follows: str
    more: int
    loop: ir.For
    raised: ir.Stmt
    block: tuple[ir.Stmt, ...]


class Counters:
    """The counters of the functions of a project."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._known: dict[tuple[str, int], dict[str, _Twin]] = {}

    def told(self, expr: ir.Expr, file: str, function: int) -> ir.Expr:
        """An expression in which counters are told by the variables of their loops, where it stands in one or behind it."""
        if type(expr) is ir.Name:
            more = self._more(expr, file, function)
            if more is None:
                return expr
            index = ir.Name(more[0], expr.at)
            return ir.Operation(("+",), (index, ir.Constant(more[1], expr.at)), expr.at) if more[1] else index
        if type(expr) is ir.Operation and len(expr.operands) == 2 and expr.operators[0] in _COUNTING:
            operands = tuple([self.told(one, file, function) for one in expr.operands])
            if operands != expr.operands:
                return ir.Operation(expr.operators, operands, expr.at)
        return expr

    def _more(self, name: ir.Name, file: str, function: int) -> tuple[str, int] | None:
        place = (file, function)
        if place not in self._known:
            self._known[place] = _twins(self._project, file, function)
        twin = self._known[place].get(name.id)
        if twin is None:
            return None
        if ir.encloses(twin.loop.at, name.at):
            holder = holder_of(twin.loop.body, name.at)
            if holder is None:
                return None
            return twin.follows, twin.more + (holder.at >> 44 > twin.raised.at >> 44)
        holder = holder_of(twin.block, name.at)
        return (twin.follows, twin.more + 1) if holder is not None and holder.at >> 44 > twin.loop.at >> 44 else None


def _twins(project: Project, file: str, function: int) -> dict[str, _Twin]:
    body = body_of(project, file, function)
    found: dict[str, _Twin] = {}
    for block in _blocks(body):
        for place, loop in enumerate(block):
            if type(loop) is not ir.For or not _turns_end_alike(loop):
                continue
            counted = limits_of(loop, lambda expr: ("name", expr.id if type(expr) is ir.Name else ""))
            if counted is not None and counted[1].first.base == CONSTANT:
                for raised in loop.body:
                    for name in _raised(raised):
                        start = next((one for before in block[:place] for one in _given(before, name)), None)
                        if start is not None:
                            more = start - counted[1].first.offset
                            found[name] = _Twin(counted[0][1], more, loop, raised, block)
    if found:
        bound = _times_bound(project, body, file)
        found = {name: one for name, one in found.items() if bound.get(name) == 2 and bound.get(one.follows) == 1}
    return found


def _blocks(body: tuple[ir.Stmt, ...]) -> Iterator[tuple[ir.Stmt, ...]]:
    yield body
    for statement in statements(body):
        yield from blocks_of(statement)


def _turns_end_alike(loop: ir.For) -> bool:
    """Whether nothing in a loop leaves a turn before its end."""
    return not any(type(one) is ir.Jump and one.kind in ("break", "continue") for one in statements(loop.body))


def _pairs(statement: ir.Stmt) -> Iterator[tuple[ir.Expr, ir.Expr]]:
    """The targets of an assignment, and what each of them gets."""
    if type(statement) is not ir.Assign or statement.value is None:
        return
    for target in statement.targets:
        value = statement.value
        if type(target) is ir.ListDisplay and type(value) is ir.ListDisplay and len(target.items) == len(value.items):
            yield from zip(target.items, value.items, strict=True)
        else:
            yield target, value


def _raised(statement: ir.Stmt) -> Iterator[str]:
    """The names that a statement makes one more."""
    if type(statement) is ir.AugAssign:
        if type(statement.target) is ir.Name and statement.operator == "+" and _is_number(statement.value, 1):
            yield statement.target.id
    for target, value in _pairs(statement):
        if type(target) is ir.Name:
            total = sum_of(value, lambda expr: ("name", expr.id) if type(expr) is ir.Name else ())
            if total == (("name", target.id), 1):
                yield target.id


def _given(statement: ir.Stmt, name: str) -> Iterator[int]:
    """The number that a statement gives a name."""
    for target, value in _pairs(statement):
        if type(target) is ir.Name and target.id == name and type(value) is ir.Constant and type(value.value) is int:
            yield value.value


def _is_number(expr: ir.Expr, number: int) -> bool:
    return type(expr) is ir.Constant and type(expr.value) is int and expr.value == number


def _times_bound(project: Project, body: tuple[ir.Stmt, ...], file: str) -> dict[str, int]:
    """How often a body gives each name a value; other functions that do count as well."""
    found: dict[str, int] = {}
    for statement in statements(body):
        targets: list[ir.Expr] = []
        if isinstance(statement, ir.Assign):
            targets += statement.targets if statement.value is not None else ()
        elif isinstance(statement, ir.AugAssign | ir.For):
            targets.append(statement.target)
        elif isinstance(statement, ir.With):
            targets += [bound for _, bound in statement.items if bound is not None]
        elif isinstance(statement, ir.Jump) and statement.kind == "del":
            targets += statement.values
        names = [name for target in targets for name in bound_names(target)]
        walruses = (part for expr in expressions_of(statement) for part in below(expr) if type(part) is ir.Wrapped)
        names += [one.target for one in walruses if one.target]
        for name in names:
            found[name] = found.get(name, 0) + 1
    for own in project.module(file).functions:
        for statement in statements(own.body):
            if type(statement) is ir.Jump and statement.kind in ("global", "nonlocal"):
                for value in statement.values:
                    found.update((name, found.get(name, 0) + 1) for name in bound_names(value))
    return found
