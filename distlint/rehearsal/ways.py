"""The ways that a process of a rehearsal may go: branches, exceptions, context managers and loops.

Where a test is not known every way is followed and what they leave is joined; where all of them lead stands in the trace.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from distlint.model import python as ir
from distlint.rehearsal import known_releases
from distlint.rehearsal.bounds import narrowed, widened
from distlint.rehearsal.calls import Calls
from distlint.rehearsal.dealt_turns import take_own
from distlint.rehearsal.exceptions import names_caught, raised_names
from distlint.rehearsal.failing import guarding
from distlint.rehearsal.iterators import Generated
from distlint.rehearsal.libraries import First
from distlint.rehearsal.merging import joined, merged
from distlint.rehearsal.stage import Enough, Left, Scope
from distlint.rehearsal.trace import Attempt, Branch, End, Laps, Round
from distlint.rehearsal.unknowns import UNKNOWN, Opaque, Opposite
from distlint.rehearsal.values import Made, Thing, is_known

MAX_ARMS = 12
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
        decided = known_releases.holds(self.stage, test, scope) if decided is None else decided
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
        side = stage.sides.get(id(test))
        grown = stage.grown
        ends: list[tuple[str, dict[str, Any]]] = []
        told: list[dict[str, tuple[Any, Any]]] = []
        for number, (body, nodes) in enumerate(zip(bodies, branch.arms, strict=True)):
            scope.variables = dict(before)
            told.append(narrowed(scope.variables, test, holds=number == 0) if len(bodies) == 2 else {})
            stage.sides[id(test)] = number == 0
            ended = self._perhaps(body, nodes, scope, test)
            ends.append((ended, scope.variables))
        if stage.grown > grown or any(ended for ended, _ in ends):
            stage.mark(branch)
        going = [variables for ended, variables in ends if not ended]
        stage.took_side(test, side, [not ended for ended, _ in ends])
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
            stage.departs(test)
            stage.reasons.append(test)
            scope.tests.append(test)
            scope.skipped += [(variables, test) for ended, variables in ends if ended == "continue"]
        scope.variables = joined(going, test)
        return ""

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
        node.catches = [self._caught(kind, scope) for kind, _, _ in statement.handlers]
        caught = frozenset(name for names in node.catches for name in names)
        stage.trace.append(node)
        stage.attempts.append(guarding(statement, caught))
        stage.attempt_depths.append(stage.depth)
        earlier = dict(scope.variables)
        try:
            ended = self.within(node.body, lambda: self.play(statement.body, scope))
        except Left as left:
            if left.kind != "raise" or not statement.handlers:
                self.within(node.final, lambda: self.play(statement.final, scope))
                raise
            ended = left.kind
        finally:
            stage.attempts.pop()
            stage.attempt_depths.pop()
        raised = _raises(node.body, caught)
        if statement.handlers and (ended == "raise" or raised is not None):
            bodies = [body for _, _, body in statement.handlers[:MAX_ARMS]]
            taken = _taking(node.catches, ended) if raised is None else None
            if taken is not None:
                bodies, node.catches = [statement.handlers[taken][2]], [node.catches[taken]]
            node.handlers = [[] for _ in bodies]
            ended = self._handled(bodies, node, scope, ended, raised, earlier)
        if not ended:
            ended = self.within(node.orelse, lambda: self.play(statement.orelse, scope))
        last = self.within(node.final, lambda: self.play(statement.final, scope))
        if stage.grown == grown and node in stage.trace[-1:] and not _holds_end(node):
            stage.trace.pop()
        return last or ended

    def _caught(self, kind: ir.Expr | None, scope: Scope) -> frozenset[str]:
        """The names of the exceptions that a handler takes, also where a variable holds them."""
        return names_caught(self.stage.project, kind, UNKNOWN if kind is None else self.value(kind, scope))

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
                stage.departs(test)
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


def _taking(catches: list[frozenset[str]], ended: str) -> int | None:
    """Which of the handlers takes what ended a body; ``None`` where that is not known."""
    names = raised_names(ended)
    for place, caught in enumerate(catches if names else ()):
        if not caught:
            return None
        if caught & names:
            return place
    return None


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
                if (arm and _is_raised(arm[-1], caught)) or _raises(arm, caught) is not None:
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
        elif isinstance(node, Attempt):
            found = _raises(node.body, caught) if not node.handlers else _raised_anew(node, caught)
            if found is not None:
                return found
    return None


def _raised_anew(node: Attempt, caught: frozenset[str]) -> Branch | None:
    """What may fail in a ``try`` of which a handler raises an exception itself."""
    for names, body in zip(node.catches, node.handlers, strict=False):
        if body and _is_raised(body[-1], caught):
            found = _raises(node.body, names)
            if found is not None:
                return found
    return None


def _is_raised(node: Any, caught: frozenset[str]) -> bool:
    """Whether a way ends in an exception that handlers may take."""
    names = raised_names(node.kind) if isinstance(node, End) else None
    return names is not None and node.kind == "raise" and (not names or bool(names & caught))


def _holds_end(node: Attempt) -> bool:
    return any(nodes and isinstance(nodes[-1], End) for nodes in (node.body, node.orelse, node.final, *node.handlers))
