"""Copies of values on one process of a rehearsal: ``copy``, and what ``dataclasses`` gives of a record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from distlint.link.modules import ClassRef
from distlint.model import python as ir
from distlint.rehearsal.entities import ClassValue
from distlint.rehearsal.notes import COPIES
from distlint.rehearsal.stage import Scope
from distlint.rehearsal.unknowns import UNKNOWN
from distlint.rehearsal.values import Given, Items, Made, Table, Tensor, Thing

if TYPE_CHECKING:
    from distlint.rehearsal.calls import Calls

MAX_COPIES = 200
"""Deep copies that are remembered, with the places where they are made."""

DEEP = 8
"""How many objects, one inside the other, are copied by a deep copy."""


def copied(player: Calls, name: str, given: Given, call: ir.Call, scope: Scope) -> Any:
    """What ``copy.copy`` and ``copy.deepcopy`` give; the first few deep copies of objects are noted with their places."""
    if name not in ("copy", "deepcopy") or not given.positional:
        return NotImplemented
    made = duplicate(given.positional[0], DEEP if name == "deepcopy" else 1)
    copies = player.stage.kept.setdefault(COPIES, [])
    if name == "deepcopy" and isinstance(made, Thing | Made) and len(copies) < MAX_COPIES:
        copies.append((made, ir.unpack(call.at, scope.file)))
    return made


def duplicate(value: Any, depth: int, made: dict[int, Any] | None = None) -> Any:
    """A copy of a value, and of what is in it down to a depth; ``made`` are the copies of objects so far."""
    if depth <= 0:
        return value
    made = {} if made is None else made
    if id(value) in made:
        return made[id(value)]

    def inner(item: Any) -> Any:
        return duplicate(item, depth - 1, made)

    if isinstance(value, Items):
        items = [inner(item) for item in value.items] if value.items is not None else None
        listed = Items(items, value.size, value.at)
        listed.sample, listed.whole, listed.distinct, listed.most = (
            value.sample,
            value.whole,
            value.distinct,
            value.most,
        )
        return listed
    if isinstance(value, Table):
        table = value.like({key: inner(item) for key, item in value.items.items()}, is_open=value.open)
        table.missing, table.family = value.missing, value.family
        return table
    if isinstance(value, Thing) and "_name_" not in value.attributes:
        thing = made[id(value)] = Thing(value.cls, is_open=value.open)
        thing.fields, thing.sample = value.fields, value.sample
        thing.content = duplicate(value.content, depth, made) if value.content is not None else None
        thing.attributes = {name: inner(item) for name, item in value.attributes.items()}
        return thing
    if isinstance(value, Tensor):
        tensor = Tensor(value.shape, value.dtype, value.at, value.sign, value.source)
        tensor.gradient = value.gradient
        tensor.copied = False
        return tensor
    if type(value) is tuple:
        return tuple(inner(item) for item in value)
    if isinstance(value, Made) and depth > 1:
        made[id(value)] = value.copied(inner)
        return made[id(value)]
    return value


def _fields(player: Calls, cls: ClassRef, call: ir.Call, given: Given) -> Items:
    """What describes the fields of a record."""
    found = []
    types = player.field_types(cls)
    for name, default in player.fields_of(cls).items():
        made = Made("dataclasses.Field()", call, given)
        made.sign = ("field", name)
        made.stored.update({"name": name, "type": types[name], "metadata": Table()})
        for keyword in default.keywords if type(default) is ir.Call else ():
            if keyword.name == "metadata":
                made.stored["metadata"] = player.value(keyword.value, player.class_scope(cls))
        if default is not None and type(default) is not ir.Call:
            made.stored["default"] = player.field_default(default, player.class_scope(cls))
        found.append(made)
    return Items(list(found))


def _as_table(value: Any, depth: int) -> Any:
    """``asdict``."""
    if depth > 0 and isinstance(value, Thing) and value.fields is not None:
        return Table({one: _as_table(value.attributes.get(one, UNKNOWN), depth - 1) for one in value.fields})
    return duplicate(value, depth)


def record_helper(player: Calls, name: str, given: Given, call: ir.Call, scope: Scope) -> Any:
    """What a function of ``dataclasses`` gives of a record: its fields, them as a table or tuple, a changed copy."""
    first = given.positional[0] if given.positional else None
    if name == "fields" and isinstance(first, Thing | ClassValue):
        return _fields(player, first.cls if isinstance(first, Thing) else first.ref, call, given)
    if not isinstance(first, Thing):
        return NotImplemented
    fields = first.fields or ()
    if name == "asdict":
        return _as_table(first, 4)
    if name == "astuple":
        return tuple(first.attributes.get(one, UNKNOWN) for one in fields)
    if name == "replace":
        made = duplicate(first, 1)
        made.attributes.update(given.keywords)
        return made
    return NotImplemented
