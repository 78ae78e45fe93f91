"""Generators of the project on one process of a rehearsal: their bodies are followed from one ``yield`` to the next."""

from __future__ import annotations

from collections.abc import Generator, Hashable, Iterator
from typing import Any

from distlint.link.walking import below, expressions_of
from distlint.model import python as ir
from distlint.rehearsal.dealt_turns import take_own
from distlint.rehearsal.expressions import Expressions
from distlint.rehearsal.stage import MAX_CALLS, Scope
from distlint.rehearsal.sums import Sum
from distlint.rehearsal.trace import Branch, End
from distlint.rehearsal.unknowns import UNKNOWN, Opaque
from distlint.rehearsal.yields import Around, Followed, dealt_by, lone_statement, one_either_way, turn_of

MAX_ROUNDS = 64
"""Turns of an endless loop in a generator."""

_DEALT = "loops of generators without the tests that deal out their turns"

_Run = Generator[Any, None, str]


class Generators(Expressions):
    """Follows the bodies of generators.

    Only the statements around a ``yield`` are followed here; all others as anywhere.
    """

    def follow(self, statement: ir.Stmt, scope: Scope) -> str:
        """Follows one statement."""
        raise NotImplementedError

    def entered(self, manager: Any, span: Any) -> Any:
        """What a context manager gives."""
        raise NotImplementedError

    def left(self, manager: Any, span: Any) -> None:
        """A context manager is left."""
        raise NotImplementedError

    def place_of(self, loop: ir.For | ir.While, scope: Scope) -> tuple[Any, ...]:
        """What tells a loop."""
        raise NotImplementedError

    def first_turns(self, loop: ir.For | ir.While, items: list[Any], scope: Scope) -> tuple[list[Any], str]:
        """Follows turns of a loop outside the trace; gives what they change."""
        raise NotImplementedError

    def widen(
        self, scope: Scope, before: dict[str, Any], touched: list[Any], place: tuple[Any, ...], tests: list[Any]
    ) -> None:
        """Takes what a loop changes to be unknown."""
        raise NotImplementedError

    def generator(self, body: tuple[ir.Stmt, ...], scope: Scope, chain: tuple[Any, ...]) -> Followed:
        """What calling a generator function gives: nothing of it is executed yet."""
        made = Followed(lone_statement(body, self.has_yield))
        made.born = self.stage.whiles
        made.run = self._resumed_of_generator(self._steps_of_generator(body, scope, made), made, chain)
        return made

    def _resumed_of_generator(self, run: _Run, made: Followed, chain: tuple[Any, ...]) -> Iterator[Any]:
        """Goes on from one ``yield`` to the next, as the call that made the generator."""
        stage = self.stage
        doubt, whiles = 0, stage.whiles
        while stage.depth < MAX_CALLS:
            outer = stage.chain, stage.unsure, stage.repeating
            around, stage.whiles = stage.whiles, whiles
            reasons = len(stage.reasons)
            stage.chain = chain
            stage.unsure += doubt
            stage.depth += 1
            try:
                item = next(run)
            except StopIteration:
                return
            finally:
                doubt = max(0, stage.unsure - outer[1])
                stage.depth -= 1
                stage.chain, stage.unsure, stage.repeating = outer
                whiles, stage.whiles = stage.whiles, around
                del stage.reasons[reasons:]
            yield item
        made.partly = True

    def has_yield(self, statement: ir.Stmt) -> bool:
        """Whether a statement, or one inside it, yields."""
        found = self.stage.yielding.get(id(statement))
        if found is None:
            inside = any(self.has_yield(one) for body in _bodies(statement) for one in body)
            found = inside or any(_is_yield(one) for expr in expressions_of(statement) for one in below(expr))
            self.stage.yielding[id(statement)] = found
        return found

    def _steps_of_generator(self, body: tuple[ir.Stmt, ...], scope: Scope, made: Followed) -> _Run:
        for statement in body:
            self.stage.step()
            if isinstance(statement, ir.If):
                self._dealt_of_generator(statement.test, scope, made)
            if self.has_yield(statement):
                ended = yield from self._around_of_generator(statement, scope, made)
            else:
                ended = self._between_of_generator(statement, scope, made)
            if ended:
                return ended
        return ""

    def _dealt_of_generator(self, test: ir.Expr, scope: Scope, made: Followed) -> None:
        """A test may deal the turns of the loop around it out to the processes."""
        count = take_own(self, made.around[-1].loop.target, test, scope) if made.around else None
        if count is not None:
            made.depends(count)

    def _between_of_generator(self, statement: ir.Stmt, scope: Scope, made: Followed) -> str:
        """Follows a statement that yields nothing: who asks for items goes on where a way of it ends the generator or a turn."""
        stage = self.stage
        outer, stage.trace = stage.trace, []
        nodes = stage.trace
        try:
            ended = self.follow(statement, scope)
        finally:
            stage.trace = outer
        for branch in _leaving(nodes):
            made.depends(Opaque(None if _is_place(branch.key) else branch.key, branch.source))
            for arm in branch.arms:
                if _leaves(arm):
                    arm.pop()
        outer.extend(nodes)
        return ended

    def _around_of_generator(self, statement: ir.Stmt, scope: Scope, made: Followed) -> _Run:
        if isinstance(statement, ir.Evaluate | ir.Assign | ir.Return) and statement.value is not None:
            if _is_yield(statement.value):
                return (yield from self._yielded_of_generator(statement, scope, made))
        elif isinstance(statement, ir.If):
            return (yield from self._branch_of_generator(statement, scope, made))
        elif isinstance(statement, ir.For):
            return (yield from self._loop_of_generator(statement, scope, made))
        elif isinstance(statement, ir.While):
            return (yield from self._rounds_of_generator(statement, scope, made))
        elif isinstance(statement, ir.With):
            return (yield from self._managed_of_generator(statement, scope, made))
        elif isinstance(statement, ir.Try):
            made.guarded = True
            ended = yield from self._steps_of_generator(statement.body, scope, made)
            if not ended:
                ended = yield from self._steps_of_generator(statement.orelse, scope, made)
            last = yield from self._steps_of_generator(statement.final, scope, made)
            return last or ("" if ended == "raise" and statement.handlers else ended)
        made.partly = True
        return self.follow(statement, scope)

    def _yielded_of_generator(
        self, statement: ir.Evaluate | ir.Assign | ir.Return, scope: Scope, made: Followed
    ) -> _Run:
        wrapped = statement.value
        assert isinstance(wrapped, ir.Wrapped)  # noqa: S101 - tested by the caller
        value = self.value(wrapped.value, scope) if wrapped.value is not None else None
        if wrapped.kind == "yield from":
            items = self.steps_of(value)
            if items is not None:
                self.begins(value, self.span(wrapped, scope))
            if items is None:
                length = self.length(value)
                if not made.gives(statement, length) and not made.stands_for(length):
                    made.depends_on(self.stage, value, length)
                made.given += 1
                yield self.item_of(value)
            else:
                for item in items:
                    made.given += 1
                    yield item
        else:
            made.given += 1
            made.hands_out(value)
            yield value
        if isinstance(statement, ir.Assign):
            for target in statement.targets:
                self.bind(target, UNKNOWN, scope)
        return "return" if isinstance(statement, ir.Return) else ""

    def _branch_of_generator(self, statement: ir.If, scope: Scope, made: Followed) -> _Run:
        test = self.value(statement.test, scope)
        decided = self.truth(test)
        if decided is None:
            # followed as far as it shows what comes of it
            if one_either_way(statement, self.has_yield):
                made.partly = True
            else:
                made.depends(self.asked(test))
            decided = any(self.has_yield(one) for one in statement.body)
            self.stage.unsure += 1
            ended = yield from self._steps_of_generator(statement.body if decided else statement.orelse, scope, made)
            return "" if ended in ("return", "raise") else ended
        return (yield from self._steps_of_generator(statement.body if decided else statement.orelse, scope, made))

    def _loop_of_generator(self, statement: ir.For, scope: Scope, made: Followed) -> _Run:
        iterable = self.value(statement.iterable, scope)
        items = self.steps_of(iterable)
        length = self.length(iterable)
        if items is None:
            return (yield from self._some_turns_of_generator(statement, iterable, length, scope, made))
        self.begins(iterable, self.span(statement.iterable, scope))
        if statement is made.lone:
            number = self._number_of_generator(statement, iterable, length, scope)
            made.total = number if isinstance(number, int) else made.total
        ended = yield from self._turns_of_generator(statement, items, length, scope, made)
        if ended in ("return", "raise", "break"):
            return "" if ended == "break" else ended
        return (yield from self._steps_of_generator(statement.orelse, scope, made))

    def _some_turns_of_generator(
        self, statement: ir.For, iterable: Any, length: Any, scope: Scope, made: Followed
    ) -> _Run:
        """Follows the turn that stands for all of a loop: what they change, one after the other, is not known in it and afterwards."""
        number = self._number_of_generator(statement, iterable, length, scope)
        test = None
        if made.may_repeat(statement, length) and not isinstance(number, int):
            statement, length, test = self._dealt_turns_of_generator(statement, iterable, length, scope)
        repeats = False
        if not made.gives(statement, number) and not made.stands_for(number):
            repeats = made.may_repeat(statement, length)
            if not repeats:
                made.depends_on(self.stage, iterable, length)
        given = made.given
        before, tests, results = dict(scope.variables), len(scope.tests), len(scope.results)
        place = self.place_of(statement, scope)
        touched, _ = self.first_turns(statement, [self.item_of(iterable)], scope)
        del scope.results[results:]
        self.widen(scope, before, touched, place, [])
        items = iter([self.item_of(iterable)])
        ended = yield from self._turns_of_generator(statement, items, length, scope, made, test)
        if ended in ("return", "raise"):
            return ended
        if repeats:
            made.repeated(given, length)
        self.widen(scope, before, touched, place, [length, *scope.tests[tests:]])
        return "" if ended == "break" else (yield from self._steps_of_generator(statement.orelse, scope, made))

    def _turns_of_generator(
        self,
        statement: ir.For,
        items: Iterator[Any],
        length: Any,
        scope: Scope,
        made: Followed,
        test: ir.Expr | None = None,
    ) -> _Run:
        """Follows turns; ``test`` has dealt them out to the processes before."""
        made.around.append(Around(statement, length, scope.file))
        for item in items:
            self.bind(statement.target, item, scope)
            if test is not None:
                take_own(self, statement.target, test, scope)
            ended = yield from self._steps_of_generator(statement.body, scope, made)
            if ended in ("return", "raise"):
                return ended
            if ended == "break":
                made.around.pop()
                return ended
        made.around.pop()
        return ""

    def _dealt_turns_of_generator(
        self, loop: ir.For, iterable: Any, length: Any, scope: Scope
    ) -> tuple[ir.For, Any, ir.Expr | None]:
        """A loop that leaves out the turns of other processes, as one through those that are left: with their number, and the test."""
        known = self.stage.kept.setdefault(_DEALT, {})
        key = (scope.file, loop.at)
        if key not in known:
            known[key] = dealt_by(loop, self.has_yield)
        if known[key] is None:
            return loop, length, None
        inner, turn = known[key]
        number = self.dealt(turn.test, loop.target, iterable, scope, "==" if turn.kept else "!=")
        return (inner, number, turn.test) if isinstance(number, int) else (loop, length, None)

    def _number_of_generator(self, loop: ir.For, iterable: Any, length: Any, scope: Scope) -> Any:
        """How many items a loop gives whose turns are not followed; ``None`` where that is not known."""
        turn = turn_of(loop, self.has_yield) if isinstance(length, int | Sum) else None
        if turn is None or turn.test is None:
            return length if turn is not None else None
        return self.dealt(turn.test, loop.target, iterable, scope, "==" if turn.kept else "!=")

    def _rounds_of_generator(self, statement: ir.While, scope: Scope, made: Followed) -> _Run:
        self.stage.whiles += 1
        ended = yield from self._every_round_of_generator(statement, scope, made)
        self.stage.whiles -= 1
        return ended

    def _every_round_of_generator(self, statement: ir.While, scope: Scope, made: Followed) -> _Run:
        for _ in range(MAX_ROUNDS):
            test = self.value(statement.test, scope)
            decided = self.truth(test)
            if decided is False:
                return (yield from self._steps_of_generator(statement.orelse, scope, made))
            if decided is None:
                made.depends(self.asked(test))
            ended = yield from self._steps_of_generator(statement.body, scope, made)
            if ended in ("return", "raise"):
                return ended
            if ended == "break" or decided is None:
                return ""
        made.partly = True
        return ""

    def _managed_of_generator(self, statement: ir.With, scope: Scope, made: Followed) -> _Run:
        managers = []
        for context, target in statement.items:
            manager = self.value(context, scope)
            given = self.entered(manager, self.span(context, scope))
            managers.append((manager, context))
            if target is not None:
                self.bind(target, given, scope)
        ended = yield from self._steps_of_generator(statement.body, scope, made)
        for manager, context in reversed(managers):
            self.left(manager, self.span(context, scope))
        return ended


