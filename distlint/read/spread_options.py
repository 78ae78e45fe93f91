"""Keywords that a call takes from a dictionary written beside it, as the keywords that they are.

``options = dict(batch_size=8, sampler=sampler)`` and then ``DataLoader(rows, **options)`` say what ``DataLoader(rows, batch_size=8,
sampler=sampler)`` says. That holds for a dictionary that is bound once, whose keys are all there to be read, which nothing else can change,
and whose values mean the same at the call: Python's reference, "Calls" (6.3.4). Everything else is left as it is written.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

MAX_KEYS = 64
"""A dictionary with more keys than this is no set of options that somebody wrote for one call."""

MAX_DEPTH = 20
"""An expression nested deeper is taken to mean something else the second time; keeps recursion bounded."""

_READING = frozenset({"copy", "get", "items", "keys", "values"})
_SHOWING = frozenset({"len", "print", "repr", "sorted", "str"})
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def write_out(tree: ast.Module) -> None:
    """Gives the calls of a module the keywords that they spread out of dictionaries, in place."""
    spreading: dict[tuple[ast.AST, ...], list[ast.Call]] = {}
    _find(tree, spreading)
    scopes: dict[ast.AST, _Scope] = {}
    for around, calls in spreading.items():
        for scope in around:
            if scope not in scopes:
                scopes[scope] = _Scope.of(scope)
        seen = [scopes[scope] for scope in around]
        for call in calls:
            _give(call, seen)


def entries_of(node: ast.expr) -> list[tuple[str, ast.expr, ast.AST]] | None:
    """The keys, values and places of a dictionary whose keys can all be read: a display, or a call of ``dict``."""
    if isinstance(node, ast.Dict):
        found: list[tuple[str, ast.expr, ast.AST]] = []
        for key, value in zip(node.keys, node.values, strict=True):
            if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
                return None
            found.append((key.value, value, _from_to(key, value)))
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict" and not node.args:
        if any(keyword.arg is None for keyword in node.keywords):
            return None
        found = [(keyword.arg or "", keyword.value, keyword) for keyword in node.keywords]
    else:
        return None
    names = {name for name, _, _ in found}
    return found if len(names) == len(found) <= MAX_KEYS and all(map(str.isidentifier, names)) else None


class _Binding(NamedTuple):
    """A dictionary that a name is bound to, and the body in which that stands."""

    statement: ast.Assign | ast.AnnAssign
    body: list[ast.stmt]


class _Scope(NamedTuple):
    """What a function or module binds, and how it uses these names.

    ``bound`` counts the statements that bind a name, ``read`` its uses, ``plain`` those of them that can't change a dictionary;
    ``stored`` are the attributes that are stored into.
    """

    bound: Counter[str]
    read: Counter[str]
    plain: Counter[str]
    stored: set[str]
    options: dict[str, _Binding]

    @staticmethod
    def of(node: ast.AST) -> _Scope:
        scope = _Scope(Counter(), Counter(), Counter(), set(), {})
        if isinstance(node, _Function):
            arguments = node.args
            named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
            scope.bound.update(one.arg for one in named if one is not None)
        _use(node, node, scope)
        return scope


def _bodies(node: ast.AST) -> Iterator[list[ast.stmt]]:
    for field in ("body", "orelse", "finalbody"):
        body = getattr(node, field, None)
        if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
            yield body


def _use(node: ast.AST, scope: ast.AST, found: _Scope) -> None:
    """Counts what a node and those below it bind and use; an inner function may bind what it declares ``nonlocal`` or ``global``."""
    stack: list[tuple[ast.AST, bool]] = [(node, True)]
    while stack:
        one, is_own = stack.pop()
        if isinstance(one, ast.Name):
            if isinstance(one.ctx, ast.Load):
                found.read[one.id] += 1
            elif is_own or isinstance(one.ctx, ast.Del):
                found.bound[one.id] += 1
        elif isinstance(one, ast.Global | ast.Nonlocal):
            # It can be bound anew from elsewhere.
            found.bound.update(dict.fromkeys(one.names, 2))
        elif isinstance(one, ast.Import | ast.ImportFrom) and is_own:
            found.bound.update((alias.asname or alias.name).split(".")[0] for alias in one.names)
        elif isinstance(one, ast.Call):
            _count_plain(one, found)
        elif isinstance(one, ast.Subscript | ast.FormattedValue) and isinstance(one.value, ast.Name):
            found.plain[one.value.id] += isinstance(one, ast.FormattedValue) or isinstance(one.ctx, ast.Load)
        elif isinstance(one, ast.Attribute) and not isinstance(one.ctx, ast.Load):
            found.stored.add(one.attr)
        elif isinstance(one, ast.ExceptHandler) and one.name and is_own:
            found.bound[one.name] += 1
        if isinstance(one, _SCOPES) and one is not scope:
            if is_own and not isinstance(one, ast.Lambda):
                found.bound[one.name] += 1
            is_own = False
        if is_own and isinstance(one, ast.stmt | ast.Module | ast.ExceptHandler):
            for body in _bodies(one):
                for statement in body:
                    _note_options(statement, body, found)
        stack.extend((child, is_own) for child in ast.iter_child_nodes(one))


def _note_options(statement: ast.stmt, body: list[ast.stmt], found: _Scope) -> None:
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target: ast.expr = statement.targets[0]
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        target = statement.target
    else:
        return
    if isinstance(target, ast.Name) and isinstance(statement.value, ast.Dict | ast.Call):
        found.options.setdefault(target.id, _Binding(statement, body))


def _count_plain(call: ast.Call, found: _Scope) -> None:
    for keyword in call.keywords:
        if keyword.arg is None and isinstance(keyword.value, ast.Name):
            found.plain[keyword.value.id] += 1
    func = call.func
    if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.attr in _READING:
        found.plain[func.value.id] += 1
    elif isinstance(func, ast.Name) and func.id in _SHOWING:
        found.plain.update(one.id for one in call.args if isinstance(one, ast.Name))


def _find(tree: ast.Module, found: dict[tuple[ast.AST, ...], list[ast.Call]]) -> None:
    """The calls that spread a name or a dictionary, by the scopes whose names they see, the innermost first."""
    stack: list[tuple[ast.AST, tuple[ast.AST, ...]]] = [(tree, (tree,))]
    while stack:
        one, around = stack.pop()
        if isinstance(one, ast.Call) and any(keyword.arg is None for keyword in one.keywords):
            found.setdefault(around, []).append(one)
        elif isinstance(one, _Function | ast.ClassDef):
            # What a class binds is not seen by the functions in it.
            around = (one, *(around[1:] if isinstance(around[0], ast.ClassDef) else around))
        stack.extend((child, around) for child in ast.iter_child_nodes(one))


def _give(call: ast.Call, seen: list[_Scope]) -> None:
    """Writes the keywords of one call out, if that gives no keyword twice."""
    keywords: list[ast.keyword] = []
    for keyword in call.keywords:
        entries = None
        if keyword.arg is None:
            entries = entries_of(keyword.value)
            if entries is None and isinstance(keyword.value, ast.Name):
                entries = _entries_of_name(keyword.value.id, call, seen)
        if entries is None:
            keywords.append(keyword)
        else:
            keywords += [ast.copy_location(ast.keyword(name, value), place) for name, value, place in entries]
    given = [keyword.arg for keyword in keywords if keyword.arg is not None]
    if len(set(given)) == len(given):
        call.keywords = keywords


def _entries_of_name(name: str, call: ast.Call, seen: list[_Scope]) -> list[tuple[str, ast.expr, ast.AST]] | None:
    """What the dictionary of a name holds at a call, in words that mean the same there."""
    place = next((index for index, scope in enumerate(seen) if name in scope.bound), None)
    if place is None:
        return None
    scope = seen[place]
    binding = scope.options.get(name)
    if binding is None or scope.bound[name] != 1 or scope.read[name] != scope.plain[name]:
        return None
    statement = binding.statement
    if place == 0 and statement.lineno >= call.lineno:
        return None
    entries = entries_of(statement.value) if statement.value is not None else None
    if entries is None:
        return None
    lasting = [_lasts(value, scope, seen[:place]) for _, value, _ in entries]
    if all(lasting):
        return entries
    return _hoisted(name, binding, entries, lasting) if place == 0 else None


def _lasts(node: ast.expr, scope: _Scope, between: list[_Scope], depth: int = 0) -> bool:
    """Whether an expression may be read a second time where the dictionary is spread.

    Constants may, names that are bound once, and attributes that nothing here stores into.

    ``between`` are the scopes between that of the dictionary and the call, in which its names may mean something else.
    """
    if depth > MAX_DEPTH:
        return False
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.Name):
        return scope.bound[node.id] <= 1 and not any(node.id in inner.bound for inner in between)
    if isinstance(node, ast.Attribute):
        stored = any(node.attr in one.stored for one in (scope, *between))
        return not stored and _lasts(node.value, scope, between, depth + 1)
    if isinstance(node, ast.UnaryOp):
        return _lasts(node.operand, scope, between, depth + 1)
    if isinstance(node, ast.Tuple):
        return all(_lasts(item, scope, between, depth + 1) for item in node.elts)
    return False


def _hoisted(
    name: str, binding: _Binding, entries: list[tuple[str, ast.expr, ast.AST]], lasting: list[bool]
) -> list[tuple[str, ast.expr, ast.AST]]:
    """Binds the values that are made to names that no program can write, before the dictionary, and gives the entries with these names."""
    statement = binding.statement
    at = next(index for index, one in enumerate(binding.body) if one is statement)
    given: list[tuple[str, ast.expr, ast.AST]] = []
    for (key, value, place), lasts in zip(entries, lasting, strict=True):
        if lasts:
            given.append((key, value, place))
            continue
        hidden = f"{name}.{key}"
        binding.body.insert(
            at, ast.copy_location(ast.Assign([ast.copy_location(ast.Name(hidden, ast.Store()), value)], value), value)
        )
        at += 1
        given.append((key, ast.copy_location(ast.Name(hidden, ast.Load()), value), place))
    statement.value = ast.copy_location(
        ast.Dict(
            [ast.copy_location(ast.Constant(key), place) for key, _, place in given], [value for _, value, _ in given]
        ),
        statement.value or statement,
    )
    return given


def _from_to(first: ast.expr, last: ast.expr) -> ast.AST:
    """A place from the start of one expression to the end of another."""
    whole = ast.copy_location(ast.Constant(None), first)
    whole.end_lineno, whole.end_col_offset = last.end_lineno, last.end_col_offset
    return whole
