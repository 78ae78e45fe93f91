"""What Python's own functions make of the items of something by putting them in order or adding them up."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from distlint.model import python as ir
from distlint.rehearsal.bounds import of_any, of_ends, of_one
from distlint.rehearsal.chosen_items import one_of
from distlint.rehearsal.known_files import plain
from distlint.rehearsal.sums import is_summand, note_extreme
from distlint.rehearsal.unknowns import UNKNOWN, Opaque
from distlint.rehearsal.values import Given, Items, Tensor, Thing, derived, is_known

if TYPE_CHECKING:
    from distlint.rehearsal.calls import Calls
    from distlint.rehearsal.stage import Scope

MAX_COMPARED = 32
"""Objects that are sorted by their own comparison."""


def in_order(
    player: Calls, items: list[Any], given: Given, call: ir.Call, scope: Scope
) -> tuple[list[Any] | None, list[Any]]:
    """Items in order, ``None`` where that is not known, and what they are ordered by."""
    key = given.keywords.get("key")
    if key is None and 1 < len(items) <= MAX_COMPARED and all(isinstance(one, Thing) for one in items):
        return _by_comparing(player, items, given, call, scope), items
    keys = items if key is None else [player.apply(key, Given([item], {}), call, scope) for item in items]
    keys = [plain(one) for one in keys]
    compared = keys if all(_orderable(one) for one in keys) else _beginnings(keys)
    if compared is None or not is_known(given.keywords.get("reverse")):
        return None, keys
    try:
        order = sorted(range(len(items)), key=compared.__getitem__, reverse=bool(given.keywords.get("reverse")))
    except TypeError:
        return None, keys
    return [items[index] for index in order], keys


def _beginnings(keys: list[Any]) -> list[Any] | None:
    """What rows are compared by: the first of their parts, where these tell all of them apart, so that nothing behind them is looked at."""
    rows = [one for one in keys if type(one) is tuple and one and _orderable(one[0])]
    if len(rows) < len(keys):
        return None
    first = [one[0] for one in rows]
    return first if len(set(first)) == len(first) else None


def _by_comparing(player: Calls, items: list[Any], given: Given, call: ir.Call, scope: Scope) -> list[Any] | None:
    """Objects in the order that their own comparison says."""
    found: list[Any] = []
    for item in items:
        place = len(found)
        while place:
            less = player.truth(player.operate("<", item, found[place - 1], call.at, scope))
            if less is None:
                return None
            if not less:
                break
            place -= 1
        found.insert(place, item)
    return found[::-1] if given.keywords.get("reverse") is True else found


def _orderable(value: Any) -> bool:
    return (is_known(value) and value is not None) or (type(value) is tuple and all(map(_orderable, value)))


def _extreme(name: str, numbers: range) -> Any:
    ends = (numbers[0], numbers[-1])
    return min(ends) if name == "min" else max(ends) if name == "max" else UNKNOWN


def least_or_sum(player: Calls, name: str, values: list[Any], given: Given, call: ir.Call, scope: Scope) -> Any:
    """``min``, ``max`` and ``sum``, by ``name``, of some values or of the items of one."""
    keyed = "key" in given.keywords
    if isinstance(values[0], range) and len(values[0]) and len(values) == 1 and not keyed:
        return sum(values[0]) if name == "sum" and len(values[0]) < 1 << 20 else _extreme(name, values[0])
    items = player.items_of(values[0]) if len(values) == 1 or name == "sum" else values
    if items is None:
        found = derived(name, values)
        return found if keyed or name == "sum" or values[1:] else _of_unknown(player, found, values[0], given)
    if name == "sum" and len(values) == 2:
        items = [values[1], *items]
    if len(items) == 1 and name != "sum":
        return items[0]
    if not items:
        return 0 if name == "sum" else given.keywords.get("default", UNKNOWN)
    if keyed:
        words = {"key": given.keywords["key"], "reverse": name == "max"}
        order, keys = in_order(player, items, Given([], words), call, scope)
        if order is not None:
            return order[0]
        made = derived(name, [*items, *keys])
        made.source = made.source or player.stage.own_places(ir.unpack(call.at, scope.file), keys)
        return one_of(items, made, derived("which", keys))
    if all(isinstance(item, int | float) for item in items) or (name != "sum" and all(map(_orderable, items))):
        functions: dict[str, Callable[[Any], Any]] = {"min": min, "max": max, "sum": sum}
        try:
            return functions[name](items)
        except TypeError:
            return UNKNOWN
    if name != "sum" and all(type(item) is tuple for item in items):
        return one_of(items, derived(name, items), derived("which", items))
    if name == "sum" and (any(isinstance(item, Tensor | Items) for item in items) or all(map(is_summand, items))):
        found = items[0]
        for item in items[1:]:
            found = player.operate("+", found, item, call.at, scope)
        return found
    return derived(name, items) if name == "sum" else of_ends(derived(name, items), name, items)


def _of_unknown(player: Calls, found: Opaque, values: Any, given: Given) -> Any:
    """The least or the greatest of values that are not known one by one: it has the bounds that all of them have."""
    if found.sign is None and found.source is not None:
        # the process's own, which the program may take away again (``width - len(row)``)
        found.sign = hash(("own", player.stage.rank, player.stage.steps))
    found = of_any(found, player.item_of(values))
    note_extreme(player.stage, found)
    default = given.keywords.get("default", found)
    return found if default is found else of_one(Opaque(found.sign, found.source), [found, default])
