"""Faults in the order of a program's calls that the walk over it shows (``protocol``), and those that known runs were seen to make besides.

The walk knows every way through a program, but not which function stands in a table or comes out of a factory; a run that is followed
does. It counts where the run certainly uses first what it starts later, and calls nothing in between that may start it as well. A rule has
the parameters of ``protocol``, with the events ``start`` and ``use``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from distlint.checks.protocol import protocol
from distlint.checks.registry import CheckContext, check
from distlint.link.project import Project
from distlint.model import python as ir
from distlint.model.finding import Finding, Related
from distlint.model.launch import Run
from distlint.model.value import Confidence
from distlint.rehearsal.witness import Step
from distlint.rehearsal.witnesses import Witnesses

_PYTHON = ("builtins", *sorted(sys.stdlib_module_names))


@check("protocol-seen")
def protocol_seen(context: CheckContext) -> Iterator[Finding]:
    """What the walk finds, and what is seen in runs of scripts in which it finds nothing."""
    project: Project = context.project
    walked = list(protocol(context))
    yield from walked
    files = {finding.span.file for finding in walked}
    uses, starts = (_names(context, one) for one in ("use", "start"))
    if project.second_opinion is None or not any(project.mentions(one.rpartition(".")[2]) for one in sorted(uses)):
        return
    reported = set()
    for run in project.runs:
        if files & project.closure(run.script_file):
            continue
        early = _early(project, run, uses, starts, tuple(context.parameters["harmless"]))
        if early is None:
            continue
        use, start = early
        span = ir.unpack(use.call.at, use.file)
        if span in reported:
            continue
        reported.add(span)
        yield context.finding(
            context.parameters["faults"][0]["message"].format(name=use.name.rpartition(".")[2]),
            span,
            related=[Related(ir.unpack(start.call.at, start.file), "it is started here")],
            confidence=Confidence.LIKELY,
            symbol=use.name,
        )


def _names(context: CheckContext, event: str) -> frozenset[str]:
    return frozenset(name for one in context.parameters["events"][event] for name in one["call"])


def _early(
    project: Project, run: Run, uses: frozenset[str], starts: frozenset[str], harmless: tuple[str, ...]
) -> tuple[Step, Step] | None:
    """What every process of a run certainly uses before it is started, and what starts it later; ``None`` where nothing is."""
    witness = Witnesses.of(project).of_run(run)
    found = {_first(order, uses, starts, harmless) for order in witness.orders} if witness is not None else {None}
    return found.pop() if len(found) == 1 else None


def _first(
    order: Sequence[Step], uses: frozenset[str], starts: frozenset[str], harmless: tuple[str, ...]
) -> tuple[Step, Step] | None:
    used: Step | None = None
    for step in order:
        if step.name in starts:
            return (used, step) if used is not None and step.is_sure else None
        if used is None and step.name in uses:
            if not step.is_sure:
                return None
            used = step
        if used is None and not step.name.startswith(harmless) and step.name.partition(".")[0] not in _PYTHON:
            return None
    return None
