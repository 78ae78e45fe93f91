"""What is iterated over on one process of a rehearsal: items, lengths, iterators, comprehensions."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

from distlint.link.modules import FunctionRef
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal import rows_called, rows_followed
from distlint.rehearsal.absent import used
from distlint.rehearsal.bounds import is_of_members, narrowed
from distlint.rehearsal.chosen_items import is_drawn
from distlint.rehearsal.dealt_turns import take_own
from distlint.rehearsal.entities import ClassValue, FunctionValue, Library, MethodOf
from distlint.rehearsal.failing import length_of, more_of
from distlint.rehearsal.iterators import Generated, Later
from distlint.rehearsal.merging import some_of
from distlint.rehearsal.samples import order_of
from distlint.rehearsal.some_keys import mapped
from distlint.rehearsal.stage import Left, Scope, Stage
from distlint.rehearsal.sums import Sum, dealt_out
from distlint.rehearsal.unknowns import UNKNOWN, Named, Number, Opaque, OwnLength, Perhaps, Ranged, Source, Words
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
    is_by_chance,
    is_known,
    source_of,
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
                value.size = size = OwnLength(size)
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

    def _of_Comprehension(self, expr: ir.Comprehension, scope: Scope) -> Any:  # noqa: N802
        inner = Scope(scope.file, scope.function, scope)
        found: list[Any] = []
        first = self.value(expr.generators[0][1], scope)
        self.begins(first, self.span(expr.generators[0][1], scope))
        used(self.stage, first, expr.generators[0][1], scope)
        asked: list[Any] = []
        same_keys = mapped(self, expr, inner, scope)
        if same_keys is not None:
            return same_keys
        ahead = int(expr.kind == "generator")
        self.stage.ahead += ahead
        try:
            known = self._turns_of(expr, 0, first, inner, found, asked)
            made = self._comprehended(expr, first, found, asked, inner, scope, known=known)
        finally:
            self.stage.ahead -= ahead
        if ahead and known and isinstance(first, Made) and first.lazy:
            made.run = self._turns_later(expr, first, scope)
        if self.follows_rows:
            rows_called.comprehended(self, expr, first, inner, found, made, self.span(expr, scope))
        return made

    def _turns_later(self, expr: ir.Comprehension, source: Any, scope: Scope) -> Iterator[Any]:
        """What a generator gives of items that are others by then, perhaps."""
        found: list[Any] = []
        self._turns_of(expr, 0, source, Scope(scope.file, scope.function, scope), found, [])
        yield from found

    def _comprehended(
        self,
        expr: ir.Comprehension,
        first: Any,
        found: list[Any],
        asked: list[Any],
        inner: Scope,
        scope: Scope,
        *,
        known: bool,
    ) -> Any:
        """What a comprehension gives that has ``found`` such items; ``known`` whether these are all."""
        span = self.span(expr, scope)
        if expr.kind == "dict":
            length = None if known or len(expr.generators) > 1 or expr.generators[0][2] else self.length(first)
            table = _table_of(found, first, known=known, own=source_of([length]), batch=self.stage.batch)
            table.order = table.order or order_of(first)
            return table
        for item in found:
            if isinstance(item, Tensor):
                item.copied = False
        if known:
            if expr.kind == "generator":
                return Generated(iter(found), found[0] if found else None)
            if expr.kind == "set":
                return distinct(found, span)
            listed = Items(found, at=span)
            listed.ordered = order_of(first)
            return listed
        tests = len(expr.generators) > 1 or bool(expr.generators[0][2]) or expr.kind == "set"
        own = [one for one in asked if source_of([one]) is not None]
        whole = derived("comprehension", [first, *found[:1], *own[:1]])
        turns = self.length(first)
        if isinstance(first, Ranged) and isinstance(turns, Opaque) and turns is not UNKNOWN:
            turns.source = first.count.source  # it has as many items as numbers are gone through
        count = self._count(expr, first, inner, whole) if tests else turns
        # numbers that were drawn before are there: how many of them pass is no more by chance than of others
        by_chance = whole.chance or any(map(is_by_chance, asked))
        whole.chance = by_chance and not (isinstance(first, Items) and is_drawn(first.sample))
        if own:
            count = Opaque(None, source_of(own))
        elif expr.kind == "set" or (asked and whole.chance):
            count = Opaque()
        elif len(expr.generators) == 2 and not any(tests for _, _, tests in expr.generators):
            count = self._of_two(turns, asked, found, span, count)
        if asked and whole.chance and isinstance(count, Opaque):
            count.chance = True
        made = self.some(whole, count, span=span)
        made.distinct = expr.kind == "set"
        made.ordered = order_of(first)
        if found:
            if isinstance(found[0], Tensor) and found[0].pending is not None:
                return UNKNOWN
            made.sample = any_turn(found[0])
        return made

    def _of_two(self, turns: Any, lengths: list[Any], found: list[Any], span: Span, count: Any) -> Any:
        """How many items two loops give, one in the other, of which the inner one has these ``lengths``; else ``count``.

        One length stands for all where one turn of the outer loop does.
        """
        if type(turns) is not int or not lengths:
            return count
        if all(type(one) is int for one in lengths) and len(lengths) in (1, turns):
            return sum(lengths) if len(lengths) == turns else turns * lengths[0]
        more = more_of(self.stage, turns, found[0], span) if found else None
        return count if more is None else more

    def _count(self, expr: ir.Comprehension, source: Any, inner: Scope, whole: Opaque) -> Any:
        """How many items a comprehension with tests gives: known where a number is dealt out by its remainder (``i % n == k``)."""
        length = self.length(source)
        if is_of_members(length) and len(expr.generators) == 1:
            return Opaque(None, source_of([length]))  # some of what is another number of members on each process
        tests = expr.generators[0][2]
        if len(expr.generators) > 1 or not isinstance(length, int | Sum) or len(tests) != 1:
            return self.stage.left_over(whole, length)
        dealt = self.dealt(tests[0], expr.generators[0][0], source, inner, "==")
        return self.stage.left_over(whole, length) if dealt is NotImplemented else UNKNOWN if dealt is None else dealt

    def dealt(self, test: ir.Expr, target: ir.Expr, source: Any, scope: Scope, operator: str) -> Any:
        """How many items a test leaves that deals them out by the remainder of their number (``number % world == rank``).

        ``NotImplemented`` where it is no such test, ``None`` where the numbers in it are not known.
        """
        index = target if isinstance(source, range | Ranged) else _first_name(target) if _is_numbered(source) else None
        if type(test) is not ir.Operation or test.operators != (operator,) or type(index) is not ir.Name:
            return NotImplemented
        divided, rest = test.operands if type(test.operands[0]) is ir.Operation else test.operands[::-1]
        if (
            type(divided) is not ir.Operation
            or divided.operators != ("%",)
            or not _is_named(divided.operands[0], index.id)
        ):
            return NotImplemented
        length, by, remainder = self.length(source), self.value(divided.operands[1], scope), self.value(rest, scope)
        if isinstance(length, int) and isinstance(by, int) and isinstance(remainder, int) and 0 <= remainder < by:
            return len(range(remainder, length, by))
        return dealt_out(length, by) if isinstance(remainder, int) and source_of([length]) is None else None

    def _turns_of(
        self, expr: ir.Comprehension, level: int, source: Any, inner: Scope, found: list[Any], asked: list[Any]
    ) -> bool:
        """Follows the turns of one ``for`` of a comprehension; whether all are known. ``asked`` are the tests that are not."""
        target, _, tests = expr.generators[level]
        items = self._few(source)
        if items is None:
            self.bind(target, self.item_of(source), inner)
            for test in tests:
                own = take_own(self, target, test, inner)
                asked += [own] if own is not None else []
                asked.append(self.value(test, inner))
                narrowed(inner.variables, asked[-1], holds=True)
            self.stage.repeating += 1
            try:
                self._turn_of(expr, level, inner, found, asked)
            finally:
                self.stage.repeating -= 1
            return False
        known = True
        for one in items:
            self.bind(target, one, inner)
            decided: bool | None = True
            for test in tests:
                take_own(self, target, test, inner)
                value = self.value(test, inner)
                decided = self.truth(value)
                if not decided:
                    narrowed(inner.variables, value, holds=True)
                    asked += [value] if decided is None else []
                    break
            if decided is None:
                known = False
            if decided is not False:
                known = self._turn_of(expr, level, inner, found, asked) and known
            if len(found) > MAX_ITEMS:
                return False
        return known

    def _few(self, source: Any) -> list[Any] | None:
        items = self.items_of(source)
        return items if items is not None and len(items) <= MAX_FOLLOWED else None

    def _turn_of(self, expr: ir.Comprehension, level: int, inner: Scope, found: list[Any], asked: list[Any]) -> bool:
        if level + 1 < len(expr.generators):
            following = self.value(expr.generators[level + 1][1], inner)
            asked.append(self.length(following))
            return self._turns_of(expr, level + 1, following, inner, found, asked)
        found.append(self.value(expr.element, inner))
        return True


def _is_numbered(value: Any) -> bool:
    """Whether items come with their numbers, from zero on."""
    sample = value.sample if isinstance(value, Items) else None
    number = sample[0] if type(sample) is tuple and len(sample) == 2 else None
    return isinstance(number, Opaque) and type(number.sign) is tuple and number.sign[:1] == ("turn",)


def _first_name(target: ir.Expr) -> ir.Expr | None:
    """The first of two variables that each item is taken apart into."""
    return target.items[0] if type(target) is ir.ListDisplay and len(target.items) == 2 else None


def _is_named(expr: ir.Expr, name: str) -> bool:
    return type(expr) is ir.Name and expr.id == name


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


def _table_of(
    pairs: list[Any], source: Any, *, known: bool, own: Source | None = None, batch: Hashable = None
) -> Table:
    """The dictionary of such pairs; ``own`` says why there is another number of them on each process, ``batch`` is ``Stage.batch``."""
    table = Table()
    table.batch = batch
    if not known:
        if pairs and all(type(pair) is tuple and pair and isinstance(pair[0], Tensor) for pair in pairs):
            # tensors are told apart by which object they are, and not by their numbers
            table.opens(Opaque(), *(pair[1:] for pair in pairs))
        else:
            table.opens(source, *pairs)
        table.keyed = (
            counted_in(*(pair[0] for pair in pairs if type(pair) is tuple and pair), few=batch is not None) or own
        )
        names = [pair[0] for pair in pairs if type(pair) is tuple and pair]
        families = {one.family if isinstance(one, Named) else "" for one in names}
        table.family = families.pop() if len(families) == 1 else ""
        return table
    for pair in pairs:
        key, value = pair if type(pair) is tuple and len(pair) == 2 else (UNKNOWN, UNKNOWN)
        if is_key(key):
            table.items[key] = value
        else:
            table.gets(key, value, batch=batch)
    return table


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
