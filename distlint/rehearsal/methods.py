"""The methods of texts, lists, sets, dictionaries and iterators on one process of a rehearsal."""

from __future__ import annotations

from typing import Any

from distlint.link.text_sizes import MAX_TEXT, may_be_long
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.calls import Calls
from distlint.rehearsal.failing import AMISS, may_fail
from distlint.rehearsal.iterating import is_key
from distlint.rehearsal.iterators import Generated
from distlint.rehearsal.merging import alike, merged
from distlint.rehearsal.names import families_differ, not_found
from distlint.rehearsal.samples import tensor_in
from distlint.rehearsal.some_keys import given_for, taken_over, under, update_perhaps
from distlint.rehearsal.stage import Scope
from distlint.rehearsal.unknowns import UNKNOWN, Opaque, Perhaps
from distlint.rehearsal.values import (
    MAX_ITEMS,
    Given,
    Items,
    Table,
    Tensor,
    counted_in,
    derived,
    escape,
    holds_work,
    is_known,
)

_TEXT_NAMES = """
    strip lstrip rstrip lower upper title capitalize casefold swapcase startswith endswith join split rsplit splitlines
    replace format find rfind index count isdigit isalpha isalnum isspace isupper islower isnumeric isidentifier zfill
    ljust rjust center partition rpartition removeprefix removesuffix encode decode expandtabs format_map hex
"""
_TEXTS = frozenset(_TEXT_NAMES.split())
_ADDING = ("append", "add", "appendleft")


_KEYS = frozenset({"setdefault", "update", "pop", "popitem"})
"""Methods after which a dictionary has other keys."""


def call_method(player: Calls, receiver: Any, name: str, given: Given, call: ir.Call, scope: Scope, span: Span) -> Any:
    """What a method of a list, dictionary, text or iterator does."""
    values = given.positional
    if name in ("__getitem__", "__len__", "__contains__") and not isinstance(receiver, str | bytes | Generated):
        return _asked(player, receiver, name, values, call, scope)
    if isinstance(receiver, Items):
        return _of_list(player, receiver, name, values, given, call, scope)
    if isinstance(receiver, Table):
        own = receiver.own_method(player, name, given, call, scope)
        if own is not NotImplemented:
            return own
        if values and name == "get" and families_differ(receiver, values[0]):
            not_found(player.stage, receiver, call, scope)
            return given.get("default", 1, None)
        return _of_table(player, receiver, name, values, given, call, scope)
    if isinstance(receiver, Generated):
        if name in ("__next__", "send"):
            found, item = player.advance(receiver)
            return item if found else UNKNOWN
        return receiver if name == "__iter__" else UNKNOWN
    if isinstance(receiver, str | bytes):
        return _of_text(player, receiver, name, given)
    if name == "index" and type(receiver) is tuple:
        may_fail(player.stage, AMISS, values, call, scope)
    if name in ("index", "count") and len(values) == 1 and all(map(is_known, (*receiver, values[0]))):
        if name == "count":
            return receiver.count(values[0])
        return receiver.index(values[0]) if values[0] in receiver else UNKNOWN
    return derived(name, [receiver, *values])


def _of_text(player: Calls, receiver: str | bytes, name: str, given: Given) -> Any:
    values = [tuple(one.items) if isinstance(one, Items) and one.items is not None else one for one in given.positional]
    if name == "join" and len(values) == 1:
        items = player.items_of(given.positional[0])
        values = [tuple(items)] if items is not None else values
    plain = all(is_known(one) or (type(one) is tuple and all(map(is_known, one))) for one in values)
    named = all(map(is_known, given.keywords.values()))
    if name in _TEXTS and plain and named and not given.open and len(receiver) <= MAX_TEXT:
        if name == "format":
            if may_be_long(receiver, (*values, *given.keywords.values())):
                return UNKNOWN
        elif any(isinstance(one, int) and abs(one) > MAX_TEXT for one in (*values, *given.keywords.values())):
            return UNKNOWN
        try:
            found = getattr(receiver, name)(*values, **given.keywords)
        except (TypeError, ValueError, LookupError, AttributeError, OverflowError):
            return UNKNOWN
        if isinstance(found, str | bytes) and len(found) > MAX_TEXT:
            return UNKNOWN
        return Items(list(found[:MAX_ITEMS])) if isinstance(found, list) else found
    return derived(name, [receiver, *given.values()])


