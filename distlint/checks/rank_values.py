"""The values that expressions have on one process: plain values, unknown, and numbers with a known bound."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

from distlint.model import python as ir


class Unknown:
    """What nothing is known of; compared by identity."""

    def __init__(self, name: str = "unknown") -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


UNKNOWN: Any = Unknown()
AROUND: Any = Unknown()
"""What the way back of a loop adds: nothing."""
BEFORE: Any = Unknown("before")
"""The number of all processes on the nodes before: what one that counts the nodes gives, times what one holds."""


class Many:
    """A number of processes of which only is known that it is above one."""

    def compare(self, symbol: str, other: object) -> object:
        """The comparison with a number, where being above one decides it."""
        if not isinstance(other, int) or other > 2:
            return UNKNOWN
        if other == 2:
            return {"<": False, ">=": True}.get(symbol, UNKNOWN)
        return {"==": False, "!=": True, ">": True, ">=": True, "<": False, "<=": False}.get(symbol, UNKNOWN)


MANY = Many()


class Sized:
    """Something of which only the number of items is known: a tensor, a dataset, a loader."""

    def __init__(self, length: int, rest: tuple[Any, ...] = ()) -> None:
        self.length = length
        self.rest = rest
        """The further sizes of a tensor, as far as they are known."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sized) and other.length == self.length

    def __hash__(self) -> int:
        return hash(("sized", self.length))

    def __bool__(self) -> bool:
        return self.length > 0


MAX_ITEMS = 4_096
"""Items of a list that are looked at one by one."""


def length_of(value: Any) -> int | None:
    """How many items something has; ``None`` where that is not known."""
    if isinstance(value, Sized):
        return value.length
    return len(value) if isinstance(value, tuple | range | str | dict) else None


def items_of(value: Any) -> tuple[Any, ...] | None:
    """The items of something one by one, unknown ones among them; ``None`` where even their number is not known."""
    if isinstance(value, tuple | range | str | dict) and len(value) <= MAX_ITEMS:
        return tuple(value)
    if isinstance(value, Sized) and value.length <= MAX_ITEMS:
        return (UNKNOWN,) * value.length
    return None


def item_at(value: Any, index: Any) -> Any:
    """``value[index]``."""
    if isinstance(value, dict):
        return value.get(index, UNKNOWN) if _is_plain(index) else UNKNOWN
    if isinstance(value, tuple | range | str) and isinstance(index, int) and -len(value) <= index < len(value):
        return value[index]
    return UNKNOWN


def sliced(value: Any, parts: tuple[Any, Any, Any]) -> Any:
    """``value[a:b:c]``; ``None`` for a part that is left out."""
    if not all(part is None or isinstance(part, int) for part in parts) or parts[2] == 0:
        return UNKNOWN
    if isinstance(value, tuple | range | str):
        return value[slice(*parts)]
    return Sized(len(range(value.length)[slice(*parts)]), value.rest) if isinstance(value, Sized) else UNKNOWN


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float | bool)


def is_complete(value: Any) -> bool:
    """Whether all of a value is known."""
    if isinstance(value, tuple):
        return all(is_complete(item) for item in value)
    if isinstance(value, dict):
        return all(is_complete(item) for item in value.values())
    return _is_plain(value) or isinstance(value, range)


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
    "/": operator.truediv,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    ">>": operator.rshift,
}


def truth_of(value: Any) -> bool | None:
    """Whether a value counts as true; ``None`` where it is not known."""
    if isinstance(value, Unknown):
        return None
    return True if isinstance(value, Many) else bool(value)


def agrees(value: bool | None, wanted: bool) -> bool | None:
    """Whether a decided test is as wanted; ``None`` where it is not decided."""
    return None if value is None else value is wanted


def same(values: Iterable[Any]) -> Any:
    """The value that all ways agree on; no more of them are asked for than it takes to see that they don't."""
    agreed: Any = AROUND
    for value in values:
        if value is AROUND:
            continue
        if value is UNKNOWN or not (agreed is AROUND or (type(value) is type(agreed) and value == agreed)):
            return UNKNOWN
        agreed = value
    return UNKNOWN if agreed is AROUND else agreed


