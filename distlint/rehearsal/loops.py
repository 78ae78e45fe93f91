"""Loops as a process of a rehearsal goes through them: turn by turn, or by one turn that stands for all."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from distlint.link.walking import names_below, statements
from distlint.model import python as ir
from distlint.rehearsal import driven
from distlint.rehearsal.absent import used
from distlint.rehearsal.counted_whiles import turns_of
from distlint.rehearsal.driven import either
from distlint.rehearsal.epochs import closed
from distlint.rehearsal.figures import keep_kinds
from distlint.rehearsal.filled_lists import filled_by, lists_before
from distlint.rehearsal.iterating import any_turn
from distlint.rehearsal.iterators import Generated
from distlint.rehearsal.merging import merged
from distlint.rehearsal.notes import OWN_ORDER, OWN_ROWS
from distlint.rehearsal.samples import order_of
from distlint.rehearsal.sets_of_texts import holds_texts
from distlint.rehearsal.stage import MAX_EXACT, Scope
from distlint.rehearsal.sums import Sum
from distlint.rehearsal.telling_loops import MOST_TOLD, only_tells
from distlint.rehearsal.trace import End, Laps, Round, is_idle
from distlint.rehearsal.unknowns import UNKNOWN, Opaque, Ranged
from distlint.rehearsal.values import (
    Items,
    Made,
    Table,
    Tensor,
    holds_work,
    is_known,
    is_own_batch,
    signature,
    source_of,
)
from distlint.rehearsal.ways import Ways
from distlint.rehearsal.writing_loops import MOST_FILES, writes_files

_MAX_WORKS = 64
"""Turns of a loop over operations under way that are followed one by one: each is waited for in one of them."""

_LEAVING = ("return", "raise", "exit")


def _is_setting(item: Any) -> bool:
    """Whether it is plain, or something with a plain name: what settings are made of, and data are not."""
    return is_known(item[0] if type(item) is tuple and item else item)


class Loops(Ways):
    """Follows loops."""

    def _on_For(self, statement: ir.For, scope: Scope) -> str:  # noqa: N802
        earlier = self.stage.under_way
        iterable = self.held(self.value(statement.iterable, scope), "__iter__")
        self.begins(iterable, self.span(statement.iterable, scope))
        used(self.stage, iterable, statement.iterable, scope)
        if isinstance(iterable, Items) and iterable.distinct:
            holds_texts(self.stage.project, iterable, statement.iterable, scope)
        order = order_of(iterable)
        if isinstance(iterable, Table):
            order = order or self.own_order(statement.iterable, iterable, scope)
        if order is not None:
            self.stage.orders.append((order, len(self.stage.chain)))
        try:
            return self._through(statement, iterable, scope)
        finally:
            if order is not None:
                self.stage.orders.pop()
            closed(self.stage, earlier)

    def _through(self, statement: ir.For, iterable: Any, scope: Scope) -> str:
        items = self.items_of(iterable)
        most = max(self.stage.turns, iterable.turns if isinstance(iterable, Made) else 0)
        if (
            items is not None
            and most < len(items) <= MOST_FILES
            and writes_files(self.stage.project, statement, scope.file)
        ):
            most = MOST_FILES
        if items is not None and most < len(items) <= MOST_TOLD and only_tells(statement):
            most = MOST_TOLD
        if self.stage.witness is not None and items is not None and not isinstance(iterable, range):
            most = max(most, MAX_EXACT if all(map(_is_setting, items)) else 0)
        if items is not None and (len(items) <= most or (len(items) <= _MAX_WORKS and any(map(holds_work, items)))):
            return self._turns(statement, items, scope)
        count = len(items) if items is not None else self.number_of(iterable)
        count = iterable.count if isinstance(iterable, Ranged) else count
        turns = [self.item_of(iterable)] if items is None else items[:2]
        self.models.unfollowed(self, items[2:] if items is not None else ())
        return self._some_turns(statement, turns, scope, count, iterable)

    def _turns(self, loop: ir.For, items: list[Any], scope: Scope) -> str:
        stage = self.stage
        laps = Laps(self.span(loop.iterable, scope), stage.chain)
        grown = stage.grown
        stage.trace.append(laps)
        ended = ""
        doubt, unsure, reasons = scope.doubt, stage.unsure, len(stage.reasons)
        batch = stage.batch
        for item in items:
            stage.batch = self._batch_of(loop, item, scope, batch)
            self.bind(loop.target, item, scope)
            laps.turns.append([])
            ended = self.within(laps.turns[-1], lambda: self._turn(loop, scope))
            if ended in ("break", *_LEAVING):
                break
        stage.batch = batch
        if scope.results:
            stage.meets_departed(unsure)
        else:
            scope.doubt, stage.unsure = doubt, unsure
            del stage.reasons[reasons:]
        self._prune(laps, grown)
        if ended in _LEAVING:
            return ended
        return self.play(loop.orelse, scope) if ended != "break" else ""

    def _prune(self, laps: Laps, grown: int) -> None:
        """Takes a loop in which nothing happens out of the trace."""
        if self.stage.grown == grown and self.stage.trace[-1:] == [laps]:
            self.stage.trace.pop()

    def _some_turns(
        self,
        loop: ir.For | ir.While,
        items: list[Any],
        scope: Scope,
        count: Any,
        iterable: Any = None,
        *,
        told: Any = None,
    ) -> str:
        """Follows a loop of which not all turns are: afterwards nothing is known of what it changes.

        ``told`` is the number of turns of a ``while`` loop where more than its test tells that.

        The first pass sees the first turn as it is. In the second one all that changes from turn to turn is not known: that
        one stands for any turn, and goes into the trace.
        """
        stage = self.stage
        turns = count if told is None else told
        before, lists = dict(scope.variables), lists_before(loop, scope.variables, turns)
        tests = len(scope.tests)
        place = self.place_of(loop, scope)
        touched, ended = self.first_turns(loop, items, scope)
        self.widen(scope, before, touched, place, [])
        if not stage.quiet:
            ended = self._any_turn(loop, scope, count, iterable, place, told)
        self.widen(scope, before, touched, place, [count, *scope.tests[tests:]])
        if not _may_stop(loop):
            self._picked(touched)
        filled_by(stage, loop, lists, scope.variables, turns, place[0])
        return ended if ended in _LEAVING else ""

    def place_of(self, loop: ir.For | ir.While, scope: Scope) -> tuple[Any, ...]:
        """What tells a loop, as it is entered here."""
        return (self.span(loop.iterable if isinstance(loop, ir.For) else loop.test, scope), self.stage.chain)

    def first_turns(self, loop: ir.For | ir.While, items: list[Any], scope: Scope) -> tuple[list[Any], str]:
        """Follows turns of a loop as they are, outside the trace; gives what they change, and how the last one ended."""
        stage = self.stage
        outer, stage.touched = stage.touched, []
        stage.quiet += 1
        stage.loops.append(stage.steps)
        around, stage.reasons_around = stage.reasons_around, len(stage.reasons)
        try:
            ended = self._pass(loop, items, scope, [])
        finally:
            stage.quiet -= 1
            stage.loops.pop()
            stage.reasons_around = around
            touched, stage.touched = stage.touched, outer
            if outer is not None:
                outer.extend(touched)
        return touched, ended

    def _picked(self, touched: list[Any]) -> None:
        """Lists into which a loop puts some of what it goes through have some number of items."""
        for changed in touched:
            if isinstance(changed, Items) and changed.picked and changed.items is None:
                supposed = self.stage.left_over(changed.whole, changed.size)
                changed.size = changed.size if supposed is UNKNOWN else supposed

    def _pass(self, loop: ir.For | ir.While, items: list[Any], scope: Scope, nodes: list[Any]) -> str:
        stage = self.stage
        doubt, unsure, reasons = scope.doubt, stage.unsure, len(stage.reasons)
        stage.repeating += 1
        ended = ""
        outer, stage.trace = stage.trace, nodes
        batch = stage.batch
        try:
            for item in items:
                stage.batch = self._batch_of(loop, item, scope, batch)
                if isinstance(loop, ir.For):
                    self.bind(loop.target, item, scope)
                ended = self._turn(loop, scope)
                if ended in ("break", *_LEAVING):
                    break
        finally:
            stage.repeating -= 1
            stage.trace, stage.batch = outer, batch
        if scope.results:
            stage.meets_departed(unsure)
        else:
            scope.doubt, stage.unsure = doubt, unsure
            del stage.reasons[reasons:]
        if ended:
            nodes.append(End(ended))
        return ended

    def _batch_of(self, loop: ir.For | ir.While, item: Any, scope: Scope, batch: Hashable) -> Hashable:
        """``Stage.batch`` in a turn with such an item: a loop over rows of a batch has that one, which stands in what it goes through."""
        if not isinstance(loop, ir.For) or not is_own_batch(item):
            return batch
        if batch and any(is_own_batch(scope.variables.get(name)) for name in names_below(loop.iterable)):
            return batch
        return (loop.at, self.stage.chain)

    def _any_turn(
        self,
        loop: ir.For | ir.While,
        scope: Scope,
        count: Any,
        iterable: Any,
        place: tuple[Any, ...],
        told: Any = None,
    ) -> str:
        """Follows the turn that stands for all of them; what it does goes into the trace, but is not counted again."""
        stage = self.stage
        if isinstance(loop, ir.While):
            asked = self.tested(loop.test, scope)
            count = asked if told is None else told
            item: Any = None
        else:
            item = self._some_item(iterable, place)
        sign = signature(count)
        node = Round(
            place[0],
            stage.chain,
            _key_of(sign, count, place),
            source_of([count]) if not is_known(count) else None,
            count if isinstance(count, int) and not isinstance(count, bool) else None,
        )
        events, waits, faults = len(stage.events), len(stage.waits), len(stage.faults)
        stage.unsure += 1
        stage.trace.append(node)
        grown = stage.grown
        try:
            ended = self._pass(loop, [item], scope, node.body)
        finally:
            stage.unsure -= 1
            del stage.events[events:], stage.waits[waits:]
            stage.faults[faults:] = [fault for fault in stage.faults[faults:] if fault.kind in (OWN_ORDER, OWN_ROWS)]
        if stage.grown == grown and stage.trace[-1:] == [node] and not (node.body and isinstance(node.body[-1], End)):
            stage.trace.pop()
        elif isinstance(count, int) and not is_idle(node):
            stage.longest = max(stage.longest, count)
        return ended

    def _some_item(self, iterable: Any, place: Hashable) -> Any:
        """Any item of an iterable: not the one of its first turn."""
        if isinstance(iterable, range | Ranged):
            source = iterable.source if isinstance(iterable, Ranged) else None
            sign = signature(iterable) if isinstance(iterable, Ranged) else _numbers(iterable.start, iterable.step)
            return Opaque(("turn", place, sign) if sign is not None else None, source)
        self.stage.asked_again += 1
        try:
            items = self.items_of(iterable)
        finally:
            self.stage.asked_again -= 1
        if items:
            return _between(items[0], items[-1], len(items), place)
        item = self.item_of(iterable)
        # of an iterator that was used up it is the last one
        return any_turn(item) if isinstance(iterable, Generated) else item

    def widen(
        self, scope: Scope, before: dict[str, Any], touched: list[Any], place: tuple[Any, ...], tests: list[Any]
    ) -> None:
        """Takes what a loop changes to be unknown: equal on all processes where all that it is made of is."""
        driven.widen(self, touched, place, tests)
        turn = Opaque(("turns", place))
        for name, value in list(scope.variables.items()):
            earlier = before.get(name, value)
            if earlier is not value:
                scope.variables[name] = either(earlier, value, [turn, *tests])
            elif name not in before and not isinstance(value, Tensor) and is_known(value):
                scope.variables[name] = either(UNKNOWN, value, [turn, *tests])

    def _on_While(self, statement: ir.While, scope: Scope) -> str:  # noqa: N802
        self.stage.whiles += 1
        try:
            return self._rounds(statement, scope)
        finally:
            self.stage.whiles -= 1

    def _rounds(self, statement: ir.While, scope: Scope) -> str:
        stage = self.stage
        laps = Laps(self.span(statement.test, scope), stage.chain)
        grown = stage.grown
        stage.trace.append(laps)
        value: Any = True
        most = turns_of(self, statement, scope)
        for _ in range(self.stage.turns):
            value = self.tested(statement.test, scope)
            decided = self.truth(value)
            if decided is False:
                self._prune(laps, grown)
                return self.play(statement.orelse, scope)
            if decided is None:
                break
            laps.turns.append([])
            ended = self.within(laps.turns[-1], lambda: self._turn(statement, scope))
            if ended in _LEAVING:
                return ended
            if ended == "break":
                self._prune(laps, grown)
                return ""
            if type(statement.test) is ir.Constant and scope.tests:
                # only what can't be known ends it: the turn that stands for all of them is the first one as well
                if len(laps.turns) == 1 and stage.trace[-1:] == [laps]:
                    stage.trace.pop()
                break
        self._prune(laps, grown)
        left = most - len(laps.turns) if type(most) is int else most
        has_sense = left > 0 if type(left) is int else isinstance(left, Sum) or source_of([left]) is not None
        told = left if has_sense else None
        return self._some_turns(statement, [None], scope, value, told=told)

    def _turn(self, loop: ir.For | ir.While, scope: Scope) -> str:
        """Follows one turn of a loop."""
        outer, scope.skipped = scope.skipped, []
        around = scope.looping
        scope.looping = loop.target if isinstance(loop, ir.For) else around
        ended = self.play(loop.body, scope)
        scope.looping = around
        for earlier, test in scope.skipped if ended in ("", "continue") else ():
            keep_kinds(scope.variables, earlier, test)
        scope.skipped = outer
        return ended


def _key_of(sign: Hashable, count: Any, place: tuple[Any, ...]) -> Hashable:
    """What tells how many turns a loop makes: of ``while True`` what ends it does."""
    if count is True:
        return ("endless", *place)
    return ("loop", sign) if sign is not None and not is_known(count) else ("loop at", *place)


def _may_stop(loop: ir.For | ir.While) -> bool:
    """Whether something in a loop may end it before its time."""
    return any(
        type(one) is ir.Return or (type(one) is ir.Jump and one.kind == "break") for one in statements(loop.body)
    )


def _numbers(first: int, step: int) -> Hashable:
    """What tells the numbers of turns: a turn has its own whatever comes last."""
    return ("range", first, step)


def _between(first: Any, last: Any, count: int, place: Hashable) -> Any:
    """Any of several items; numbers that count the turns stand for the number of the turn."""
    if count == 1:
        return first
    if type(first) is int and type(last) is int and last - first == count - 1:
        return Opaque(("turn", place, _numbers(first, 1)))
    if type(first) is tuple and type(last) is tuple and len(first) == len(last) and type(first[0]) is int:
        return tuple(_between(one, other, count, place) for one, other in zip(first, last, strict=True))
    return merged(first, last, [Opaque(("turn", place))])
