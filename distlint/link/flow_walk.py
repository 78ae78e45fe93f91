"""Walks a body once and makes its flow: a step for each thing that a name gets, loses or is handed to."""

from __future__ import annotations

from distlint.link.aliases import Aliases
from distlint.link.flow import BINDS, CHANGES, HANDS, Assume, Bind, Env, Flow, Join, Rounds, Store, Touched
from distlint.link.rounds import body_of_rounds
from distlint.link.stores import MERGING
from distlint.link.walking import (
    ALL,
    access_path,
    calls_behind,
    effects_in,
    literal_items,
    name_behind_calls,
    statements,
)
from distlint.model import python as ir

MAX_UNROLLED = 120
"""Statements that a body gains at most by loops over literals, which are walked once per item."""


def flow_of(body: tuple[ir.Stmt, ...], module: ir.Module | None = None, *, nested: bool = False) -> Flow:
    """The flow of a function's or module's body.

    ``module`` names the definitions inside it, ``nested`` says that it is a function's.
    """
    flow = Flow(Env(None), None)
    flow.exit = _Walker(flow, module, nested=nested).block(body, flow.entry)
    flow.bound -= flow.outer
    return flow


class _Walker:
    def __init__(self, flow: Flow, module: ir.Module | None, *, nested: bool) -> None:
        self._flow = flow
        self._module = module
        self._nested = nested
        self._touched: list[Touched] = [flow.assigned]
        self._breaks: list[list[Env]] = []
        self._continues: list[list[Env]] = []
        self._trails: list[list[Env]] = []
        self._aliases = Aliases()
        self._marking = True
        self._unrolled = 0
        self._in_rounds = False

    # Steps -------------------------------------------------------------------------------------------------------

    def bind(
        self,
        state: Env,
        name: str,
        expr: ir.Expr | ir.Stmt | None,
        part: tuple[int | str, ...] = (),
        at: Env | None = None,
    ) -> Env:
        for touched in self._touched:
            touched.add(name)
            touched.how.add(name + BINDS)
        self._flow.bound.add(name)
        return self._step(Bind(state, name, expr, part, at))

    def store(
        self, state: Env, name: str, path: tuple[ir.Expr | str, ...], action: str, expr: ir.Expr, at: Env | None = None
    ) -> Env:
        """A change of the object behind a name, and of what other names may mean the same object."""
        at = at or state
        state = self._store(state, name, path, action, expr, at)
        if action != "call":
            for change in self._aliases.changes(name, path, action, expr):
                state = self._store(state, *change, at)
        return state

    def _store(
        self, state: Env, name: str, path: tuple[ir.Expr | str, ...], action: str, expr: ir.Expr, at: Env
    ) -> Env:
        first = path[0] if path else None
        hands = action == "call" and first in (None, f".{ALL}")
        how = HANDS if hands else first if isinstance(first, str) else CHANGES
        for touched in self._touched:
            touched.add(name)
            touched.how.add(name + how)
        return self._step(Store(state, name, path, action, expr, at))

    def _step(self, step: Env) -> Env:
        for trail in self._trails:
            trail.append(step)
        return step

    # Statements --------------------------------------------------------------------------------------------------

    def block(self, body: tuple[ir.Stmt, ...], state: Env | None) -> Env | None:
        for statement in body:
            if state is None:
                return None
            if self._marking:
                self._flow.mark(statement.at, state)
            state = self.statement(statement, state)
        return state

    def statement(self, statement: ir.Stmt, state: Env) -> Env | None:
        if isinstance(statement, ir.Assign):
            return self._assign(statement, state)
        if isinstance(statement, ir.Evaluate):
            return self._effects(statement.value, state)
        if isinstance(statement, ir.If):
            return self._if(statement, state)
        if isinstance(statement, ir.For | ir.While):
            return self._loop(statement, state)
        if isinstance(statement, ir.With):
            return self._with(statement, state)
        if isinstance(statement, ir.Try):
            return self._try(statement.body, statement.handlers, statement.orelse, statement.final, state, statement)
        if isinstance(statement, ir.Match):
            return self._match(statement, state)
        if isinstance(statement, ir.AugAssign):
            return self._augmented(statement, state)
        if isinstance(statement, ir.Return):
            self._flow.returns.append((statement, state))
            self._flow.left.append(self._effects(statement.value, state) if statement.value is not None else state)
            return None
        if isinstance(statement, ir.Jump):
            return self._jump(statement, state)
        if isinstance(statement, ir.Define):
            return self._define(statement, state)
        return state

    def _define(self, statement: ir.Define, state: Env) -> Env:
        """A definition at module level is found by its name alone, unless it may be one of several."""
        if self._module is None or not (self._nested or len(self._touched) > 1):
            return state
        if statement.kind == "class":
            return self.bind(state, self._module.classes[statement.index].name, statement)
        function = self._module.functions[statement.index]
        for inner in statements(function.body):
            if isinstance(inner, ir.Jump) and inner.kind == "nonlocal":
                # The function may set these whenever somebody calls it.
                for name in inner.values:
                    state = self.bind(state, name.id, None, ("?",)) if isinstance(name, ir.Name) else state
        return self.bind(state, function.name, statement)

    def _assign(self, statement: ir.Assign, state: Env) -> Env:
        value = statement.value
        if value is None:
            return state
        at = state
        state = self._effects(value, state)
        if any(type(part) is ir.Wrapped and part.kind == ":=" for part in effects_in(value)):
            at = state
        for target in statement.targets:
            state = self._target(target, value, (), state, at)
        return state

    def _target(
        self, target: ir.Expr, value: ir.Expr, part: tuple[int | str, ...], state: Env, at: Env | None = None
    ) -> Env:
        if type(target) is ir.Name:
            self._aliases.bound(target.id, value, part)
            return self.bind(state, target.id, value, part, at)
        if type(target) is ir.ListDisplay:
            count = len(target.items)
            rest = next((i for i, item in enumerate(target.items) if type(item) is ir.Starred), count)
            for index, item in enumerate(target.items):
                if type(item) is ir.Starred:
                    state = self._target(item.value, value, (*part, f":{index}:{index - count + 1}"), state, at)
                else:
                    state = self._target(item, value, (*part, index if index < rest else index - count), state, at)
            return state
        if type(target) is ir.Subscript and _is_globals(target.base) and not self._nested and self._module is not None:
            name = target.index.value if type(target.index) is ir.Constant else None
            return self.bind(state, name, value, part, at) if isinstance(name, str) else self._any_bound(state)
        root, path = access_path(target)
        if root and path:
            self._aliases.stored(root, value, len(path))
            taken = _part_of(value, part, target.at)
            return self.store(state, root, path, "set" if taken is not None else "unknown", taken or value, at)
        return self._change_behind(target, value, state, at)

    def _change_behind(self, changed: ir.Expr, expr: ir.Expr, state: Env, at: Env | None = None) -> Env:
        """A change of what calls give, which may be a part of the object whose method is called, or an item of what the call gets."""
        behind = name_behind_calls(changed)
        if behind and not self._is_module(behind):
            state = self.store(state, behind, (), "unknown", expr, at)
        if type(changed) is not ir.Attribute:
            for call in calls_behind(changed):
                for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
                    root, path = access_path(argument)
                    state = self.store(state, root, path, "alias", call, at) if root else state
        return state

    def _is_module(self, name: str) -> bool:
        return self._module is not None and any(not one.name and one.alias == name for one in self._module.imports)

    def _augmented(self, statement: ir.AugAssign, state: Env) -> Env:
        state = self._effects(statement.value, state)
        if type(statement.target) is ir.Name:
            return self.bind(state, statement.target.id, statement, (statement.operator + "=",))
        root, path = access_path(statement.target)
        if root and path:
            # What the place held before is read, so the change is the assignment of an operation.
            made = ir.Operation((statement.operator,), (statement.target, statement.value), statement.at)
            return self.store(state, root, path, "set", made)
        return state

    # Expressions -------------------------------------------------------------------------------------------------

    def _effects(self, value: ir.Expr, state: Env) -> Env:
        """The names that an expression binds and the objects that it changes, in the order of evaluation."""
        for part in effects_in(value):
            if type(part) is ir.Wrapped:
                if part.kind == ":=" and part.value is not None:
                    state = self.bind(state, part.target, part.value)
                elif part.kind.startswith("yield"):
                    self._flow.has_yield = True
            elif type(part) is ir.Call:
                state = self._call(part, state)
        return state

    def _call(self, call: ir.Call, state: Env) -> Env:
        func = call.func
        if not self._nested and self._module is not None and _sets_variables(call):
            return self._any_bound(state)
        if type(func) is ir.Name:
            if func.id in _HARMLESS:
                return state
            if func.id == "setattr" and len(call.args) == 3:
                return self._setattr(call, state)
        elif type(func) is ir.Attribute and func.name in _MUTATORS:
            root, path = access_path(func.base)
            if root:
                if func.name == "update" and len(call.args) > 1:
                    # dictionaries are updated with one argument: ``OmegaConf.update(settings, key, value)`` changes another
                    state = self._handed(call, state)
                return self.store(state, root, path, func.name, call)
            if type(func.base) is ir.Conditional:
                # ``(one if test else other).append(x)`` changes one of two
                for chosen in (func.base.body, func.base.orelse):
                    root, path = access_path(chosen)
                    state = self.store(state, root, path, "some", call) if root else state
                return state
            behind = self._change_behind(func.base, call, state)
            if behind is not state:
                return behind
        elif type(func) is ir.Attribute and func.name.endswith("_") and not func.name.startswith("_"):
            # ``tensor.fill_(x)`` and its like change the object in front of them
            root, path = access_path(func.base)
            if root and len(path) <= 2:
                state = self.store(state, root, path, "call", call)
        return self._handed(call, state)

    def _handed(self, call: ir.Call, state: Env) -> Env:
        """A function may change what it is handed."""
        for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
            root, path = access_path(argument.value if type(argument) is ir.Starred else argument)
            if root and len(path) <= 2:
                state = self.store(state, root, path, "call", call)
        return state

    def _any_bound(self, state: Env) -> Env:
        """Any variable of the module may have got another value."""
        for name in sorted(self._flow.bound):
            state = self.bind(state, name, None, ("?",))
        return state

    def _setattr(self, call: ir.Call, state: Env) -> Env:
        root, path = access_path(call.args[0])
        name = call.args[1]
        if not root:
            return state
        if type(name) is ir.Constant and isinstance(name.value, str):
            return self.store(state, root, (*path, "." + name.value), "set", call.args[2])
        return self.store(state, root, (*path, ".*"), "setattr", call)

    # Branches ----------------------------------------------------------------------------------------------------

    def _arm(self, body: tuple[ir.Stmt, ...], state: Env) -> Env | None:
        self._aliases.enter()
        end = self.block(body, state)
        self._aliases.leave()
        return end

    def _if(self, statement: ir.If, state: Env) -> Env | None:
        state = self._effects(statement.test, state)
        touched = Touched()
        self._touched.append(touched)
        taken = self._arm(statement.body, Assume(state, statement.test, True))
        other = self._arm(statement.orelse, Assume(state, statement.test, False))
        self._touched.pop()
        if taken is None or other is None:
            return taken or other
        return Join(state, [taken, other], touched, statement.test, in_rounds=self._in_rounds)

    def _match(self, statement: ir.Match, state: Env) -> Env | None:
        """The cases as a chain of tests."""
        state = self._effects(statement.subject, state)
        tests: list[tuple[ir.Expr | None, tuple[ir.Stmt, ...]]] = []
        rest: tuple[ir.Stmt, ...] = ()
        for pattern, guard, body in statement.cases:
            if type(pattern) is ir.Name and guard is None:
                rest = body
                break
            tests.append((case_test(statement.subject, pattern, guard), body))
        touched = Touched()
        self._touched.append(touched)
        states: list[Env] = [state]
        arms: list[Env | None] = []
        for test, body in tests:
            arms.append(self._arm(body, Assume(states[-1], test, True) if test is not None else states[-1]))
            states.append(Assume(states[-1], test, False) if test is not None else states[-1])
        end = self._arm(rest, states[-1])
        self._touched.pop()
        for (test, _), arm, before in reversed(list(zip(tests, arms, states, strict=False))):
            if arm is None or end is None:
                end = arm or end
            else:
                end = Join(before, [arm, end], touched, test)
        return end

    def _loop(self, statement: ir.For | ir.While, state: Env) -> Env | None:
        state = self._effects(statement.iterable if isinstance(statement, ir.For) else statement.test, state)
        items = literal_items(statement) if isinstance(statement, ir.For) else None
        touched = Touched()
        self._touched.append(touched)
        self._breaks.append([])
        self._continues.append([])
        self._aliases.enter()
        rounds = body_of_rounds(statement) if isinstance(statement, ir.For) else None
        aliases = self._aliases.copy() if rounds is not None else None
        # The loop's head is a join of the way in and the way back; the latter is filled in after the body was walked.
        head = Join(state, [state], touched, by=statement)
        inner: Env = head
        if isinstance(statement, ir.For):
            inner = self._target(statement.target, statement.iterable, ("*",), head)
        else:
            inner = Assume(head, statement.test, True)
        end = self.block(statement.body, inner)
        self._aliases.leave()
        ends = self._breaks.pop()
        again = self._continues.pop()
        head.branches += again if end is None else [end, *again]
        unrolled = self._unroll(statement, items, state) if items is not None and not ends and not again else None
        if unrolled is None and not ends and rounds is not None and aliases is not None:
            unrolled = self._rounds(statement, rounds, state, head, touched, aliases)
        after = self.block(statement.orelse, unrolled or head)
        self._touched.pop()
        exits = ends + ([after] if after is not None and not _endless(statement) else [])
        if not exits:
            return None
        return exits[0] if len(exits) == 1 else Join(state, exits, touched, by=statement)

    def _unroll(self, statement: ir.For | ir.While, items: list[ir.Expr], state: Env) -> Env | None:
        """The state after a loop over a literal, its body walked once per item.

        ``None`` if that is too much or the body leaves early.
        """
        size = len(items) * len(statement.body)
        if not isinstance(statement, ir.For) or self._unrolled + size > MAX_UNROLLED or not self._marking:
            return None
        self._unrolled += size
        self._marking = False
        returns = len(self._flow.returns)
        walked: Env | None = state
        for item in items:
            if walked is not None:
                walked = self.block(statement.body, self._target(statement.target, item, (), walked))
        self._marking = True
        del self._flow.returns[returns:], self._flow.left[returns:]
        return walked

    def _rounds(
        self,
        statement: ir.For | ir.While,
        body: tuple[ir.Stmt, ...],
        before: Env,
        head: Join,
        touched: Touched,
        aliases: Aliases,
    ) -> Env:
        """The state after a short loop over what only its evaluation can tell."""
        assert isinstance(statement, ir.For)  # noqa: S101 - others have no rounds that can be counted

        def walk(number: int, state: Env) -> Env | None:
            walker = _Walker(Flow(state, None), self._module, nested=self._nested)
            walker._marking, walker._in_rounds, walker._aliases = False, True, aliases.copy()
            walker._touched.append(Touched())
            return walker.block(body, walker._target(statement.target, statement.iterable, (number,), state, before))

        return Rounds(head, before, statement.iterable, touched, walk)

    def _with(self, statement: ir.With, state: Env) -> Env | None:
        for context, bound in statement.items:
            state = self._effects(context, state)
            if bound is not None:
                state = self._target(bound, context, ("enter",), state)
        if any(suppresses(context) for context, _ in statement.items):
            return self._try(statement.body, ((None, "", ()),), (), (), state)
        return self.block(statement.body, state)

    def _try(
        self,
        body: tuple[ir.Stmt, ...],
        handlers: tuple[tuple[ir.Expr | None, str, tuple[ir.Stmt, ...]], ...],
        orelse: tuple[ir.Stmt, ...],
        final: tuple[ir.Stmt, ...],
        state: Env,
        by: ir.Stmt | None = None,
    ) -> Env | None:
        touched = Touched()
        self._touched.append(touched)
        trail: list[Env] = []
        self._trails.append(trail)
        end = self._arm(body, state)
        self._trails.pop()
        # A handler starts after any of the body's steps, or before all of them.
        middle = Join(state, [state, *trail], touched, anywhere=True) if trail else state
        ends = []
        for _, name, handler in handlers:
            ends.append(self._arm(handler, self.bind(middle, name, None, ("?",)) if name else middle))
        ends.append(self.block(orelse, end))
        self._touched.pop()
        alive = [one for one in ends if one is not None]
        if not alive:
            self.block(final, middle)
            return None
        joined = alive[0] if len(alive) == 1 else Join(state, alive, touched, by=by)
        return self.block(final, joined)

    def _jump(self, statement: ir.Jump, state: Env) -> Env | None:
        if statement.kind == "del":
            for target in statement.values:
                root, path = access_path(target)
                if root and path:
                    state = self.store(state, root, path, "delete", target)
                elif root:
                    state = self.bind(state, root, None, ("?",))
            return state
        if statement.kind == "break":
            if self._breaks:
                self._breaks[-1].append(state)
            return None
        if statement.kind == "continue":
            if self._continues:
                self._continues[-1].append(state)
            return None
        if statement.kind in ("global", "nonlocal"):
            self._flow.outer.update(name.id for name in statement.values if type(name) is ir.Name)
        return None if statement.kind == "raise" else state


