"""Calls that may fail on one rank and not on another, inside a ``try`` that goes on behind the failure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.checks.divergence import DIFFERS, DivergenceView
from distlint.checks.rank_shapes import Shape, is_handled
from distlint.checks.rank_tests import Decision
from distlint.link.walking import below, blocks_of, expressions_of, statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.project import Project

MAX_CALLS = 20
"""Calls of one function that are looked at."""

_READING = frozenset(
    {
        "open",
        "load",
        "loads",
        "load_file",
        "read_text",
        "read_bytes",
        "imread",
        "safe_load",
        "loadtxt",
        "genfromtxt",
        "int",
        "float",
    }
)
"""Last names of functions that read or convert what may not be there, or be something else."""


def failing_calls(project: Project, shape: Shape, file: str, function: int) -> Iterator[tuple[int, Decision]]:
    """The places of such calls in a body, with what differs between the ranks."""
    view = DivergenceView.of_project(project)
    seen = 0
    for point in shape.flow.points:
        call = point.expr
        if (
            point.kind != "call"
            or type(call) is not ir.Call
            or (point.index in shape.steps and _is_operation(shape, point.index))
        ):
            continue
        if not is_handled(shape.flow, point.fails) or not _may_fail(project, call, file, function):
            continue
        seen += 1
        if seen > MAX_CALLS:
            return
        for given in (*call.args, *(keyword.value for keyword in call.keywords)):
            found = view.of(given, file, function)
            if found.state == DIFFERS:
                why = "it reads or converts what each rank has of its own"
                yield call.at, Decision((None,) * 5, True, why, found.places)
                break


def _is_operation(shape: Shape, index: int) -> bool:
    return any(step.kind == "operation" for step in shape.steps[index])


def _may_fail(project: Project, call: ir.Call, file: str, function: int) -> bool:
    """Whether a call reads or converts something, by itself or in a function of the project."""
    if _last(call.func) in _READING:
        return True
    edges = project.call_graph.targets(file, function, call)
    if len(edges) != 1 or not edges[0].certain or edges[0].how != "call":
        return False
    return _reads_unguarded(project.function(edges[0].target).body)


def _reads_unguarded(body: tuple[ir.Stmt, ...]) -> bool:
    """Whether statements read or convert something where no handler of their own keeps the failure from the caller."""
    for statement in body:
        if type(statement) is ir.Try and any(not _raises(handler) for _, _, handler in statement.handlers):
            blocks = (statement.orelse, statement.final, *(handler for _, _, handler in statement.handlers))
        else:
            blocks = blocks_of(statement)
        own = (part for expr in expressions_of(statement) for part in below(expr))
        if any(type(part) is ir.Call and _last(part.func) in _READING for part in own):
            return True
        if any(_reads_unguarded(block) for block in blocks):
            return True
    return False


def _raises(handler: tuple[ir.Stmt, ...]) -> bool:
    return any(type(statement) is ir.Jump and statement.kind == "raise" for statement in statements(handler))


def _last(expr: ir.Expr) -> str:
    return expr.id if type(expr) is ir.Name else expr.name if type(expr) is ir.Attribute else ""
