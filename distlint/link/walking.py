"""Walks over expressions and statements: everything below one, and the conditions under which a place is reached."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from distlint.model import python as ir

ALL = "__dict__"
"""The attribute that has all others of an object."""

_Parts = Mapping[type, Callable[[Any], tuple[Any, ...]]]
"""What stands directly in a node, by its class; looking the class up costs a fraction of asking for one class after the other."""

_CHILDREN: _Parts = {
    ir.Attribute: lambda one: (one.base,),
    ir.Call: lambda one: (one.func, *one.args, *[keyword.value for keyword in one.keywords]),
    ir.Subscript: lambda one: (one.base, one.index),
    ir.Operation: lambda one: one.operands,
    ir.ListDisplay: lambda one: one.items,
    ir.DictDisplay: lambda one: (*[key for key in one.keys if key is not None], *one.values),
    ir.Conditional: lambda one: (one.test, one.body, one.orelse),
    ir.Formatted: lambda one: one.parts,
    ir.Starred: lambda one: (one.value,),
    ir.Wrapped: lambda one: () if one.value is None else (one.value,),
    ir.Comprehension: lambda one: (
        one.element,
        *[part for target, iterable, tests in one.generators for part in (target, iterable, *tests)],
    ),
    ir.Slice: lambda one: tuple([part for part in (one.lower, one.upper, one.step) if part is not None]),
}

_EXPRESSIONS: _Parts = {
    ir.Assign: lambda one: one.targets if one.value is None else (*one.targets, one.value),
    ir.Evaluate: lambda one: (one.value,),
    ir.AugAssign: lambda one: (one.target, one.value),
    ir.Return: lambda one: () if one.value is None else (one.value,),
    ir.If: lambda one: (one.test,),
    ir.While: lambda one: (one.test,),
    ir.Assert: lambda one: (one.test,),
    ir.For: lambda one: (one.target, one.iterable),
    ir.With: lambda one: tuple([part for item in one.items for part in item if part is not None]),
    ir.Match: lambda one: (one.subject,),
    ir.Jump: lambda one: one.values,
}

_BLOCKS: _Parts = {
    ir.If: lambda one: (one.body, one.orelse),
    ir.For: lambda one: (one.body, one.orelse),
    ir.While: lambda one: (one.body, one.orelse),
    ir.With: lambda one: (one.body,),
    ir.Try: lambda one: (one.body, *[handler for _, _, handler in one.handlers], one.orelse, one.final),
    ir.Match: lambda one: tuple([body for _, _, body in one.cases]),
}


def children(expr: ir.Expr) -> tuple[ir.Expr, ...]:
    """The direct parts of an expression that are evaluated with it."""
    parts = _CHILDREN.get(type(expr))
    return () if parts is None else parts(expr)


def below(expr: ir.Expr) -> Iterator[ir.Expr]:
    """An expression and everything below it, outer ones first; a lambda's body is not entered."""
    stack = [expr]
    while stack:
        current = stack.pop()
        yield current
        parts = _CHILDREN.get(type(current))
        if parts is not None:
            stack.extend(parts(current)[::-1])


def names_below(expr: ir.Expr) -> Iterator[str]:
    """The names and the attributes in an expression, as ``below`` comes to them."""
    for part in below(expr):
        if type(part) is ir.Name:
            yield part.id
        elif type(part) is ir.Attribute:
            yield part.name


def expressions_of(statement: ir.Stmt) -> tuple[ir.Expr, ...]:
    """The expressions that a statement itself evaluates, not those of the statements inside it."""
    parts = _EXPRESSIONS.get(type(statement))
    return () if parts is None else parts(statement)


def blocks_of(statement: ir.Stmt) -> tuple[tuple[ir.Stmt, ...], ...]:
    """The bodies inside a statement; those of definitions are not entered."""
    parts = _BLOCKS.get(type(statement))
    return () if parts is None else parts(statement)