def _sets_variables(call: ir.Call) -> bool:
    """``exec(text)`` and ``globals().update(settings)``: what they set nobody sees."""
    func = call.func
    if type(func) is ir.Attribute:
        return func.name in _MUTATORS and _is_globals(func.base)
    if type(func) is not ir.Name or func.id != "exec":
        return False
    return len(call.args) == 1 or _is_globals(call.args[1])


def _is_globals(expr: ir.Expr) -> bool:
    """``globals()``."""
    return type(expr) is ir.Call and type(expr.func) is ir.Name and expr.func.id == "globals" and not expr.args


def case_test(subject: ir.Expr, pattern: ir.Expr, guard: ir.Expr | None) -> ir.Expr | None:
    """The condition of a case as an expression; ``None`` for the wildcard, and where a guard has a say."""
    if type(pattern) is ir.Name or guard is not None:
        return None
    operator = "in" if type(pattern) is ir.ListDisplay else "is" if _is_singleton(pattern) else "=="
    return ir.Operation((operator,), (subject, pattern), pattern.at)


def _is_singleton(pattern: ir.Expr) -> bool:
    return type(pattern) is ir.Constant and (pattern.value is None or isinstance(pattern.value, bool))


def _endless(statement: ir.For | ir.While) -> bool:
    test = statement.test if isinstance(statement, ir.While) else None
    return type(test) is ir.Constant and bool(test.value)


