"""The values that version tests compute with, and their operations as Python and the version classes define them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from packaging.version import Version


class Unknown:
    """A value that can't be computed. ``PROBE`` asks for a version or a feature, ``OTHER`` is about something else."""

    def __bool__(self) -> bool:
        raise TypeError("unknown values have no truth")


PROBE = Unknown()
OTHER = Unknown()


class Thing:
    """Something that the package has: it is true and not ``None``, and nothing else matters."""


class Names:
    """A collection of names of which one can only ask whether it has one: ``dir(x)``, a signature's parameters."""

    def __init__(self, has: Callable[[str], bool | None]) -> None:
        self._has = has

    def __contains__(self, name: object) -> bool:
        raise TypeError("ask with `holds`")

    def holds(self, name: Any) -> Any:
        """Whether the name is among them; ``PROBE`` where that is not known."""
        answer = self._has(name) if isinstance(name, str) else None
        return PROBE if answer is None else answer


class VersionText(str):
    """A text that compares with texts and tuples as a version, but for ``!=``, which it leaves to ``str``."""

    __slots__ = ()


class LooseVersion:
    """A version as distutils compares it: part by part, numbers as numbers and the rest as text."""

    _PARTS = re.compile(r"(\d+|[a-z]+|\.)", re.IGNORECASE)

    def __init__(self, text: str) -> None:
        self.vstring = text
        parts = [part for part in self._PARTS.split(text) if part and part != "."]
        self.version = tuple(int(part) if part.isdigit() else part for part in parts)

    def __str__(self) -> str:
        return self.vstring


class Requirement:
    """What ``SpecifierSet`` makes of a text."""

    def __init__(self, text: str) -> None:
        from packaging.specifiers import SpecifierSet

        self.wanted = SpecifierSet(text)


COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
}
SPOKEN = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
"""The names of the functions of ``operator``."""

FAILURES = (
    ArithmeticError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
    OverflowError,
    RecursionError,
    re.error,
)
"""What computing with a wrong value raises here."""

MAX_TEXT = 400
MAX_ITEMS = 40

TEXT_METHODS = frozenset(
    {
        *("split", "rsplit", "startswith", "endswith", "replace", "strip", "lstrip", "rstrip", "join", "partition"),
        *("rpartition", "removesuffix", "removeprefix", "index", "find", "isdigit", "isnumeric", "lower", "upper"),
        *("count", "rindex", "rfind", "splitlines"),
    }
)
VERSION_PARTS = frozenset(
    {
        *("release", "major", "minor", "micro", "base_version", "public", "local", "pre", "dev", "post", "epoch"),
        *("is_prerelease", "is_devrelease", "is_postrelease"),
    }
)


def is_known(value: Any) -> bool:
    """Whether a value was computed."""
    return value is not PROBE and value is not OTHER


def combined(values: Sequence[Any], make: Callable[..., Any]) -> Any:
    """``make(*values)`` where all are known; what it raises makes the answer a probe."""
    if any(value is PROBE for value in values):
        return PROBE
    if any(value is OTHER for value in values):
        return OTHER
    try:
        return make(*values)
    except FAILURES:
        return PROBE


def short_circuit(values: Sequence[Any], decides: bool) -> Any:
    """``and`` (which ``False`` decides) or ``or`` of the values; what they are, as Python, where it is known."""
    for value in values:
        if is_known(value) and bool(value) is decides:
            before = values[: next(i for i, one in enumerate(values) if one is value)]
            return value if all(is_known(one) for one in before) else decides
    if any(value is PROBE for value in values):
        return PROBE
    return values[-1] if all(is_known(value) for value in values) else OTHER


def joined(values: Sequence[Any]) -> Any:
    """What one of several values is that may all be the case: the value if they agree."""
    first = values[0]
    if all(same(first, other) for other in values[1:]):
        return first
    return PROBE if any(value is PROBE for value in values) else OTHER


def same(first: Any, second: Any) -> bool:
    """Whether two values are the same as far as tests go."""
    if first is second or (isinstance(first, Thing) and isinstance(second, Thing)):
        return True
    return is_known(first) and is_known(second) and type(first) is type(second) and bool(first == second)


def parsed(value: Any) -> Version:
    """A value as ``packaging.version`` parses it. Raises ``ValueError`` or ``TypeError``."""
    from packaging.version import Version

    if isinstance(value, Version):
        return value
    if not isinstance(value, str) or len(value) > MAX_TEXT:
        raise TypeError("not a text")
    return Version(value)


