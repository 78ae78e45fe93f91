"""One of a few plain values, of which it is not known which: what is made of it is one of what is made of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from distlint.rehearsal.merging import MAX_AMONG, alike, merged
from distlint.rehearsal.unknowns import Number, Opaque
from distlint.rehearsal.values import Items, Tensor, derived, is_known

_FEW = 16
"""Names that all ranks are taken to meet in their part of the data sooner or later."""


def one_of(items: Sequence[Any], found: Opaque, told: Opaque) -> Any:
    """The item that something which is not known, ``told``, chooses; a row of them where each item is a row of one length."""
    widths = {len(item) if type(item) is tuple else -1 for item in items}
    if len(widths) == 1 and widths != {-1}:
        parts = list(zip(*items, strict=True))
        return tuple(one_of(part, derived("part", [found, place]), told) for place, part in enumerate(parts))
    plain = list(dict.fromkeys(items)) if all(map(_is_plain, items)) else []
    if len(plain) == 1:
        return plain[0]
    if 1 < len(plain) <= MAX_AMONG:
        found.among, found.told = tuple(plain), told
    return found


def of_each(one: Any, two: Any, made: Callable[[Any, Any], Any], found: Opaque) -> Any:
    """What an operation gives for values that may be several: known where all give the same, one of what they give otherwise."""
    ones, twos = _possible(one), _possible(two)
    if not ones or not twos or len(ones) * len(twos) > MAX_AMONG or len(ones) * len(twos) < 2:
        return found
    if len(ones) > 1 and len(twos) > 1:
        return found  # which one goes with which is not known
    results = [made(first, second) for first in ones for second in twos]
    if not all(map(_is_plain, results)):
        return found
    several = one if len(ones) > 1 else two
    plain = list(dict.fromkeys(results))
    if len(plain) == 1:
        return plain[0]
    if type(found) is Opaque or type(found) is Number:
        found.among, found.told = tuple(plain), several.told
    return found


def _is_plain(value: Any) -> bool:
    return is_known(value) and isinstance(value, int | float | str)


def _possible(value: Any) -> tuple[Any, ...]:
    """The plain values that a value may be; none where it may be another."""
    if isinstance(value, Opaque):
        return value.among if value.told is not None and all(map(_is_plain, value.among)) else ()
    return (value,) if _is_plain(value) else ()


def one_of_few(base: Any, index: Any) -> Opaque:
    """``base[index]`` with an index that is not known: where it is one of a few names, each rank is taken to meet all of them."""
    found = derived("part", [base, index])
    items = base.items if isinstance(base, Items) else base if type(base) is tuple else None
    if found.source is not None and items is not None and len(items) <= _FEW and all(map(is_known, items)):
        found.source = found.source._replace(counted=False, few=found.source.counted)
    return found


def is_drawn(value: Any) -> bool:
    """Whether something is a number that was drawn, or was made of one."""
    return isinstance(value, Opaque) and value.chance


def drawn_at(base: Items, index: Any) -> Opaque:
    """``base[index]`` where each number of a list was drawn for itself: at another place stands another one."""
    found = derived("part", [base.sample, index])
    return Number(base.sample.kind, found) if isinstance(base.sample, Number) else found


def one_of_tensors(items: list[Any], index: Any) -> Tensor:
    """One of some tensors with an index that is not known: sizes in which they differ are not known then."""
    found = items[0]
    for one in items[1:]:
        if found.shape is not None and not alike(found.shape, one.shape):
            found = merged(found, one)
    told = derived("part", [*items[:2], index])
    return Tensor(found.shape, found.dtype, found.at, told.sign, told.source)
