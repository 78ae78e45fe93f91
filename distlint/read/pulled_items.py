"""Loops that pull items out of an iterator by ``next``, as the ``for`` loops that they are.

``while True: try: row = next(rows) except StopIteration: break`` is what ``for row in rows`` does (Python's reference, "The for
statement", 8.3, and "Iterator types" in the library's reference: a ``for`` over an iterator goes on where that stands). What is done at
the end, if anything, is its ``else``. Where an iterator is made for one such loop, ``rows = iter(data)``, the loop is one over ``data``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

MAX_DEPTH = 60
"""Blocks nested deeper are left as they are written; keeps recursion bounded."""

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def write_loops(tree: ast.Module) -> None:
    """Puts ``for`` loops in the place of loops that call ``next``, in place."""
    _in_scope(tree, 0)


def _in_scope(scope: ast.AST, depth: int) -> None:
    made: list[_Made] = []
    _in_blocks(scope, depth, made)
    if any(one.name for one in made):
        _take_in(scope, made)


class _Made(NamedTuple):
    """A loop that was put into a block; ``name`` is that of the iterator, or ``""`` for one that has none."""

    block: list[ast.stmt]
    loop: ast.For
    name: str


def _in_blocks(node: ast.AST, depth: int, made: list[_Made]) -> None:
    if depth > MAX_DEPTH:
        return
    for block in _blocks(node):
        for statement in block:
            if isinstance(statement, _SCOPES):
                _in_scope(statement, depth + 1)
            else:
                _in_blocks(statement, depth + 1, made)
        _convert(block, made)


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    for field in ("body", "orelse", "finalbody"):
        block = getattr(node, field, None)
        if isinstance(block, list):
            yield block
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield part.body


def _convert(block: list[ast.stmt], made: list[_Made]) -> None:
    place = 0
    while place < len(block):
        statement = block[place]
        loop = before = None
        if isinstance(statement, ast.While):
            loop = _tried(statement) or _asked(statement) or _in_test(statement)
            if loop is None and place > 0:
                loop = before = _pulled_before(block[place - 1], statement)
        elif isinstance(statement, ast.Try):
            loop = _around(statement)
        if loop is not None:
            if before is not None:
                place -= 1
                del block[place]
            block[place] = loop
            made.append(_Made(block, loop, loop.iter.id if isinstance(loop.iter, ast.Name) else ""))
        place += 1


class _Pull(NamedTuple):
    """``target = next(source)`` or ``target = next(source, end)``."""

    target: ast.expr
    source: ast.expr
    end: ast.expr | None


def _pull(statement: ast.stmt) -> _Pull | None:
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        return _pull_of(statement.targets[0], statement.value)
    return None


def _pull_of(target: ast.expr, value: ast.expr) -> _Pull | None:
    """A pull from an iterator that has a name, or is an attribute of something that has one."""
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Name) or value.func.id != "next":
        return None
    if value.keywords or not 1 <= len(value.args) <= 2 or not _is_place(value.args[0]):
        return None
    return _Pull(target, value.args[0], value.args[1] if len(value.args) == 2 else None)


def _is_place(expr: ast.expr) -> bool:
    while isinstance(expr, ast.Attribute):
        expr = expr.value
    return isinstance(expr, ast.Name)


def _tried(loop: ast.While) -> ast.For | None:
    """``while True: try: row = next(rows) except StopIteration: break``, and what is done with the row behind it or within."""
    if not _is_true(loop.test) or not loop.body or not isinstance(loop.body[0], ast.Try):
        return None
    tried = loop.body[0]
    at_end = _at_end(tried)
    pull = _pull(tried.body[0])
    if at_end is None or pull is None or pull.end is not None or not isinstance(at_end[-1], ast.Break | ast.Return):
        return None
    if _leads_on(at_end[:-1]):
        return None
    rest = [*tried.body[1:], *tried.orelse, *loop.body[1:]]
    return _loop(pull, rest, at_end[:-1] if isinstance(at_end[-1], ast.Break) else at_end, loop)


def _around(tried: ast.Try) -> ast.For | None:
    """``try: while True: row = next(rows) ... except StopIteration: pass``."""
    if len(tried.body) != 1 or not isinstance(tried.body[0], ast.While) or tried.orelse:
        return None
    loop = tried.body[0]
    at_end = _at_end(tried)
    pull = _pull(loop.body[0])
    if at_end is None or pull is None or pull.end is not None or not _is_true(loop.test):
        return None
    if _leads_on(at_end):
        return None
    return _loop(pull, loop.body[1:], [one for one in at_end if not isinstance(one, ast.Pass)], loop)


def _at_end(tried: ast.Try) -> list[ast.stmt] | None:
    """What is done when there is nothing left, where that is all that is caught."""
    if len(tried.handlers) != 1 or tried.finalbody:
        return None
    handler = tried.handlers[0]
    plain = isinstance(handler.type, ast.Name) and handler.type.id == "StopIteration" and handler.name is None
    return handler.body if plain else None


def _asked(loop: ast.While) -> ast.For | None:
    """``while True: row = next(rows, None); if row is None: break``."""
    if not _is_true(loop.test) or len(loop.body) < 2:
        return None
    pull, test = _pull(loop.body[0]), loop.body[1]
    if pull is None or pull.end is None or not isinstance(test, ast.If) or not _is_end(test.test, pull, ast.Is):
        return None
    if not isinstance(test.body[-1], ast.Break | ast.Return):
        return None
    at_end = test.body[:-1] if isinstance(test.body[-1], ast.Break) else test.body
    if _leads_on(at_end):
        return None
    return _loop(pull, [*test.orelse, *loop.body[2:]], at_end, loop)


def _in_test(loop: ast.While) -> ast.For | None:
    """``while (row := next(rows, None)) is not None``."""
    test = loop.test
    if not isinstance(test, ast.Compare) or not isinstance(test.left, ast.NamedExpr):
        return None
    pull = _pull_of(test.left.target, test.left.value)
    if pull is None or pull.end is None or not _compares(test, pull.end, ast.IsNot):
        return None
    return _loop(pull, loop.body, loop.orelse, loop)


def _pulled_before(first: ast.stmt, loop: ast.While) -> ast.For | None:
    """``row = next(rows, None)``, then ``while row is not None`` whose last statement is the same pull."""
    pull = _pull(first)
    if pull is None or pull.end is None or not _is_end(loop.test, pull, ast.IsNot):
        return None
    if ast.dump(first) != ast.dump(loop.body[-1]) or any(_continues(one) for one in loop.body):
        return None
    return _loop(pull, loop.body[:-1], loop.orelse, loop)


def _is_end(test: ast.expr, pull: _Pull, operator: type[ast.cmpop]) -> bool:
    """Whether a test compares what was pulled with what stands for the end."""
    if not isinstance(test, ast.Compare) or not isinstance(pull.target, ast.Name) or pull.end is None:
        return False
    same = isinstance(test.left, ast.Name) and test.left.id == pull.target.id
    return same and _compares(test, pull.end, operator)


def _compares(test: ast.Compare, end: ast.expr, operator: type[ast.cmpop]) -> bool:
    if len(test.ops) != 1 or not isinstance(test.ops[0], operator):
        return False
    plain = isinstance(end, ast.Name) or (isinstance(end, ast.Constant) and end.value is None)
    return plain and ast.dump(test.comparators[0]) == ast.dump(end)


def _is_true(test: ast.expr) -> bool:
    return isinstance(test, ast.Constant) and bool(test.value)


def _leads_on(statements: list[ast.stmt]) -> bool:
    """Whether statements may leave a loop or go on with it, so that they would mean another loop elsewhere."""
    return any(isinstance(node, ast.Break | ast.Continue) for one in statements for node in ast.walk(one))


def _continues(statement: ast.stmt) -> bool:
    """Whether a statement may go on to the next turn of the loop around it."""
    if isinstance(statement, (ast.For, ast.AsyncFor, ast.While, *_SCOPES)):
        return any(_continues(one) for one in getattr(statement, "orelse", ()))
    return isinstance(statement, ast.Continue) or any(_continues(one) for block in _blocks(statement) for one in block)


def _loop(pull: _Pull, rest: list[ast.stmt], at_end: list[ast.stmt], place: ast.While) -> ast.For | None:
    source = ast.dump(pull.source)
    root = pull.source
    while isinstance(root, ast.Attribute):
        root = root.value
    for statement in rest:
        for node in ast.walk(statement):
            stored = isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del)
            if stored and ast.dump(node).replace("Store()", "Load()").replace("Del()", "Load()") == source:
                return None
            if isinstance(node, ast.Name) and isinstance(root, ast.Name) and node.id == root.id:
                if not isinstance(node.ctx, ast.Load):
                    return None
    body = rest or [ast.copy_location(ast.Pass(), pull.target)]
    return ast.copy_location(ast.For(pull.target, pull.source, body, at_end), place)


# The iterator is made for one loop ------------------------------------------------------------------------------------


def _take_in(scope: ast.AST, made: list[_Made]) -> None:
    """Lets loops go over what their iterators were made of, where nothing else uses these."""
    names = {one.name for one in made}
    used: dict[str, int] = dict.fromkeys(names, 0)
    for node in ast.walk(scope):
        if isinstance(node, ast.Name) and node.id in names:
            used[node.id] += 1
        elif isinstance(node, ast.arg) and node.arg in names:
            used[node.arg] += 1
    for block, loop, name in made:
        # once where it is made, once in the loop
        if name and used[name] == 2 and loop in block:
            place = block.index(loop)
            binding = place - 1
            while binding >= 0 and _is_apart(block[binding], name):
                binding -= 1
            made_of = _made_of(block[binding], name) if binding >= 0 else None
            if made_of is not None and binding == place - 1:
                # a statement starts where its first part stands
                first = block.pop(binding)
                loop.iter, loop.lineno, loop.col_offset = made_of, first.lineno, first.col_offset
            elif made_of is not None:
                block[binding].value = made_of  # type: ignore[attr-defined]


def _is_apart(statement: ast.stmt, name: str) -> bool:
    """Whether it makes no difference if a statement is run before an iterator is made: it gives variables plain values."""
    if not isinstance(statement, ast.Assign) or not all(isinstance(one, ast.Name) for one in statement.targets):
        return False
    plain = all(isinstance(node, ast.Constant | ast.List | ast.Dict | ast.Load) for node in ast.walk(statement.value))
    return plain and all(isinstance(one, ast.Name) and one.id != name for one in statement.targets)


def _made_of(statement: ast.stmt, name: str) -> ast.expr | None:
    """What an iterator goes over; the call that gives it, if that is not ``iter``."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target, value = statement.targets[0], statement.value
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        target, value = statement.target, statement.value
    else:
        return None
    if not isinstance(target, ast.Name) or target.id != name or not isinstance(value, ast.Call):
        return None
    plain = isinstance(value.func, ast.Name) and value.func.id == "iter" and len(value.args) == 1 and not value.keywords
    return value.args[0] if plain else value
