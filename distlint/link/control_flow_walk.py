"""Makes the control-flow graph of a body: one walk over its statements, each in the order in which Python evaluates it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from distlint.link.control_flow import EXIT, FAILURE, MAX_POINTS, ControlFlow, Point
from distlint.link.flow_walk import case_test, suppresses
from distlint.link.walking import below, children, last_name
from distlint.model import python as ir
from distlint.model.record import dataclass

Ends = list[tuple[int, str]]
"""Points whose successor is still to be made, with the label of the edge."""

ENDING = frozenset({"exit", "_exit", "quit", "abort"})
"""Last names of the calls that end the process: ``sys.exit``, ``os._exit``, ``exit``, ``quit``, ``os.abort``."""

_CATCHING_ALL = frozenset({"Exception", "BaseException"})


class _FullError(Exception):
    """The graph has as many points as it may."""


@dataclass(slots=True, eq=False)
class _Loop:
    """A loop around the place that is walked: its head, and the ways that ``break`` takes."""

    head: int
    breaks: Ends = field(default_factory=list)


@dataclass(slots=True, eq=False)
class _Passed:
    """Something that is passed whenever its body is left: a ``finally``, the end of a ``with``.

    ``build`` makes a copy; ``copies`` holds the first point of those there are, by the way that leads through them.
    """

    build: Callable[[Ends], Ends]
    fails: int
    copies: dict[str, int] = field(default_factory=dict)


def control_flow_of(body: tuple[ir.Stmt, ...]) -> ControlFlow:
    """The control-flow graph of a function's or module's body."""
    walker = _Walker()
    cut = False
    try:
        walker.link(walker.block(body, [(0, "")]), EXIT)
    except _FullError:
        cut = True
    return ControlFlow(tuple(walker.points), cut=cut)


class _Walker:
    def __init__(self) -> None:
        self.points: list[Point] = []
        self._around: list[_Loop | _Passed] = []
        self._fails = FAILURE
        for kind in ("entry", "exit", "failure"):
            self.points.append(Point(len(self.points), kind, None, None, 0, -1))

    # Points ------------------------------------------------------------------------------------------------------

    def point(self, kind: str, ends: Ends, at: ir.Position, expr: ir.Expr | None, statement: ir.Stmt | None) -> int:
        if len(self.points) >= MAX_POINTS:
            raise _FullError
        made = Point(len(self.points), kind, expr, statement, at, self._fails)
        self.points.append(made)
        self.link(ends, made.index)
        return made.index

    def link(self, ends: Ends, target: int) -> None:
        for index, label in ends:
            edge = (target, label)
            if edge not in self.points[index].next:
                self.points[index].next.append(edge)

    def step(self, kind: str, ends: Ends, at: ir.Position, expr: ir.Expr | None, statement: ir.Stmt | None) -> Ends:
        return [(self.point(kind, ends, at, expr, statement), "")] if ends else []

    # Expressions -------------------------------------------------------------------------------------------------

    def value(self, expr: ir.Expr | None, ends: Ends) -> Ends:
        """The steps by which an expression is evaluated."""
        kind = type(expr)
        if expr is None or kind is ir.Name or kind is ir.Constant or kind is ir.Lambda:
            return ends
        if kind is ir.Operation and expr.operators[0] in ("and", "or"):  # type: ignore[union-attr]
            return self._short_circuit(expr, ends)  # type: ignore[arg-type]
        if type(expr) is ir.Conditional:
            if not _does_something(expr.body) and not _does_something(expr.orelse):
                return self.value(expr.test, ends)
            true, false = self.condition(expr.test, ends, None)
            return self.value(expr.body, true) + self.value(expr.orelse, false)
        if type(expr) is ir.Comprehension:
            return self._comprehension(expr, ends)
        for part in children(expr):
            ends = self.value(part, ends)
        if type(expr) is ir.Call:
            ends = self.step("call", ends, expr.at, expr, None)
            return [] if _ends_process(expr) else ends
        if type(expr) is ir.Wrapped:
            return self.step("bind" if expr.kind == ":=" else "yield", ends, expr.at, expr, None)
        return ends

    def _short_circuit(self, expr: ir.Operation, ends: Ends) -> Ends:
        if not any(_does_something(operand) for operand in expr.operands[1:]):
            return self.value(expr.operands[0], ends)
        out: Ends = []
        for operand in expr.operands[:-1]:
            true, false = self.condition(operand, ends, None)
            ends, left = (true, false) if expr.operators[0] == "and" else (false, true)
            out += left
        return out + self.value(expr.operands[-1], ends)

    def condition(self, test: ir.Expr, ends: Ends, statement: ir.Stmt | None) -> tuple[Ends, Ends]:
        """The ways behind a test that holds, and behind one that doesn't."""
        if not ends:
            return [], []
        if type(test) is ir.Operation:
            if test.operators[0] == "not" and len(test.operands) == 1:
                true, false = self.condition(test.operands[0], ends, statement)
                return false, true
            if test.operators[0] in ("and", "or"):
                return self._joined_conditions(test, ends, statement)
        if type(test) is ir.Constant:
            return (ends, []) if test.value else ([], ends)
        ends = self.value(test, ends)
        if not ends:
            return [], []
        index = self.point("test", ends, test.at, test, statement)
        return [(index, "true")], [(index, "false")]

    def _joined_conditions(self, test: ir.Operation, ends: Ends, statement: ir.Stmt | None) -> tuple[Ends, Ends]:
        decided: Ends = []
        for operand in test.operands[:-1]:
            true, false = self.condition(operand, ends, statement)
            ends, left = (true, false) if test.operators[0] == "and" else (false, true)
            decided += left
        true, false = self.condition(test.operands[-1], ends, statement)
        return (true, decided + false) if test.operators[0] == "and" else (decided + true, false)

    def _comprehension(self, expr: ir.Comprehension, ends: Ends) -> Ends:
        heads: list[int] = []
        out: Ends = []
        for _, iterable, tests in expr.generators:
            ends = self.value(iterable, ends)
            if not ends:
                return out
            head = self.point("loop", ends, iterable.at, iterable, None)
            if heads:
                self.link([(head, "done")], heads[-1])
            else:
                out.append((head, "done"))
            heads.append(head)
            ends = [(head, "item")]
            for test in tests:
                ends, skipped = self.condition(test, ends, None)
                self.link(skipped, head)
        self.link(self.value(expr.element, ends), heads[-1])
        return out

    # Statements --------------------------------------------------------------------------------------------------

    def block(self, body: tuple[ir.Stmt, ...], ends: Ends) -> Ends:
        for statement in body:
            if not ends:
                break
            ends = self.statement(statement, ends)
        return ends

    def statement(self, statement: ir.Stmt, ends: Ends) -> Ends:
        if isinstance(statement, ir.Evaluate):
            return self.value(statement.value, ends)
        if isinstance(statement, ir.Assign):
            return self._assign(statement, ends)
        if isinstance(statement, ir.If):
            true, false = self.condition(statement.test, ends, statement)
            return self.block(statement.body, true) + self.block(statement.orelse, false)
        if isinstance(statement, ir.For):
            return self._for(statement, ends)
        if isinstance(statement, ir.While):
            return self._while(statement, ends)
        if isinstance(statement, ir.With):
            return self._with(statement, 0, ends)
        if isinstance(statement, ir.Try):
            return self._try(statement, ends)
        if isinstance(statement, ir.Match):
            return self._match(statement, ends)
        if isinstance(statement, ir.Return):
            ends = self.step("return", self.value(statement.value, ends), statement.at, statement.value, statement)
            return self._leave("return", ends, len(self._around))
        if isinstance(statement, ir.Assert):
            true, false = self.condition(statement.test, ends, statement)
            self.step("raise", false, statement.at, statement.test, statement)
            return true
        if isinstance(statement, ir.AugAssign):
            ends = self.value(statement.value, self.value(statement.target, ends))
            return self.step("bind", ends, statement.at, statement.value, statement)
        if isinstance(statement, ir.Jump):
            return self._jump(statement, ends)
        return self.step("bind", ends, statement.at, None, statement)

    def _assign(self, statement: ir.Assign, ends: Ends) -> Ends:
        if statement.value is None:
            return ends
        ends = self.value(statement.value, ends)
        for target in statement.targets:
            ends = self.value(target, ends)
        return self.step("bind", ends, statement.at, statement.value, statement)

    def _jump(self, statement: ir.Jump, ends: Ends) -> Ends:
        for value in statement.values:
            ends = self.value(value, ends)
        if statement.kind == "raise":
            self.step("raise", ends, statement.at, statement.values[0] if statement.values else None, statement)
            return []
        if statement.kind in ("break", "continue"):
            return self._leave(statement.kind, ends, len(self._around))
        return self.step("bind", ends, statement.at, None, statement) if statement.kind == "del" else ends

    def _leave(self, kind: str, ends: Ends, level: int) -> Ends:
        """Leads a jump to where it goes, through what is passed on the way; nothing comes after it."""
        while level and ends:
            level -= 1
            around = self._around[level]
            if isinstance(around, _Passed):
                ends, made = self._pass(around, kind, ends, level)
                if not made:
                    return []
            elif kind == "break":
                around.breaks += ends
                return []
            elif kind == "continue":
                self.link(ends, around.head)
                return []
        if kind == "return":
            self.link(ends, EXIT)
        return []

    def _pass(self, passed: _Passed, kind: str, ends: Ends, level: int) -> tuple[Ends, bool]:
        """Leads through a copy of what is passed on one kind of way; whether the copy was made for this."""
        if kind in passed.copies:
            self.link(ends, passed.copies[kind])
            return [], False
        first = self.point("join", ends, 0, None, None)
        passed.copies[kind] = first
        around, fails = self._around, self._fails
        self._around, self._fails = around[:level], passed.fails
        ends = passed.build([(first, "")])
        self._around, self._fails = around, fails
        return ends, True

    # Loops -------------------------------------------------------------------------------------------------------

    def _for(self, statement: ir.For, ends: Ends) -> Ends:
        ends = self.value(statement.iterable, ends)
        if not ends:
            return []
        loop = _Loop(self.point("loop", ends, statement.at, statement.iterable, statement))
        return self._around_loop(statement, loop, [(loop.head, "item")], [(loop.head, "done")])

    def _while(self, statement: ir.While, ends: Ends) -> Ends:
        loop = _Loop(self.point("join", ends, statement.at, None, statement))
        true, false = self.condition(statement.test, [(loop.head, "")], statement)
        return self._around_loop(statement, loop, true, false)

    def _around_loop(self, statement: ir.For | ir.While, loop: _Loop, inside: Ends, done: Ends) -> Ends:
        self._around.append(loop)
        self.link(self.block(statement.body, inside), loop.head)
        self._around.pop()
        return self.block(statement.orelse, done) + loop.breaks

    # Contexts and exceptions -------------------------------------------------------------------------------------

    def _with(self, statement: ir.With, item: int, ends: Ends) -> Ends:
        if item == len(statement.items):
            return self.block(statement.body, ends)
        context, bound = statement.items[item]
        ends = self.step("enter", self.value(context, ends), context.at, context, statement)
        if not ends:
            return []
        if bound is not None:
            ends = self.value(bound, ends)

        def leave(ways: Ends) -> Ends:
            return self.step("leave", ways, context.at, context, statement)

        passed = _Passed(leave, self._fails)
        failing = self._failing(passed)
        ends = self._inside(passed, failing, lambda: self._with(statement, item + 1, ends))
        swallowed: Ends = []
        if self.points[failing].next and suppresses(context):
            swallowed = [(self.points[failing].next[0][0], "")]
        return leave(ends) + swallowed

    def _failing(self, passed: _Passed) -> int:
        """The copy that exceptions pass; it stands before the body, whose steps lead to it."""
        first = self.point("join", [], 0, None, None)
        passed.copies["failure"] = first
        self.link(passed.build([(first, "")]), passed.fails)
        return first

    def _inside(self, passed: _Passed, failing: int, walk: Callable[[], Ends]) -> Ends:
        fails = self._fails
        self._around.append(passed)
        self._fails = failing
        ends = walk()
        self._fails = fails
        self._around.pop()
        return ends

    def _try(self, statement: ir.Try, ends: Ends) -> Ends:
        if not statement.final:
            return self._handled(statement, ends)
        passed = _Passed(lambda ways: self.block(statement.final, ways), self._fails)
        ends = self._inside(passed, self._failing(passed), lambda: self._handled(statement, ends))
        return self.block(statement.final, ends)

    def _handled(self, statement: ir.Try, ends: Ends) -> Ends:
        if not statement.handlers:
            return self.block(statement.orelse, self.block(statement.body, ends))
        outside = self._fails
        dispatch = self.point("handlers", [], statement.at, None, statement)
        self._fails = dispatch
        ends = self.block(statement.body, ends)
        self._fails = outside
        ends = self.block(statement.orelse, ends)
        for caught, _, body in statement.handlers:
            at = caught.at if caught is not None else statement.at
            ends = ends + self.block(
                body, [(self.point("handler", [(dispatch, "handler")], at, caught, statement), "")]
            )
        if not any(caught is None or last_name(caught) in _CATCHING_ALL for caught, _, _ in statement.handlers):
            self.link([(dispatch, "unhandled")], outside)
        return ends

    def _match(self, statement: ir.Match, ends: Ends) -> Ends:
        ends = self.value(statement.subject, ends)
        out: Ends = []
        for pattern, guard, body in statement.cases:
            if not ends:
                break
            rest: Ends = []
            if not (type(pattern) is ir.Name and pattern.id == "_"):
                test = case_test(statement.subject, pattern, None)
                index = self.point("test", ends, pattern.at, test, statement)
                ends, rest = [(index, "true")], [(index, "false")]
            if guard is not None:
                ends, left = self.condition(guard, ends, statement)
                rest = rest + left
            out += self.block(body, ends)
            ends = rest
        return out + ends


def _does_something(expr: ir.Expr) -> bool:
    """Whether evaluating an expression is more than reading values."""
    return any(type(part) in (ir.Call, ir.Wrapped, ir.Comprehension) for part in below(expr))


def _ends_process(call: ir.Call) -> bool:
    func = call.func
    if type(func) is ir.Name:
        return func.id in ("exit", "quit")
    return (
        type(func) is ir.Attribute
        and func.name in ENDING
        and type(func.base) is ir.Name
        and func.base.id in ("sys", "os")
    )
