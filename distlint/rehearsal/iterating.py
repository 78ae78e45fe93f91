"""What is iterated over on one process of a rehearsal: items, lengths, iterators, comprehensions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from distlint.link.modules import FunctionRef
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal import rows_followed
from distlint.rehearsal.entities import ClassValue, FunctionValue, Library, MethodOf
from distlint.rehearsal.failing import length_of
from distlint.rehearsal.iterators import Generated, Later
from distlint.rehearsal.merging import some_of
from distlint.rehearsal.stage import Left, Scope, Stage
from distlint.rehearsal.sums import Sum
from distlint.rehearsal.unknowns import UNKNOWN, Named, Number, Opaque, OwnLength, Perhaps, Ranged, Words
from distlint.rehearsal.values import (
    MAX_ITEMS,
    Given,
    Items,
    Made,
    Table,
    Tensor,
    Thing,
    counted_in,
    derived,
    holds_work,
    is_known,
)

MAX_FOLLOWED = 128
"""Turns of a comprehension, and items of an iterator, that are followed one by one."""


class Iterating:
    """Says what iteration gives."""

    def __init__(self, stage: Stage, models: Any) -> None:
        self.stage = stage
        self.models = models
        self.follows_rows: bool = models.follows_rows
        """Whether anything is to be known of the orders of rows (``row_orders``)."""

    def value(self, expr: ir.Expr, scope: Scope) -> Any:
        """The value of an expression."""
        raise NotImplementedError

    def module_scope(self, file: str) -> Scope:
        """The variables of a module, whose top level is executed when something in it is first asked for."""
        raise NotImplementedError

    def truth(self, value: Any) -> bool | None:
        """Whether a value counts as true; ``None`` where that is not known."""
        raise NotImplementedError

    def bind(self, target: ir.Expr, value: Any, scope: Scope) -> None:
        """Assigns a value to a target."""
        raise NotImplementedError

    def call_function(self, function: FunctionValue, given: Given, call: ir.Call | None, scope: Scope) -> Any:
        """What a function of the project returns."""
        raise NotImplementedError

    def apply(self, callee: Any, given: Given, call: ir.Call, scope: Scope) -> Any:
        """Calls a value."""
        raise NotImplementedError

    def span(self, expr: ir.Expr, scope: Scope) -> Span:
        """Where an expression stands."""
        return ir.unpack(expr.at, scope.file)

    # Items -------------------------------------------------------------------------------------------------------

    def some(self, whole: Opaque, size: Any = UNKNOWN, *, span: Span | None = None) -> Items:
        """A list whose items are not known, but what tells it is."""
        made = Items(None, size, at=span)
        made.whole = whole
        return made

    def begins(self, value: Any, span: Span) -> None:
        """Something is gone through from its start."""
        if isinstance(value, Made):
            value.begins(self, span)

    def steps_of(self, value: Any) -> Iterator[Any] | None:
        """The items of something that is iterated over, one by one; ``None`` where they are not known."""
        if isinstance(value, Generated):
            if not value.watched and value.run is not None and not value.partly:
                return self._drawn_from(value)
        items = self.items_of(value)
        if items is not None and isinstance(value, Made) and value.lazy:
            return self._asked_later(value)
        return iter(items) if items is not None else None

    def _asked_later(self, value: Made) -> Iterator[Any]:
        """The items as they are once the first of them is asked for."""
        yield from self.items_of(value) or ()

    def _drawn_from(self, value: Generated) -> Iterator[Any]:
        while True:
            found, item = self.advance(value)
            if not found:
                return
            yield item

    def advance(self, value: Generated) -> tuple[bool, Any]:
        """The next item of an iterator, and whether there is one."""
        value.over = None
        if value.run is None:
            return True, self.item_of(value)
        self.stage.step()
        for item in value.run:
            value.sample = item
            return True, item
        value.run = iter(())
        return False, None

    def items_of(self, value: Any) -> list[Any] | None:
        """The items of something that is iterated over; ``None`` where they are not known."""
        value = _gone_through(value)
        if isinstance(value, Items):
            return list(value.items) if value.items is not None else None
        if type(value) is tuple:
            return list(value)
        if isinstance(value, range):
            return list(value) if len(value) <= MAX_ITEMS else None
        if isinstance(value, Table) and not value.open:
            return list(value.items)
        if isinstance(value, str | bytes) and len(value) <= MAX_ITEMS:
            return list(value)
        if isinstance(value, Tensor) and value.shape and isinstance(value.shape[0], int) and value.shape[0] <= 16:
            rows = [self.models.indexed(self, value, index) for index in range(value.shape[0])]
            if self.follows_rows:
                rows_followed.rows_taken(self, value, rows)
            return rows
        if isinstance(value, Generated):
            return self._pulled(value)
        if isinstance(value, Thing) and value.content is not None and not self._iterates(value):
            return self.items_of(value.content)
        if isinstance(value, Thing | ClassValue):
            fields = self.fields_in(value)
            return self._items_of_thing(value) if fields is None and isinstance(value, Thing) else fields
        held = value.items(self) if isinstance(value, Made) else None
        return None if held is None else list(held)  # who gets a list of them may change that

    def fields_in(self, value: Any) -> list[Any] | None:
        """The items of a named tuple, or the members of an enumeration; ``None`` for everything else."""
        raise NotImplementedError

    def _pulled(self, value: Generated) -> list[Any] | None:
        """All items of an iterator, if they are few enough."""
        if value.is_cut() or value.run is None:
            return None
        before, is_new = len(self.stage.events), value.sample is None
        value.counting = is_new
        found: list[Any] = []
        while True:
            more, item = self.advance(value)
            if not more:
                if value.many and not value.is_cut():
                    value.partly, value.count = True, value.given
                if not value.is_cut():
                    return found
                value.sample = any_turn(value.sample)
                return None
            found.append(item)
            met = value.watched and len(self.stage.events) > before
            if value.is_cut() or len(found) > (self.stage.turns + 1 if met else MAX_FOLLOWED):
                value.count = value.total if is_new and not value.is_cut() else value.count
                value.partly, value.run, value.sample = True, None, any_turn(found[-1])
                return None

    def _iterates(self, thing: Thing) -> bool:
        """Whether the class of an object says itself what iterating over it gives."""
        return self.stage.project.modules.method(thing.cls, "__iter__") is not None

    def iterator_of(self, thing: Thing) -> Any:
        """What ``iter`` gives for an object of the project; ``None`` where its class does not say."""
        modules = self.stage.project.modules
        method = modules.method(thing.cls, "__iter__")
        anywhere = self.module_scope(self.stage.entry)
        if method is not None:
            found = self.call_function(FunctionValue(method, None, thing), Given([], {}), None, anywhere)
            if isinstance(found, Thing):
                advance = modules.method(found.cls, "__next__")
                if advance is None:
                    return None
                made = Generated(None, watched=True)
                made.run, made.partly = self._advanced(found, advance, made), False
                return made
            return found
        if modules.method(thing.cls, "__getitem__") is None:
            return None
        size = self.length(thing)
        if isinstance(size, int) and not isinstance(size, bool):
            rows = (rows_followed.numbered(self, thing, index, self.item_at(thing, index)) for index in range(size))
            return Generated(rows, watched=True)
        return Generated(None, self.item_at(thing, derived("index", [size])))

    def _advanced(self, thing: Thing, method: FunctionRef, made: Generated) -> Iterator[Any]:
        """What an object's ``__next__`` gives, until it raises an exception."""
        stage = self.stage
        for _ in range(MAX_FOLLOWED):
            outer, stage.trace = stage.trace, []
            nodes = stage.trace
            stage.advancing.append(made)
            try:
                item = self.call_function(
                    FunctionValue(method, None, thing), Given([], {}), None, self.module_scope(stage.entry)
                )
            except Left as left:
                if left.kind != "raise" or stage.unsure:
                    raise
                return
            finally:
                stage.trace = outer
                stage.advancing.pop()
            outer.extend(nodes)
            yield item
        made.partly = True

    def item_at(self, thing: Thing, index: Any) -> Any:
        """``thing[index]`` of an object of the project."""
        method = self.stage.project.modules.method(thing.cls, "__getitem__")
        if method is None:
            return UNKNOWN
        anywhere = self.module_scope(self.stage.entry)
        return self.call_function(FunctionValue(method, None, thing), Given([index], {}), None, anywhere)

    def _items_of_thing(self, thing: Thing) -> list[Any] | None:
        found = self.iterator_of(thing)
        if found is None or isinstance(found, Thing):
            return None
        items = self.items_of(found)
        if items is None:
            thing.sample, thing.count = self.item_of(found), self.length(found)
        return items

    def item_of(self, value: Any) -> Any:
        """Some item of something whose items are not known."""
        value = _gone_through(value)
        found = self._any_item(value)
        return rows_followed.item_taken(self, value, found) if self.follows_rows else found

    def _any_item(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            return self.models.indexed(self, value, UNKNOWN)
        if isinstance(value, range):
            return derived("item", [value])
        if isinstance(value, Words):
            return value.word
        if isinstance(value, Made):
            found = value.item(self)
            return found if found is not NotImplemented else derived("item", [value])
        if isinstance(value, Items | Generated) and value.sample is not None:
            return fresh(value.sample)
        if isinstance(value, Items) and value.items:
            return some_of(value.items)
        if isinstance(value, Items):
            return derived("item", [value.whole])
        if isinstance(value, Thing):
            return fresh(value.sample)
        if isinstance(value, Table) and value.family and not value.items:
            return Named(value.family)
        if isinstance(value, Table) and value.open:
            return value.key()
        return derived("item", [value]) if isinstance(value, Opaque | MethodOf) else UNKNOWN

    def length(self, value: Any) -> Any:
        """``len(value)``."""
        value = _listed(value)
        if isinstance(value, Generated):
            return value.count
        if isinstance(value, Items):
            size = value.length()
            members = (
                counted_in(value.whole) or counted_in(value.sample) if value.distinct and value.items is None else None
            )
            if type(size) is Opaque and size.sign is None and size is not UNKNOWN:
                value.size = size = OwnLength(size)  # whoever asks again gets the same length
            return Opaque(None, members) if members else length_of(value.whole) if size is UNKNOWN else size
        if isinstance(value, Tensor):
            return value.shape[0] if value.shape else UNKNOWN
        if isinstance(value, str | bytes | range) or type(value) is tuple:
            return len(value)
        if isinstance(value, Ranged):
            return value.count if isinstance(value.count, Sum) else Opaque(length_of(value).sign, value.count.source)
        if isinstance(value, Table):
            return value.length()
        if isinstance(value, Made):
            found = value.length(self)
            return found if found is not NotImplemented else length_of(value)
        if isinstance(value, Thing | ClassValue):
            fields = self.fields_in(value)
            if fields is not None:
                return len(fields)
        if isinstance(value, Thing):
            method = self.stage.project.modules.method(value.cls, "__len__")
            if method is not None:
                anywhere = self.module_scope(self.stage.entry)
                return self.call_function(FunctionValue(method, None, value), Given([], {}), None, anywhere)
            return self.length(value.content) if value.content is not None else value.count
        return length_of(value) if isinstance(value, Opaque | MethodOf | Library) else UNKNOWN

    def number_of(self, value: Any) -> Any:
        """How many items are gone through, once they were asked for: an object may say another length of itself (``__len__``)."""
        given = value.count if isinstance(value, Thing) and self._iterates(value) else UNKNOWN
        return given if isinstance(given, int) and not isinstance(given, bool) else self.length(value)

    # Comprehensions ----------------------------------------------------------------------------------------------


def any_turn(item: Any) -> Any:
    """What any item is like, by one of them: numbers go on from turn to turn."""
    if type(item) is tuple:
        return tuple(any_turn(one) for one in item)
    if isinstance(item, int | float) and not isinstance(item, bool):
        return Number(type(item), Opaque(("any turn", item)))
    return item


def fresh(sample: Any) -> Any:
    """One more like a sample: tensors are not shared between the items that stand for all, but for those that operations fill."""
    if holds_work(sample):
        return sample
    if isinstance(sample, Tensor):
        made = Tensor(sample.shape, sample.dtype, sample.at, sample.sign, sample.source)
        made.gradient = sample.gradient or None  # each may be told to need one
        made.ragged = sample.ragged
        made.copied = False
        return made
    if type(sample) is tuple:
        return tuple(fresh(item) for item in sample)
    if isinstance(sample, Table) and not sample.open:
        return Table({key: fresh(item) for key, item in sample.items.items()})
    return sample


def distinct(items: list[Any], span: Span | None) -> Items:
    """A set."""
    if all(map(is_known, items)):
        items = list(dict.fromkeys(items))
        made = Items(items, at=span)
    else:
        made = Items(None, at=span)
        made.whole = derived("set", items)
        made.sample = items[0] if items else None
    made.distinct = True
    return made


def is_key(value: Any) -> bool:
    """Whether a value can be told apart as the key of a dictionary: members of enumerations are by what they are."""
    if isinstance(value, Thing):
        return "_name_" in value.attributes
    return is_known(value) or (type(value) is tuple and all(is_key(item) for item in value))


def _listed(value: Any) -> Any:
    """What has items or a length, of a list or dictionary that may be missing."""
    return value.value if isinstance(value, Perhaps) and isinstance(value.value, Items | Table) else value


def _gone_through(value: Any) -> Any:
    """Something that somebody asks for its items: what waited for that is done."""
    value = _listed(value)
    if isinstance(value, Items) and value.later is not None:
        later, value.later = value.later, None
        value.sample = later.action()
    return value


def once_asked(player: Any, function: Any, given: Given, call: ir.Call, scope: Scope) -> Later:
    """A call that is made for each of several items, of which one stands for all, once somebody asks for what it gives."""

    def action() -> Any:
        player.stage.repeating += 1
        try:
            return player.apply(function, given, call, scope)
        finally:
            player.stage.repeating -= 1

    return Later(action, [*given.values(), *given.rest])
