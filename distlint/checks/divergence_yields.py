"""What the generators of a project give, one by one, over the ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distlint.checks import divergence_calls, divergence_names, divergence_objects
from distlint.checks.divergence_state import UNKNOWN, Divergence, one_of
from distlint.link.walking import below, expressions_of, statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.checks.divergence_names import Path
    from distlint.checks.divergence_trace import Ground, Tracer
    from distlint.link.flow import Env


def taken(tracer: Tracer, iterable: ir.Expr, path: Path, ground: Ground, state: Env) -> Divergence | None:
    """What stands at a path of an item that a call of a generator gives; ``None`` where something else may be called."""
    if type(iterable) is not ir.Call:
        return None
    edges = tracer.project.call_graph.targets(ground.file, ground.function, iterable)
    if not edges or not all(
        edge.how == "call" and _has_yield(tracer, edge.target.file, edge.target.index) for edge in edges
    ):
        return None
    ways = []
    for edge in edges:
        inner = divergence_calls.inner_ground(tracer, edge.target, iterable, None, ground, state)
        ways.append(UNKNOWN if inner is None else divergence_calls.returned(tracer, edge.target, inner, path))
    return one_of(ways)


def _has_yield(tracer: Tracer, file: str, function: int) -> bool:
    return tracer.project.flow(file, function).has_yield


def given(tracer: Tracer, definition: ir.Function, ground: Ground, path: Path) -> Divergence:
    """What stands at a path of what a generator gives."""
    flow = tracer.project.flow(ground.file, ground.function)
    ways = []
    for statement in statements(definition.body):
        for expr in expressions_of(statement):
            for part in below(expr):
                if type(part) is not ir.Wrapped or not part.kind.startswith("yield") or part.value is None:
                    continue
                before = flow.before(part.at)
                if part.kind == "yield" and path:
                    ways.append(divergence_objects.member(tracer, part.value, path, ground, before))
                elif path:
                    steps = tuple(step[1] for step in path if isinstance(step, tuple))
                    ways.append(divergence_names.element(tracer, part.value, steps, ground, before))
                else:
                    ways.append(tracer.of(part.value, ground, before))
    return one_of(ways) if ways else UNKNOWN
