"""Sums of numbers of which some are not known: what is added and taken away again leaves no trace."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from distlint.rehearsal.unknowns import Number, Opaque, OwnLength, RowSize, told_by
from distlint.rehearsal.values import derived

_EXTREMES = "the least and the greatest of what each process has"


class Sum(Opaque):
    """A sum: ``terms`` are the unknown numbers by what tells them, each with how often it counts, ``number`` is what is added."""

    __slots__ = ("number", "terms")

    def __init__(self, terms: dict[Hashable, tuple[int, Opaque]], number: int) -> None:
        source = next((one.source for _, one in terms.values() if one.source is not None), None)
        measured = any(one.measured for _, one in terms.values())
        is_told = all(one.sign is not None for _, one in terms.values())
        sign = hash(("sum", number, frozenset((key, count) for key, (count, _) in terms.items()))) if is_told else None
        super().__init__(sign, source, measured=measured)
        if all(_is_whole(one) for _, term in terms.values() for one in term.among or (term,)):
            self.among = (Number(int, self),)
        self.terms = terms
        self.number = number


def _is_whole(value: Any) -> bool:
    """Whether a value is a whole number for certain."""
    return type(value) is int or (isinstance(value, Number) and value.kind is int)


def is_summand(value: Any) -> bool:
    """Whether a value is a whole number, or one that is not known but for what tells it."""
    if type(value) in (Opaque, RowSize, Sum):
        return value.sign is not None or isinstance(value, Sum)
    return type(value) in (int, OwnLength)


def scaled(one: Any, two: Any) -> Any:
    """``one * two``."""
    count, value = (one, two) if type(one) is int else (two, one)
    if type(count) is not int or not is_summand(value) or isinstance(value, int):
        return derived("*", [one, two])
    inner = value.terms if isinstance(value, Sum) else {told_by(value): (1, value)}
    if count in (0, 1):
        return value if count else 0
    number = count * value.number if isinstance(value, Sum) else 0
    return Sum({key: (count * times, term) for key, (times, term) in inner.items()}, number)


def added(one: Any, two: Any, *, minus: bool = False) -> Any:
    """``one + two``, or ``one - two``."""
    if not (is_summand(one) and is_summand(two)):
        return derived("-" if minus else "+", [one, two])
    terms: dict[Hashable, tuple[int, Opaque]] = {}
    number = 0
    for value, sign in ((one, 1), (two, -1 if minus else 1)):
        if type(value) is int:
            number += sign * value
            continue
        number += sign * value.number if isinstance(value, Sum) else 0
        inner = value.terms if isinstance(value, Sum) else {told_by(value): (1, value)}
        for key, (count, term) in inner.items():
            before = terms.pop(key, (0, term))
            if before[0] + sign * count:
                terms[key] = (before[0] + sign * count, before[1])
    if not terms:
        return number
    count, term = next(iter(terms.values()))
    return term if len(terms) == 1 and count == 1 and not number else Sum(terms, number)


def dealt_out(value: Any, parts: Any) -> Any:
    """What each of some parts gets of a sum that goes into them without a rest; ``None`` where that is not known."""
    if not isinstance(value, Sum) or type(parts) is not int or parts < 1:
        return None
    if value.number % parts or any(count % parts for count, _ in value.terms.values()):
        return None
    terms = {key: (count // parts, term) for key, (count, term) in value.terms.items()}
    return Sum(terms, value.number // parts)


def at_least(length: Any) -> int:
    """What a length certainly is at least: what is added to others, none of which is negative."""
    if isinstance(length, Sum) and all(count > 0 for count, _ in length.terms.values()):
        return max(length.number, 0)
    return length if type(length) is int else 0


def is_extreme(stage: Any, value: Any) -> bool:
    """Whether a number is the least or the greatest of all that a process has, or a sum of such: no item's own number."""
    known = stage.kept.get(_EXTREMES, ())
    if isinstance(value, Sum):
        return all(key in known for key in value.terms)
    return isinstance(value, Opaque) and value.sign in known


def note_extreme(stage: Any, value: Opaque) -> None:
    """Remembers that a number is the least or the greatest of some whose number is not known."""
    if value.sign is not None:
        stage.kept.setdefault(_EXTREMES, set()).add(value.sign)