def bodies_of(module: ir.Module) -> Iterator[tuple[int, tuple[ir.Stmt, ...]]]:
    """The bodies of a file with the function that they belong to: the module's, the functions', the classes'."""
    yield -1, module.body
    for index, function in enumerate(module.functions):
        yield index, function.body
    for owner in module.classes:
        yield owner.parent, owner.body


def last_name(expr: ir.Expr) -> str:
    """``step`` of ``self.optimizer.step``; ``""`` for what has no name."""
    return expr.name if type(expr) is ir.Attribute else expr.id if type(expr) is ir.Name else ""


def statements(body: tuple[ir.Stmt, ...]) -> Iterator[ir.Stmt]:
    """All statements of a body in the order of the text, however deep."""
    stack: list[ir.Stmt] = list(body[::-1])
    while stack:
        statement = stack.pop()
        yield statement
        parts = _BLOCKS.get(type(statement))
        if parts is not None:
            for block in parts(statement)[::-1]:
                stack.extend(block[::-1])


def holder_of(body: tuple[ir.Stmt, ...], at: ir.Position) -> ir.Stmt | None:
    """The statement of a body in which a place lies; a body may have thousands, in the order of the text."""
    index = bisect_right(body, at >> 44, key=lambda one: one.at >> 44)
    return body[index - 1] if index and ir.encloses(body[index - 1].at, at) else None


def expressions_below(body: tuple[ir.Stmt, ...]) -> Iterator[ir.Expr]:
    """All expressions in a body, those inside others as well."""
    for statement in statements(body):
        for expr in expressions_of(statement):
            yield from below(expr)


def lambdas_around(body: tuple[ir.Stmt, ...], at: ir.Position) -> Iterator[ir.Lambda]:
    """The lambdas of a body in which a place lies: what stands there is evaluated when they are called, if they are."""
    holder = holder_of(body, at)
    for one in expressions_below((holder,)) if holder is not None else ():
        if type(one) is ir.Lambda and ir.encloses(one.at, at):
            yield one


def calls_in(body: tuple[ir.Stmt, ...]) -> Iterator[ir.Call]:
    """All calls of a body in the order of the text, outer ones first."""
    for statement in statements(body):
        for expr in expressions_of(statement):
            for part in below(expr):
                if type(part) is ir.Call:
                    yield part


def access_path(expr: ir.Expr) -> tuple[str, tuple[ir.Expr | str, ...]]:
    """The root name of ``a.b["c"].d`` and the steps from it, ``vars(a)`` as ``a.__dict__``; ``("", ())`` if it does not start at a name."""
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
        elif type(expr) is ir.Call and (inside := object_of(expr)) is not None:
            steps.append("." + ALL)
            expr = inside
        else:
            return "", ()


def object_of(expr: ir.Expr) -> ir.Expr | None:
    """The object in ``vars(object)`` and ``object.__dict__``."""
    if type(expr) is ir.Attribute and expr.name == ALL:
        return expr.base
    is_vars = type(expr) is ir.Call and type(expr.func) is ir.Name and expr.func.id == "vars" and len(expr.args) == 1
    return expr.args[0] if is_vars and isinstance(expr, ir.Call) else None


def bound_names(target: ir.Expr) -> Iterator[str]:
    """The names that an assignment to a target binds, or changes what is behind them."""
    if type(target) is ir.ListDisplay:
        for item in target.items:
            yield from bound_names(item)
    elif type(target) is ir.Starred:
        yield from bound_names(target.value)
    else:
        name, steps = access_path(target)
        if name in ("self", "cls"):
            if steps and isinstance(steps[0], str):
                yield name + steps[0]
        elif name:
            yield name


def name_behind_calls(expr: ir.Expr) -> str:
    """The root name of ``a.get("b")["c"]``, which ``access_path`` does not follow; ``""`` if there is none.

    What a method gives may be a part of the object, so that a change to the one is a change to the other.
    """
    while not isinstance(expr, ir.Name):
        if isinstance(expr, ir.Attribute | ir.Subscript):
            expr = expr.base
        elif isinstance(expr, ir.Call) and isinstance(expr.func, ir.Attribute):
            expr = expr.func.base
        else:
            return ""
    return expr.id


