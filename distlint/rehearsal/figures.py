"""Of which kind numbers are that are not known: whole ones, or those with a point."""

from __future__ import annotations

from typing import Any

from distlint.rehearsal.merging import merged
from distlint.rehearsal.unknowns import UNKNOWN, Number, Opaque, kinds_of

_ARITHMETIC = frozenset({"+", "-", "*", "//", "%", "**"})


def numbered(symbol: str, one: Any, two: Any, found: Any) -> Any:
    """What an operation gives: a number with a point where one of both is one, or where something is divided; a whole one of whole ones."""
    if type(found) is not Opaque or not (symbol == "/" or symbol in _ARITHMETIC):
        return found
    kinds = kinds_of(one), kinds_of(two)
    if symbol != "/" and symbol != "**" and all(each == {int} for each in kinds):
        return whole(found)
    pointed = symbol == "/" or any(each == {float} for each in kinds)
    return Number(float, found) if pointed and all(kinds) else found


def whole(value: Any) -> Any:
    """The same value, which is a whole number."""
    if type(value) is Opaque and value is not UNKNOWN and not value.among:
        value.among = (Number(int, value),)
    return value


def keep_kinds(variables: dict[str, Any], earlier: dict[str, Any], test: Any) -> None:
    """Numbers have the kind, perhaps, that they had ``earlier``, where a test sent the process past what changed them."""
    for name, value in earlier.items():
        now = variables.get(name, value)
        if now is not value and kinds_of(value) and kinds_of(now) and kinds_of(value) != kinds_of(now):
            variables[name] = merged(value, now, [test])
