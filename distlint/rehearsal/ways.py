"""The ways that a process of a rehearsal may go: branches, exceptions, context managers and loops.

Where a test is not known every way is followed and what they leave is joined; where all of them lead stands in the trace.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from distlint.link.walking import statements
from distlint.model import python as ir
from distlint.rehearsal import driven
from distlint.rehearsal.absent import used
from distlint.rehearsal.bounds import narrowed, widened
from distlint.rehearsal.calls import Calls
from distlint.rehearsal.counted_whiles import turns_of
from distlint.rehearsal.dealt_turns import take_own
from distlint.rehearsal.driven import either
from distlint.rehearsal.epochs import closed
from distlint.rehearsal.failing import caught_by, guarding
from distlint.rehearsal.figures import keep_kinds
from distlint.rehearsal.filled_lists import empty_lists, filled_by
from distlint.rehearsal.iterating import any_turn
from distlint.rehearsal.libraries import First
from distlint.rehearsal.merging import joined, merged
from distlint.rehearsal.notes import OWN_ORDER
from distlint.rehearsal.samples import order_of
from distlint.rehearsal.sets_of_texts import holds_texts
from distlint.rehearsal.stage import Enough, Left, Scope
from distlint.rehearsal.trace import Attempt, Branch, End, Laps, Round, is_idle
from distlint.rehearsal.unknowns import UNKNOWN, Opaque, Opposite, Ranged
from distlint.rehearsal.values import (
    Generated,
    Items,
    Made,
    Table,
    Tensor,
    Thing,
    holds_work,
    is_known,
    signature,
    source_of,
)

MAX_ARMS = 12
_MAX_WORKS = 64
"""Turns of a loop over operations under way that are followed one by one: each is waited for in one of them."""

_SUPPRESSING = "contextlib.suppress()"
_LEAVING = ("return", "raise", "exit")


class Ways(Calls):
    """Follows statements that lead to others."""

    def within(self, nodes: list[Any], body: Callable[[], str]) -> str:
        """Follows something whose events belong to a list of nodes; how it ended stands at the end of the list."""
        stage = self.stage
        outer, stage.trace = stage.trace, nodes
        try:
            ended = body()
        except Left as left:
            nodes.append(End(left.kind))
            raise
        except (Enough, RecursionError):
            nodes.append(End("cut"))
            raise
        finally:
            stage.trace = outer
        if ended:
            nodes.append(End(ended))
        return ended

    # Branches ----------------------------------------------------------------------------------------------------

    def _on_If(self, statement: ir.If, scope: Scope) -> str:  # noqa: N802
        test, bodies = statement.test, [statement.body, statement.orelse]
        while type(test) is ir.Operation and test.operators[0] == "not":
            test, bodies = test.operands[0], bodies[::-1]
        if scope.looping is not None:
            take_own(self, scope.looping, test, scope)
        value = self.tested(test, scope)
        if isinstance(value, Opposite):
            value, bodies = value.value, bodies[::-1]
        decided = self.truth(value)
        if decided is not None:
            self.stage.took(self.span(test, scope), int(decided))
            return self.play(bodies[0] if decided else bodies[1], scope)
        return self.either(bodies, scope, self.asked(value), test)

    def _on_Match(self, statement: ir.Match, scope: Scope) -> str:  # noqa: N802
        subject = self.value(statement.subject, scope)
        bodies: list[tuple[ir.Stmt, ...]] = []
        for number, (pattern, guard, body) in enumerate(statement.cases):
            decided = self._matches(subject, pattern, scope)
            if decided is not False and guard is not None:
                truth = self.truth(self.value(guard, scope))
                decided = truth if decided else (None if truth is not False else False)
            if decided is False:
                continue
            if decided and not bodies:
                self.stage.took(self.span(statement.subject, scope), number)
                return self.play(body, scope)
            bodies.append(body)
            if decided:
                break
        else:
            bodies.append(())
        if bodies == [()]:
            return ""
        return self.either(bodies, scope, subject, statement.subject)

    def _matches(self, subject: Any, pattern: ir.Expr, scope: Scope) -> bool | None:
        """Whether a case of a ``match`` is the subject's (see ``ir.Match``)."""
        if type(pattern) is ir.Name and pattern.id == "_":
            return True
        choices = pattern.items if type(pattern) is ir.ListDisplay else (pattern,)
        found = [self.truth(self.operate("==", subject, self.value(one, scope), pattern.at, scope)) for one in choices]
        return True if True in found else None if None in found else False

    def either(self, bodies: list[tuple[ir.Stmt, ...]], scope: Scope, test: Any, at: ir.Expr) -> str:
        """Follows bodies of which one is executed, and joins what they leave. ``test`` is what decides, and stands ``at`` a place."""
        before = dict(scope.variables)
        stage = self.stage
        stage.steps += len(before) // 20  # what copying costs
        bodies = bodies[:MAX_ARMS]
        branch = self.parting(test, at, scope, len(bodies))
        grown = stage.grown
        ends: list[tuple[str, dict[str, Any]]] = []
        told: list[dict[str, tuple[Any, Any]]] = []
        for number, (body, nodes) in enumerate(zip(bodies, branch.arms, strict=True)):
            scope.variables = dict(before)
            told.append(narrowed(scope.variables, test, holds=number == 0) if len(bodies) == 2 else {})
            ended = self._perhaps(body, nodes, scope, test)
            ends.append((ended, scope.variables))
        if stage.grown > grown or any(ended for ended, _ in ends):
            stage.mark(branch)
        going = [variables for ended, variables in ends if not ended]
        if len(going) > 1:
            widened(going, told)
        left = [ended for ended, _ in ends if ended and ended not in ("raise", "exit")]
        if not going:
            scope.variables = ends[0][1]
            if not left and "raise" not in [ended for ended, _ in ends]:
                raise Left("exit")
            scope.tests.append(test)
            return left[0] if left else "raise"
        if left:
            # some way left the function or the loop: what follows is reached perhaps
            scope.doubt += 1
            stage.unsure += 1
            stage.reasons.append(test)
            scope.tests.append(test)
            scope.skipped += [(variables, test) for ended, variables in ends if ended == "continue"]
        scope.variables = joined(going, test)
        return ""

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

    def _perhaps(self, body: tuple[ir.Stmt, ...], nodes: list[Any], scope: Scope, test: Any) -> str:
        """Follows a body that is executed perhaps, in which the program may end."""
        stage = self.stage
        depth, chain, repeating, touched = stage.depth, stage.chain, stage.repeating, stage.touched
        unsure, doubt, reasons = stage.unsure, scope.doubt, len(stage.reasons)
        stage.unsure += 1
        stage.reasons.append(test)
        try:
            return self.within(nodes, lambda: self.play(body, scope))
        except Left as left:
            stage.depth, stage.chain, stage.repeating, stage.touched = depth, chain, repeating, touched
            return left.kind
        finally:
            stage.unsure, scope.doubt = unsure, doubt
            del stage.reasons[reasons:]

    # Exceptions and managers -------------------------------------------------------------------------------------

    def _on_Try(self, statement: ir.Try, scope: Scope) -> str:  # noqa: N802
        stage = self.stage
        node = Attempt()
        grown = stage.grown
        node.catches = [caught_by(kind) for kind, _, _ in statement.handlers]
        caught = frozenset(name for names in node.catches for name in names)
        stage.trace.append(node)
        stage.attempts.append(guarding(statement, caught))
        earlier = dict(scope.variables)
        try:
            ended = self.within(node.body, lambda: self.play(statement.body, scope))
        except Left as left:
            if left.kind != "raise" or not statement.handlers:
                self.within(node.final, lambda: self.play(statement.final, scope))
                raise
            ended = "raise"
        finally:
            stage.attempts.pop()
        raised = _raises(node.body, caught)
        if statement.handlers and (ended == "raise" or raised is not None):
            bodies = [body for _, _, body in statement.handlers[:MAX_ARMS]]
            node.handlers = [[] for _ in bodies]
            ended = self._handled(bodies, node, scope, ended, raised, earlier)
        if not ended:
            ended = self.within(node.orelse, lambda: self.play(statement.orelse, scope))
        last = self.within(node.final, lambda: self.play(statement.final, scope))
        if stage.grown == grown and node in stage.trace[-1:] and not _holds_end(node):
            stage.trace.pop()
        return last or ended

    def _handled(
        self,
        bodies: list[tuple[ir.Stmt, ...]],
        node: Attempt,
        scope: Scope,
        ended: str,
        raised: Branch | None,
        earlier: dict[str, Any],
    ) -> str:
        """Follows the handlers of an exception that was raised certainly (``ended``), or behind a test that is not known.

        ``earlier`` is what the variables were in front of the ``try``.
        """
        stage = self.stage
        source = raised.source if raised is not None else None
        source = None if source is None else source._replace(indirect=True)
        test = Opaque(raised.key, source) if raised is not None else UNKNOWN
        before = dict(scope.variables)
        outcomes: list[tuple[str, dict[str, Any]]] = [] if ended == "raise" else [(ended, before)]
        broken = before if ended == "raise" else {**before, **_unset(earlier, before)}
        for body, nodes in zip(bodies, node.handlers, strict=True):
            scope.variables = dict(broken)
            if ended == "raise" and len(bodies) == 1 and raised is None:
                outcomes.append((self.within(nodes, lambda body=body: self.play(body, scope)), scope.variables))  # type: ignore[misc]
            else:
                outcomes.append((self._perhaps(body, nodes, scope, test), scope.variables))
        going = [variables for how, variables in outcomes if not how]
        if any(how not in ("", "raise", "exit") for how, _ in outcomes) and raised is not None:
            scope.tests.append(test)
            if going:
                # some way left the function or the loop: what follows is reached perhaps
                scope.doubt += 1
                stage.unsure += 1
                stage.reasons.append(test)
        if not going:
            how = next((how for how, _ in outcomes if how not in ("raise", "exit")), outcomes[0][0])
            if how == "exit":
                raise Left(how)
            return how
        scope.variables = joined(going, test)
        return ""

    def _on_With(self, statement: ir.With, scope: Scope) -> str:  # noqa: N802
        managers = []
        for context, target in statement.items:
            manager = self.value(context, scope)
            entered = self.entered(manager, self.span(context, scope))
            managers.append((manager, context))
            if target is not None:
                self.bind(target, entered, scope)
        if any(isinstance(manager, Generated | Thing | First) for manager, _ in managers):
            return self._guarded(statement, managers, scope)
        ended = self._suppressed(statement, managers, scope)
        for manager, context in reversed(managers):
            self.left(manager, self.span(context, scope))
        return ended

    def _guarded(self, statement: ir.With, managers: list[tuple[Any, ir.Expr]], scope: Scope) -> str:
        """Follows the body of contexts: what these do when they are left is done on every way out of it."""
        stage = self.stage
        node = Attempt()
        outer = stage.trace
        outer.append(node)
        ended = self.within(node.body, lambda: self._suppressed(statement, managers, scope))
        grown = stage.grown
        stage.trace = node.final
        try:
            for manager, context in reversed(managers):
                self.left(manager, self.span(context, scope))
        finally:
            stage.trace = outer
        node.unless_raised = any(
            isinstance(one, First) or (isinstance(one, Generated) and not one.guarded) for one, _ in managers
        )
        if stage.grown == grown:
            outer.remove(node)
            outer.extend(node.body[:-1] if ended else node.body)
            outer.extend(node.final)
        return ended

    def _suppressed(self, statement: ir.With, managers: list[tuple[Any, ir.Expr]], scope: Scope) -> str:
        """Follows the body of contexts, some of which may swallow exceptions (``contextlib.suppress``)."""
        taken = tuple(
            (kind, "", ())
            for manager, _ in managers
            if isinstance(manager, Made) and manager.name == _SUPPRESSING and manager.call is not None
            for kind in manager.call.args
        )
        if not taken:
            return self.play(statement.body, scope)
        return self._on_Try(ir.Try(statement.body, taken, (), (), statement.at), scope)

    # Loops -------------------------------------------------------------------------------------------------------

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
        if items is not None and (len(items) <= most or (len(items) <= _MAX_WORKS and any(map(holds_work, items)))):
            return self._turns(statement, items, scope)
        count = len(items) if items is not None else self.number_of(iterable)
        count = iterable.count if isinstance(iterable, Ranged) else count
        turns = [self.item_of(iterable)] if items is None else items[:2]
        return self._some_turns(statement, turns, scope, count, iterable)

    def _turns(self, loop: ir.For, items: list[Any], scope: Scope) -> str:
        stage = self.stage
        laps = Laps(self.span(loop.iterable, scope), stage.chain)
        grown = stage.grown
        stage.trace.append(laps)
        ended = ""
        doubt, unsure, reasons = scope.doubt, stage.unsure, len(stage.reasons)
        for item in items:
            self.bind(loop.target, item, scope)
            laps.turns.append([])
            ended = self.within(laps.turns[-1], lambda: self._turn(loop, scope))
            if ended in ("break", *_LEAVING):
                break
        if not scope.results:
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
        before, lists = dict(scope.variables), empty_lists(scope.variables, count)
        tests = len(scope.tests)
        place = self.place_of(loop, scope)
        touched, ended = self.first_turns(loop, items, scope)
        self.widen(scope, before, touched, place, [])
        if not stage.quiet:
            ended = self._any_turn(loop, scope, count, iterable, place, told)
        self.widen(scope, before, touched, place, [count, *scope.tests[tests:]])
        if not _may_stop(loop):
            self._picked(touched)
        filled_by(loop, lists, scope.variables, count)
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
        try:
            for item in items:
                if isinstance(loop, ir.For):
                    self.bind(loop.target, item, scope)
                ended = self._turn(loop, scope)
                if ended in ("break", *_LEAVING):
                    break
        finally:
            stage.repeating -= 1
            stage.trace = outer
        if not scope.results:
            scope.doubt, stage.unsure = doubt, unsure
            del stage.reasons[reasons:]
        if ended:
            nodes.append(End(ended))
        return ended

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
            stage.faults[faults:] = [fault for fault in stage.faults[faults:] if fault.kind == OWN_ORDER]
        if stage.grown == grown and stage.trace[-1:] == [node] and not (node.body and isinstance(node.body[-1], End)):
            stage.trace.pop()
        elif isinstance(count, int) and not is_idle(node):
            stage.longest = max(stage.longest, count)
        return ended

    def _some_item(self, iterable: Any, place: Hashable) -> Any:
        """Any item of an iterable: not the one of its first turn."""
        if isinstance(iterable, range | Ranged):
            source = iterable.source if isinstance(iterable, Ranged) else None
            sign = signature(iterable) if isinstance(iterable, Ranged) else ("range", iterable)
            return Opaque(("turn", place, sign) if sign is not None else None, source)
        self.stage.asked_again += 1
        try:
            items = self.items_of(iterable)
        finally:
            self.stage.asked_again -= 1
        if items:
            return merged(items[0], items[-1], [Opaque(("turn", place))]) if len(items) > 1 else items[0]
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
        told = left if type(left) is int and left > 0 else None if source_of([left]) is None else left
        return self._some_turns(statement, [None], scope, value, told=told)


