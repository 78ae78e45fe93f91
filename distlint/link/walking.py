"""Walks over expressions and statements: everything below one, and the conditions under which a place is reached."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from distlint.model import python as ir


def children(expr: ir.Expr) -> Iterator[ir.Expr]:
    """The direct parts of an expression that are evaluated with it."""
    kind = type(expr)
    if kind is ir.Attribute or kind is ir.Subscript:
        yield expr.base  # type: ignore[union-attr]
        if kind is ir.Subscript:
            yield expr.index  # type: ignore[union-attr]
    elif kind is ir.Call:
        yield expr.func  # type: ignore[union-attr]
        yield from expr.args  # type: ignore[union-attr]
        for keyword in expr.keywords:  # type: ignore[union-attr]
            yield keyword.value
    elif kind is ir.Operation:
        yield from expr.operands  # type: ignore[union-attr]
    elif kind is ir.ListDisplay:
        yield from expr.items  # type: ignore[union-attr]
    elif kind is ir.DictDisplay:
        yield from (key for key in expr.keys if key is not None)  # type: ignore[union-attr]
        yield from expr.values  # type: ignore[union-attr]
    elif kind is ir.Conditional:
        yield from (expr.test, expr.body, expr.orelse)  # type: ignore[union-attr]
    elif kind is ir.Formatted:
        yield from expr.parts  # type: ignore[union-attr]
    elif kind is ir.Starred or (kind is ir.Wrapped and expr.value is not None):  # type: ignore[union-attr]
        yield expr.value  # type: ignore[union-attr, misc]
    elif kind is ir.Comprehension:
        yield expr.element  # type: ignore[union-attr]
        for target, iterable, tests in expr.generators:  # type: ignore[union-attr]
            yield from (target, iterable, *tests)
    elif kind is ir.Slice:
        yield from (part for part in (expr.lower, expr.upper, expr.step) if part is not None)  # type: ignore[union-attr]


def below(expr: ir.Expr) -> Iterator[ir.Expr]:
    """An expression and everything below it, outer ones first; a lambda's body is not entered."""
    stack = [expr]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(list(children(current))))


def expressions_of(statement: ir.Stmt) -> Iterator[ir.Expr]:
    """The expressions that a statement itself evaluates, not those of the statements inside it."""
    kind = type(statement)
    if kind is ir.Assign:
        yield from statement.targets  # type: ignore[union-attr]
        if statement.value is not None:  # type: ignore[union-attr]
            yield statement.value  # type: ignore[union-attr, misc]
    elif kind is ir.AugAssign:
        yield from (statement.target, statement.value)  # type: ignore[union-attr, misc]
    elif kind is ir.Evaluate:
        yield statement.value  # type: ignore[union-attr, misc]
    elif kind is ir.Return:
        if statement.value is not None:  # type: ignore[union-attr]
            yield statement.value  # type: ignore[union-attr, misc]
    elif kind is ir.If or kind is ir.While or kind is ir.Assert:
        yield statement.test  # type: ignore[union-attr]
    elif kind is ir.For:
        yield from (statement.target, statement.iterable)  # type: ignore[union-attr]
    elif kind is ir.With:
        for context, bound in statement.items:  # type: ignore[union-attr]
            yield context
            if bound is not None:
                yield bound
    elif kind is ir.Match:
        yield statement.subject  # type: ignore[union-attr]
    elif kind is ir.Jump:
        yield from statement.values  # type: ignore[union-attr]


def blocks_of(statement: ir.Stmt) -> Iterator[tuple[ir.Stmt, ...]]:
    """The bodies inside a statement; those of definitions are not entered."""
    kind = type(statement)
    if kind is ir.If or kind is ir.For or kind is ir.While:
        yield statement.body  # type: ignore[union-attr]
        yield statement.orelse  # type: ignore[union-attr]
    elif kind is ir.With:
        yield statement.body  # type: ignore[union-attr]
    elif kind is ir.Try:
        yield statement.body  # type: ignore[union-attr]
        for _, _, handler in statement.handlers:  # type: ignore[union-attr]
            yield handler
        yield statement.orelse  # type: ignore[union-attr]
        yield statement.final  # type: ignore[union-attr]
    elif kind is ir.Match:
        for _, _, body in statement.cases:  # type: ignore[union-attr]
            yield body


def statements(body: tuple[ir.Stmt, ...]) -> Iterator[ir.Stmt]:
    """All statements of a body in the order of the text, however deep."""
    stack: list[Any] = list(reversed(body))
    while stack:
        statement = stack.pop()
        yield statement
        for block in reversed(list(blocks_of(statement))):
            stack.extend(reversed(block))


def calls_in(body: tuple[ir.Stmt, ...]) -> Iterator[ir.Call]:
    """All calls of a body in the order of the text, outer ones first."""
    for statement in statements(body):
        for expr in expressions_of(statement):
            for part in below(expr):
                if type(part) is ir.Call:
                    yield part


