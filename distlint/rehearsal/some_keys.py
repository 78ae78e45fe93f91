"""Keys that a dictionary has on one way of a test and not on the other (``Table.perhaps``), in the rehearsal of a program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from distlint.model import python as ir
from distlint.rehearsal.unknowns import UNKNOWN, Absent, Opaque, Perhaps, Source
from distlint.rehearsal.values import Table, combined, is_by_chance, source_of

if TYPE_CHECKING:
    from distlint.rehearsal.expressions import Expressions
    from distlint.rehearsal.iterating import Iterating
    from distlint.rehearsal.stage import Scope

MAX_KEYS = 32
"""Keys of dictionaries that are joined one by one."""


def absent(value: Any, tests: Sequence[Any]) -> Any:
    """What stands under a key, if tests say so; where none of them is known, nothing is known of it."""
    if not tests:
        return UNKNOWN
    every = [*tests, value]
    missing = Opaque(combined("missing", tests), source_of(tests))
    missing.chance = any(map(is_by_chance, tests))
    return Absent(value, combined("perhaps", every), source_of(every), missing)


def put_perhaps(
    player: Expressions, table: Table, key: Any, value: Any, order: Source | None = None, *, told: bool = True
) -> None:
    """Something is put under a new key, which may not be known (``told``), or that is done on one way of a test only.

    Of what is put twice nothing is known; ``order`` is as ``Table.gets`` has it.
    """
    known = None
    if told and (not table.open or table.perhaps is not None):
        known = dict(table.perhaps or {})
        known[key] = UNKNOWN if key in known else absent(value, player.stage.reasons)
    keyed = player.own_way(key)
    table.gets(key, value, order, player.stage.batch)
    table.keyed = table.keyed or keyed
    if known is None:
        table.loses()
    table.perhaps = known


def update_perhaps(player: Expressions, table: Table, other: Any, more: dict[str, Any]) -> bool:
    """``table.update(other, **more)`` on one way of a test only; false where it is not known what is put in."""
    if not isinstance(other, Table) or other.open:
        return False
    other.read()
    for key, value in {**other.items, **more}.items():
        if key in table.items:
            player.put(table.items, key, value, table.made_in)
        else:
            put_perhaps(player, table, key, value)
    return True


def under(table: Table, key: Any) -> Any:
    """What a dictionary perhaps has under a key; ``NotImplemented`` where nothing is known of that."""
    found = table.perhaps.get(key, UNKNOWN) if table.perhaps and key not in table.items else UNKNOWN
    return found if isinstance(found, Absent) else NotImplemented


def taken_over(table: Table, other: Table) -> None:
    """A dictionary gets all that another one has."""
    told = not table.open or table.perhaps is not None
    perhaps = {**(table.perhaps or {}), **(other.perhaps or {})}
    table.items.update(other.items)
    if other.open:
        table.opens(other)
        if told and other.perhaps is not None:
            table.perhaps = {key: value for key, value in perhaps.items() if key not in other.items}


def of_either(one: Table, other: Table, tests: Sequence[Any], each: Callable[[Any, Any], Any]) -> Any:
    """One of two dictionaries with different keys; ``each`` joins what both have under a key."""
    plain = not (one.open or other.open or one.missing or other.missing)
    if not plain or not tests or len(one.items) + len(other.items) > MAX_KEYS:
        return NotImplemented
    found = Table({key: each(value, other.items[key]) for key, value in one.items.items() if key in other.items})
    rest = {key: value for table in (one, other) for key, value in table.items.items() if key not in found.items}
    found.opens(*tests, *rest.values())
    found.keyed = source_of(tests)
    found.perhaps = {key: absent(value, tests) for key, value in rest.items()}
    return found


def named_rest(given: dict[str, Any], *, is_open: bool) -> Table:
    """What ``**kwargs`` of a function holds: of keys that the caller has perhaps, perhaps."""
    perhaps = {name: value for name, value in given.items() if isinstance(value, Absent)}
    found = Table({name: value for name, value in given.items() if name not in perhaps}, is_open=is_open)
    if perhaps and not is_open:
        found.opens(*perhaps.values())
        found.keyed, found.perhaps = source_of(one.missing for one in perhaps.values()), perhaps
    return found


def given_for(value: Any, default: Callable[[], Any], joined: Callable[[Any, Any, Sequence[Any]], Any]) -> Any:
    """What a parameter holds that is given a key's value, or has its default where the key is not there."""
    if not isinstance(value, Absent):
        return value
    other = default()
    if other is None:
        return Perhaps(value.value, value.sign, value.source, value.missing)
    return joined(value.value, other, [value.missing])


def mapped(player: Iterating, expr: ir.Comprehension, inner: Scope, scope: Scope) -> Table | None:
    """``{name: value.to(device) for name, value in batch.items()}``: what is made of each, with the same keys."""
    target, iterable, tests = expr.generators[0]
    if expr.kind != "dict" or len(expr.generators) > 1 or tests or type(iterable) is not ir.Call:
        return None
    func = iterable.func
    if type(func) is not ir.Attribute or func.name != "items" or type(func.base) is not ir.Name:
        return None
    table = player.value(func.base, scope)
    if not isinstance(table, Table) or not table.perhaps:
        return None
    table.read()
    found, perhaps = Table(), {}
    for key, held in {**table.perhaps, **table.items}.items():
        player.bind(target, (key, held.value if isinstance(held, Absent) else held), inner)
        pair = player.value(expr.element, inner)
        if type(pair) is not tuple or len(pair) != 2 or pair[0] != key:
            return None
        if key in table.items:
            found.items[key] = pair[1]
        else:
            again = Absent(pair[1], held.sign, held.source, held.missing) if isinstance(held, Absent) else UNKNOWN
            perhaps[key] = again
    found.opens(table)
    found.keyed = table.keyed
    found.perhaps = perhaps
    return found
