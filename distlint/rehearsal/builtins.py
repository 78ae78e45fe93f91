"""Python's own functions on one process of a rehearsal."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from distlint.link.text_sizes import MAX_TEXT, may_be_long
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal import known_files, known_folders, known_modules
from distlint.rehearsal.absent import used_by
from distlint.rehearsal.bounds import is_limited, same_bounds
from distlint.rehearsal.calls import Calls
from distlint.rehearsal.entities import (
    ClassValue,
    FunctionValue,
    LambdaOf,
    Library,
    MethodOf,
    ModuleValue,
    Partial,
    Special,
)
from distlint.rehearsal.exceptions import CONVERTERS, CONVERTING, READING, thrown_by
from distlint.rehearsal.extremes import in_order, least_or_sum
from distlint.rehearsal.failing import (
    ENDING,
    fails,
    handles,
    may_fail,
    own_file,
    perhaps_ends,
    texts,
)
from distlint.rehearsal.figures import whole
from distlint.rehearsal.files import written
from distlint.rehearsal.iterating import distinct, fresh, is_key, once_asked
from distlint.rehearsal.iterators import Generated
from distlint.rehearsal.kinds import has_attribute, is_instance, type_of
from distlint.rehearsal.merging import alike
from distlint.rehearsal.options import attributes_of
from distlint.rehearsal.paths import of_function, opened
from distlint.rehearsal.pieces import note_pieces
from distlint.rehearsal.samples import order_of
from distlint.rehearsal.stage import Left, Scope
from distlint.rehearsal.sums import Sum
from distlint.rehearsal.tables import table_of
from distlint.rehearsal.unknowns import UNKNOWN, Number, Opaque, Perhaps, Ranged, Source
from distlint.rehearsal.values import (
    MAX_ITEMS,
    Given,
    Items,
    Made,
    Table,
    Tensor,
    Thing,
    derived,
    escape,
    holds_work,
    is_known,
    signature,
    source_of,
)

MAX_RANGE = 1 << 40

_READING = ("print", "str", "float", "int", "bool", "sum", "max", "min", "repr", "abs", "round", "sorted")
_PLAIN: dict[str, Any] = {
    "int": int,
    "str": str,
    "float": float,
    "abs": abs,
    "round": round,
    "ord": ord,
    "chr": chr,
    "repr": repr,
    "bytes": bytes,
    "divmod": divmod,
    "hex": hex,
    "bin": bin,
    "format": format,
    "ascii": ascii,
}
_Handler = Callable[[Calls, list[Any], Given, ir.Call, Scope], Any]
_CALLABLE = (FunctionValue, ClassValue, LambdaOf, Partial, MethodOf, Special)


def call_builtin(player: Calls, name: str, given: Given, call: ir.Call, scope: Scope, span: Span) -> Any:
    """What a builtin function gives."""
    values = given.positional
    if given.open:
        return _columns(player, given.rest[0]) if name == "zip" and len(given.rest) == 1 and not values else UNKNOWN
    used_by(player.stage, name, given, call, scope)
    if name in _READING:
        for value in values:
            _used(player, value, span)
    if name == "str" and len(values) == 1 and isinstance(values[0], known_files.KnownPath):
        return known_files.plain(values[0])
    kind, _, method = name.partition(".")
    if method and name not in _HANDLERS:
        return _of_a_type(player, kind, method, given, call, scope, span)
    handler = _HANDLERS.get(name)
    if handler is not None:
        ahead = int(name in _LAZY)
        player.stage.ahead += ahead
        try:
            return handler(player, values, given, call, scope)
        finally:
            player.stage.ahead -= ahead
    if name in CONVERTERS:
        may_fail(player.stage, CONVERTING, texts(values), call, scope)
    if name in _PLAIN and values:
        return _converted(player, name, values, given)
    if name in ("list", "tuple", "reversed", "sorted", "set", "frozenset"):
        return _listed(player, name, values, given, call, scope)
    if name in ("min", "max", "sum"):
        return least_or_sum(player, name, values, given, call, scope)
    if name[:1].isupper():
        made = Made(f"builtins.{name}()", call, given)  # an exception
        made.stored["args"] = tuple(values)
        return made
    for value in values:
        if name not in ("id", "type", "callable"):
            escape(value)
    if name == "open":
        mode = given.get("mode", 1, "r")
        if isinstance(mode, str) and not set(mode).isdisjoint("wax"):
            written(player.stage, values[:1])
        opened(player.stage, values[0] if values else None, mode, call, scope, handled=handles(player.stage, READING))
        own = own_file(player.stage, values, call, scope)
        may_fail(player.stage, READING, values if own is None else [Opaque(None, own)], call, scope)
        file = player.made("builtins.open()", None, given, call, scope)
        file.source = own or file.source
        return file if player.stage.witness is None else known_files.opened(player, file, scope)
    return of_function(player.stage, f"builtins.{name}", given, derived(name, values))


def _of_a_type(player: Calls, kind: str, name: str, given: Given, call: ir.Call, scope: Scope, span: Span) -> Any:
    """``dict.fromkeys(names)``, ``str.lower(text)``."""
    from distlint.rehearsal.methods import call_method

    values = given.positional
    may_fail(player.stage, thrown_by(name), texts(values), call, scope)
    if name == "fromkeys" and values:
        items = player.items_of(values[0])
        if items is None or not all(map(is_key, items)):
            table = Table()
            table.opens(*values)
            return table
        return Table(dict.fromkeys(items, values[1] if len(values) > 1 else None))
    if values and isinstance(values[0], str | bytes | Items | Table):
        return call_method(player, values[0], name, Given(values[1:], given.keywords), call, scope, span)
    return derived(f"{kind}.{name}", given.values())


def _used(player: Calls, value: Any, span: Span) -> None:
    player.stage.use(value, span)
    if isinstance(value, Items):
        for item in (value.items or ())[:8]:
            player.stage.use(item, span)


def _print(player: Calls, values: list[Any], given: Given, call: ir.Call, scope: Scope) -> Any:
    for value in values:
        if isinstance(value, Thing):
            player.text_of(value, UNKNOWN)
    return None


def _len(player: Calls, values: list[Any], given: Given, call: ir.Call, scope: Scope) -> Any:
    return whole(player.length(values[0])) if len(values) == 1 else UNKNOWN


def _range(player: Calls, values: list[Any], given: Given, call: ir.Call, scope: Scope) -> Any:
    if values and all(isinstance(value, int) and abs(value) < MAX_RANGE for value in values):
        try:
            return range(*values)
        except (TypeError, ValueError):
            return UNKNOWN
    count = derived("range", values)
    if any(isinstance(one, Opaque) and is_limited(one) for one in values):
        count = Opaque(count.sign)  # a limit makes it as many everywhere, as a rule
    if len(values) == 1 and isinstance(values[0], Sum):
        count = values[0]  # as many, and it may be seen to go into parts without a rest
    made = Ranged(same_bounds(count, values[0]) if len(values) == 1 and count is not values[0] else count)
    if len(values) == 3 and values[0] == 0:
        note_pieces(player.stage, values[1], values[2], player.length(made))
    return made


def _slice(player: Calls, values: list[Any], given: Given, call: ir.Call, scope: Scope) -> Any:
    return slice(*values) if 0 < len(values) <= 3 else UNKNOWN


def _bool(player: Calls, values: list[Any], given: Given, call: ir.Call, scope: Scope) -> Any:
    if not values:
        return False
    decided = player.truth(values[0])
    return derived("bool", values) if decided is None else decided


def _converted(player: Calls, name: str, values: list[Any], given: Given) -> Any:
    if all(map(is_known, values)) and not given.keywords:
        if name == "bytes" and isinstance(values[0], int) and values[0] > MAX_TEXT:
            return UNKNOWN
        if name == "format" and any(isinstance(one, str) and may_be_long(one) for one in values[1:]):
            return UNKNOWN
        try:
            return _PLAIN[name](*values)
        except (TypeError, ValueError, OverflowError, ArithmeticError) as error:
            fails(player.stage, type(error).__name__)
            return UNKNOWN
    if isinstance(values[0], Thing):
        number = player.member_value(values[0])
        if name in ("int", "float", "bool") and isinstance(number, int | float):
            return _PLAIN[name](number)  # a member of an enumeration of numbers
        if name in ("str", "repr"):
            return player.text_of(values[0], derived(name, values))
        return player.special_method(values[0], f"__{name}__", [], derived(name, values))
    found = derived(name, values)
    return Number(float, found) if name == "float" else whole(found) if name in ("int", "ord") else found


# Lists ----------------------------------------------------------------------------------------------------------------


_UNORDERED = ("sorted", "set", "frozenset")
"""What gives the same whatever the order of what it gets."""


def _listed(player: Calls, name: str, values: list[Any], given: Given, call: ir.Call, scope: Scope) -> Any:
    span = ir.unpack(call.at, scope.file)
    if not values:
        made = player.stage.made(Items([], at=span))
        made.distinct = "set" in name
        return () if name == "tuple" else made
    listing = values[0].found if isinstance(values[0], known_folders.Listing) and name in _UNORDERED else None
    items = player.items_of(values[0]) if listing is None else listing
    order: Source | None = None
    if "set" in name and isinstance(values[0], str | bytes):
        items = list(dict.fromkeys(values[0]))[: MAX_ITEMS + 1]  # a long text has few characters
        items = items if len(items) <= MAX_ITEMS else None
    if items is not None and name == "sorted":
        several = len(items) > 1 and all(map(_is_told_apart, items))
        key = given.keywords.get("key")
        items, keys = in_order(player, items, given, call, scope)
        source = (source_of(keys) or player.stage.own_places(span, keys)) if several and key is not None else None
        order = Source(f"the order of figures that differ ({source.why})", span) if source is not None else None
    if items is None:
        escape(values[0])
        size = player.length(values[0]) if "set" not in name else UNKNOWN
        # the order of what is sorted is everywhere the same
        copied = name in ("list", "tuple") and isinstance(values[0], Items)
        made = player.some(values[0].whole if copied else derived(name, values), size, span=span)
        made.sample = player.item_of(values[0])
        made.distinct = "set" in name
        made.ordered = order if name == "sorted" else order_of(values[0])
        return made
    if "set" in name:
        return distinct(items, span)
    ordered = Items(items[::-1] if name == "reversed" else items, at=span)
    if name != "sorted":
        ordered.ordered = order_of(values[0])
    return tuple(items) if name == "tuple" else ordered


def _is_told_apart(item: Any) -> bool:
    """Whether it is known which item this is: pairs of a dictionary are told apart by their keys."""
    return is_known(item) or (type(item) is tuple and bool(item) and is_known(item[0]))


def _enumerate(player: Calls, values: list[Any], given: Given, call: ir.Call, scope: Scope) -> Any:
    if not values:
        return UNKNOWN
    first = given.get("start", 1, 0)
    player.begins(values[0], player.span(call, scope))
    steps = player.steps_of(values[0])
    size = player.length(values[0])
    if steps is None or not isinstance(first, int):
        index = Opaque(("turn", scope.file, call.at, player.stage.chain))
        return _unknown_turns(player, (index, player.item_of(values[0])), values, size)
    return _lazily(enumerate(steps, first), values)


def _columns(player: Calls, rows: Any) -> Any:
    """``zip(*rows)`` of rows that are like each other: the column of each part, as long as there are rows."""
    sample = rows.sample if isinstance(rows, Items) and rows.items is None else None
    if type(sample) is not tuple or hasattr(sample, "_fields"):
        return UNKNOWN
    columns = []
    for place, part in enumerate(sample):
        column = player.some(derived("column", [rows.whole, place]), rows.length())
        column.sample = part
        columns.append(column)
    return Items(columns)


def _zip(player: Calls, values: list[Any], given: Given, call: ir.Call, scope: Scope) -> Any:
    for value in values:
        player.begins(value, player.span(call, scope))
    every = [player.steps_of(value) for value in values]
    if not every or None in every:
        sizes = [player.length(value) for value in values if not isinstance(value, Generated) or value.partly]
        size = sizes[0] if len(sizes) == 1 else derived("zip", sizes)
        if len(sizes) == len(values) and all(type(one) is int for one in sizes):
            size = min(sizes)
        elif len(sizes) == len(values) and all(alike(one, sizes[0]) for one in sizes):
            size = sizes[0]
        elif any(source_of([one]) is None for one in sizes):
            size = Opaque(signature(size))  # the shortest of them decides, perhaps one that is everywhere as long
        return _unknown_turns(player, tuple(player.item_of(value) for value in values), values, size)
    return _lazily(zip(*(one for one in every if one is not None), strict=False), values)


def _lazily(run: Iterator[Any], values: list[Any]) -> Any:
    """What goes through others: a list where these are lists, so that it may be looked at twice."""
    if any(isinstance(value, Generated) for value in values):
        return Generated(run, watched=True)
    return Items(list(itertools.islice(run, MAX_ITEMS)))


def _unknown_turns(player: Calls, sample: Any, values: list[Any], size: Any) -> Items:
    made = player.some(derived("items", values), size)
    made.sample = sample
    return made


def _map(player: Calls, values: list[Any], given: Given, call: ir.Call, scope: Scope) -> Any:
    if len(values) < 2:
        return UNKNOWN
    every = [player.steps_of(value) for value in values[1:]]
    if None in every:
        samples = [player.item_of(value) for value in values[1:]]
        made = _unknown_turns(player, None, values[1:], player.length(values[1]))
        made.later = once_asked(player, values[0], Given(samples, {}), call, scope)
        return made
    rows = zip(*(one for one in every if one is not None), strict=False)
    return Generated((player.apply(values[0], Given(list(row), {}), call, scope) for row in rows), watched=True)


def _filter(player: Calls, values: list[Any], given: Given, call: ir.Call, scope: Scope) -> Any:
    steps = player.steps_of(values[1]) if len(values) == 2 else None
    if steps is None:
        sample = player.item_of(values[1]) if len(values) == 2 else UNKNOWN
        if holds_work(sample):
            escape(sample)  # what decides may wait
        count = derived("filter", values)
        supposed = player.stage.left_over(count, player.length(values[1])) if len(values) == 2 else UNKNOWN
        return Generated(None, sample, count=count if supposed is UNKNOWN else supposed)
    found, places = [], []
    for place, item in enumerate(itertools.islice(steps, MAX_ITEMS)):
        kept = item if values[0] is None else player.apply(values[0], Given([item], {}), call, scope)
        decided = player.truth(kept)
        if decided is None:
            return Generated(None, item, count=derived("filter", [kept, *values]))
        if decided:
            found.append(item)
            places.append(place)
    if isinstance(values[1], Made) and values[1].lazy:
        return Generated(_at_places(player, values[1], places), found[0] if found else None)
    return Items(found)


def _at_places(player: Calls, source: Any, places: list[int]) -> Iterator[Any]:
    """The items at some places, as they are once the first of them is asked for."""
    items = player.items_of(source) or []
    yield from (items[place] for place in places if place < len(items))


def _iter(player: Calls, values: list[Any], given: Given, call: ir.Call, scope: Scope) -> Any:
    if not values:
        return UNKNOWN
    value = values[0]
    if len(values) == 2:
        return Generated(None, player.apply(value, Given([], {}), call, scope))
    if isinstance(value, Generated):
        return value
    if isinstance(value, Thing):
        found = player.iterator_of(value)
        return Generated(None, UNKNOWN) if found is None else _iter(player, [found], given, call, scope)
    player.begins(value, player.span(call, scope))
    steps, count = player.steps_of(value), player.length(value)
    made = Generated(None, player.item_of(value), count=count) if steps is None else Generated(steps, count=count)
    made.born = player.stage.whiles
    made.over = value if isinstance(value, Items) else None
    return made


def _next(player: Calls, values: list[Any], given: Given, call: ir.Call, scope: Scope) -> Any:
    if not values:
        return UNKNOWN
    value = values[0]
    if isinstance(value, Generated):
        if (value.run is None or value.partly or player.stage.repeating) and len(values) == 1:
            perhaps_ends(player.stage, value, call, scope)
            for one in player.stage.advancing:
                one.depends(value.count)
        if value.run is None and value.sample is not None:
            return fresh(value.sample)
        found, item = player.advance(value)
        if not found and len(values) == 1 and (player.stage.advancing or handles(player.stage, ENDING)):
            raise Left("raise")
        return item if found else values[1] if len(values) > 1 else UNKNOWN
    if isinstance(value, Thing):
        return player.special_method(value, "__next__", [], UNKNOWN)
    if isinstance(value, Items) and value.items and len(values) == 1:
        return value.items[0]  # a generator expression
    return player.item_of(value)


def _any(player: Calls, values: list[Any], given: Given, call: ir.Call, scope: Scope) -> Any:
    return _decided(player, values, wanted=True)


def _all(player: Calls, values: list[Any], given: Given, call: ir.Call, scope: Scope) -> Any:
    return _decided(player, values, wanted=False)


def _decided(player: Calls, values: list[Any], *, wanted: bool) -> Any:
    items = player.items_of(values[0]) if len(values) == 1 else None
    if items is None:
        return derived("any" if wanted else "all", values)
    decided = [player.truth(item) for item in items]
    if wanted in decided:
        return wanted
    return derived("any" if wanted else "all", items) if None in decided else not wanted


# Objects --------------------------------------------------------------------------------------------------------------


def _isinstance(player: Calls, values: list[Any], given: Given, call: ir.Call, scope: Scope) -> Any:
    if len(values) != 2:
        return UNKNOWN
    found = is_instance(player, values[0], values[1])
    if found is not None:
        return found
    made = derived("isinstance", values)
    return Opaque(made.sign)  # of which class something is does not differ


def _hasattr(player: Calls, values: list[Any], given: Given, call: ir.Call, scope: Scope) -> Any:
    if len(values) != 2 or not isinstance(values[1], str):
        return UNKNOWN
    found = has_attribute(player, values[0], values[1])
    if found is not None:
        return found
    if isinstance(values[0], Tensor):
        # what is in a tensor has no part in that
        return Opaque(("hasattr", values[0].at, values[1]) if values[0].at is not None else None)
    return Opaque(derived("hasattr", values).sign)


def _getattr(player: Calls, values: list[Any], given: Given, call: ir.Call, scope: Scope) -> Any:
    if len(values) < 2:
        return UNKNOWN
    if not isinstance(values[1], str):
        return derived("getattr", values)
    known = has_attribute(player, values[0], values[1])
    if known is False and isinstance(values[0], Library) and len(values) == 2 and player.stage.witness is not None:
        # it is said of the place, and what comes behind is followed all the same
        dotted = f"{values[0].name}.{values[1]}"
        player.stage.witness.asks(dotted, call, scope.file, scope.function)
        return Library(dotted)
    if known is False:
        return values[2] if len(values) > 2 else UNKNOWN
    if isinstance(values[0], Tensor):
        return UNKNOWN
    found = player.attribute(values[0], values[1], call, scope)
    if known is None and len(values) > 2 and isinstance(found, MethodOf):
        made = derived("getattr", values)
        return Perhaps(found, made.sign, made.source) if values[2] is None else Opaque(made.sign, made.source)
    return found


def _set_itself(player: Calls, values: list[Any], given: Given, call: ir.Call, scope: Scope) -> Any:
    """``object.__setattr__(thing, name, value)``: past a method of the class that would refuse it."""
    if len(values) == 3 and isinstance(values[0], Thing) and isinstance(values[1], str):
        player.put(values[0].attributes, values[1], values[2], values[0].made_in)
    elif values:
        player.forget_attributes(values[0])
    return None


def _special(kind: str) -> _Handler:
    """``property(function)`` and its kin, without an @."""

    def made(player: Calls, values: list[Any], given: Given, call: ir.Call, scope: Scope) -> Any:
        return Special(kind, values[0]) if values else UNKNOWN

    return made


def _issubclass(player: Calls, values: list[Any], given: Given, call: ir.Call, scope: Scope) -> Any:
    if len(values) == 2 and isinstance(values[0], ClassValue) and isinstance(values[1], ClassValue):
        return values[1].ref in player.stage.project.modules.ancestry(values[0].ref)
    return Opaque(derived("issubclass", values).sign)


def _setattr(player: Calls, values: list[Any], given: Given, call: ir.Call, scope: Scope) -> Any:
    if len(values) == 3:
        player.models.stored(player, values[0], str(values[1]), values[2], ir.unpack(call.at, scope.file))
    if len(values) == 3 and isinstance(values[1], str) and player.set_attribute(values[0], values[1], values[2]):
        return None
    if len(values) == 3 and not isinstance(values[1], str):
        player.forget_attributes(values[0])
    for value in values:
        escape(value)
    return None


def _globals(player: Calls, values: list[Any], given: Given, call: ir.Call, scope: Scope) -> Any:
    return ModuleValue(scope.file)


def _type(player: Calls, values: list[Any], given: Given, call: ir.Call, scope: Scope) -> Any:
    return type_of(player, values[0]) if len(values) == 1 else UNKNOWN


def _callable(player: Calls, values: list[Any], given: Given, call: ir.Call, scope: Scope) -> Any:
    if not values:
        return UNKNOWN
    if isinstance(values[0], _CALLABLE):
        return True
    if isinstance(values[0], Thing):
        return has_attribute(player, values[0], "__call__") or UNKNOWN
    plain = is_known(values[0]) or isinstance(values[0], Items | Table) or type(values[0]) is tuple
    return False if plain else UNKNOWN


def _vars(player: Calls, values: list[Any], given: Given, call: ir.Call, scope: Scope) -> Any:
    if values and isinstance(values[0], Thing):
        return player.attribute(values[0], "__dict__", call, scope)
    return attributes_of(player, values[0]) if values and isinstance(values[0], Made) else derived("vars", values)


def _dict(player: Calls, values: list[Any], given: Given, call: ir.Call, scope: Scope) -> Any:
    return table_of(player, values, given)


_LAZY = frozenset({"filter", "iter", "map"})
"""What Python goes through only once it is asked for items."""

_HANDLERS: dict[str, _Handler] = {
    "print": _print,
    "len": _len,
    "range": _range,
    "slice": _slice,
    "bool": _bool,
    "enumerate": _enumerate,
    "zip": _zip,
    "map": _map,
    "filter": _filter,
    "iter": _iter,
    "next": _next,
    "any": _any,
    "all": _all,
    "isinstance": _isinstance,
    "hasattr": _hasattr,
    "object.__setattr__": _set_itself,
    "getattr": _getattr,
    "setattr": _setattr,
    "issubclass": _issubclass,
    "property": _special("property"),
    "staticmethod": _special("static"),
    "classmethod": _special("class"),
    "type": _type,
    "callable": _callable,
    "vars": _vars,
    "globals": _globals,
    "compile": known_modules.compiled,
    "exec": known_modules.executed,
    "dict": _dict,
}