def calls_behind(expr: ir.Expr) -> Iterator[ir.Call]:
    """The calls that ``pick(a)["b"].get("c")["d"]`` goes through, outermost first."""
    while isinstance(expr, ir.Attribute | ir.Subscript | ir.Call):
        if isinstance(expr, ir.Call):
            yield expr
            expr = expr.func
        else:
            expr = expr.base


def effects_in(expr: ir.Expr) -> Iterator[ir.Call | ir.Wrapped]:
    """The calls, ``:=`` and ``yield`` of an expression, inner ones first.

    Comprehensions and lambdas are not entered.
    """
    kind = type(expr)
    if kind is ir.Name or kind is ir.Constant or kind is ir.Comprehension:
        return
    for part in children(expr):
        yield from effects_in(part)
    if isinstance(expr, ir.Call | ir.Wrapped):
        yield expr


def literal_items(loop: ir.For) -> list[ir.Expr] | None:
    """The items that a loop goes over where they are written in its header.

    A display, ``{...}.items()`` or a short ``range``.
    """
    iterable = loop.iterable
    if type(iterable) is ir.ListDisplay:
        return None if any(type(item) is ir.Starred for item in iterable.items) else list(iterable.items)
    if type(iterable) is not ir.Call or iterable.keywords:
        return None
    func = iterable.func
    if type(func) is ir.Attribute and type(func.base) is ir.DictDisplay and not iterable.args:
        return _dict_items(func.base, func.name)
    if type(func) is ir.Name and func.id == "range":
        bounds = [part.value for part in iterable.args if type(part) is ir.Constant and type(part.value) is int]
        if (
            bounds
            and len(bounds) == len(iterable.args)
            and len(bounds) <= 3
            and all(abs(b) < 100 for b in bounds)
            and 0 not in bounds[2:]
        ):
            return [ir.Constant(number, iterable.at) for number in range(*bounds)]
    return None


def _dict_items(display: ir.DictDisplay, view: str) -> list[ir.Expr] | None:
    pairs = [(key, value) for key, value in zip(display.keys, display.values, strict=True) if key is not None]
    if len(pairs) != len(display.keys) or view not in ("items", "keys", "values"):
        return None
    if view == "items":
        return [ir.ListDisplay("tuple", pair, display.at) for pair in pairs]
    return [pair[view == "values"] for pair in pairs]


class Guard(NamedTuple):
    """A condition on the way to a place.

    The test, whether it must be true or false, and what kind of statement poses it.

    ``kind`` is ``if``, ``while``, ``for`` (``test`` is the iterable), ``except`` (``test`` is ``None``), ``match``,
    ``exit`` (an earlier ``if`` that leaves the function or loop), ``expression`` (a conditional expression or a short
    circuit).
    """

    test: ir.Expr | None
    holds: bool
    kind: str
    at: ir.Position


def guards_of(body: tuple[ir.Stmt, ...], at: ir.Position) -> list[Guard] | None:
    """The conditions under which the expression at ``at`` is reached in a body, outer ones first.

    ``None`` if it is not in it.
    """
    start, end = at >> 44, at & 0xFFFFFFFFFFF
    return _guards(body, start, end)


def contexts_around(body: tuple[ir.Stmt, ...], at: ir.Position) -> Iterator[ir.Expr]:
    """What the ``with`` statements around a place in a body enter, the outermost first."""
    while body:
        holder = next((one for one in body if ir.encloses(one.at, at)), None)
        if holder is None:
            return
        if isinstance(holder, ir.With):
            yield from (context for context, _ in holder.items)
        body = next((block for block in blocks_of(holder) if any(ir.encloses(one.at, at) for one in block)), ())


def asks_for_main(test: ir.Expr) -> bool:
    """Whether a test is about the module's ``__name__``."""
    return any(type(part) is ir.Name and part.id == "__name__" for part in below(test))


def _contains(at: ir.Position, start: int, end: int) -> bool:
    return at >> 44 <= start and end <= at & 0xFFFFFFFFFFF