def _of_list(
    player: Calls, receiver: Items, name: str, values: list[Any], given: Given, call: ir.Call, scope: Scope
) -> Any:
    if name in _ADDING and len(values) == 1:
        return _add(player, receiver, name, values[0])
    if name in ("extend", "update", "extendleft") and values:
        player.extend(receiver, values[0])
        members = counted_in(player.item_of(values[0])) if receiver.distinct else None
        receiver.received(values[0] if members is None else Opaque(None, members))
        _keep_distinct(receiver)
        return None
    if name == "copy":
        made = Items(list(receiver.items) if receiver.items is not None else None, receiver.size)
        made.distinct, made.sample, made.whole = receiver.distinct, receiver.sample, receiver.whole
        return made
    if name in ("index", "count") and receiver.items is not None and values:
        if all(is_known(item) for item in (*receiver.items, values[0])):
            if name == "count":
                return receiver.items.count(values[0])
            return receiver.items.index(values[0]) if values[0] in receiver.items else UNKNOWN
        found = derived(name, [receiver, *values])
        if name == "index" and not is_known(values[0]):
            may_fail(player.stage, AMISS, values, call, scope)
            found.source = found.source or player.stage.own_places(ir.unpack(call.at, scope.file), receiver.items)
        return found
    if name in ("union", "intersection", "difference", "symmetric_difference", "issubset", "issuperset", "isdisjoint"):
        return _of_set(player, receiver, name, values, call, scope)
    if name in ("pop", "popleft") and receiver.items and not player.stage.doubts(receiver) and not given.keywords:
        position = values[0] if values else 0 if name == "popleft" else -1
        player.note(receiver)
        if isinstance(position, int) and -len(receiver.items) <= position < len(receiver.items):
            return receiver.items.pop(position)
    if (
        receiver.items is not None
        and not player.stage.doubts(receiver)
        and _changed(player, receiver, name, values, given)
    ):
        return None
    if name == "clear" and not player.stage.doubts(receiver):
        receiver.empties()
        player.note(receiver)
        return None
    for value in values:
        escape(value)
    item = player.item_of(receiver) if name in ("pop", "popleft") else UNKNOWN
    if item is receiver.sample and holds_work(item):
        receiver.size = UNKNOWN
        player.note(receiver)
        return item
    receiver.open()
    player.note(receiver)
    return item


def _asked(player: Calls, receiver: Any, name: str, values: list[Any], call: ir.Call, scope: Scope) -> Any:
    """What ``[]``, ``len`` and ``in`` give, asked as methods, as a key function is."""
    if name == "__len__":
        return player.length(receiver)
    if len(values) != 1:
        return UNKNOWN
    return (
        player.item(receiver, values[0])
        if name == "__getitem__"
        else player.operate("in", values[0], receiver, call.at, scope)
    )


def _add(player: Calls, receiver: Items, name: str, value: Any) -> None:
    if isinstance(value, Tensor):
        value.copied = False
    if name == "add" and receiver.items is not None and any(alike(item, value) for item in receiver.items):
        return
    if name == "add" and receiver.items is not None and not is_known(value):
        receiver.open()
        receiver.received(value)
        player.note(receiver)
        return
    if name == "appendleft" and receiver.items is not None and not player.stage.doubts(receiver):
        receiver.items.insert(0, value)
        player.note(receiver)
    else:
        player.extend(receiver, Items([value]))
        receiver.received(value)
    if receiver.most is not None and receiver.items is not None and len(receiver.items) > receiver.most:
        del receiver.items[0 if name == "append" else -1]


def _keep_distinct(receiver: Items) -> None:
    if receiver.distinct and receiver.items is not None:
        if all(map(is_known, receiver.items)):
            receiver.items = list(dict.fromkeys(receiver.items))
        else:
            receiver.open()


def _of_set(player: Calls, receiver: Items, name: str, values: list[Any], call: ir.Call, scope: Scope) -> Any:
    symbols = {"union": "|", "intersection": "&", "difference": "-", "symmetric_difference": "^"}
    found: Any = receiver
    for value in values:
        items = player.items_of(value)
        other = Items(items) if items is not None else value
        if name in symbols:
            found = player.operate(symbols[name], found, other, call.at, scope)
        elif receiver.items is not None and items is not None and all(map(is_known, receiver.items + items)):
            one, two = set(receiver.items), set(items)
            found = {"issubset": one <= two, "issuperset": one >= two, "isdisjoint": not one & two}[name]
        else:
            found = derived(name, [receiver, value])
    return found


def _changed(player: Calls, receiver: Items, name: str, values: list[Any], given: Given) -> bool:
    """Changes a list whose items are known; false where it can't be told how."""
    items = receiver.items
    assert items is not None  # noqa: S101 - tested by the caller
    if name == "clear":
        receiver.items = []
    elif name == "reverse":
        items.reverse()
    elif name == "insert" and len(values) == 2 and isinstance(values[0], int):
        items.insert(values[0], values[1])
    elif name in ("remove", "discard") and values and all(map(is_known, (*items, values[0]))):
        if values[0] in items:
            items.remove(values[0])
    elif name == "rotate" and items and all(isinstance(one, int) for one in values):
        count = (values[0] if values else 1) % len(items)
        receiver.items = items[-count:] + items[:-count]
    elif name == "sort" and all(isinstance(item, int | float) for item in items) and "key" not in given.keywords:
        items.sort(reverse=given.keywords.get("reverse") is True)
    else:
        return False
    player.note(receiver)
    return True


