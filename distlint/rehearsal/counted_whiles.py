"""How many turns a ``while`` loop makes that goes through something of known length in its own way.

It counts up to a number (``while i < len(rows)``), empties a list (``while todo: todo.pop()``), or takes items of an iterator until there
is none left (``while (row := next(rows, None)) is not None``). A ``break`` inside is no matter of this number.
"""

from __future__ import annotations

from typing import Any

from distlint.link.walking import bound_names, expressions_below, statements
from distlint.model import python as ir
from distlint.rehearsal.filled_lists import is_filled
from distlint.rehearsal.iterators import Generated
from distlint.rehearsal.stage import Scope
from distlint.rehearsal.sums import Sum, added
from distlint.rehearsal.values import Items, derived

_TAKING = frozenset({"pop", "popleft"})
_PUTTING = frozenset({"append", "appendleft", "extend", "insert"})


def turns_of(player: Any, loop: ir.While, scope: Scope) -> Any:
    """The number of turns, known or told by what decides it, before the first one; ``None`` where it can't be told."""
    test = loop.test
    if type(test) is ir.Operation and len(test.operands) == 2 and len(test.operators) == 1:
        first, second = test.operands
        symbol = test.operators[0]
        if symbol in ("<", "!="):
            return _counted(player, loop, first, second, scope)
        if symbol == ">" and _is_zero(second) and type(first) is ir.Call:
            return _emptied(player, loop, _measured(first), scope)
        if symbol == ">":
            return _counted(player, loop, second, first, scope)
        if symbol == "is not" and type(second) is ir.Constant and second.value is None:
            return _used_up(player, loop, first, scope)
        return None
    return _emptied(player, loop, test, scope)


def _counted(player: Any, loop: ir.While, counter: ir.Expr, bound: ir.Expr, scope: Scope) -> Any:
    if type(counter) is ir.Call:
        return _filled_up(player, loop, _measured(counter), bound, scope)
    if type(counter) is not ir.Name or not _is_kept(loop, bound):
        return None
    start, step = scope.variables.get(counter.id), _step(loop, counter.id)
    if type(start) is not int or step is None:
        return None
    most = player.value(bound, scope)
    if type(most) is int:
        return max(0, -(-(most - start) // step))
    return most if start == 0 and step == 1 else derived("turns", [most])


def _filled_up(player: Any, loop: ir.While, listed: ir.Expr | None, bound: ir.Expr, scope: Scope) -> Any:
    """What a list lacks of a length, into which each turn puts an item; ``None`` where that is not known to be a number."""
    if listed is None or type(listed) not in (ir.Name, ir.Attribute):
        return None
    value = player.value(listed, scope)
    if not isinstance(value, Items) or not is_filled(loop, listed) or not _is_kept(loop, bound):
        return None
    lacking = added(player.value(bound, scope), player.length(value), minus=True)
    return lacking if isinstance(lacking, Sum) else None


def _emptied(player: Any, loop: ir.While, listed: ir.Expr | None, scope: Scope) -> Any:
    if type(listed) is not ir.Name:
        return None
    value = scope.variables.get(listed.id)
    calls = [one for name, one in _calls_of(loop, listed.id) if name in _TAKING | _PUTTING]
    taken = [one for name, one in _calls_of(loop, listed.id) if name in _TAKING]
    if len(taken) != 1 or len(calls) != 1 or not isinstance(value, Items) or not _is_at_top(loop, taken[0]):
        return None
    return player.length(value)


def _used_up(player: Any, loop: ir.While, taken: ir.Expr, scope: Scope) -> Any:
    """The items of an iterator of which each turn takes one: in the test, or at the end of the body for the next turn."""
    asked: ir.Expr | None = None
    if type(taken) is ir.Wrapped and taken.kind == ":=":
        asked = taken.value
    elif type(taken) is ir.Name:
        stores = [one for one in loop.body if type(one) is ir.Assign and _changes(one, taken.id)]
        asked = stores[0].value if len(stores) == 1 else None
    if type(asked) is not ir.Call or type(asked.func) is not ir.Name or asked.func.id != "next" or len(asked.args) != 2:
        return None
    source = asked.args[0]
    value = scope.variables.get(source.id) if type(source) is ir.Name else None
    again = [
        one
        for one in expressions_below(loop.body)
        if type(one) is ir.Call and one is not asked and _is_next(one, source)
    ]
    return value.count if isinstance(value, Generated) and not again else None


def _step(loop: ir.While, name: str) -> int | None:
    """What every turn adds to a counter that nothing else changes."""
    found = [one for one in statements(loop.body) if _changes(one, name)]
    if len(found) != 1 or found[0] not in loop.body or type(found[0]) is not ir.AugAssign:
        return None
    added = found[0].value
    if found[0].operator.rstrip("=") != "+" or type(added) is not ir.Constant or type(added.value) is not int:
        return None
    return added.value if added.value > 0 else None


def _changes(statement: ir.Stmt, name: str) -> bool:
    targets = statement.targets if type(statement) is ir.Assign else ()
    if type(statement) is ir.AugAssign or type(statement) is ir.For:
        targets = (statement.target,)
    return any(name in bound_names(target) for target in targets)


def _is_kept(loop: ir.While, bound: ir.Expr) -> bool:
    """Whether a bound is one that the loop leaves alone: a plain number, a name, an attribute, or the length of one."""
    inner = _measured(bound) if type(bound) is ir.Call else bound
    while type(inner) is ir.Attribute:
        inner = inner.base
    if type(inner) is ir.Constant:
        return True
    if type(inner) is not ir.Name:
        return False
    name = inner.id
    return not any(_changes(one, name) for one in statements(loop.body)) and not _calls_of(loop, name)


def _measured(call: ir.Expr) -> ir.Expr | None:
    """What ``len(...)`` is asked of."""
    if type(call) is not ir.Call or type(call.func) is not ir.Name or call.func.id != "len" or len(call.args) != 1:
        return None
    return call.args[0]


def _calls_of(loop: ir.While, name: str) -> list[tuple[str, ir.Call]]:
    """The calls of methods of a variable in the body, with the names of these."""
    return [
        (one.func.name, one)
        for one in expressions_below(loop.body)
        if type(one) is ir.Call
        and type(one.func) is ir.Attribute
        and type(one.func.base) is ir.Name
        and one.func.base.id == name
    ]


def _is_at_top(loop: ir.While, call: ir.Call) -> bool:
    """Whether every turn makes a call."""
    plain = (ir.Assign, ir.Evaluate)
    return any(type(one) in plain and ir.encloses(one.at, call.at) for one in loop.body)


def _is_next(call: ir.Call, source: ir.Expr) -> bool:
    if type(call.func) is not ir.Name or call.func.id != "next" or not call.args:
        return False
    asked = call.args[0]
    return type(asked) is ir.Name and type(source) is ir.Name and asked.id == source.id


def _is_zero(expr: ir.Expr) -> bool:
    return type(expr) is ir.Constant and expr.value == 0
