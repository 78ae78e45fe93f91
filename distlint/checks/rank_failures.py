"""Calls that may fail on one rank and not on another, inside a ``try`` that goes on behind the failure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.checks.divergence import DIFFERS, DivergenceView
from distlint.checks.execution import body_of
from distlint.checks.lasting_failures import CONVERTING, READING, lasting_failures
from distlint.checks.rank_paths import ANYTHING, catches
from distlint.checks.rank_shapes import Shape, is_handled
from distlint.checks.rank_tests import Decision, Failing
from distlint.checks.ranks import SECOND
from distlint.link.walking import statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.project import Project

MAX_CALLS = 20
"""Calls of one function that are looked at."""


def failing_calls(project: Project, shape: Shape, file: str, function: int) -> Iterator[Failing]:
    """The calls of a body that may fail on some ranks only."""
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
        if not is_handled(shape.flow, point.fails):
            continue
        raised = _raised(project, call, file, function)
        if not raised:
            continue
        seen += 1
        if seen > MAX_CALLS:
            return
        for given in (*call.args, *(keyword.value for keyword in call.keywords)):
            found = view.of(given, file, function)
            if found.state == DIFFERS and not _is_a_number(view, call, given, file, function):
                why = "it reads or converts what each rank has of its own"
                yield Failing(call.at, Decision((None,) * 5, True, why, found.places), raised)
                break


def _is_a_number(view: DivergenceView, call: ir.Call, given: ir.Expr, file: str, function: int) -> bool:
    """Whether what is converted is a number already: nothing can be wrong with it."""
    return _last(call.func) in CONVERTING and isinstance(view.view(SECOND).ask(given, file, function), int | float)


def _is_operation(shape: Shape, index: int) -> bool:
    return any(step.kind == "operation" for step in shape.steps[index])


def _raised(project: Project, call: ir.Call, file: str, function: int) -> str:
    """As what a handler takes the exception of a call that reads or converts something, by itself or in a function of the project.

    Empty where it is not known to fail, or where nothing in the function takes what it raises.
    """
    if _last(call.func) in READING | CONVERTING:
        return ANYTHING
    edges = project.call_graph.targets(file, function, call)
    if len(edges) != 1 or not edges[0].certain or edges[0].how != "call":
        return ""
    failures = lasting_failures(project, edges[0].target)
    if not failures or (ANYTHING,) in failures:
        return ANYTHING if failures else ""
    body = body_of(project, file, function)
    taken = (name for names in sorted(failures) for name in names if name and _is_taken(body, call.at, name))
    return next(taken, "")


def _is_taken(body: tuple[ir.Stmt, ...], at: ir.Position, name: str) -> bool:
    """Whether a handler around a place takes an exception of this name."""
    return any(
        catches(kind, name)
        for one in statements(body)
        if type(one) is ir.Try and any(ir.encloses(inner.at, at) for inner in one.body)
        for kind, _, _ in one.handlers
    )


def _last(expr: ir.Expr) -> str:
    return expr.id if type(expr) is ir.Name else expr.name if type(expr) is ir.Attribute else ""
