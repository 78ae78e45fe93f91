"""The conditions under which a place is reached: those of the statements around it, and the exits before it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from distlint.link.walking import asks_for_main, blocks_of, children, expressions_of
from distlint.model import python as ir

MAX_PATHS = 40
"""Ways out of one statement that are looked at."""


class Test(NamedTuple):
    """An expression that must be true, or false."""

    expr: ir.Expr
    holds: bool


class Case(NamedTuple):
    """A case of a ``match`` that must be the one that is taken."""

    statement: ir.Match
    number: int


class Handler(NamedTuple):
    """The body of a ``try`` must fail, so that this handler is entered."""

    statement: ir.Try
    number: int


class Worked(NamedTuple):
    """The body of a ``try`` must not fail; if ``end`` is not 0, its statements that end before that position."""

    statement: ir.Try
    end: ir.Position = 0


class Refuses(NamedTuple):
    """A call that must raise."""

    call: ir.Call


class Unless(NamedTuple):
    """A way out that must not be taken: not all of its conditions hold."""

    parts: tuple[Condition, ...]


Condition = Test | Case | Handler | Worked | Refuses | Unless

Path = tuple[Condition, ...]

_REFUSING = re.compile(
    r"check|requir|assert|ensure|verif|valid|version|compat|importorskip|guard|minim|fail|abort|die|demand",
    re.IGNORECASE,
)
_EXITS = frozenset({"exit", "_exit", "quit", "abort"})


def conditions_to(body: Sequence[ir.Stmt], at: ir.Position) -> list[Condition]:
    """The conditions on the way to a place in a body, outer ones first; what is before it counts with its exits."""
    start, end = at >> 44, at & 0xFFFFFFFFFFF
    found: list[Condition] = []
    while True:
        statement = None
        for one in body:
            if _contains(one.at, start, end):
                statement = one
                break
            if one.at & 0xFFFFFFFFFFF <= start:
                found.extend(Unless(path) for path in ways_out(one, loops=True))
        if statement is None or type(statement) is ir.Define:
            return found
        around = next((expr for expr in expressions_of(statement) if _contains(expr.at, start, end)), None)
        if around is not None:
            found.extend(_inside(around, start, end))
            return found
        # Decorators stand before the statement that they belong to, so only the ends of blocks tell them apart.
        inner = next(
            (pair for pair in _blocks(statement, at) if pair[1] and end <= pair[1][-1].at & 0xFFFFFFFFFFF), None
        )
        if inner is None:
            return found
        found.extend(inner[0])
        body = inner[1]


def conditions_between(body: Sequence[ir.Stmt]) -> list[Condition]:
    """The ways in which a whole body ends early with an error, each as what must not be."""
    found: list[Condition] = []
    for statement in body:
        if type(statement) is ir.If and asks_for_main(statement.test):
            continue
        found.extend(Unless(path) for path in ways_out(statement, loops=False))
    return found


def ways_out(statement: ir.Stmt, *, loops: bool) -> list[Path]:
    """The conditions under which a statement does not go on behind itself; with ``loops`` also to the next round."""
    return list(_limited(_ways_out(statement, loops, 0)))


def _limited(paths: Iterator[Path]) -> Iterator[Path]:
    for _, path in zip(range(MAX_PATHS), paths, strict=False):
        yield path


def _ways_out(statement: ir.Stmt, loops: bool, depth: int) -> Iterator[Path]:
    kind = type(statement)
    if depth > 6:
        return
    if kind is ir.Return:
        yield ()
    elif kind is ir.Jump:
        name = statement.kind  # type: ignore[union-attr]
        if name == "raise" or (loops and name in ("break", "continue")):
            yield ()
    elif kind is ir.Assert:
        yield (Test(statement.test, False),)  # type: ignore[union-attr]
    elif kind is ir.Evaluate:
        yield from _ways_out_of_call(statement.value)  # type: ignore[union-attr, arg-type]
    elif kind is ir.If:
        for holds, block in ((True, statement.body), (False, statement.orelse)):  # type: ignore[union-attr]
            for path in _block(block, loops, depth):
                yield (Test(statement.test, holds), *path)  # type: ignore[union-attr]
    elif kind is ir.Match:
        for index, (_, _, block) in enumerate(statement.cases):  # type: ignore[union-attr]
            for path in _block(block, loops, depth):
                yield (Case(statement, index), *path)  # type: ignore[arg-type]
    elif kind is ir.Try:
        yield from _ways_out_of_try(statement, loops, depth)  # type: ignore[arg-type]
    elif kind in (ir.With, ir.For, ir.While):
        yield from _block(statement.body, loops and kind is ir.With, depth)  # type: ignore[union-attr]


def _block(block: Sequence[ir.Stmt], loops: bool, depth: int) -> Iterator[Path]:
    for statement in block:
        yield from _ways_out(statement, loops, depth + 1)


def _ways_out_of_call(expr: ir.Expr) -> Iterator[Path]:
    if type(expr) is not ir.Call:
        return
    name = last_name(expr)
    if name in _EXITS or name in ("error", "skip"):
        yield ()
    elif _REFUSING.search(name):
        yield (Refuses(expr),)


def _ways_out_of_try(statement: ir.Try, loops: bool, depth: int) -> Iterator[Path]:
    # What is raised in the body of a `try` with handlers may be caught by them.
    if not statement.handlers:
        yield from _block(statement.body, loops, depth)
    else:
        for one in statement.body:
            if type(one) is ir.Return:
                yield (Worked(statement, one.at),)
    for index, (_, _, block) in enumerate(statement.handlers):
        for path in _block(block, loops, depth):
            yield (Handler(statement, index), *path)
    for path in _block(statement.orelse, loops, depth):
        yield (Worked(statement), *path)
    yield from _block(statement.final, loops, depth)


def leaves(block: Sequence[ir.Stmt]) -> bool:
    """Whether a block surely ends with an error: it raises or exits on every way."""
    last = block[-1] if block else None
    if type(last) is ir.Jump:
        return last.kind == "raise" and not any(last_name(value) in ("skip", "SkipTest") for value in last.values)
    if type(last) is ir.If:
        return leaves(last.body) and leaves(last.orelse)
    if type(last) is ir.With:
        return leaves(last.body)
    return type(last) is ir.Evaluate and type(last.value) is ir.Call and last_name(last.value) in _EXITS


def last_name(expr: ir.Expr) -> str:
    """The last part of the name of an expression, or of what it calls."""
    if type(expr) is ir.Call:
        expr = expr.func
    return expr.name if type(expr) is ir.Attribute else expr.id if type(expr) is ir.Name else ""


def _contains(at: ir.Position, start: int, end: int) -> bool:
    return at >> 44 <= start and end <= at & 0xFFFFFFFFFFF


def _blocks(statement: ir.Stmt, at: ir.Position) -> Iterator[tuple[Path, Sequence[ir.Stmt]]]:
    """The bodies inside a statement, each with the conditions under which it is entered."""
    kind = type(statement)
    if kind is ir.If:
        yield (Test(statement.test, True),), statement.body  # type: ignore[union-attr]
        yield (Test(statement.test, False),), statement.orelse  # type: ignore[union-attr]
    elif kind is ir.While:
        yield (Test(statement.test, True),), statement.body  # type: ignore[union-attr]
        yield (), statement.orelse  # type: ignore[union-attr]
    elif kind is ir.Try:
        yield (Worked(statement, at),), statement.body  # type: ignore[union-attr, arg-type]
        for index, (_, _, handler) in enumerate(statement.handlers):  # type: ignore[union-attr]
            yield (Handler(statement, index),), handler  # type: ignore[arg-type]
        yield (Worked(statement),), statement.orelse  # type: ignore[union-attr, arg-type]
        yield (), statement.final  # type: ignore[union-attr]
    elif kind is ir.Match:
        for index, (_, _, body) in enumerate(statement.cases):  # type: ignore[union-attr]
            yield (Case(statement, index),), body  # type: ignore[arg-type]
    else:
        for block in blocks_of(statement):
            yield (), block


def _inside(expr: ir.Expr, start: int, end: int) -> Iterator[Condition]:
    """The conditions inside an expression: ``a and call()``, ``call() if a else b``, ``[call(x) for x in y if a]``."""
    while True:
        kind = type(expr)
        if kind is ir.Conditional:
            for part, holds in ((expr.body, True), (expr.orelse, False)):  # type: ignore[union-attr]
                if _contains(part.at, start, end):
                    yield Test(expr.test, holds)  # type: ignore[union-attr]
        elif kind is ir.Operation and expr.operators[0] in ("and", "or"):  # type: ignore[union-attr]
            for operand in expr.operands:  # type: ignore[union-attr]
                if _contains(operand.at, start, end):
                    break
                yield Test(operand, expr.operators[0] == "and")  # type: ignore[union-attr]
        elif kind is ir.Comprehension and _contains(expr.element.at, start, end):  # type: ignore[union-attr]
            for _, _, tests in expr.generators:  # type: ignore[union-attr]
                yield from (Test(test, True) for test in tests)
        elif kind is ir.Subscript and type(expr.base) is ir.DictDisplay:  # type: ignore[union-attr]
            yield from _chosen(expr, start, end)  # type: ignore[arg-type]
        parts = [expr.body] if kind is ir.Lambda else children(expr)  # type: ignore[union-attr]
        inner = next((part for part in parts if _contains(part.at, start, end)), None)
        if inner is None:
            return
        expr = inner


def _chosen(expr: ir.Subscript, start: int, end: int) -> Iterator[Condition]:
    """For a place in a lambda of ``{key: lambda: ..., ...}[choice]``: that the choice is its key."""
    display = expr.base
    if type(display) is ir.DictDisplay:
        for key, value in zip(display.keys, display.values, strict=True):
            if key is not None and type(value) is ir.Lambda and _contains(value.at, start, end):
                yield Test(ir.Operation(("==",), (expr.index, key), key.at), True)
