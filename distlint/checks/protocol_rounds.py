"""Tests that count: which pass of a round of accumulation this is (``(i + 1) % n == 0``), and which turn of a loop.

``i % n == n - 1``, ``(i + 1) % n == 0`` and ``not (i + 1) % n`` are one test; ``i % n == 0`` is another one, that never holds together with
it. A round is taken to have two passes at least, and so is a loop: with one, both tests hold and nobody accumulates anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from distlint.model import python as ir

Key = tuple[Any, ...]
Term = Callable[[ir.Expr], Key]
"""Gives what an expression is called, so that two of the same meaning are equal."""

ROUND, TURN = "round", "turn"

CONSTANT: Key = ("number",)
"""The base of what is a plain number."""


class Sum(NamedTuple):
    """``base + offset``."""

    base: Key
    offset: int


class Limits(NamedTuple):
    """The values of a loop's variable: the first one, and the last one where that is known."""

    first: Sum
    last: Sum | None


def sum_of(expr: ir.Expr, term: Term) -> Sum:
    """An expression as a base and a number that is added to it."""
    if type(expr) is ir.Constant and type(expr.value) is int:
        return Sum(CONSTANT, expr.value)
    if type(expr) is ir.Operation and len(expr.operands) == 2 and expr.operators in (("+",), ("-",)):
        first, second = expr.operands
        sign = 1 if expr.operators == ("+",) else -1
        if type(second) is ir.Constant and type(second.value) is int:
            inner = sum_of(first, term)
            return Sum(inner.base, inner.offset + sign * second.value)
        if sign == 1 and type(first) is ir.Constant and type(first.value) is int:
            inner = sum_of(second, term)
            return Sum(inner.base, inner.offset + first.value)
    return Sum(term(expr), 0)


def counted(
    operator: str, first: ir.Expr, second: ir.Expr, term: Term, limits: Mapping[Key, Limits]
) -> tuple[Key, bool] | None:
    """The test that a comparison is (``==``, ``<`` or ``<=``), and whether it holds when that does; ``None`` where it counts nothing."""
    if operator == "==" and _parts_of_rest(first) is None and _parts_of_rest(second) is not None:
        first, second = second, first
    parts = _parts_of_rest(first)
    if parts is not None:
        return _of_round(operator, parts, sum_of(second, term), term)
    one, other = sum_of(first, term), sum_of(second, term)
    if operator == "==":
        return (_turn(one, other), True) if CONSTANT not in (one.base, other.base) or one.base != other.base else None
    if operator == "<=":
        other = Sum(other.base, other.offset + 1)
    if other.base in limits and one.base not in limits:
        # ``n < i`` is the opposite of ``i < n + 1``
        found = _of_turn(Sum(other.base, other.offset), Sum(one.base, one.offset + 1), limits[other.base])
        return (found[0], not found[1]) if found is not None else None
    return _of_turn(one, other, limits[one.base]) if one.base in limits else None


def _parts_of_rest(expr: ir.Expr) -> tuple[ir.Expr, ir.Expr] | None:
    if type(expr) is ir.Operation and expr.operators == ("%",) and len(expr.operands) == 2:
        return expr.operands[0], expr.operands[1]
    return None


def _of_round(operator: str, parts: tuple[ir.Expr, ir.Expr], rest: Sum, term: Term) -> tuple[Key, bool] | None:
    counter, size = sum_of(parts[0], term), sum_of(parts[1], term)
    if counter.base == CONSTANT or (size.base == CONSTANT and size.offset < 2):
        return None
    number = rest.offset
    if rest.base != CONSTANT:
        if rest.base != size.base or rest.offset - size.offset > (0 if operator == "<" else -1):
            return None
        number = rest.offset - size.offset
    if operator == "<=":
        operator, number = "<", number + 1
    if operator == "<":
        from_end = number - size.offset if size.base == CONSTANT == rest.base else number
        if number == 1 and rest.base == CONSTANT:
            return _round(counter, size, 0), True
        if from_end == -1:
            return _round(counter, size, -1), False
        return None
    return _round(counter, size, number), True


def _round(counter: Sum, size: Sum, number: int) -> Key:
    offset = number - counter.offset
    return (ROUND, counter.base, size, offset % size.offset if size.base == CONSTANT else offset)


