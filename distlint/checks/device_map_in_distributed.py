"""A model is spread over the devices of one process in a run where each process gets its share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.checks.argument_loads import loads_with_argument, removal_plan
from distlint.checks.programs import brings_together, family
from distlint.checks.registry import CheckContext, check
from distlint.judge.wording import show
from distlint.model import python as ir
from distlint.model.finding import Finding, Related, Severity
from distlint.model.value import Confidence

if TYPE_CHECKING:
    from distlint.link.project import CallSite, Project


@check("device-map-in-distributed")
def device_map_in_distributed(context: CheckContext) -> Iterator[Finding]:
    """Loads with ``argument`` one of ``values`` in runs of several processes that train with one of ``trainers``.

    A map of the whole object (``{"": device}``) counts as its device. ``signs`` are words of programs for several processes.
    """
    project: Project = context.project
    values = frozenset(context.parameters["values"])
    trained = {found.file for found in project.calls_to(set(context.parameters["trainers"]))}
    if not trained:
        return
    for found, expr in loads_with_argument(context, project):
        for run in project.runs_reaching(found.file):
            count = run.world_size
            if not count.options or not all(isinstance(n, int) and n > 1 for n in count.options):
                continue
            value = project.evaluator(run).value(_whole(expr), found.file, found.site.function)
            if value.is_known and _plain(value.only) in values and trained & project.closure(run.script_file):
                yield context.finding(
                    f"`{context.parameters['argument']}` is {value.only!r} in a run of {show(count)} processes",
                    ir.unpack(expr.at, found.file),
                    related=[Related(run.span, f"{show(count)} processes are started here")],
                    confidence=min(value.confidence, count.confidence),
                    plan=removal_plan(context, found),
                    symbol=context.parameters["argument"],
                    runs=(f"{run.span.file}:{run.span.line}",),
                )
        if not project.runs_reaching(found.file) and brings_together(project, found.file, context.parameters["signs"]):
            yield from _without_launch(context, found, expr, trained, values)


def _without_launch(
    context: CheckContext, found: CallSite, expr: ir.Expr, trained: set[str], values: frozenset[object]
) -> Iterator[Finding]:
    """A warning where nothing says how the program is started, but it has a word about several processes."""
    project: Project = context.project
    value = project.evaluator(None).value(_whole(expr), found.file, found.site.function)
    if value.is_known and _plain(value.only) in values and trained & family(project, found.file):
        yield context.finding(
            f"`{context.parameters['argument']}` is {value.only!r} in a program for several processes",
            ir.unpack(expr.at, found.file),
            confidence=min(value.confidence, Confidence.LIKELY),
            severity=Severity.WARNING,
            symbol=context.parameters["argument"],
        )


def _whole(expr: ir.Expr) -> ir.Expr:
    if type(expr) is ir.DictDisplay and len(expr.keys) == 1:
        key = expr.keys[0]
        if type(key) is ir.Constant and key.value == "":
            return expr.values[0]
    return expr


def _plain(value: object) -> object:
    return value if isinstance(value, str | int) and not isinstance(value, bool) else None
