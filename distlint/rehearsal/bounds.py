"""What numbers that are not known are at most, or at least: a comparison with such a bound comes out the same on every process.

``min(n, limit)`` is at most ``limit``, whatever ``n`` is; so is a part of a row that ends there, and what a test has let through.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from typing import Any, NamedTuple

from distlint.rehearsal.unknowns import UNKNOWN, Bound, Bounds, Comparisons, Opaque, told_by
from distlint.rehearsal.values import MEMBERS, Items, Tensor, signature, source_of

MAX_BOUNDS = 6
"""Bounds of a number that are remembered on each side."""

_MAX_DEPTH = 4
"""Bounds of bounds that are looked at."""

_OF_ENDS = {"min": (0, 1), "max": (1, 0)}
"""Which bounds (0: what it is at most, 1: what it is at least) all arguments give, and which those that they have in common."""

_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
_DENIED = {"<": ">=", ">": "<=", "<=": ">", ">=": "<"}
COMPARING = frozenset(_TURNED)


def with_bounds(found: Any, most: Iterable[Bound] = (), least: Iterable[Bound] = ()) -> Any:
    """The same new value, which has these bounds besides its own; nothing is noted of ``UNKNOWN``, which stands for many."""
    if not isinstance(found, Opaque) or found is UNKNOWN:
        return found
    before = found.bounds or Bounds((), ())
    bounds = Bounds(_few((*before.most, *most)), _few((*before.least, *least)))
    found.bounds = bounds if any(bounds) else None
    return found


def _few(bounds: Iterable[Bound]) -> tuple[Bound, ...]:
    """A few of some bounds: those that are numbers come first."""
    told = [one for one in bounds if _is_number(one.value) or _is_told(one.value)]
    kept: list[Bound] = []
    for bound in sorted(told, key=lambda one: not _is_number(one.value)):
        if len(kept) == MAX_BOUNDS:
            break
        if not any(one.strict == bound.strict and _same(one.value, bound.value) for one in kept):
            kept.append(bound)
    return (*kept,)


def of_ends(found: Any, name: str, values: list[Any]) -> Any:
    """What ``min`` or ``max`` (``name``) of some values gives, with the bounds that follow."""
    if not values or not isinstance(found, Opaque):
        return found
    every, common = _OF_ENDS[name]
    sides: list[list[Bound]] = [[], []]
    sides[every] = [bound for value in values for bound in _with_itself(value, every)]
    sides[common] = [*_common(values, common)]
    return with_bounds(found, *sides)


def of_any(found: Any, sample: Any) -> Any:
    """The least or the greatest of some values, of which ``sample`` stands for all: it has the bounds that all of them have."""
    if isinstance(sample, Opaque) and sample.bounds is not None:
        return with_bounds(found, sample.bounds.most, sample.bounds.least)
    return found


def of_one(found: Any, values: list[Any]) -> Any:
    """What is one of some values has the bounds that all of them have."""
    return with_bounds(found, _common(values, 0), _common(values, 1))


def agreeing(one: Any, other: Any) -> Any:
    """One of two values that are the same, as far as what tells them goes: with the bounds that both have."""
    if one is other or not isinstance(one, Opaque) or one.bounds == other.bounds:
        return one
    if one.bounds is None or other.bounds is None:
        return one if one.bounds is None else other
    found = copy(one)
    found.bounds = None
    return with_bounds(found, _common([one, other], 0), _common([one, other], 1))


def of_part(found: Any, part: slice) -> Any:
    """How long a part of a row is: at most as long as its limit says."""
    start, stop, step = part.start, part.stop, part.step
    if step is not None and (type(step) is not int or step < 1):
        return found
    if start in (None, 0) and not _is_negative(stop) and stop is not None:
        return with_bounds(found, [Bound(stop, strict=False)])
    if _is_negative(start) and stop is None:
        return with_bounds(found, [Bound(-start, strict=False)])
    return found


def same_bounds(found: Any, before: Any) -> Any:
    """A new value that stands for another one has its bounds."""
    if isinstance(before, Opaque) and before.bounds is not None:
        return with_bounds(found, before.bounds.most, before.bounds.least)
    return found


def compared(symbol: str, one: Any, two: Any) -> bool | None:
    """How a comparison of numbers comes out that are not both known; ``None`` where their bounds do not tell."""
    if symbol not in COMPARING or not (_has_bounds(one) or _has_bounds(two)):
        return None
    if symbol in (">", ">="):
        symbol, one, two = _TURNED[symbol], two, one
    strict = symbol == "<"
    if _below(one, two, strict=strict):
        return True
    return False if _below(two, one, strict=not strict) else None


def asks(found: Any, symbol: str, one: Any, two: Any) -> Any:
    """What a comparison of numbers gives, with what it asks."""
    if symbol in COMPARING and isinstance(found, Opaque) and found is not UNKNOWN:
        found.compares = Comparisons("", ((symbol, one, two),))
    return found


def asks_all(found: Any, joined: str, tests: Iterable[Any]) -> Any:
    """What several tests give, ``joined`` by ``and`` or ``or``, with what they ask."""
    every = [test.compares for test in tests if isinstance(test, Opaque) and test.compares is not None]
    parts = tuple(part for one in every if one.joined in ("", joined) for part in one.parts)
    if parts and isinstance(found, Opaque) and found is not UNKNOWN:
        found.compares = Comparisons(joined, parts)
    return found


def is_of_members(value: Any) -> bool:
    """Whether a value differs between processes because other members came up on each."""
    source = source_of([value])
    return source is not None and source.why == MEMBERS


def is_limited(value: Opaque) -> bool:
    """Whether a limit may make a number the same everywhere: what it is at most, or at least where that is more than one."""
    bounds = value.bounds
    return bounds is not None and (
        bool(bounds.most) or any(not _is_number(one.value) or one.value > 1 for one in bounds.least)
    )


def narrowed(variables: dict[str, Any], test: Any, *, holds: bool) -> dict[str, tuple[Any, Any]]:
    """Takes it that a test holds, or that it does not: what it compares has a bound then, in all variables that hold it.

    Gives these variables, with what they held and what they hold now.
    """
    asked = test.compares if isinstance(test, Opaque) else None
    if asked is None or asked.joined == ("or" if holds else "and"):
        return {}
    known: list[_Known] = []
    for symbol, one, two in asked.parts:
        sign = symbol if holds else _DENIED[symbol]
        known += [_Known(one, sign, two), _Known(two, _TURNED[sign], one)]
    known = [each for each in known if isinstance(each.number, Opaque) and each.number is not UNKNOWN]
    changed: dict[str, tuple[Any, Any]] = {}
    for name, value in variables.items():
        now = _with_known(value, known)
        if now is not value:
            changed[name] = (value, now)
    variables.update((name, now) for name, (_, now) in changed.items())
    return changed


def widened(going: Sequence[dict[str, Any]], told: Sequence[dict[str, tuple[Any, Any]]]) -> None:
    """Takes back what a test said of variables that hold the same on all ways behind it; ``told`` is what ``narrowed`` gave for each."""
    for name in {name for changed in told for name in changed}:
        held = [variables.get(name) for variables in going]
        before = next(changed[name][0] for changed in told if name in changed)
        now = [changed[name][1] for changed in told if name in changed]
        if all(one is before or any(one is each for each in now) for one in held) and all(
            _is_untouched(before, one) for one in now
        ):
            for variables in going:
                variables[name] = before


def _is_untouched(before: Any, now: Any) -> bool:
    """Whether nothing was done to a list or tensor since it was found to have a bound."""
    if isinstance(now, Items):
        sizes = (now.size, before.size)
        same = all(isinstance(one, Opaque) for one in sizes) and len(set(map(told_by, sizes))) == 1
        return now.items is None and now.whole is before.whole and same
    return not isinstance(now, Tensor) or now.sign == before.sign


class _Known(NamedTuple):
    """How a number compares with another one for certain."""

    number: Any
    symbol: str
    limit: Any


def _with_known(value: Any, known: list[_Known]) -> Any:
    """A value with all that is known of its size: the number itself, or what is as long."""
    if isinstance(value, Opaque):
        mine = [
            one for one in known if value is one.number or (value.sign is not None and value.sign == one.number.sign)
        ]
        sides = [
            [Bound(one.limit, strict=one.symbol == side) for one in mine if one.symbol[0] == side] for side in "<>"
        ]
        return with_bounds(copy(value), *sides) if mine else value
    if type(value) is Tensor and value.shape is not None:
        shape = _each_known(value.shape, known)
        if shape is value.shape:
            return value
        made = copy(value)
        made.shape = shape
        return made
    if type(value) is tuple and len(value) <= MAX_BOUNDS:
        return _each_known(value, known)
    if isinstance(value, Items) and value.items is None and isinstance(value.size, Opaque):
        size = _with_known(value.size, known)
        if size is not value.size:
            listed = copy(value)
            listed.size = size
            return listed
    return value


def _each_known(values: tuple[Any, ...], known: list[_Known]) -> tuple[Any, ...]:
    found = tuple(_with_known(one, known) for one in values)
    return found if any(map(operator.is_not, found, values)) else values


def _has_bounds(value: Any) -> bool:
    return isinstance(value, Opaque) and value.bounds is not None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_told(value: Any) -> bool:
    return isinstance(value, Opaque) and value.sign is not None


def _is_negative(value: Any) -> bool:
    return _is_number(value) and value < 0


def _same(one: Any, two: Any) -> bool:
    if _is_number(one) or _is_number(two):
        return _is_number(one) and _is_number(two) and bool(one == two)
    sign = signature(one)
    return sign is not None and sign == signature(two)


def _with_itself(value: Any, side: int) -> Iterator[Bound]:
    """What a value is at most (side 0) or at least (1): itself, and its bounds."""
    yield Bound(value, strict=False)
    if isinstance(value, Opaque) and value.bounds is not None:
        yield from value.bounds[side]


def _common(values: list[Any], side: int) -> Iterator[Bound]:
    """Bounds on one side that hold for all of some values."""
    seen: _Seen = {}
    for one in values[:MAX_BOUNDS]:
        for bound in _with_itself(one, side):
            if all(value is one or _keeps(value, bound, side, seen) for value in values):
                yield bound


def _keeps(value: Any, bound: Bound, side: int, seen: _Seen) -> bool:
    one, two = (value, bound.value) if side == 0 else (bound.value, value)
    return _reaches(one, two, bound.strict, 0, seen)


_Seen = dict[tuple[int, int, bool, int], bool]


def _below(one: Any, two: Any, *, strict: bool) -> bool:
    """Whether a number is certainly at most another one (``strict``: less than it)."""
    return _reaches(one, two, strict, 0, {})


def _reaches(one: Any, two: Any, strict: bool, depth: int, seen: _Seen) -> bool:
    """The same so many bounds away; the same pair comes up on many ways, so that ``seen`` has the answers."""
    if _is_number(one) and _is_number(two):
        return bool(one < two if strict else one <= two)
    key = (id(one), id(two), strict, depth)
    if key not in seen:
        is_same = not strict and _same(one, two)
        seen[key] = is_same or (depth < _MAX_DEPTH and _by_bounds(one, two, strict, depth + 1, seen))
    return seen[key]


def _by_bounds(one: Any, two: Any, strict: bool, depth: int, seen: _Seen) -> bool:
    """The same by what the first is at most, and the second at least."""
    most = one.bounds.most if isinstance(one, Opaque) and one.bounds is not None else ()
    least = two.bounds.least if isinstance(two, Opaque) and two.bounds is not None else ()
    return any(_reaches(each.value, two, strict and not each.strict, depth, seen) for each in most) or any(
        _reaches(one, each.value, strict and not each.strict, depth, seen) for each in least
    )
