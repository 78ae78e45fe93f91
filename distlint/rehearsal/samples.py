"""What the items of a list are like that are not all known: tensors, lists, and rows with these."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

from distlint.rehearsal.bounds import of_one
from distlint.rehearsal.merging import alike, merged, number_in
from distlint.rehearsal.unknowns import Number, Opaque, Perhaps, Source, Words
from distlint.rehearsal.values import Items, Table, Tensor, combined, derived, holds_work, source_of

_MAX_INSIDE = 64
"""Items of a list in a list of which each is seen as a process's own."""


def like(items: Items, more: list[Any] | None) -> Any:
    """What the tensors of a list are like, or the rows with tensors, with some ``more`` of them; ``None`` where others are among them."""
    listed = [*(items.items if items.items is not None else [items.sample]), *(more if more is not None else [None])]
    if not listed or any(map(holds_work, listed)):
        return None
    first = listed[0]
    if isinstance(first, Table):
        if not all(
            isinstance(one, Table) and not one.open and one.items.keys() == first.items.keys() for one in listed
        ):
            return None
        cells = _cells([[one.items[key] for one in listed] for key in first.items])
        return None if cells is None else Table(dict(zip(first.items, cells, strict=True)))
    if type(first) is not tuple or any(type(one) is not tuple or len(one) != len(first) for one in listed):
        return _like_of(listed)
    cells = _cells([*zip(*listed, strict=True)])
    return None if cells is None else tuple(cells)


def _cells(columns: Sequence[Sequence[Any]]) -> list[Any] | None:
    """What the cells of rows are like, column by column; ``None`` where that is known of none of them."""
    sizes: dict[tuple[int, int], Any] = {}
    found = [_perhaps_like(column, sizes) or _like_of(column, sizes) for column in columns]
    if all(one is None for one in found):
        return None
    return [
        derived("item", [column[0], column[-1]]) if one is None else one
        for one, column in zip(found, columns, strict=True)
    ]


def _perhaps_like(values: Sequence[Any], known: dict[tuple[int, int], Any]) -> Perhaps | None:
    """What values are like some of which are ``None``, or perhaps; where all are there, or nothing is known of them, that is not said."""
    doubts = [one.missing for one in values if isinstance(one, Perhaps)]
    held = [one.value if isinstance(one, Perhaps) else one for one in values if one is not None]
    if not held or (len(held) == len(values) and not doubts):
        return None
    found = _like_of(held, known)
    if found is None:
        return None
    signs = {one.sign for one in doubts}
    same = len(doubts) == len(values) and len(signs) == 1
    missing = Opaque(signs.pop() if same else None, source_of(doubts))
    missing.chance = any(one.chance for one in doubts)
    return Perhaps(found, None, source_of(values), missing)


def any_row(items: Items, index: Any) -> Table | None:
    """Some row of a list of dictionaries, where nobody knows which; ``None`` where an index tells that, or rows are not alike."""
    told = type(index) is not Opaque or index.sign is not None or index.source is not None
    if told or not items.items or not isinstance(items.items[0], Table):
        return None
    found = like(items, [])
    if not isinstance(found, Table):
        return None
    for key, value in found.items.items():
        if type(value) is Opaque:
            found.items[key] = Opaque(None, value.source, measured=value.measured)
    return found


def _like_of(values: Sequence[Any], known: dict[tuple[int, int], Any] | None = None) -> Tensor | Items | None:
    """What tensors are like, or lists of which only the length is known; ``None`` where something else is among them.

    ``known`` are the lengths in other columns of the same rows: those that are made of the same two lengths are one.
    """
    first, last = values[0], values[-1]
    if all(isinstance(one, Items) and one.items is None and not one.distinct for one in values):
        sizes = [first.length(), last.length()]
        key, known = (id(sizes[0]), id(sizes[1])), {} if known is None else known
        if key not in known:
            known[key] = sizes[0] if alike(*sizes) else of_one(derived("item", sizes), sizes)
        made = Items(None, known[key], first.at)
        made.whole = derived("item", [first.whole, last.whole])
        made.sample = first.sample if first is last else number_in((first, last)) or first.sample
        return made
    if not all(isinstance(one, Tensor) for one in values):
        return None
    found: Tensor = merged(first, last)
    if first is not last and found.shape is not None:
        pairs = zip(first.shape or (), last.shape or (), found.shape, strict=True)
        found.shape = tuple(_of_either(one, other, size) for one, other, size in pairs)
    return found


def _of_either(one: Any, other: Any, size: Any) -> Any:
    """A size of any of some rows, of which one is as long as the program says: nobody knows whether another is longer."""
    return of_one(Opaque(), [one, other]) if isinstance(one, int) is not isinstance(other, int) else size


def tensor_in(table: Table, key: Any) -> Tensor | None:
    """The value under a key that is not known of a dictionary, where all of them are tensors."""
    like = table.sample
    if not isinstance(like, Tensor):
        return None
    return Tensor(like.shape, like.dtype, like.at, combined("part", [table.whole, key]), table.whole.source)


def seen_as_own(item: Any, source: Source) -> Any:
    """The same value, of which each process has another for this reason: also how long it is, where that is not known."""
    if type(item) is tuple:
        return tuple(seen_as_own(one, source) for one in item)
    if isinstance(item, Table):
        return Table({key: seen_as_own(one, source) for key, one in item.items.items()}, is_open=item.open)
    if isinstance(item, Number | Words):
        inner = seen_as_own(Opaque(item.sign, item.source), source)
        return Number(item.kind, inner) if isinstance(item, Number) else Words(inner)
    if isinstance(item, Items) and item.items is None:
        listed = Items(None, seen_as_own(item.size, source), item.at)
        listed.whole, listed.sample = seen_as_own(item.whole, source), seen_as_own(item.sample, source)
        listed.distinct = item.distinct
        return listed
    if isinstance(item, Items) and item.items is not None and len(item.items) <= _MAX_INSIDE:
        listed = copy(item)
        listed.items = [seen_as_own(one, source) for one in item.items]
        return listed
    if isinstance(item, Tensor) and item.source is None:
        made = item.seen_as(source)
        made.shape = None if item.shape is None else tuple(seen_as_own(size, source) for size in item.shape)
        return made
    if type(item) is not Opaque:
        return item
    own = Opaque(item.sign, item.source or source)
    if item.among and all(isinstance(one, Number) for one in item.among):
        own.among = tuple(Number(one.kind, own) for one in item.among)  # it is a number of that kind as before
    return own


def order_of(value: Any) -> Source | None:
    """Why going through something has another order on each process; ``None`` where the order is the same, or not known."""
    return value.order if isinstance(value, Items | Table) else None
