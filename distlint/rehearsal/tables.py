"""Dictionaries on one process of a rehearsal."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from distlint.rehearsal.iterating import Iterating, is_key
from distlint.rehearsal.spreading import spread
from distlint.rehearsal.unknowns import UNKNOWN, Named, Source
from distlint.rehearsal.values import Given, Made, Table


class Attributes(Table):
    """``vars(object)``: what is put into it becomes an attribute of the object."""

    __slots__ = ()

    def loses(self) -> None:
        """The attributes are still there, whatever they are."""
        self.items.update(dict.fromkeys(self.items, UNKNOWN))

    def gets(self, key: Any, value: Any, order: Source | None = None, batch: Hashable = None) -> None:
        """Any of them may be another one now."""
        super().gets(key, value, order, batch)
        self.loses()


def table_of(player: Iterating, values: list[Any], given: Given) -> Table:
    """``dict(values, **given)``."""
    table = player.stage.made(_table_of(player, values, given))
    table.batch = player.stage.batch
    return table  # type: ignore[no-any-return]


def _table_of(player: Iterating, values: list[Any], given: Given) -> Table:
    table = Table()
    values = [spread(player, values[0]), *values[1:]] if values else values
    if values and player.stage.witness is not None and isinstance(values[0], Made) and values[0].name == "os.environ":
        values = [Table(player.stage.exported())]
    if values:
        pairs = None if isinstance(values[0], Table) else player.items_of(values[0])
        if isinstance(values[0], Table):
            table = Table(dict(values[0].items), is_open=values[0].open)
            table.whole, table.family, table.sample = values[0].whole, values[0].family, values[0].sample
            table.perhaps = values[0].perhaps and dict(values[0].perhaps)
        elif pairs is not None and all(type(one) is tuple and len(one) == 2 and is_key(one[0]) for one in pairs):
            table = Table(dict(pairs))
        else:
            table.opens(*values)
            names = pairs if pairs is not None else [player.item_of(values[0])]
            families = {_family(one[0]) if type(one) is tuple and one else "" for one in names}
            table.family = families.pop() if len(families) == 1 else ""
    table.items.update(given.keywords)
    return table


def _family(key: Any) -> str:
    """That of a name, if it is one."""
    return key.family if isinstance(key, Named) else ""