def _guards(body: tuple[ir.Stmt, ...], start: int, end: int) -> list[Guard] | None:
    exits: list[Guard] = []
    for statement in body:
        if not _contains(statement.at, start, end):
            if type(statement) is ir.If:
                if leaves(statement.body) and not leaves(statement.orelse):
                    exits.append(Guard(statement.test, False, "exit", statement.at))
                elif statement.orelse and leaves(statement.orelse) and not leaves(statement.body):
                    exits.append(Guard(statement.test, True, "exit", statement.at))
            continue
        inner = _inside(statement, start, end)
        return None if inner is None else exits + inner
    return None


def _inside(statement: ir.Stmt, start: int, end: int) -> list[Guard] | None:
    for guard, block in _guarded_blocks(statement):
        found = _guards(block, start, end)
        if found is not None:
            return [*guard, *found]
    for expr in expressions_of(statement):
        if _contains(expr.at, start, end):
            return list(_short_circuits(expr, start, end))
    # A definition is reached where its statement is; what is inside it runs when it is called.
    is_itself = (statement.at >> 44, statement.at & 0xFFFFFFFFFFF) == (start, end)
    return [] if is_itself or not isinstance(statement, ir.Define) else None


def _guarded_blocks(statement: ir.Stmt) -> Iterator[tuple[tuple[Guard, ...], tuple[ir.Stmt, ...]]]:
    """The bodies inside a statement, each with the condition under which it is entered."""
    if isinstance(statement, ir.If):
        yield (Guard(statement.test, True, "if", statement.at),), statement.body
        yield (Guard(statement.test, False, "if", statement.at),), statement.orelse
    elif isinstance(statement, ir.While):
        yield (Guard(statement.test, True, "while", statement.at),), statement.body
        yield (), statement.orelse
    elif isinstance(statement, ir.For):
        yield (Guard(statement.iterable, True, "for", statement.at),), statement.body
        yield (), statement.orelse
    elif isinstance(statement, ir.Try):
        yield (), statement.body
        for _, _, handler in statement.handlers:
            yield (Guard(None, True, "except", statement.at),), handler
        yield (), statement.orelse
        yield (), statement.final
    elif isinstance(statement, ir.Match):
        for _, _, body in statement.cases:
            yield (Guard(None, True, "match", statement.at),), body
    else:
        for block in blocks_of(statement):
            yield (), block


def _short_circuits(expr: ir.Expr, start: int, end: int) -> Iterator[Guard]:
    """The conditions inside an expression: ``a and call()``, ``call() if a else b``, also in the body of a lambda."""
    while True:
        if type(expr) is ir.Conditional:
            for part, holds in ((expr.body, True), (expr.orelse, False)):
                if _contains(part.at, start, end):
                    yield Guard(expr.test, holds, "expression", expr.at)
        elif type(expr) is ir.Operation and expr.operators[0] in ("and", "or"):
            for operand in expr.operands:
                if _contains(operand.at, start, end):
                    break
                yield Guard(operand, expr.operators[0] == "and", "expression", expr.at)
        parts = (expr.body,) if type(expr) is ir.Lambda else children(expr)
        inner = next((part for part in parts if _contains(part.at, start, end)), None)
        if inner is None:
            return
        expr = inner


def leaves(body: tuple[ir.Stmt, ...]) -> bool:
    """Whether a body never goes on behind itself: it returns, raises, or leaves the loop."""
    if not body:
        return False
    last = body[-1]
    if type(last) is ir.Return:
        return True
    if type(last) is ir.Jump:
        return last.kind in ("raise", "break", "continue")
    if type(last) is ir.If:
        return leaves(last.body) and leaves(last.orelse)
    if type(last) is ir.With:
        return leaves(last.body)
    if type(last) is ir.Evaluate and type(last.value) is ir.Call:
        func = last.value.func
        name = func.name if type(func) is ir.Attribute else func.id if type(func) is ir.Name else ""
        return name in ("exit", "_exit", "quit", "abort")
    return False
