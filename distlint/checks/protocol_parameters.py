"""Whose parameters an expression holds: of which modules a list, or the groups that an optimizer is given, was put together.

Lists are followed through comprehensions, loops that fill them, dictionaries, groups, and functions of the project that give them back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from distlint.checks.spread_names import called_name
from distlint.link.abstract import Frame, Instance, options_of
from distlint.link.calls import frame_of_call, returns_of
from distlint.link.flow import Env
from distlint.link.walking import below, expressions_of, statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.checks.protocol_things import Mention, Things

PARAMETERS = frozenset({"parameters", "named_parameters"})

_FILLING = frozenset({"append", "extend"})
_LOOKING = frozenset({"items", "values"})
_HANDING = frozenset({"list", "tuple", "set", "filter", "reversed", "sorted", "iter"})
"""Built-in functions that give what is in one of their arguments."""

_NEW_NAMES = "clone copy deepcopy Parameter zeros_like ones_like empty_like full_like rand_like randn_like new_zeros new_empty new_tensor"
_NEW = frozenset(_NEW_NAMES.split())
"""What makes other tensors of parameters."""

MAX_DEPTH = 10
"""Names, lists and functions, one behind the other, that are followed to a call of ``parameters``."""


def owners(things: Things, expr: ir.Expr, frame: Frame, state: Env, depth: int = 0) -> Mention:
    """The modules whose ``parameters()`` an expression holds (``[p for p in model.parameters() if ...]``)."""
    if depth > MAX_DEPTH or any(_is_of_others(part) for part in below(expr)):
        return things.together([])
    found = [
        things.mention(part.func.base, frame, state)
        for part in below(expr)
        if type(part) is ir.Call and type(part.func) is ir.Attribute and part.func.name in PARAMETERS
    ]
    if any(one.options for one in found):
        return things.together(found)
    return things.together(list(_behind(things, expr, frame, state, depth + 1)))


def _behind(things: Things, expr: ir.Expr, frame: Frame, state: Env, depth: int) -> Iterator[Mention]:
    """The same, where the call of ``parameters`` does not stand in the expression itself."""
    parts = _parts(expr)
    if parts is not None:
        for one in parts:
            if not _is_empty(one):
                yield owners(things, one, frame, state, depth)
        return
    if type(expr) is ir.Call and type(expr.func) is ir.Attribute and expr.func.name in _LOOKING:
        expr = expr.func.base
    found = list(_made_elsewhere(things, expr, frame, state, depth))
    if not any(one.options for one in found) and type(expr) is ir.Call:
        found = list(_given_back(things, expr, frame, state, depth)) or found
    if not found and type(expr) is ir.Name:
        for value, at, inside in things.definitions(expr.id, frame, state):
            if not _is_empty(value):
                found.append(owners(things, value, inside, at, depth))
    yield from found


def _made_elsewhere(things: Things, expr: ir.Expr, frame: Frame, state: Env, depth: int) -> Iterator[Mention]:
    """By the calls that made what an expression means; nothing where none is known."""
    unclear = False
    found = []
    for option in options_of(things.evaluator.ask_in(expr, frame, state)):
        if not isinstance(option, Instance):
            unclear = True
        elif option.call is not expr or option.frame is not frame:
            found.append(owners(things, option.call, option.frame, option.state, depth))
    yield from found
    if found and unclear:
        yield things.together([])


def _given_back(things: Things, call: ir.Call, frame: Frame, state: Env, depth: int) -> Iterator[Mention]:
    """By what a function of the project returns, or yields."""
    for option in options_of(things.evaluator.ask_in(call.func, frame, state)):
        inner = frame_of_call(things.evaluator, option, call, frame, generator=True)
        if inner is None:
            yield things.together([])
            continue
        function = things.project.module(inner.file).functions[inner.function]
        if things.project.flow(inner.file, inner.function).has_yield:
            given = [(one, things.evaluator.state(inner, one.at)) for one in _yielded(function.body)]
        else:
            given = [(value, at) for value, at in returns_of(things.evaluator, inner) if value is not None]
        for value, at in given:
            yield owners(things, value, inner, at, depth)


def _yielded(body: tuple[ir.Stmt, ...]) -> Iterator[ir.Expr]:
    for statement in statements(body):
        for expr in expressions_of(statement):
            for part in below(expr):
                if type(part) is ir.Wrapped and part.kind.startswith("yield") and part.value is not None:
                    yield part.value


def _parts(expr: ir.Expr) -> tuple[ir.Expr, ...] | None:
    """What an expression puts together: groups that are written out, items that are added. ``None`` for others."""
    if type(expr) is ir.ListDisplay:
        return tuple(expr.items)
    if type(expr) is ir.Starred:
        return (expr.value,)
    if type(expr) is ir.DictDisplay:
        named = zip(expr.keys, expr.values, strict=True)
        return tuple([value for key, value in named if type(key) is ir.Constant and key.value == "params"])
    if type(expr) is ir.Operation and set(expr.operators) == {"+"}:
        return tuple(expr.operands)
    if type(expr) is ir.Comprehension:
        return _parts_of_comprehension(expr)
    if type(expr) is not ir.Call:
        return None
    name = called_name(expr)
    if type(expr.func) is ir.Attribute:
        return tuple(expr.args) if name in _FILLING else None
    if name == "dict" and not expr.args:
        return tuple([one.value for one in expr.keywords if one.name == "params"])
    return tuple(expr.args[1:] if name == "filter" else expr.args[:1]) if name in _HANDING else None


def _parts_of_comprehension(expr: ir.Comprehension) -> tuple[ir.Expr, ...]:
    """What stands for each item, or what the name goes through that does."""
    through = {
        part.id: iterable for target, iterable, _ in expr.generators for part in below(target) if type(part) is ir.Name
    }
    pending, found = [expr.element], []
    while pending:
        one = pending.pop()
        inner = _parts(one) if type(one) in (ir.ListDisplay, ir.DictDisplay, ir.Call) else None
        if inner is not None:
            pending += inner
        elif type(one) is ir.Name and one.id in through:
            found.append(through[one.id])
        elif type(one) is not ir.Constant:
            found.append(one)
    return tuple(found)


def _is_of_others(part: ir.Expr) -> bool:
    """Whether something makes tensors of its own for each parameter (``[p.clone() for p in model.parameters()]``)."""
    if type(part) is not ir.Comprehension:
        return False
    return any(type(one) is ir.Call and called_name(one) in _NEW for one in below(part.element))


def _is_empty(expr: ir.Expr) -> bool:
    """Whether a list, or groups of them, start without anything in it (``decay, rest = [], []``)."""
    if type(expr) is ir.ListDisplay:
        return _all_empty(expr.items)
    if type(expr) is ir.DictDisplay:
        parts = _parts(expr)
        return _all_empty(parts or expr.values)
    if type(expr) is ir.Call and not expr.keywords:
        name = called_name(expr)
        # made to hold lists, or nothing
        return (name in ("list", "dict", "OrderedDict", "set") and not expr.args) or name == "defaultdict"
    return False


def _all_empty(parts: Iterable[ir.Expr]) -> bool:
    return all(map(_is_empty, parts))
