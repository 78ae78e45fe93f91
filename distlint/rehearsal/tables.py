"""Dictionaries on one process of a rehearsal."""

from __future__ import annotations

from typing import Any

from distlint.rehearsal.iterating import Iterating, is_key
from distlint.rehearsal.values import Given, Table


def table_of(player: Iterating, values: list[Any], given: Given) -> Table:
    """``dict(values, **given)``."""
    table = Table()
    if values:
        pairs = None if isinstance(values[0], Table) else player.items_of(values[0])
        if isinstance(values[0], Table):
            table = Table(dict(values[0].items), is_open=values[0].open)
            table.whole = values[0].whole
        elif pairs is not None and all(type(one) is tuple and len(one) == 2 and is_key(one[0]) for one in pairs):
            table = Table(dict(pairs))
        else:
            table.opens(*values)
    table.items.update(given.keywords)
    return table
