"""Python's own functions, and the methods of lists, dictionaries and texts, on one process of a rehearsal."""

from __future__ import annotations

from typing import Any

from distlint.model.span import Span
from distlint.rehearsal.calls import Calls
from distlint.rehearsal.values import (
    MAX_ITEMS,
    UNKNOWN,
    Given,
    Items,
    Opaque,
    Table,
    Tensor,
    derived,
    escape,
    is_known,
)

MAX_RANGE = 1 << 40


def call_builtin(player: Calls, name: str, given: Given, span: Span) -> Any:
    """What a builtin function gives."""
    values = given.positional
    if given.open:
        return UNKNOWN
    if name in ("print", "str", "float", "int", "bool", "sum", "max", "min", "repr", "abs", "round", "sorted"):
        for value in values:
            _used(player, value, span)
    if name == "len" and len(values) == 1:
        return player.length(values[0])
    if name == "range" and values:
        if all(isinstance(value, int) and abs(value) < MAX_RANGE for value in values):
            try:
                return range(*values)
            except (TypeError, ValueError):
                return UNKNOWN
        return derived("range", values)
    if name in ("int", "str", "bool", "float", "abs", "round", "ord", "chr") and len(values) == 1:
        return _converted(player, name, values[0])
    if name in ("list", "tuple", "reversed", "sorted", "set", "iter"):
        return _listed(player, name, values, given, span)
    if name in ("enumerate", "zip"):
        return _paired(player, name, values)
    if name in ("min", "max", "sum"):
        return _gathered(player, name, values)
    if name == "isinstance" or name == "hasattr":
        return UNKNOWN
    if name == "getattr" and len(values) >= 2 and isinstance(values[1], str):
        return UNKNOWN
    if name == "dict":
        return Table(dict(given.keywords)) if not values else UNKNOWN
    if name == "print":
        return None
    for value in values:
        if name not in ("id", "type", "callable"):
            escape(value)
    return derived(name, values)


def _used(player: Calls, value: Any, span: Span) -> None:
    player.stage.use(value, span)
    if isinstance(value, Items):
        for item in (value.items or ())[:8]:
            player.stage.use(item, span)


def _converted(player: Calls, name: str, value: Any) -> Any:
    if name == "bool":
        decided = player.truth(value)
        return UNKNOWN if decided is None else decided
    if is_known(value):
        functions: dict[str, Any] = {
            "int": int,
            "str": str,
            "float": float,
            "abs": abs,
            "round": round,
            "ord": ord,
            "chr": chr,
        }
        try:
            return functions[name](value)
        except (TypeError, ValueError, OverflowError):
            return UNKNOWN
    return derived(name, [value])


def _listed(player: Calls, name: str, values: list[Any], given: Given, span: Span) -> Any:
    if not values:
        return () if name == "tuple" else Items([], at=span)
    items = player.items_of(values[0])
    if items is None or (name == "sorted" and (given.keywords or not all(isinstance(one, int) for one in items))):
        escape(values[0])
        size = player.length(values[0]) if name != "set" else UNKNOWN
        return Items(None, size, at=span)
    if name == "set":
        if not all(is_known(item) for item in items):
            return Items(None, at=span)
        items = list(dict.fromkeys(items))
    items = sorted(items) if name == "sorted" else items[::-1] if name == "reversed" else items
    return tuple(items) if name == "tuple" else Items(items, at=span)


def _paired(player: Calls, name: str, values: list[Any]) -> Any:
    lists = [player.items_of(value) for value in values]
    if not lists or any(one is None for one in lists):
        return derived(name, values)
    if name == "enumerate":
        first = values[1] if len(values) > 1 else 0
        if not isinstance(first, int):
            return UNKNOWN
        return Items([(index, item) for index, item in enumerate(lists[0] or [], first)])
    return Items(list(zip(*(one or [] for one in lists), strict=False)))


def _gathered(player: Calls, name: str, values: list[Any]) -> Any:
    items = player.items_of(values[0]) if len(values) == 1 else values
    if items is None:
        return derived(name, values)
    if items and all(isinstance(item, int | float) for item in items):
        functions: dict[str, Any] = {"min": min, "max": max, "sum": sum}
        return functions[name](items)
    if name == "sum" and items and isinstance(items[0], Tensor):
        found = items[0]
        for item in items[1:]:
            found = player.models.elementwise(player, "+", [found, item])
        return found
    return derived(name, items)


def call_method(player: Calls, receiver: Any, name: str, given: Given, span: Span) -> Any:
    """What a method of a list, dictionary or text does."""
    values = given.positional
    if isinstance(receiver, Items):
        return _of_list(player, receiver, name, values, given, span)
    if isinstance(receiver, Table):
        return _of_table(player, receiver, name, values, given)
    if isinstance(receiver, str):
        if name == "encode":
            return receiver.encode(errors="replace")
        simple = ("strip", "lower", "upper", "startswith", "endswith", "join", "split", "replace")
        if name in simple and all(isinstance(value, str) for value in values) and len(receiver) < MAX_ITEMS:
            try:
                found = getattr(receiver, name)(*values)
            except (TypeError, ValueError):
                return UNKNOWN
            return Items(list(found)) if isinstance(found, list) else found
    if isinstance(receiver, tuple) and name == "index" and len(values) == 1:
        return receiver.index(values[0]) if values[0] in receiver else UNKNOWN
    return derived(name, [receiver, *values])


def _of_list(player: Calls, receiver: Items, name: str, values: list[Any], given: Given, span: Span) -> Any:
    if name == "append" and len(values) == 1:
        if isinstance(values[0], Tensor):
            values[0].copied = False
        player.extend(receiver, Items([values[0]]))
        return None
    if name == "extend" and len(values) == 1:
        player.extend(receiver, values[0])
        return None
    if name == "copy":
        return Items(list(receiver.items) if receiver.items is not None else None, receiver.size)
    if name == "index" and receiver.items is not None and values and is_known(values[0]):
        if all(is_known(item) for item in receiver.items) and values[0] in receiver.items:
            return receiver.items.index(values[0])
        return UNKNOWN
    if name == "pop" and receiver.items and not player.stage.unsure and not given.keywords:
        position = values[0] if values else -1
        player.note(receiver)
        if isinstance(position, int) and -len(receiver.items) <= position < len(receiver.items):
            return receiver.items.pop(position)
    if name == "clear" and not player.stage.unsure:
        receiver.items = []
        player.note(receiver)
        return None
    if name == "count":
        return UNKNOWN
    for value in values:
        escape(value)
    receiver.open()
    player.note(receiver)
    return UNKNOWN


def _of_table(player: Calls, receiver: Table, name: str, values: list[Any], given: Given) -> Any:
    if name == "get" and values and is_known(values[0]):
        if values[0] in receiver.items:
            return receiver.items[values[0]]
        return UNKNOWN if receiver.open else given.get("default", 1)
    if name in ("keys", "values", "items") and not receiver.open:
        found: dict[str, list[Any]] = {
            "keys": list(receiver.items),
            "values": list(receiver.items.values()),
            "items": [(key, value) for key, value in receiver.items.items()],
        }
        return Items(found[name])
    if name in ("keys", "values", "items"):
        return UNKNOWN
    for value in values:
        escape(value)
    receiver.open = True
    receiver.items.clear()
    return Opaque()
