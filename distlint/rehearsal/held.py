"""What values hold on one process of a rehearsal: they themselves, what lists and dictionaries of them have in them, and attributes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from distlint.rehearsal.values import Items, Table, Thing

MAX_DEPTH = 3
"""Values inside each other that are looked at."""


def held_in(values: Iterable[Any], depth: int = 0) -> Iterator[Any]:
    """Some values, and what is in them."""
    for value in values if depth < MAX_DEPTH else ():
        yield value
        if isinstance(value, Items):
            yield from held_in(value.items or (), depth + 1)
        elif type(value) is tuple:
            yield from held_in(value, depth + 1)
        elif isinstance(value, Table):
            yield from held_in(list(value.items.values()), depth + 1)
        elif isinstance(value, Thing):
            yield from held_in(list(value.attributes.values()), depth + 1)
