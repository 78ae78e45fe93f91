"""Whether there is something at all, or ``None``, over the ranks: what is inside of a row has no part in that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distlint.checks import divergence_objects
from distlint.checks.divergence_state import UNKNOWN, Divergence
from distlint.link.flow import BINDS, Bind, Env, Join
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.checks.divergence_names import Path
    from distlint.checks.divergence_trace import Ground, Tracer

PRESENCE = ("present", None)
"""The step from something to whether it is there, in a path that is walked back."""

MAX_WALK = 1_000
"""Steps of one body that are walked back for one name."""

THERE = "there"
"""What a way leaves in a name where it is something, whatever that is."""


def of(tracer: Tracer, expr: ir.Expr, ground: Ground, state: Env) -> Divergence:
    """Whether an expression is ``None`` on some ranks only; what is the same on all of them, or not known, is not told apart."""
    while type(expr) is ir.Wrapped and expr.kind == ":=" and expr.value is not None:
        expr = expr.value
    found = divergence_objects.member(tracer, expr, (PRESENCE,), ground, state)
    return found if found.differs and found.control else UNKNOWN


def of_test(tracer: Tracer, test: ir.Expr, ground: Ground, state: Env) -> Divergence:
    """Whether a test goes the same way on all ranks: of a row that a function gives, or not, what is inside has no part in that."""
    found = tracer.of(test, ground, state)
    there = of_row(tracer, test, ground, state) if found.differs else None
    return found if there is None else there


def of_row(tracer: Tracer, test: ir.Expr, ground: Ground, state: Env) -> Divergence | None:
    """What ``if found:`` comes to where a function gives a row with something in it, or ``None``; ``None`` for other tests."""
    while type(test) is ir.Operation and test.operators == ("not",):
        test = test.operands[0]
    made: ir.Expr | ir.Stmt | None = test.value if type(test) is ir.Wrapped and test.kind == ":=" else None
    if type(test) is ir.Name:
        made = _bound_to(test.id, state)
    if type(made) is not ir.Call:
        return None
    edges = tracer.project.call_graph.targets(ground.file, ground.function, made)
    if len(edges) != 1 or edges[0].how != "call":
        return None
    ends = tracer.project.flow(edges[0].target.file, edges[0].target.index).returns
    values = [statement.value for statement, _ in ends if statement.value is not None]
    if not any(map(is_something, values)) or not all(is_something(one) or _is_none(one) for one in values):
        return None
    return of(tracer, test, ground, state)


def _bound_to(name: str, state: Env) -> ir.Expr | ir.Stmt | None:
    """The expression that a variable was set to last, where there is one place only."""
    place: Env | None = state
    for _ in range(MAX_WALK):
        if place is None or (isinstance(place, Join) and name + BINDS in place.touched.how):
            return None
        if isinstance(place, Bind) and place.name == name:
            return None if place.part else place.expr
        place = place.prev
    return None


def _is_none(expr: ir.Expr) -> bool:
    return type(expr) is ir.Constant and expr.value is None


def kind_of(value: ir.Expr, path: Path) -> object:
    """What tells a value, or what stands at a path in it, from that of another way: its text where it is plain."""
    if path == (PRESENCE,) and is_something(value):
        return THERE
    for step in path:
        place = step[1] if isinstance(step, tuple) else None
        if type(value) is not ir.ListDisplay or type(place) is not int or not 0 <= place < len(value.items):
            break
        if any(type(item) is ir.Starred for item in value.items):
            break
        value = value.items[place]
    else:
        return repr(value.value) if type(value) is ir.Constant else id(value)
    return id(value)


def is_something(expr: ir.Expr | ir.Stmt | None) -> bool:
    """Whether an expression gives something on every rank: a row or a mapping that is written out, with anything in it."""
    if type(expr) is ir.ListDisplay:
        return any(type(item) is not ir.Starred for item in expr.items)
    return type(expr) is ir.DictDisplay and any(key is not None for key in expr.keys)


def is_there(bind: Bind, path: Path) -> bool:
    """Whether a binding sets a name to something, where a path asks for nothing else."""
    return path == (PRESENCE,) and not bind.part and is_something(bind.expr)