def _of_table(
    player: Calls, receiver: Table, name: str, values: list[Any], given: Given, call: ir.Call, scope: Scope
) -> Any:
    if name not in ("keys", "update", "clear"):
        receiver.read(values[0] if name in ("get", "pop", "setdefault") and values and is_key(values[0]) else None)
    if name in ("get", "pop", "popitem") and receiver.open and not receiver.items and holds_work(receiver.sample):
        return receiver.sample if name != "popitem" else (receiver.key(), receiver.sample)
    if name == "get" and values and is_key(values[0]):
        if values[0] in receiver.items:
            return receiver.items[values[0]]
        if not receiver.open:
            return given.get("default", 1)
        if (perhaps := under(receiver, values[0])) is not NotImplemented:
            return given_for(perhaps, lambda: given.get("default", 1), merged)
        held = tensor_in(receiver, values[0])
        if held is not None and len(values) == 1 and not given.keywords:
            # the keys are the same everywhere
            return Perhaps(held, held.sign, held.source, Opaque(("without", values[0])))
        return derived("get", [receiver.whole, *values])
    if name == "pop" and values and is_key(values[0]) and (perhaps := under(receiver, values[0])) is not NotImplemented:
        if receiver.perhaps is not None and not player.stage.doubts(receiver):
            del receiver.perhaps[values[0]]
        return given_for(perhaps, lambda: given.get("default", 1), merged) if len(values) > 1 else perhaps.value
    if name == "pop" and len(values) == 1 and is_key(values[0]) and values[0] not in receiver.items:
        held = tensor_in(receiver, values[0])
        if held is not None:
            return held
    if name == "get" and values:
        if receiver.open:
            return derived("get", [receiver, *values])
        return player.one_of([*receiver.items.values(), *values[1:]], values[0])
    if name in ("keys", "values", "items"):
        found = _view(receiver, name)
        found.ordered = found.ordered or player.own_order(call, receiver, scope)
        return found
    if name == "copy":
        made = Table(dict(receiver.items), is_open=receiver.open)
        made.missing, made.perhaps = receiver.missing, receiver.perhaps and dict(receiver.perhaps)
        made.whole, made.keyed, made.sample = receiver.whole, receiver.keyed, receiver.sample
        return made
    if name == "setdefault" and len(values) == 2 and not is_key(values[0]):
        order = player.own_keys(call.args[0], values[0], scope) if call.args else None
        receiver.gets(values[0], values[1], order, player.stage.batch)
        receiver.loses()
        return derived("get", [receiver, *values])
    if name == "setdefault" and values and call.args:
        player.leads(receiver, call.args[0], values[0], scope)
    if not player.stage.doubts(receiver) and not given.open:
        found = _stored(receiver, name, values, given)
        if found is not NotImplemented:
            return found
    if name == "update" and not given.open and len(values) < 2:
        if update_perhaps(player, receiver, values[0] if values else Table(), given.keywords):
            return None
    for value in values:
        escape(value)
    if name in _KEYS and not (name == "setdefault" and values and is_key(values[0]) and values[0] in receiver.items):
        own = counted_in(player.item_of(values[0])) if name == "update" and values else None
        receiver.keyed = receiver.keyed or own or player.own_way(values[0] if values else None)
    receiver.opens(name, *values)
    receiver.loses()
    return Opaque()


def _view(receiver: Table, name: str) -> Items:
    found: dict[str, list[Any]] = {
        "keys": list(receiver.items),
        "values": list(receiver.items.values()),
        "items": [(key, value) for key, value in receiver.items.items()],
    }
    made = Items(None, receiver.length()) if receiver.open else Items(found[name])
    made.ordered = receiver.order
    if not receiver.open:
        return made
    made.whole = derived(name, [receiver.whole])
    made.sample = found[name][0] if found[name] else None
    if not found[name] and receiver.sample is not None and name != "keys":
        made.sample = receiver.sample if name == "values" else (receiver.key(), receiver.sample)
    elif not found[name] and receiver.keyed is not None and name != "values":
        made.sample = receiver.key() if name == "keys" else (receiver.key(), derived("value", [receiver.whole]))
    return made


def _stored(receiver: Table, name: str, values: list[Any], given: Given) -> Any:
    """Changes a dictionary; ``NotImplemented`` where it can't be told how."""
    if name == "setdefault" and values and is_key(values[0]) and not receiver.open:
        return receiver.items.setdefault(values[0], values[1] if len(values) > 1 else None)
    if name == "pop" and values and is_key(values[0]) and (values[0] in receiver.items or not receiver.open):
        return receiver.items.pop(values[0], values[1] if len(values) > 1 else UNKNOWN)
    if name == "clear":
        receiver.items.clear()
        receiver.open, receiver.sample = False, None
        return None
    if name == "update":
        other = values[0] if values else Table()
        pairs = {}
        if isinstance(other, Table):
            other.read()
            taken_over(receiver, other)
        elif isinstance(other, Items) and other.items is not None:
            if not all(type(one) is tuple and len(one) == 2 and is_key(one[0]) for one in other.items):
                return NotImplemented
            pairs = dict(other.items)
        else:
            return NotImplemented
        receiver.items.update(pairs)
        receiver.items.update(given.keywords)
        return None
    if name == "move_to_end":
        return None
    return NotImplemented
