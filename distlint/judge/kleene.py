"""Three-valued operations over single values: each operand is known, absent, auto or unknown, never *one of*.

Whatever Python would answer by raising, or by comparing things of different kinds, is unknown here: a quoted number is
neither equal to the number nor different from it until the framework has said what it makes of the quotes.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

from distlint.model.value import State, Value, known, unknown

TRUE = known(True)
FALSE = known(False)

MAX_EXPONENT = 64
MAX_BASE = 2**64
BOOLEAN_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "y", "n", "0", "1", "none", "null"})

COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _power(base: Any, exponent: Any) -> Any:
    if abs(exponent) > MAX_EXPONENT or abs(base) > MAX_BASE:
        raise ValueError("the power is too large")
    return base**exponent


ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": _power,
}


def truth(value: Value) -> bool | None:
    """Whether a value counts as true; ``None`` where that is not known (a string that may spell a boolean, say)."""
    if value.state is not State.KNOWN:
        return None
    plain = value.only
    if isinstance(plain, str) and plain.lower() in BOOLEAN_WORDS:
        return None
    return bool(plain)


def boolean(answer: bool | None, reason: str = "not decidable") -> Value:
    """The value of a three-valued answer."""
    if answer is None:
        return unknown(reason)
    return TRUE if answer else FALSE


def compare(sign: str, left: Value, right: Value) -> bool | None:
    """``left sign right`` for values of one kind; ``None`` where either is not known or the kinds differ."""
    if left.state is not State.KNOWN or right.state is not State.KNOWN:
        return None
    kind = _kind(left.only)
    if kind is None or kind is not _kind(right.only) or (sign not in ("==", "!=") and kind is not float):
        return None
    try:
        return bool(COMPARISONS[sign](left.only, right.only))
    except (ArithmeticError, TypeError, ValueError, RecursionError):
        return None


def is_none(value: Value) -> bool | None:
    """Whether a value is null or absent: the one comparison that absence answers."""
    if value.is_absent:
        return True
    return value.only is None if value.is_known else None


def member(item: Value, container: Iterable[Value]) -> bool | None:
    """Whether an item equals any of some values: true if one does, false if none does, else unknown."""
    answers = [_equal(item, other) for other in container]
    if any(answers):
        return True
    return None if None in answers else False


def _equal(left: Value, right: Value) -> bool | None:
    if right.is_known and right.only is None:
        return is_none(left)
    return compare("==", left, right)


def arithmetic(sign: str, left: Value, right: Value) -> Value:
    """The result of an operation on two numbers; unknown where one is not a known number or the operation fails."""
    if not (is_number(left) and is_number(right)):
        return _missing(left if not is_number(left) else right)
    try:
        result = ARITHMETIC[sign](left.only, right.only)
    except (ArithmeticError, TypeError, ValueError) as error:
        return unknown(f"not computable: {error}")
    return known(result) if isinstance(result, (int, float)) else unknown("not a number")


def divides(divisor: Value, number: Value) -> Value:
    """Whether one whole number divides another."""
    for value in (divisor, number):
        if not (value.is_known and type(value.only) is int):
            return _missing(value)
    return boolean(number.only % divisor.only == 0) if divisor.only else unknown("division by zero")


def is_number(value: Value) -> bool:
    """Whether a value is a known int or float; booleans are not numbers here."""
    return value.state is State.KNOWN and type(value.only) in (int, float)


def _missing(value: Value) -> Value:
    return value if value.is_unknown else unknown("is absent" if value.is_absent else "is of another type")


def _kind(plain: Any) -> type | None:
    """The class of things that a plain value can be compared with; ``None`` for null and for what we never compare."""
    if isinstance(plain, bool):
        return bool
    if isinstance(plain, (int, float)):
        return float
    for kind in (str, list, dict):
        if isinstance(plain, kind):
            return kind
    return list if isinstance(plain, tuple) else None
