"""What the items of a list are like that are not all known: tensors, lists, and rows with these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from distlint.rehearsal.bounds import of_one
from distlint.rehearsal.merging import alike, merged, number_in
from distlint.rehearsal.unknowns import Opaque
from distlint.rehearsal.values import Items, Table, Tensor, combined, derived, holds_work


def like(items: Items, more: list[Any] | None) -> Any:
    """What the tensors of a list are like, or the rows with tensors, with some ``more`` of them; ``None`` where others are among them."""
    listed = [*(items.items if items.items is not None else [items.sample]), *(more if more is not None else [None])]
    if not listed or any(map(holds_work, listed)):
        return None
    first = listed[0]
    if type(first) is not tuple or any(type(one) is not tuple or len(one) != len(first) for one in listed):
        return _like_of(listed)
    columns = [*zip(*listed, strict=True)]
    found = [_like_of(column) for column in columns]
    if all(one is None for one in found):
        return None
    return tuple(
        derived("item", [column[0], column[-1]]) if one is None else one
        for one, column in zip(found, columns, strict=True)
    )


def _like_of(values: Sequence[Any]) -> Tensor | Items | None:
    """What tensors are like, or lists of which only the length is known; ``None`` where something else is among them."""
    first, last = values[0], values[-1]
    if all(isinstance(one, Items) and one.items is None and not one.distinct for one in values):
        sizes = [first.length(), last.length()]
        made = Items(None, sizes[0] if alike(*sizes) else of_one(derived("item", sizes), sizes), first.at)
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