def _leaving(nodes: list[Any]) -> Iterator[Branch]:
    """Tests that are not known and of which a way ends the generator, or a turn in it, in front of other nodes of the same body."""
    for node in nodes:
        if isinstance(node, Branch):
            if any(map(_leaves, node.arms)):
                yield node
            for arm in node.arms:
                yield from _leaving(arm)


def _leaves(arm: list[Any]) -> bool:
    return bool(arm) and isinstance(arm[-1], End) and arm[-1].kind in ("return", "continue", "break")


def _is_place(key: Hashable) -> bool:
    return isinstance(key, tuple) and bool(key) and key[0] in ("at", "fails")


def _is_yield(expr: ir.Expr) -> bool:
    return type(expr) is ir.Wrapped and expr.kind.startswith("yield")


def _bodies(statement: ir.Stmt) -> list[tuple[ir.Stmt, ...]]:
    """The bodies inside a statement."""
    if isinstance(statement, ir.Match):
        return [body for _, _, body in statement.cases]
    if isinstance(statement, ir.With):
        return [statement.body]
    if isinstance(statement, ir.If | ir.For | ir.While):
        return [statement.body, statement.orelse]
    if isinstance(statement, ir.Try):
        return [statement.body, *(body for _, _, body in statement.handlers), statement.orelse, statement.final]
    return []
