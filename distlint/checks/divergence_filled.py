"""Lists and tensors that a program fills up to a number that it has, or cuts off there, over the ranks.

Processes with data of different lengths agree on one, and each adds as much as it lacks (``mine += [None] * (most - len(mine))``). What is
in the lists differs still, how long they are does not, and most tests ask for that: nothing is claimed of them any more.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.checks.divergence_state import EVEN
from distlint.link.flow import Bind, Env, Join, Store
from distlint.link.walking import access_path, below
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.checks.divergence_trace import Ground, Tracer

MAX_WALK = 60
"""Steps of one body that are walked back for the variable that holds what is missing."""

Place = tuple[str, tuple[ir.Expr | str, ...]]
"""A name and the attributes that lead from it to a list (``access_path``)."""

_SIZES = frozenset({"size", "numel", "__len__"})
_ADDING = frozenset({"extend", "append", "extendleft", "appendleft", "insert", "+=", "update"})
_MORE = frozenset({"<", "<=", "!="})
_LESS = frozenset({">", ">=", "!="})


def is_sum_filled(tracer: Tracer, expr: ir.Expr, ground: Ground, state: Env) -> bool:
    """Whether one part of ``a + b`` or ``[*a, *b]`` is as much as another one lacks."""
    parts = parts_added(expr)
    return any(
        is_filled_by(tracer, access_path(one), other, ground, state)
        for one in parts
        for other in parts
        if one is not other
    )


def is_filled_by(tracer: Tracer, filled: Place, added: ir.Expr, ground: Ground, state: Env) -> bool:
    """Whether as much is added to something as it lacks of a number that does not differ."""
    return any(not tracer.of(wanted, ground, at).differs for wanted, at in _lacking(filled, added, state))


def is_cut(tracer: Tracer, expr: ir.Subscript, ground: Ground, state: Env) -> bool:
    """Whether a slice ends at a number that the processes have agreed on."""
    index = expr.index
    if type(index) is not ir.Slice or index.upper is None or index.step is not None:
        return False
    starts = index.lower is None or (type(index.lower) is ir.Constant and not index.lower.value)
    return starts and tracer.of(index.upper, ground, state).why == EVEN


def fills(tracer: Tracer, step: Env, place: Place, ground: Ground) -> bool:
    """Whether a step of a body fills what stands at a place: an addition, a loop up to a length, or a test for what is missing."""
    if isinstance(step, Bind) and isinstance(step.expr, ir.AugAssign):
        adds = step.expr.operator == "+" and access_path(step.expr.target) == place
        return adds and is_filled_by(tracer, place, step.expr.value, ground, step.prev or step)
    if isinstance(step, Store):
        given = step.expr.args if isinstance(step.expr, ir.Call) and step.action != "call" else (step.expr,)
        return step.action in _ADDING and any(is_filled_by(tracer, place, one, ground, step.at) for one in given)
    if not isinstance(step, Join) or step.prev is None:
        return False
    if isinstance(step.by, ir.For):
        return is_filled_by(tracer, place, step.by.iterable, ground, step.prev)
    test = step.by.test if isinstance(step.by, ir.While) else step.test
    if test is None:
        return False
    limits = list(_limits(place, test, step.prev))
    if any(not tracer.of(limit, ground, at).differs for limit, at in limits):
        return isinstance(step.by, ir.While) or any(
            _is_filled_on(tracer, step, one, place, ground) for one in step.branches
        )
    return False


def _is_filled_on(tracer: Tracer, join: Join, branch: Env, place: Place, ground: Ground) -> bool:
    """Whether a way up to a join fills what stands at a place."""
    step: Env | None = branch
    for _ in range(MAX_WALK):
        if step is None or step is join.prev:
            return False
        if fills(tracer, step, place, ground):
            return True
        if isinstance(step, Bind) and step.name == place[0]:
            return isinstance(step.expr, ir.Expr) and is_sum_filled(tracer, step.expr, ground, step.at)
        step = step.prev
    return False


def parts_added(expr: ir.Expr) -> tuple[ir.Expr, ...]:
    """What is put together by ``a + b`` or ``[*a, *b]``."""
    if type(expr) is ir.Operation and set(expr.operators) == {"+"}:
        return expr.operands
    if type(expr) is ir.ListDisplay:
        return tuple([item.value if type(item) is ir.Starred else item for item in expr.items])
    return ()


def _lacking(filled: Place, added: ir.Expr, state: Env, depth: int = 0) -> Iterator[tuple[ir.Expr, Env]]:
    """The numbers of which an expression takes off how long something is, with the states that they are asked for in."""
    for part in below(added):
        if type(part) is ir.Operation and part.operators == ("-",) and len(part.operands) == 2:
            if _is_length(part.operands[1], filled, state):
                yield part.operands[0], state
        elif type(part) is ir.Name and not depth:
            bind = _bound(part.id, state)
            if bind is not None and isinstance(bind.expr, ir.Expr) and not bind.part:
                yield from _lacking(filled, bind.expr, bind.at, 1)


def _limits(place: Place, test: ir.Expr, state: Env) -> Iterator[tuple[ir.Expr, Env]]:
    """The numbers that a test compares a length with (``len(x) < n``), or of which it asks how much is missing (``n - len(x) > 0``)."""
    yield from _lacking(place, test, state)
    for part in below(test):
        if type(part) is ir.Operation and len(part.operands) == 2:
            one, other = part.operands
            if part.operators[0] in _MORE and _is_length(one, place, state):
                yield other, state
            elif part.operators[0] in _LESS and _is_length(other, place, state):
                yield one, state


def _is_length(expr: ir.Expr, of: Place, state: Env) -> bool:
    """Whether an expression is how long something is, or a variable that holds this."""
    if type(expr) is ir.Name:
        bind = _bound(expr.id, state)
        return bind is not None and isinstance(bind.expr, ir.Call | ir.Subscript) and _is_length(bind.expr, of, bind.at)
    if type(expr) is ir.Subscript:
        return type(expr.base) is ir.Attribute and expr.base.name == "shape" and _is_place(expr.base.base, of)
    if type(expr) is not ir.Call:
        return False
    if type(expr.func) is ir.Name:
        return expr.func.id == "len" and len(expr.args) == 1 and _is_place(expr.args[0], of)
    return type(expr.func) is ir.Attribute and expr.func.name in _SIZES and _is_place(expr.func.base, of)


def _is_place(expr: ir.Expr, place: Place) -> bool:
    return bool(place[0]) and access_path(expr) == place


def _bound(name: str, state: Env) -> Bind | None:
    step: Env | None = state
    for _ in range(MAX_WALK):
        if step is None or (isinstance(step, Join) and name in step.touched):
            return None
        if isinstance(step, Bind) and step.name == name:
            return step
        step = step.prev
    return None
