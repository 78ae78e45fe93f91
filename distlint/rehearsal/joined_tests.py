"""Tests that are made of others: what ``a or b`` gives, and what ``not a`` gives, goes with what ``a`` and ``b`` give.

Each of them is a place of its own in a trace, told by what it is asked of. Where a way through the trace takes one of them for granted,
the others follow: a process that has not gone where ``a or b`` sends it has found neither, and no other process finds one of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from distlint.rehearsal.bounds import asks_all
from distlint.rehearsal.values import Items, derived, is_known, signature

if TYPE_CHECKING:
    from distlint.rehearsal.stage import Stage

_KEPT = "tests made of others"
_MOST = 400
_HOLDS, _FAILS = 0, 1
"""The arms of a test."""


class _Joined(NamedTuple):
    symbol: str
    parts: tuple[Hashable, ...]
    """What tells the tests that it is made of; ``None`` for one of which nothing does. Known ones, which decide nothing, are left out."""


def joined_operands(player: Any, symbol: str, values: list[Any], last: bool | None) -> Any:
    """What operands of ``and`` or ``or`` give together, none of which certainly decides; the truth of the last one is given."""
    found = asks_all(derived(symbol, values), symbol, values)
    unknown = values if last is None else values[:-1]  # behind the others stands one that changes nothing
    return _remembered(player, symbol, unknown, found)


def negated(player: Any, value: Any) -> Any:
    """What ``not`` gives of a value that is not known; of a list it asks how long that is."""
    asked = player.asked(value) if isinstance(value, Items) else value
    return _remembered(player, "not", [value], derived("not", [asked]))


def _remembered(player: Any, symbol: str, values: list[Any], found: Any) -> Any:
    """What is ``found`` is made of tests of values that are not known."""
    table: dict[Hashable, _Joined] = player.stage.kept.setdefault(_KEPT, {})
    key = None if is_known(found) else signature(found)
    if key is not None and key not in table and len(table) < _MOST:
        parts = tuple(signature(player.asked(one)) for one in values)
        if parts and key not in parts:
            table[key] = _Joined(symbol, parts)
    return found


class Joins:
    """The tests of some processes that are made of others."""

    def __init__(self, stages: Iterable[Stage]) -> None:
        self._made: dict[Hashable, _Joined] = {}
        self._with: dict[Hashable, list[Hashable]] = {}
        """By a test, those that are made with it."""
        for stage in stages:
            for key, one in stage.kept.get(_KEPT, {}).items():
                if self._made.setdefault(key, one) is one:
                    for part in one.parts:
                        self._with.setdefault(part, []).append(key)

    def followed(self, arms: Mapping[Hashable, int]) -> dict[Hashable, int]:
        """These arms, and those of all tests that follow from them."""
        found = dict(arms)
        if not self._made:
            return found
        work = [key for key, arm in arms.items() if arm in (_HOLDS, _FAILS)]
        while work:
            key = work.pop()
            every = [
                *self._below(key, found[key]),
                *(pair for one in self._with.get(key, ()) for pair in self._above(one, found)),
            ]
            for other, arm in every:
                if other is not None and other not in found:
                    found[other] = arm
                    work.append(other)
        return found

    def _below(self, key: Hashable, arm: int) -> Iterable[tuple[Hashable, int]]:
        """What the tests that one is made of give, where it gives this."""
        made = self._made.get(key)
        if made is None:
            return
        if made.symbol == "not":
            yield made.parts[0], _HOLDS + _FAILS - arm
        elif len(made.parts) == 1 or arm == (_HOLDS if made.symbol == "and" else _FAILS):
            yield from ((part, arm) for part in made.parts)

    def _above(self, key: Hashable, arms: Mapping[Hashable, int]) -> Iterable[tuple[Hashable, int]]:
        """What a test gives, where this is known of those that it is made of."""
        made = self._made[key]
        known = [arms.get(part) for part in made.parts]
        if made.symbol == "not":
            if known[0] in (_HOLDS, _FAILS):
                yield key, _HOLDS + _FAILS - known[0]
            return
        deciding = _FAILS if made.symbol == "and" else _HOLDS
        if deciding in known:
            yield key, deciding
        elif all(one == _HOLDS + _FAILS - deciding for one in known):
            yield key, _HOLDS + _FAILS - deciding