def compared(operator: str, left: Any, right: Any) -> Any:
    """A comparison as Python makes it; ``PROBE`` where it raises."""
    if operator in ("in", "not in"):
        return _contained(left, right, operator == "in")
    if operator in ("is", "is not"):
        return (left is right or (isinstance(left, bool) and left == right)) is (operator == "is")
    compare = COMPARISONS.get(operator)
    if compare is None:
        return PROBE
    if operator in ("==", "!=") and (left is None or right is None):
        return (left is right) is (operator == "==")
    try:
        answer = compare(*_comparable(operator, left, right))
    except FAILURES:
        return PROBE
    return answer if isinstance(answer, bool) else PROBE


def _contained(left: Any, right: Any, positive: bool) -> Any:
    if isinstance(right, Names):
        answer = right.holds(left)
        return answer if answer is PROBE else answer is positive
    try:
        found = right.wanted.contains(left) if isinstance(right, Requirement) else left in right
    except FAILURES:
        return PROBE
    return bool(found) is positive


def _comparable(operator: str, left: Any, right: Any) -> tuple[Any, Any]:
    """The two sides as the class of one of them compares them."""
    if isinstance(left, LooseVersion) or isinstance(right, LooseVersion):
        sides = [side if isinstance(side, LooseVersion) else LooseVersion(_text(side)) for side in (left, right)]
        return sides[0].version, sides[1].version
    if isinstance(right, VersionText) and not isinstance(left, VersionText):
        # The reflected comparison is what runs: for ``!=`` that of plain texts.
        right, left = _comparable(operator, right, left)
        return left, right
    if isinstance(left, VersionText):
        if operator == "!=":
            return str(left), str(right) if isinstance(right, str) else right
        return parsed(str(left)), _as_version(right)
    return left, right


def _as_version(value: Any) -> Version:
    if isinstance(value, tuple):
        return parsed(".".join(str(part) for part in value))
    return parsed(str(value) if isinstance(value, str) else value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value


def calculated(operator: str, values: Sequence[Any]) -> Any:
    """A sum, product … of two numbers, or of texts or tuples put together; what is not worth it is a probe."""
    make = _ARITHMETIC.get(operator)
    if make is None or len(values) != 2:
        return PROBE
    left, right = (str(value) if isinstance(value, VersionText) else value for value in values)
    are_numbers = all(isinstance(value, (int, float)) and abs(value) < 1e9 for value in (left, right))
    if not are_numbers and (operator != "+" or type(left) is not type(right) or not isinstance(left, (str, tuple))):
        return PROBE
    if not are_numbers and len(left) + len(right) > MAX_TEXT:
        return PROBE
    return combined([left, right], make)


def text_method(name: str, base: Any, arguments: Sequence[Any]) -> Any:
    """A call of a method of a text."""
    if not isinstance(base, str) or len(base) > MAX_TEXT:
        return PROBE
    if any(isinstance(argument, int) and abs(argument) > MAX_TEXT for argument in arguments):
        return PROBE
    given = [str(argument) if isinstance(argument, VersionText) else argument for argument in arguments]
    found = getattr(str(base), name)(*given)
    return tuple(found) if isinstance(found, list) else found


_NESTED_REPEATS = re.compile(r"[+*}]\)?[+*{]|\)[+*{]|\\\d|\(\?[=!<]")
"""Repeats of repeats and of groups (``(a|aa)*``), and looks ahead or back."""
_REPEAT = re.compile(r"[*+]|\{\d*,\d*\}")
MAX_REPEATS = 5
"""Open repeats of a pattern that is tried: each may multiply the time by the length of the text."""


def regular(name: str, arguments: Sequence[Any]) -> Any:
    """``re.match(pattern, text)`` and its like; patterns that could take long are not tried."""
    if len(arguments) < 2 or not all(isinstance(argument, str) for argument in arguments[:2]):
        return PROBE
    pattern, *rest = (str(argument) for argument in arguments)
    if len(pattern) > 100 or _NESTED_REPEATS.search(pattern) or any(len(text) > 80 for text in rest):
        return PROBE
    if len(_REPEAT.findall(pattern)) > MAX_REPEATS:
        return PROBE
    found = getattr(re, name)(pattern, *rest)
    return tuple(found) if isinstance(found, list) else found


REGULAR = frozenset({"match", "search", "fullmatch", "findall", "split", "sub"})


def items_of(value: Any) -> Iterator[Any]:
    """The items of a value that a loop or ``map`` goes over. Raises ``TypeError`` for what has none."""
    if isinstance(value, (tuple, str)) and len(value) <= MAX_ITEMS:
        return iter(value)
    if isinstance(value, dict) and len(value) <= MAX_ITEMS:
        return iter(tuple(value))
    raise TypeError("no items")