def part_of(value: Any, part: tuple[Any, ...]) -> Any:
    """An item of a tuple, by the indexes that lead to it."""
    for step in part:
        value = item_at(value, step) if isinstance(step, int) else UNKNOWN
    return value


def converted(kind: str, value: Any) -> Any:
    """The value after ``int``, ``str``, ``bool`` or ``float``."""
    if isinstance(value, Unknown | Many):
        return value
    if isinstance(value, str) and len(value) > MAX_ITEMS:
        return UNKNOWN
    if kind == "bool":
        return truth_of(value) if truth_of(value) is not None else UNKNOWN
    try:
        return {"int": int, "str": str, "float": float}[kind](value) if _is_plain(value) else UNKNOWN
    except (OverflowError, TypeError, ValueError):
        return UNKNOWN


def unary(symbol: str, value: Any) -> Any:
    """The result of ``not`` or ``-``."""
    if symbol == "not":
        decided = truth_of(value)
        return UNKNOWN if decided is None else not decided
    if symbol == "-" and isinstance(value, int | float):
        return -value
    return ~value if symbol == "~" and isinstance(value, int) else UNKNOWN


def binary(symbol: str, left: Any, right: Any) -> Any:
    """The result of a comparison or of integer arithmetic; unknown where an operand is, or where it fails."""
    if isinstance(left, Many):
        return left.compare(symbol, right)
    if isinstance(right, Many):
        return right.compare(_MIRRORED.get(symbol, ""), left)
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        # the number of the first node times whatever
        return 0 if symbol == "*" and 0 in [value for value in (left, right) if isinstance(value, int)] else UNKNOWN
    try:
        if symbol in ("is", "is not"):
            same = left is right or (left == right and type(left) is type(right))
            return same is (symbol == "is")
        if symbol in ("in", "not in"):
            if not is_complete(right) or not is_complete(left) or isinstance(right, int | float):
                return UNKNOWN
            return (left in right) is (symbol == "in")
        if not (is_complete(left) and is_complete(right)):
            return _lengths_added(symbol, left, right)
        function = _COMPARISONS.get(symbol) or _ARITHMETIC.get(symbol)
        if symbol in ("**", "<<") and isinstance(left, int) and isinstance(right, int) and abs(left) < 100 > right >= 0:
            return left**right if symbol == "**" else left << right
        return function(left, right) if function is not None and _is_small(symbol, left, right) else UNKNOWN
    except (ArithmeticError, TypeError, ValueError):
        return UNKNOWN


def _is_small(symbol: str, left: Any, right: Any) -> bool:
    """Whether an operation gives something of a size that is no burden."""
    if symbol in _COMPARISONS:
        return True
    if isinstance(left, str | tuple) or isinstance(right, str | tuple):
        sizes = [len(value) if isinstance(value, str | tuple) else abs(value) for value in (left, right)]
        return (symbol == "+" and sum(sizes) <= MAX_ITEMS) or (symbol == "*" and sizes[0] * sizes[1] <= MAX_ITEMS)
    return all(isinstance(value, int | float) and abs(value) < 1 << 64 for value in (left, right))


def _lengths_added(symbol: str, left: Any, right: Any) -> Any:
    """Lists with unknown items behind each other, or repeated."""
    if symbol == "+" and isinstance(left, tuple) and isinstance(right, tuple) and len(left) + len(right) <= MAX_ITEMS:
        return left + right
    if symbol == "*" and isinstance(left, tuple) and isinstance(right, int) and len(left) * right <= MAX_ITEMS:
        return left * right
    return UNKNOWN


def names_group(call: ir.Call) -> bool:
    """Whether a call asks about a group of processes rather than about the job."""
    given = [*call.args, *(keyword.value for keyword in call.keywords if keyword.name == "group")]
    return any(not _is_whole(one) for one in given)


def _is_whole(group: ir.Expr) -> bool:
    """Whether what is given for a group means the whole job: nothing, or the group ``WORLD``."""
    return (type(group) is ir.Constant and group.value is None) or (
        type(group) is ir.Attribute and group.name == "WORLD"
    )
