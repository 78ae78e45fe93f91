"""The values that expressions have on one process: plain values, unknown, and numbers with a known bound."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from distlint.model import python as ir


class Unknown:
    """What nothing is known of; compared by identity."""

    def __repr__(self) -> str:
        return "unknown"


UNKNOWN: Any = Unknown()
AROUND: Any = Unknown()
"""What the way back of a loop adds: nothing."""


class Many:
    """A number of processes of which only is known that it is above one."""

    def compare(self, symbol: str, other: object) -> object:
        """The comparison with a number, where being above one decides it."""
        if not isinstance(other, int) or other > 1:
            return UNKNOWN
        return {"==": False, "!=": True, ">": True, ">=": True, "<": False, "<=": False}.get(symbol, UNKNOWN)


MANY = Many()
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
_COMPARISONS: dict[str, Callable[[Any, Any], object]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ARITHMETIC: dict[str, Callable[[Any, Any], object]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
}


def truth_of(value: Any) -> bool | None:
    """Whether a value counts as true; ``None`` where it is not known."""
    if value is UNKNOWN or value is AROUND:
        return None
    return True if isinstance(value, Many) else bool(value)


def agrees(value: bool | None, wanted: bool) -> bool | None:
    """Whether a decided test is as wanted; ``None`` where it is not decided."""
    return None if value is None else value is wanted


def same(values: list[Any]) -> Any:
    """The value that all ways agree on."""
    given = [value for value in values if value is not AROUND]
    if not given or any(value is UNKNOWN for value in given):
        return UNKNOWN
    first = given[0]
    return first if all(type(value) is type(first) and value == first for value in given) else UNKNOWN


def part_of(value: Any, part: tuple[Any, ...]) -> Any:
    """An item of a tuple, by the indexes that lead to it."""
    for step in part:
        if not isinstance(value, tuple) or not isinstance(step, int) or not -len(value) <= step < len(value):
            return UNKNOWN
        value = value[step]
    return value


def converted(kind: str, value: Any) -> Any:
    """The value after ``int``, ``str`` or ``bool``."""
    if value is UNKNOWN or value is AROUND or isinstance(value, Many):
        return value
    try:
        return {"int": int, "str": str, "bool": bool}[kind](value)
    except (TypeError, ValueError):
        return UNKNOWN


def unary(symbol: str, value: Any) -> Any:
    """The result of ``not`` or ``-``."""
    if symbol == "not":
        decided = truth_of(value)
        return UNKNOWN if decided is None else not decided
    if symbol == "-" and isinstance(value, int):
        return -value
    return UNKNOWN


def binary(symbol: str, left: Any, right: Any) -> Any:
    """The result of a comparison or of integer arithmetic; unknown where an operand is, or where it fails."""
    if isinstance(left, Many):
        return left.compare(symbol, right)
    if isinstance(right, Many):
        return right.compare(_MIRRORED.get(symbol, ""), left)
    if left in (UNKNOWN, AROUND) or right in (UNKNOWN, AROUND):
        return UNKNOWN
    try:
        if symbol in ("is", "is not"):
            same = left is right or (left == right and type(left) is type(right))
            return same is (symbol == "is")
        if symbol in ("in", "not in"):
            if isinstance(right, tuple) and UNKNOWN in right:
                return UNKNOWN
            return (left in right) is (symbol == "in")
        function = _COMPARISONS.get(symbol) or _ARITHMETIC.get(symbol)
        small = not isinstance(left, str) or symbol in _COMPARISONS
        return function(left, right) if function is not None and small else UNKNOWN
    except (ArithmeticError, TypeError):
        return UNKNOWN


def names_group(call: ir.Call) -> bool:
    """Whether a call asks about a group of processes rather than about the job."""
    return bool(call.args) or any(keyword.name == "group" for keyword in call.keywords)