def _turn(one: Sum, other: Sum) -> Key:
    if one.base == CONSTANT or (other.base != CONSTANT and repr(other.base) < repr(one.base)):
        one, other = other, one
    return (TURN, one.base, other.base, other.offset - one.offset)


def _of_turn(one: Sum, other: Sum, limits: Limits) -> tuple[Key, bool] | None:
    """``one < other`` for the variable of a loop: is it the first turn, or all but the last?"""
    border = Sum(other.base, other.offset - one.offset)
    if border == Sum(limits.first.base, limits.first.offset + 1):
        return _turn(Sum(one.base, 0), limits.first), True
    if limits.last is not None and border == limits.last:
        return _turn(Sum(one.base, 0), limits.last), False
    return None


def is_count(key: Key) -> bool:
    """Whether a test is one that counts."""
    return key[0] in (ROUND, TURN)


def excludes(one: Key, other: Key) -> bool:
    """Whether two tests of one family never hold together."""
    if one[3] == other[3]:
        return False
    return one[0] == TURN or bool(one[2].base == CONSTANT) or abs(one[3] - other[3]) == 1


def completes(one: Key, other: Key) -> bool:
    """Whether one of two tests always holds: a round of two passes has two."""
    return bool(one[0] == ROUND and one[2] == Sum(CONSTANT, 2) and one[3] != other[3])


def moved(key: Key, counter: Key, by: int) -> Key | None:
    """What a test is called after its counter went on; ``None`` where it does not follow the counter alone."""
    if key[1] == counter:
        offset = key[3] + by
        if key[0] == ROUND and key[2].base == CONSTANT:
            offset %= key[2].offset
        return (*key[:3], offset)
    if key[0] == TURN and key[2] == counter:
        return (*key[:3], key[3] - by)
    return None


def at_value(key: Key, counter: Key, value: Sum, *, several: bool = False) -> bool | None:
    """What a test gives when its counter has a value; ``several``: behind a loop of two turns or more, at its last value."""
    if key[0] == TURN:
        if key[2] == counter:
            key = (TURN, key[2], key[1], -key[3])
        if key[1] != counter:
            return None
        if key[2] == value.base:
            return bool(key[3] == value.offset)
        return False if several and key[2] == CONSTANT and key[3] == 0 else None
    if key[1] != counter:
        return None
    size: Sum = key[2]
    if value.base == CONSTANT == size.base:
        return bool((key[3] - value.offset) % size.offset == 0)
    if value.base == CONSTANT and abs(value.offset - key[3]) < 2:
        return bool(value.offset == key[3])
    if value.base == size.base:
        # with the size itself the count begins again
        rest = value.offset - size.offset
        return bool(rest == key[3]) if abs(rest - key[3]) < 2 else None
    return None


def holds_term(key: Key, part: Key) -> bool:
    """Whether what a key stands for is computed from another."""
    return key == part or any(isinstance(one, tuple) and holds_term(one, part) for one in key)


def limits_of(loop: ir.For, term: Term) -> tuple[Key, Limits] | None:
    """The counter of a loop over ``range`` or ``enumerate`` with its first value, and the last where that can be named."""
    call = loop.iterable
    if type(call) is not ir.Call or type(call.func) is not ir.Name or not 1 <= len(call.args) <= 2:
        return None
    name, target = call.func.id, loop.target
    if name == "range" and type(target) is ir.Name and not call.keywords:
        first = sum_of(call.args[0], term) if len(call.args) == 2 else Sum(CONSTANT, 0)
        end = sum_of(call.args[-1], term)
        return term(target), Limits(first, Sum(end.base, end.offset - 1))
    if name == "enumerate" and type(target) is ir.ListDisplay and target.items and type(target.items[0]) is ir.Name:
        given = [*call.args[1:], *(word.value for word in call.keywords if word.name == "start")]
        first = sum_of(given[0], term) if given else Sum(CONSTANT, 0)
        source = call.args[0]
        last = None
        if type(source) in (ir.Name, ir.Attribute) and first.base == CONSTANT:
            last = Sum(("call", "len", term(source)), first.offset - 1)
        return term(target.items[0]), Limits(first, last)
    return None


def families(keys: Iterable[Key]) -> dict[Key, list[Key]]:
    """The tests that count, by what they count."""
    found: dict[Key, list[Key]] = {}
    for key in keys:
        if is_count(key):
            found.setdefault(key[:3], []).append(key)
    return found
