"""The order in which names get their values: an environment chain per function.

Walking a body once gives one small node per assignment, linked to the one before it, and a join where paths meet. A variable's value
at a place is found by walking the chain backwards from there, on demand; nothing is evaluated before somebody asks.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

from distlint.model import python as ir


class Env:
    """The state after one step: what the step did, and the state before it."""

    __slots__ = ("prev",)

    def __init__(self, prev: Env | None) -> None:
        self.prev = prev


class Bind(Env):
    """``name`` gets a value: ``expr`` evaluated before the step, then ``part``.

    ``part`` is empty for the value itself, ``(index,)`` for an unpacked item, ``"*"`` for an element of an iterable, ``"enter"`` for what
    a context manager gives, ``"+"`` and so on for an augmented assignment, ``"?"`` for something that we don't follow.
    """

    __slots__ = ("expr", "name", "part")

    def __init__(self, prev: Env, name: str, expr: ir.Expr | ir.Stmt | None, part: tuple[int | str, ...] = ()) -> None:
        self.prev = prev
        self.name = name
        self.expr = expr
        self.part = part


class Store(Env):
    """Something inside the object behind ``name`` changes.

    ``path`` are the steps from the name to the changed place (subscripts as expressions, attributes as ``.name``); ``action`` is ``set``,
    ``update``, ``setdefault``, ``delete`` or ``call`` (the object was handed to a function, ``expr`` is the call).
    """

    __slots__ = ("action", "expr", "name", "path")

    def __init__(self, prev: Env, name: str, path: tuple[ir.Expr | str, ...], action: str, expr: ir.Expr) -> None:
        self.prev = prev
        self.name = name
        self.path = path
        self.action = action
        self.expr = expr


class Join(Env):
    """Paths meet: ``branches`` are the states at their ends, ``prev`` the state before they parted, ``touched`` the names that differ.

    ``test`` is the condition that chooses between the first branch and the second, where there is one.
    """

    __slots__ = ("branches", "test", "touched")

    def __init__(self, prev: Env, branches: list[Env], touched: set[str], test: ir.Expr | None = None) -> None:
        self.prev = prev
        self.branches = branches
        self.touched = touched
        self.test = test


@dataclass(slots=True)
class Flow:
    """The chain of one body: ``entry``, ``exit`` (``None`` if the end is never reached), and every ``return`` with its state."""

    entry: Env
    exit: Env | None
    returns: list[tuple[ir.Return, Env]] = field(default_factory=list)
    assigned: set[str] = field(default_factory=set)
    has_yield: bool = False
    _starts: list[int] = field(default_factory=list)
    _states: list[Env] = field(default_factory=list)

    def before(self, at: ir.Position) -> Env:
        """The state before the statement that holds a position."""
        index = bisect_right(self._starts, at >> 44)
        return self._states[index - 1] if index else self.entry

    def mark(self, at: ir.Position, state: Env) -> None:
        """Remembers the state before the statement that starts at ``at``; called in the order of the text."""
        self._starts.append(at >> 44)
        self._states.append(state)


def flow_of(body: tuple[ir.Stmt, ...]) -> Flow:
    """The flow of a function's or module's body."""
    entry = Env(None)
    flow = Flow(entry, None)
    walker = _Walker(flow)
    flow.exit = walker.block(body, entry)
    return flow


class _Walker:
    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self._touched: list[set[str]] = [flow.assigned]
        self._breaks: list[list[Env]] = []

    def block(self, body: tuple[ir.Stmt, ...], state: Env | None) -> Env | None:
        for statement in body:
            if state is None:
                return None
            self._flow.mark(statement.at, state)
            state = self.statement(statement, state)
        return state

    def bind(self, state: Env, name: str, expr: ir.Expr | ir.Stmt | None, part: tuple[int | str, ...] = ()) -> Env:
        for touched in self._touched:
            touched.add(name)
        return Bind(state, name, expr, part)

    def statement(self, statement: ir.Stmt, state: Env) -> Env | None:
        if isinstance(statement, ir.Assign):
            return self._assign(statement, state)
        if isinstance(statement, ir.Evaluate):
            return self._evaluate(statement.value, state)
        if isinstance(statement, ir.If):
            return self._if(statement, state)
        if isinstance(statement, ir.For | ir.While):
            return self._loop(statement, state)
        if isinstance(statement, ir.With):
            return self._with(statement, state)
        if isinstance(statement, ir.Try):
            return self._try(statement, state)
        if isinstance(statement, ir.Match):
            return self._match(statement, state)
        if isinstance(statement, ir.AugAssign):
            return self._augmented(statement, state)
        if isinstance(statement, ir.Return):
            self._flow.returns.append((statement, state))
            return None
        if isinstance(statement, ir.Jump):
            return self._jump(statement, state)
        return state

    def _assign(self, statement: ir.Assign, state: Env) -> Env:
        if statement.value is None:
            return state
        for target in statement.targets:
            state = self._target(target, statement.value, (), state)
        return state

    def _target(self, target: ir.Expr, value: ir.Expr, part: tuple[int | str, ...], state: Env) -> Env:
        if type(target) is ir.Name:
            return self.bind(state, target.id, value, part)
        if type(target) is ir.ListDisplay:
            starred = any(type(item) is ir.Starred for item in target.items)
            for index, item in enumerate(target.items):
                if type(item) is ir.Starred:
                    state = self._target(item.value, value, (*part, "?"), state)
                elif starred and any(type(before) is ir.Starred for before in target.items[:index]):
                    state = self._target(item, value, (*part, index - len(target.items)), state)
                else:
                    state = self._target(item, value, (*part, index), state)
            return state
        root, path = access_path(target)
        if root and path:
            for touched in self._touched:
                touched.add(root)
            action = "set" if not part else "unknown"
            return Store(state, root, path, action, value)
        return state

    def _augmented(self, statement: ir.AugAssign, state: Env) -> Env:
        if type(statement.target) is ir.Name:
            return self.bind(state, statement.target.id, statement, (statement.operator + "=",))
        root, path = access_path(statement.target)
        if root and path:
            for touched in self._touched:
                touched.add(root)
            return Store(state, root, path, "unknown", statement.value)
        return state

    def _evaluate(self, value: ir.Expr, state: Env) -> Env:
        if type(value) is ir.Wrapped and value.kind.startswith("yield"):
            self._flow.has_yield = True
            return state
        if type(value) is not ir.Call:
            return state
        func = value.func
        if type(func) is ir.Attribute and func.name in _MUTATORS:
            root, path = access_path(func.base)
            if root:
                for touched in self._touched:
                    touched.add(root)
                return Store(state, root, path, func.name, value)
        if type(func) is ir.Name and func.id == "setattr" and len(value.args) == 3:
            root, path = access_path(value.args[0])
            name = value.args[1]
            if root and type(name) is ir.Constant and isinstance(name.value, str):
                for touched in self._touched:
                    touched.add(root)
                return Store(state, root, (*path, "." + name.value), "set", value.args[2])
        for argument in (*value.args, *(keyword.value for keyword in value.keywords)):
            if type(argument) is ir.Name:
                for touched in self._touched:
                    touched.add(argument.id)
                state = Store(state, argument.id, (), "call", value)
        return state

    def _branches(self, state: Env, bodies: list[tuple[ir.Stmt, ...]]) -> tuple[list[Env | None], set[str]]:
        touched: set[str] = set()
        self._touched.append(touched)
        ends = [self.block(body, state) for body in bodies]
        self._touched.pop()
        return ends, touched

    def _if(self, statement: ir.If, state: Env) -> Env | None:
        ends, touched = self._branches(state, [statement.body, statement.orelse])
        alive = [end for end in ends if end is not None]
        if not alive:
            return None
        if len(alive) == 1:
            return alive[0]
        return Join(state, alive, touched, statement.test)

    def _match(self, statement: ir.Match, state: Env) -> Env | None:
        ends, touched = self._branches(state, [body for _, _, body in statement.cases] + [()])
        alive = [end for end in ends if end is not None]
        return Join(state, alive, touched) if alive else None

    def _loop(self, statement: ir.For | ir.While, state: Env) -> Env:
        touched: set[str] = set()
        self._touched.append(touched)
        self._breaks.append([])
        # The loop's head is a join of the way in and the way back; the latter is filled in after the body was walked.
        head = Join(state, [state], touched)
        inner: Env = head
        if isinstance(statement, ir.For):
            inner = self._target(statement.target, statement.iterable, ("*",), head)
        end = self.block(statement.body, inner)
        ends = self._breaks.pop()
        if end is not None:
            head.branches.append(end)
        after = self.block(statement.orelse, head)
        self._touched.pop()
        exits = ends + ([after] if after is not None else [])
        return Join(state, exits, touched) if len(exits) > 1 or (exits and exits[0] is not head) else head

    def _with(self, statement: ir.With, state: Env) -> Env | None:
        for context, bound in statement.items:
            if bound is not None:
                state = self._target(bound, context, ("enter",), state)
        return self.block(statement.body, state)

    def _try(self, statement: ir.Try, state: Env) -> Env | None:
        touched: set[str] = set()
        self._touched.append(touched)
        end = self.block(statement.body, state)
        # A handler starts somewhere inside the body: before it or after it are the two states that we distinguish.
        middle = Join(state, [state, end], touched) if end is not None else state
        ends = []
        for _, name, handler in statement.handlers:
            inner = self.bind(middle, name, None, ("?",)) if name else middle
            ends.append(self.block(handler, inner))
        ends.append(self.block(statement.orelse, end))
        self._touched.pop()
        alive = [one for one in ends if one is not None]
        if not alive:
            return self.block(statement.final, middle) and None
        joined = alive[0] if len(alive) == 1 else Join(state, alive, touched)
        return self.block(statement.final, joined)

    def _jump(self, statement: ir.Jump, state: Env) -> Env | None:
        if statement.kind == "del":
            for target in statement.values:
                root, path = access_path(target)
                if root and path:
                    for touched in self._touched:
                        touched.add(root)
                    state = Store(state, root, path, "delete", target)
            return state
        if statement.kind in ("break", "continue"):
            if self._breaks:
                self._breaks[-1].append(state)
            return None
        return None if statement.kind == "raise" else state


_MUTATORS = frozenset({"update", "setdefault", "pop", "clear", "popitem"})


def access_path(expr: ir.Expr) -> tuple[str, tuple[ir.Expr | str, ...]]:
    """The root name of ``a.b["c"].d`` and the steps from it; ``("", ())`` if it does not start at a name."""
    steps: list[ir.Expr | str] = []
    while True:
        if type(expr) is ir.Attribute:
            steps.append("." + expr.name)
            expr = expr.base
        elif type(expr) is ir.Subscript:
            steps.append(expr.index)
            expr = expr.base
        elif type(expr) is ir.Name:
            return expr.id, tuple(reversed(steps))
        else:
            return "", ()
