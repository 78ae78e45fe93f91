"""Comprehensions in the rehearsal of a program: followed turn by turn where they are short, by one turn for all otherwise."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal import rows_called
from distlint.rehearsal.absent import used
from distlint.rehearsal.bounds import is_of_members, narrowed
from distlint.rehearsal.chosen_items import is_drawn
from distlint.rehearsal.dealt_turns import take_own
from distlint.rehearsal.failing import more_of
from distlint.rehearsal.iterating import MAX_FOLLOWED, Iterating, any_turn, distinct, is_key
from distlint.rehearsal.iterators import Generated
from distlint.rehearsal.samples import order_of
from distlint.rehearsal.some_keys import mapped
from distlint.rehearsal.stage import Scope
from distlint.rehearsal.sums import Sum, dealt_out
from distlint.rehearsal.unknowns import UNKNOWN, Named, Opaque, Ranged, Source
from distlint.rehearsal.values import (
    MAX_ITEMS,
    Items,
    Made,
    Table,
    Tensor,
    counted_in,
    derived,
    is_by_chance,
    source_of,
)


class Comprehensions(Iterating):
    """Follows comprehensions."""

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