def _key_of(sign: Hashable, count: Any, place: tuple[Any, ...]) -> Hashable:
    """What tells how many turns a loop makes: of ``while True`` what ends it does."""
    if count is True:
        return ("endless", *place)
    return ("loop", sign) if sign is not None and not is_known(count) else ("loop at", *place)


def _unset(earlier: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """Plain variables that a body sets anew, and that have their old value where it failed before that."""
    return {
        name: merged(value, now[name], [UNKNOWN])
        for name, value in earlier.items()
        if is_known(value) and name in now and now[name] is not value
    }


def _raises(nodes: list[Any], caught: frozenset[str]) -> Branch | None:
    """The first test that is not known and one of whose ways raises an exception that nothing inside catches.

    A place that may fail counts if one of its exceptions is among those that are ``caught``.
    """
    from distlint.rehearsal.trace import Frame

    for node in nodes:
        if isinstance(node, Branch):
            if node.fails:
                if node.fails & caught:
                    return node
                continue
            for arm in node.arms:
                if (arm and isinstance(arm[-1], End) and arm[-1].kind == "raise") or _raises(arm, caught) is not None:
                    return node
        elif isinstance(node, Frame | Round):
            found = _raises(node.body, caught)
            if found is not None:
                return found
        elif isinstance(node, Laps):
            for turn in node.turns:
                found = _raises(turn, caught)
                if found is not None:
                    return found
        elif isinstance(node, Attempt) and not node.handlers:
            found = _raises(node.body, caught)
            if found is not None:
                return found
    return None


def _holds_end(node: Attempt) -> bool:
    return any(nodes and isinstance(nodes[-1], End) for nodes in (node.body, node.orelse, node.final, *node.handlers))


def _may_stop(loop: ir.For | ir.While) -> bool:
    """Whether something in a loop may end it before its time."""
    return any(
        type(one) is ir.Return or (type(one) is ir.Jump and one.kind == "break") for one in statements(loop.body)
    )
