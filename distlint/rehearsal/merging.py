"""What a variable is where two paths of a rehearsed program meet."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from copy import copy
from typing import Any

from distlint.rehearsal.bounds import agreeing, of_one
from distlint.rehearsal.entities import ClassValue, Library, ModuleValue
from distlint.rehearsal.some_keys import of_either
from distlint.rehearsal.some_ways import parted
from distlint.rehearsal.sums import Sum, added
from distlint.rehearsal.unknowns import UNKNOWN, Number, Opaque, Perhaps, Sent, kinds_of
from distlint.rehearsal.values import (
    Items,
    Made,
    Table,
    Tensor,
    Thing,
    combined,
    derived,
    escape,
    is_by_chance,
    is_known,
    is_measured,
    source_of,
)

MAX_LOOKED = 16
"""Items of a list that are looked at to tell what any of them is like."""

MAX_AMONG = 8
"""Values that something is one of, so that they are told apart."""

MAX_PARTS = 32
"""Places of a list or a record that are joined one by one."""


def alike(one: Any, other: Any) -> bool:
    """Whether two values are certainly the same."""
    if one is other:
        return True
    if is_known(one) and is_known(other):
        return type(one) is type(other) and bool(one == other)
    if type(one) is tuple and type(other) is tuple:
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, Opaque) and isinstance(other, Opaque):
        return one.sign is not None and one.sign == other.sign
    named = (Library, ModuleValue, ClassValue)
    return type(one) is type(other) and isinstance(one, named) and one == other


def merged(one: Any, other: Any, tests: Sequence[Any] = (), deciding: Sequence[Any] | None = None) -> Any:
    """What a variable is where two paths meet; ``tests`` decide which of them a process takes.

    Where the tests are known to go the same way everywhere, so is what they choose; where they differ, so does it.
    ``deciding`` are those of them that decide whether there is another value at all: all, where nothing is said.
    """
    every = [*tests, one, other]
    if one is None and other is None and (missing := _missing(one, other, tests)).sign is not None and tests:
        # what this process lacks anyway, others may have if all voted for it
        return Perhaps(None, combined("perhaps", every), missing.source, missing)
    if alike(one, other):
        return agreeing(one, other)
    found = _by_parts(one, other, tests)
    if found is not NotImplemented:
        return found
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        if one.whole is other.whole:
            return _views(one, other, tests)
        if not (one.pending or other.pending):
            together = _is_brought_together(one, other, tests)
            joined = Tensor(_shape(one, other, tests), one.dtype if one.dtype == other.dtype else "", one.at)
            if together:
                # as much as of the content is known of the sizes
                sizes = joined.shape or ()
                known = tuple(UNKNOWN if source_of([size]) is not None else size for size in sizes)
                joined.shape = None if joined.shape is None else known
            elif one.ragged is not None and other.ragged is not None:
                joined.ragged = _size(one.ragged, other.ragged, tests)
            # whichever it is came out of what both came out of
            joined.through = tuple(mark for mark in one.through if any(mark is same for same in other.through))
            if tests and not together:
                joined.sign, joined.source = combined("perhaps", every), source_of(every)
            if one.dtype and other.dtype and one.dtype != other.dtype and tests:
                joined.typed = Opaque(combined("perhaps", tests), source_of(tests))
            return joined
    if isinstance(one, Items) and isinstance(other, Items):
        length = filled_up(one.length(), other.length(), tests)
        length = merged(one.length(), other.length(), tests) if length is None else length
        escape(one)
        escape(other)
        made = Items(None, length, one.at)
        if tests:
            made.whole = Opaque(combined("perhaps", every), source_of(every))
        made.distinct = one.distinct and other.distinct
        made.sample = number_in((one, other))
        made.may_be((one, other))
        return made
    escape(one)
    escape(other)
    value = _besides_nothing(one, other, tests)
    if tests and (isinstance(value, Tensor | Thing | Made | Items | Table) or type(value) is tuple):
        return Perhaps(value, combined("perhaps", every), source_of(every), _missing(one, other, tests))
    if not tests:
        return _of_doubtful(one, other)
    if _is_voted(one, other, tests) or _is_voted(other, one, tests) or _is_brought_together(one, other, tests):
        return Opaque()
    found = _told("perhaps", every)
    if deciding is None:
        of_one(found, [one, other])
    among = _either(_possible(one), _possible(other))
    if 1 < len(among) <= MAX_AMONG:
        found.among, found.told = among, _telling(one, other, tests if deciding is None else deciding)
    return found


def _of_doubtful(one: Any, other: Any) -> Any:
    """What two rows have that may lack it: each for a reason of its own."""
    if not (isinstance(one, Perhaps) and isinstance(other, Perhaps)):
        return UNKNOWN
    if not (isinstance(one.value, Tensor) and isinstance(other.value, Tensor)):
        return UNKNOWN
    doubts = [one.missing, other.missing]
    missing = Opaque(doubts[0].sign if doubts[0].sign == doubts[1].sign else None, source_of(doubts))
    missing.chance = any(map(is_by_chance, doubts))
    return Perhaps(merged(one.value, other.value), None, source_of([one, other]), missing)


def _is_voted(one: Any, other: Any, tests: Sequence[Any]) -> bool:
    """Whether all processes have chosen together between a plain value and what each of them has, which may be that value.

    ``skip = True if any_of_all(skip) else skip``: where they choose their own, none of them has the other one.
    """
    if not is_known(one) or is_known(other) or not isinstance(other, Opaque) or other.source is None:
        return False
    return _are_agreed(tests) and len(_possible(other)) > 1 and any(alike(one, each) for each in _possible(other))


def _are_agreed(tests: Sequence[Any]) -> bool:
    """Whether all tests ask for what the processes have exchanged, so that they choose together and know what they choose."""
    return all(isinstance(test, Opaque) and test.source is None and isinstance(test.sign, Sent) for test in tests)


def _is_brought_together(one: Any, other: Any, tests: Sequence[Any]) -> bool:
    """Whether all processes have chosen together between what each of them has and what they made of what all of them have.

    ``return rows if longest == 0 else gathered(rows)``, where the lengths were exchanged: what is each one's own may be alike there.
    """
    if not tests or not _are_agreed(tests):
        return False
    own, common = (one, other) if source_of([one]) is not None else (other, one)
    return source_of([own]) is not None and source_of([common]) is None and isinstance(combined("", [common]), Sent)


def evened(before: Any, value: Any, tests: Sequence[Any]) -> Any:
    """What an attribute holds in which a list of each process's own perhaps gives way to what all of them brought together; else ``None``.

    Whoever has them bring it together, on a way that is not known to be some processes' only, knows when that is needed: nothing is
    known of the list then, neither that it is the same nor that it is not.
    """
    if not isinstance(value, Items) or source_of([value]) is not None or source_of(tests) is not None:
        return None
    sign = combined("", [value])
    # of what they brought together on one way of a test nothing is known either
    open_ = sign is None and bool(value.items) and all(isinstance(item, Tensor) for item in value.items or ())
    common = (isinstance(sign, Sent) or open_) and not isinstance(combined("", [before]), Sent)
    return Items(None, UNKNOWN, value.at) if common else None


def joined(going: list[dict[str, Any]], test: Any) -> dict[str, Any]:
    """The variables behind ways of which a test takes one."""
    joined = going[0]
    for other in going[1:]:
        for name in {*joined, *other}:
            one, two = joined.get(name, UNKNOWN), other.get(name, UNKNOWN)
            if one is not two:
                joined[name] = parted(one, two, merged(one, two, [test]), [test])
    return joined


def _either(one: tuple[Any, ...], other: tuple[Any, ...]) -> tuple[Any, ...]:
    """The values that two rows have together, each once; none where one of them has none."""
    if not one or not other:
        return ()
    found = {
        (value.kind, None) if isinstance(value, Number) else (type(value), value): value for value in (*one, *other)
    }
    return tuple(found.values())


def _possible(value: Any) -> tuple[Any, ...]:
    """The plain values, and numbers of a kind, that a value may be; none where others are possible."""
    if isinstance(value, Opaque):
        return (value,) if isinstance(value, Number) else value.among
    return (value,) if is_known(value) else ()


def _telling(one: Any, other: Any, tests: Sequence[Any]) -> Opaque:
    """What tells which of several values something is: the test that chose last, unless only those before it differ."""
    before = [value.told for value in (one, other) if isinstance(value, Opaque) and value.told is not None]
    every = [*tests, *before]
    return _told("which", every) if every else UNKNOWN


def _by_parts(one: Any, other: Any, tests: Sequence[Any]) -> Any:
    """Rows and records with the same places: what tells the value in one of them says nothing of those beside it.

    ``NotImplemented`` for others.
    """
    if type(one) is tuple and type(other) is tuple:
        return tuple(_each(one, other, tests)) if len(one) == len(other) else NotImplemented
    if isinstance(one, Items) and isinstance(other, Items):
        return _lists(one, other, tests)
    if isinstance(one, Table) and isinstance(other, Table):
        closed = not (one.open or other.open or one.missing or other.missing)
        if one.items.keys() != other.items.keys():
            return of_either(one, other, tests, lambda mine, yours: merged(mine, yours, tests))
        if not closed or [*one.items] != [*other.items] or len(one.items) > MAX_PARTS:
            return NotImplemented
        escape(one)
        escape(other)
        return Table(dict(zip(one.items, _each(one.items.values(), other.items.values(), tests), strict=True)))
    if isinstance(one, Made) and isinstance(other, Made):
        return one.or_other(other, lambda mine, yours: merged(mine, yours, tests))
    if isinstance(one, Thing) and isinstance(other, Thing) and _are_records(one, other):
        record = Thing(one.cls)
        record.born, record.fields = one.born, one.fields
        values = _each(one.attributes.values(), map(other.attributes.__getitem__, one.attributes), tests)
        record.attributes = dict(zip(one.attributes, values, strict=True))
        return record
    return NotImplemented


def _each(some: Iterable[Any], others: Iterable[Any], tests: Sequence[Any]) -> list[Any]:
    return [merged(mine, yours, tests) for mine, yours in zip(some, others, strict=True)]


def _lists(one: Items, other: Items, tests: Sequence[Any]) -> Any:
    if one.items is None or other.items is None or not len(one.items) == len(other.items) <= MAX_PARTS:
        return NotImplemented
    if one.distinct or other.distinct or one.most != other.most or one.order is not None or other.order is not None:
        return NotImplemented
    escape(one)
    escape(other)
    made = Items(_each(one.items, other.items, tests), at=one.at)
    made.most = one.most
    made.may_be((one, other))
    return made


def _are_records(one: Thing, other: Thing) -> bool:
    """Whether two objects are of the same class and have the same attributes, all of them plain values."""
    if one.cls != other.cls or one.attributes.keys() != other.attributes.keys():
        return False
    if any(thing.open or thing.content is not None or thing.names is not None for thing in (one, other)):
        return False
    values = (*one.attributes.values(), *other.attributes.values())
    return len(values) <= 2 * MAX_PARTS and all(is_known(value) or isinstance(value, Opaque) for value in values)


def number_in(lists: Iterable[Items]) -> Number | None:
    """What any item of some lists is like, where all are numbers of one kind; ``None`` where others may be among them."""
    kinds: set[type] = set()
    for one in lists:
        items = [one.sample] if one.items is None else one.items
        every = [kinds_of(item) for item in items[:MAX_LOOKED]]
        if not all(every) or len(items) > MAX_LOOKED:
            return None
        kinds |= frozenset().union(*every)
    return Number(kinds.pop(), Opaque()) if len(kinds) == 1 else None


def some_of(items: Sequence[Any]) -> Any:
    """One of some values, nobody knows which: records have one of the values in each field."""
    if len(items) == 1:
        return items[0]
    every = items if len(items) <= MAX_LOOKED else [*items[:MAX_LOOKED], items[-1]]
    first = every[0]
    if type(first) is tuple and all(type(one) is tuple and len(one) == len(first) for one in every):
        return tuple(some_of(column) for column in zip(*every, strict=True))
    if isinstance(first, Made):
        found = first.or_else(every)
        if found is not NotImplemented:
            return found
    found = merged(first, every[-1])
    return derived("item", every) if found is UNKNOWN else found


def _views(one: Tensor, other: Tensor, tests: Sequence[Any]) -> Tensor:
    """One of two tensors that share their memory: a part of it perhaps, and perhaps all."""
    shape = _shape(one, other, tests)
    if one.shape is None or shape is None or all(map(operator.is_, shape, one.shape)):
        return one
    made = copy(one)
    made.shape = shape
    return made


def _shape(one: Tensor, other: Tensor, tests: Sequence[Any]) -> tuple[Any, ...] | None:
    """The shape of one of two tensors, where both have as many dimensions."""
    if one.shape is None or other.shape is None or len(one.shape) != len(other.shape):
        return None
    return tuple(_size(first, second, tests) for first, second in zip(one.shape, other.shape, strict=True))


def _size(one: Any, other: Any, tests: Sequence[Any]) -> Any:
    if alike(one, other):
        return agreeing(one, other)
    filled = filled_up(one, other, tests)
    return of_one(_told("size", [*tests, one, other]), [one, other]) if filled is None else filled


def filled_up(one: Any, other: Any, tests: Sequence[Any]) -> Any:
    """The size up to which a test has something filled that is shorter (``if size < largest: pad``), where that is the same everywhere."""
    for test in tests:
        asked = test.compares if isinstance(test, Opaque) else None
        for symbol, *sides in asked.parts if asked is not None and not asked.joined else ():
            if symbol not in ("<", ">", "!="):
                continue
            for size, own in ((one, other), (other, one)):
                asks_both = any(alike(size, side) for side in sides) and any(alike(own, side) for side in sides)
                is_own = (asks_both and source_of([own]) is not None) or _is_gap(symbol, sides[0], sides[1], size, own)
                if is_own and source_of([size]) is None:
                    return size
    return None


def _is_gap(symbol: str, first: Any, second: Any, size: Any, own: Any) -> bool:
    """Whether a test asks for what something lacks of a size (``size - own > 0``, ``own < size``)."""
    gap = added(first, second, minus=True) if symbol == ">" else added(second, first, minus=True)
    rest = added(gap, added(size, own, minus=True), minus=True)
    return isinstance(gap, Sum) and type(rest) is int and rest == 0


def _told(name: str, every: Sequence[Any]) -> Opaque:
    found = Opaque(combined(name, every), source_of(every), measured=any(map(is_measured, every)))
    found.chance = any(map(is_by_chance, every))
    return found


def _missing(one: Any, other: Any, tests: Sequence[Any]) -> Opaque:
    """What tells whether ``None`` is chosen, where ``tests`` decide.

    A test that goes the same way everywhere may be a vote whether all of them have something: what may be missing besides is left out.
    """
    source, sign = source_of(tests), combined("missing", tests)
    inner = [value.missing for value in (one, other) if isinstance(value, Perhaps)]
    plain = source is None and sign is not None
    found = Opaque(sign) if plain else Opaque(combined("missing", [*tests, *inner]), source or source_of(inner))
    found.chance = any(map(is_by_chance, [*tests, *inner]))
    return found


def _besides_nothing(one: Any, other: Any, tests: Sequence[Any]) -> Any:
    """The only value besides ``None`` that one of two may be: of two rows with the same places one whose places are joined one by one."""
    values = [value.value if isinstance(value, Perhaps) else value for value in (one, other) if value is not None]
    if all(value is values[0] for value in values):
        return values[0]
    found = (
        _by_parts(values[0], values[-1], tests)
        if isinstance(one, Perhaps) or isinstance(other, Perhaps)
        else NotImplemented
    )
    return None if found is NotImplemented else found
