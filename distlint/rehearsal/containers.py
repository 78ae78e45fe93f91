"""Containers of Python's own library on one process of a rehearsal: ``collections``, and plain objects with attributes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from distlint.model import python as ir
from distlint.rehearsal.merging import some_of
from distlint.rehearsal.stage import Scope
from distlint.rehearsal.tables import table_of
from distlint.rehearsal.unknowns import UNKNOWN
from distlint.rehearsal.values import Given, Items, Made, Table, counted_in, derived, is_known

if TYPE_CHECKING:
    from distlint.rehearsal.calls import Calls

_BIG = 1 << 60


def collection(player: Calls, name: str, given: Given, call: ir.Call, scope: Scope) -> Any:
    """What a class or function of ``collections`` gives; ``NotImplemented`` for others, and where its arguments are not enough."""
    values = given.positional
    if name in ("OrderedDict", "Counter") or (name == "defaultdict" and values):
        rest = values[1:] if name == "defaultdict" else values
        if name == "Counter":
            return _counted(player, rest)
        made = table_of(player, rest, given)
        if name == "defaultdict":
            made.missing = values[0]
        return made
    if name == "ChainMap" and all(isinstance(one, Table) and not one.open and not one.perhaps for one in values):
        # the first dictionary that has a key counts
        return player.stage.made(Table({key: item for one in reversed(values) for key, item in one.items.items()}))
    if name == "deque":
        items = player.items_of(values[0]) if values else []
        made_list = Items(items, at=ir.unpack(call.at, scope.file))
        most = given.get("maxlen", 1, None)
        if items is None:
            made_list.whole = derived("deque", values)
            made_list.sample = player.item_of(values[0])
        elif isinstance(most, int):
            made_list.most = most
            made_list.items = items[-most:] if most else []
        return made_list
    if name == "namedtuple" and len(values) >= 2:
        fields = values[1].replace(",", " ").split() if isinstance(values[1], str) else player.items_of(values[1])
        if fields and all(isinstance(one, str) for one in fields):
            return Tuples(call, given, tuple(fields))
    return NotImplemented


class Tuples(Made):
    """A class of named tuples; ``values`` are those of one of them, and nothing for the class itself."""

    __slots__ = ("fields", "values")

    def __init__(self, call: ir.Call, given: Given, fields: tuple[str, ...], values: Given | None = None) -> None:
        super().__init__("collections.namedtuple()", call, given)
        self.fields = fields
        self.values = values
        for position, name in enumerate(fields if values is not None else ()):
            self.stored[name] = given.get(name, position, UNKNOWN)

    def called(self, player: Any, given: Given, call: ir.Call, scope: Any) -> Any:
        """One of them."""
        return NotImplemented if self.values is not None else Tuples(call, given, self.fields, given)

    def or_else(self, every: Sequence[Any]) -> Any:
        """One with one of their values in each field."""
        return self._joined(every, some_of)

    def or_other(self, other: Made, joined: Callable[[Any, Any], Any]) -> Any:
        """One with one of both values in each field."""
        return self._joined((self, other), lambda values: joined(*values))

    def _joined(self, every: Sequence[Any], joined: Callable[[list[Any]], Any]) -> Any:
        same = all(isinstance(one, Tuples) and one.values is not None and one.fields == self.fields for one in every)
        if not same or self.call is None:
            return NotImplemented
        given = {name: joined([one.stored.get(name, UNKNOWN) for one in every]) for name in self.fields}
        return Tuples(self.call, Given([], given), self.fields, self.values)

    def items(self, player: Any) -> list[Any] | None:
        """Its fields in order."""
        return [self.stored.get(name, UNKNOWN) for name in self.fields] if self.values is not None else None

    def part(self, player: Any, index: Any, span: Any) -> Any:
        """A field by its position."""
        items = self.items(player)
        known = items is not None and isinstance(index, int) and -len(items) <= index < len(items)
        return items[index] if known and items is not None else NotImplemented


def _counted(player: Calls, values: list[Any]) -> Table:
    items = player.items_of(values[0]) if values else []
    if items is None or not all(map(is_known, items)):
        table = Table(is_open=True)
        table.whole, table.keyed = derived("counter", values), counted_in(*(values if items is None else items))
        table.keyed = table.keyed or (counted_in(player.item_of(values[0])) if items is None else None)
        return table
    return Table({item: items.count(item) for item in dict.fromkeys(items)})


def namespace(player: Calls, name: str, given: Given, call: ir.Call, scope: Scope) -> Any:
    """A plain object whose attributes are the keyword arguments, or a view of a table; ``NotImplemented`` for other classes."""
    if name == "MappingProxyType" and len(given.positional) == 1 and isinstance(given.positional[0], Table):
        return given.positional[0]
    if name not in ("SimpleNamespace", "Namespace"):
        return NotImplemented
    made = Made(f"types.{name}()", call, given)
    made.stored.update(given.keywords)
    return made


def bounds_of(index: slice) -> tuple[Any, Any, Any]:
    """Where a slice begins and ends, and its stride."""
    return (index.start, index.stop, index.step)


def cut(items: Any, index: slice) -> Any:
    """A part of something that Python can cut; ``None`` where the slice is not known, or too large."""
    if not all(bound is None or (isinstance(bound, int) and abs(bound) < _BIG) for bound in bounds_of(index)):
        return None
    try:
        return items[index]
    except ValueError:
        return None
