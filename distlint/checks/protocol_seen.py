"""Faults in the order of a program's calls that the walk over it shows (``protocol``), and those that known runs were seen to make besides.

The walk knows every way through a program, but not which function stands in a table or comes out of a factory; a run that is followed
does. It counts where the run certainly uses first what it starts later, and calls nothing in between that may start it as well, or where it
enters a context inside of another one. A rule has the parameters of ``protocol``, with the events ``start`` and ``use``, or ``enter``.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

from distlint.checks.protocol import protocol
from distlint.checks.registry import CheckContext, check
from distlint.link.project import Project
from distlint.model.finding import Finding, Related
from distlint.model.launch import Run
from distlint.model.span import Span
from distlint.model.value import Confidence
from distlint.rehearsal.witness import Step
from distlint.rehearsal.witnesses import Witnesses

_PYTHON = ("builtins", *sorted(sys.stdlib_module_names))


@check("protocol-seen")
def protocol_seen(context: CheckContext) -> Iterator[Finding]:
    """What the walk finds, and what is seen in runs of scripts in which it finds nothing."""
    project: Project = context.project
    walked = [one for one in protocol(context) if not _is_started_before(context, one.span)]
    yield from walked
    files = {finding.span.file for finding in walked}
    parameters = context.parameters
    names = frozenset(name for event in parameters["events"].values() for one in event for name in one["call"])
    if project.second_opinion is None or not any(project.mentions(one.rpartition(".")[2]) for one in sorted(names)):
        return
    reported = set()
    for run in project.runs:
        seen = _seen(project, run, parameters) if not files & project.closure(run.script_file) else None
        if seen is None or seen[0].span in reported:
            continue
        reported.add(seen[0].span)
        name = seen[0].name.removesuffix("().__enter__").rpartition(".")[2]
        yield context.finding(
            parameters["faults"][0]["message"].format(name=name),
            seen[0].span,
            related=[Related(seen[1].span, parameters.get("seen", "it comes here"))],
            confidence=Confidence.LIKELY,
            symbol=seen[0].name,
        )


def _is_started_before(context: CheckContext, span: Span) -> bool:
    """Whether a known run was seen to start, by another name, what it uses at a place, before it came there."""
    project: Project = context.project
    starts = {name for one in context.parameters["events"].get("start", ()) for name in one["call"]}
    for run in project.runs if starts and project.second_opinion is not None else ():
        witness = Witnesses.of(project).of_run(run) if span.file in project.closure(run.script_file) else None
        for order in witness.orders if witness is not None else ():
            before = list(takewhile(lambda step: step.span != span, order))
            if len(before) < len(order) and any(step.name in starts for step in before):
                return True
    return False


def _seen(project: Project, run: Run, parameters: Mapping[str, Any]) -> tuple[Step, Step] | None:
    """The fault that every process of a run certainly comes to, and the step that makes it one; ``None`` where there is none."""
    witness = Witnesses.of(project).of_run(run)
    events = {event: {name for one in calls for name in one["call"]} for event, calls in parameters["events"].items()}
    found = set()
    for order in witness.orders if witness is not None else ():
        if "use" in events:
            found.add(_early(order, events["use"], events["start"], tuple(parameters["harmless"])))
        else:
            found.add(_nested(order, {f"{name}()" for name in events["enter"]}))
    return found.pop() if len(found) == 1 else None


def _nested(order: Sequence[Step], contexts: Collection[str]) -> tuple[Step, Step] | None:
    """The first context that is entered inside of another one, and that one."""
    around: list[Step] = []
    for step in order:
        made, _, method = step.name.rpartition(".")
        if made not in contexts or method not in ("__enter__", "__exit__"):
            continue
        if not step.is_sure:
            return None
        if method == "__enter__":
            if around:
                return step, around[-1]
            around.append(step)
        elif around:
            around.pop()
    return None


def _early(
    order: Sequence[Step], uses: Collection[str], starts: Collection[str], harmless: tuple[str, ...]
) -> tuple[Step, Step] | None:
    """What is used before it is started, and what starts it."""
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