def suppresses(context: ir.Expr) -> bool:
    """Whether a context manager swallows exceptions, so that its body may be left anywhere."""
    if type(context) is not ir.Call:
        return False
    func = context.func
    return (func.name if type(func) is ir.Attribute else func.id if type(func) is ir.Name else "") == "suppress"


_MUTATOR_NAMES = """
update setdefault pop clear popitem append extend insert remove sort reverse add discard __setitem__
"""

_MUTATORS = frozenset(_MUTATOR_NAMES.split()) | {*MERGING.split()}

_HARMLESS_NAMES = """
print len range int str float bool isinstance issubclass type max min sorted list tuple dict set frozenset
enumerate zip getattr hasattr any all sum abs repr round open super iter next id map filter format vars callable
hash reversed ValueError RuntimeError TypeError KeyError Exception AssertionError NotImplementedError
"""

_HARMLESS = frozenset(_HARMLESS_NAMES.split())
"""Built-in functions that change nothing of what they are given."""


def _part_of(value: ir.Expr, part: tuple[int | str, ...], at: ir.Position) -> ir.Expr | None:
    """What a target that stands in a tuple gets of the value: ``value[0]``; ``None`` behind a star."""
    for step in part:
        if not isinstance(step, int) or step < 0:
            return None
        value = ir.Subscript(value, ir.Constant(step, at), at)
    return value
