"""What functions and methods pass on of what they are given: on which device it is put, and where it is held, changes no value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from distlint.rehearsal.bounds import of_one
from distlint.rehearsal.merging import alike, merged
from distlint.rehearsal.values import Given, Items, Tensor, derived

HOLDING = frozenset({"get", "pop", "setdefault", "append", "add", "insert", "remove", "discard", "put"})
"""Methods of containers and queues that leave what they are given as it is."""
_PLACES = frozenset({"device", "map_location"})
"""Arguments that say on which device something is put."""
MOVING = frozenset({"to", "cuda", "cpu", "pin_memory"})
"""Methods that put what they give on a device, and change nothing else."""


def read_by(name: str, given: Given) -> list[Any]:
    """What tells what a function that reads gives."""
    last = name.rpartition(".")[2]
    positional = given.positional[:1] if last in ("load", "load_file") else given.positional
    return [*positional, *(value for word, value in given.keywords.items() if word not in _PLACES)]


def like_of(values: Sequence[Any]) -> Tensor | Items | None:
    """What tensors are like, or lists of which only the length is known; ``None`` where something else is among them."""
    first, last = values[0], values[-1]
    if all(isinstance(one, Items) and one.items is None and not one.distinct for one in values):
        sizes = [first.length(), last.length()]
        made = Items(None, sizes[0] if alike(*sizes) else of_one(derived("item", sizes), sizes), first.at)
        made.whole, made.sample = derived("item", [first.whole, last.whole]), first.sample
        return made
    if not all(isinstance(one, Tensor) for one in values):
        return None
    found: Tensor = merged(first, last)
    return found