class Guard(NamedTuple):
    """A condition on the way to a place: the test, whether it must be true or false, and what kind of statement poses it.

    ``kind`` is ``if``, ``while``, ``for`` (``test`` is the iterable), ``except`` (``test`` is ``None``), ``match``, ``exit`` (an earlier ``if`` that
    leaves the function or loop), ``expression`` (a conditional expression or a short circuit).
    """

    test: ir.Expr | None
    holds: bool
    kind: str
    at: ir.Position


def guards_of(body: tuple[ir.Stmt, ...], at: ir.Position) -> list[Guard] | None:
    """The conditions under which the expression at ``at`` is reached in a body, outer ones first; ``None`` if it is not in it."""
    start, end = at >> 44, at & 0xFFFFFFFFFFF
    return _guards(body, start, end)


def _contains(at: ir.Position, start: int, end: int) -> bool:
    return at >> 44 <= start and end <= at & 0xFFFFFFFFFFF


def _guards(body: tuple[ir.Stmt, ...], start: int, end: int) -> list[Guard] | None:
    exits: list[Guard] = []
    for statement in body:
        if not _contains(statement.at, start, end):
            if type(statement) is ir.If:
                if leaves(statement.body) and not leaves(statement.orelse):
                    exits.append(Guard(statement.test, False, "exit", statement.at))
                elif statement.orelse and leaves(statement.orelse) and not leaves(statement.body):
                    exits.append(Guard(statement.test, True, "exit", statement.at))
            continue
        inner = _inside(statement, start, end)
        return None if inner is None else exits + inner
    return None


def _inside(statement: ir.Stmt, start: int, end: int) -> list[Guard] | None:
    kind = type(statement)
    if kind is ir.If:
        found = _guards(statement.body, start, end)  # type: ignore[union-attr]
        if found is not None:
            return [Guard(statement.test, True, "if", statement.at), *found]  # type: ignore[union-attr]
        found = _guards(statement.orelse, start, end)  # type: ignore[union-attr]
        if found is not None:
            return [Guard(statement.test, False, "if", statement.at), *found]  # type: ignore[union-attr]
    elif kind is ir.While or kind is ir.For:
        test = statement.test if kind is ir.While else statement.iterable  # type: ignore[union-attr]
        found = _guards(statement.body, start, end)  # type: ignore[union-attr]
        if found is not None:
            return [Guard(test, True, "while" if kind is ir.While else "for", statement.at), *found]
    elif kind is ir.Try:
        for _, _, handler in statement.handlers:  # type: ignore[union-attr]
            found = _guards(handler, start, end)
            if found is not None:
                return [Guard(None, True, "except", statement.at), *found]
    elif kind is ir.Match:
        for _, _, block in statement.cases:  # type: ignore[union-attr]
            found = _guards(block, start, end)
            if found is not None:
                return [Guard(None, True, "match", statement.at), *found]
    for block in blocks_of(statement):
        found = _guards(block, start, end)
        if found is not None:
            return found
    for expr in expressions_of(statement):
        if _contains(expr.at, start, end):
            return list(_short_circuits(expr, start, end))
    return [] if kind is not ir.Define else None


def _short_circuits(expr: ir.Expr, start: int, end: int) -> Iterator[Guard]:
    """The conditions inside an expression: ``a and call()``, ``call() if a else b``."""
    while True:
        if type(expr) is ir.Conditional:
            for part, holds in ((expr.body, True), (expr.orelse, False)):
                if _contains(part.at, start, end):
                    yield Guard(expr.test, holds, "expression", expr.at)
        elif type(expr) is ir.Operation and expr.operators[0] in ("and", "or"):
            for operand in expr.operands:
                if _contains(operand.at, start, end):
                    break
                yield Guard(operand, expr.operators[0] == "and", "expression", expr.at)
        inner = next((part for part in children(expr) if _contains(part.at, start, end)), None)
        if inner is None:
            return
        expr = inner


def leaves(body: tuple[ir.Stmt, ...]) -> bool:
    """Whether a body never goes on behind itself: it returns, raises, or leaves the loop."""
    if not body:
        return False
    last = body[-1]
    if type(last) is ir.Return:
        return True
    if type(last) is ir.Jump:
        return last.kind in ("raise", "break", "continue")
    if type(last) is ir.If:
        return leaves(last.body) and leaves(last.orelse)
    if type(last) is ir.With:
        return leaves(last.body)
    if type(last) is ir.Evaluate and type(last.value) is ir.Call:
        func = last.value.func
        name = func.name if type(func) is ir.Attribute else func.id if type(func) is ir.Name else ""
        return name in ("exit", "_exit", "quit", "abort")
    return False
