"""Jobs that run side by side on one host and meet at the same port.

Parameters: ``launchers`` (those that take a fixed port), ``free`` (options, by ``dest``, that make the launcher choose
a free one), ``variables`` (prefixes of variables that may hold an address), ``fix`` (launcher to the option that a fix
adds; one that needs a value gets the next port), ``free-since`` (launcher to the package and version since which it
takes a free port when it is given none), ``gives-way-since`` (the same, for one that takes a free port where its own is
in use).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

from distlint.checks.registry import CheckContext, check
from distlint.checks.side_by_side import loop_of_jobs, run_side_by_side
from distlint.judge.versions import is_pinned, satisfies
from distlint.link.project import Project
from distlint.model.finding import Finding, FixPlan, Operation, Related, Severity
from distlint.model.launch import Launch
from distlint.model.span import Span


class Meeting(NamedTuple):
    """The port at which the processes of a launch meet, and where that is written (the launch itself for a default)."""

    port: int
    span: Span
    written: bool
    until: str = ""
    """The version of the launcher from which on this is no fault, where older ones may be in use as well."""


@check("ports")
def ports(context: CheckContext) -> Iterator[Finding]:
    """A finding for the later one of two launches that run at once with the same port."""
    project: Project = context.project
    by_file: dict[str, list[tuple[Launch, Meeting]]] = {}
    for launch in project.launches:
        meeting = _meeting(context, launch)
        if meeting is not None and launch.span.file == launch.file:
            by_file.setdefault(launch.file, []).append((launch, meeting))
    for items in by_file.values():
        reported: set[Span] = set()
        for launch, meeting in items:
            loop = loop_of_jobs(project, launch)
            if loop is not None and launch.span not in reported and _one_port(items, launch):
                reported.add(launch.span)
                yield _finding(context, meeting, launch, meeting, looped=loop)
        for (first, one), (second, other) in combinations(sorted(items, key=lambda item: item[0].span.start), 2):
            if one.port == other.port and second.span not in reported and run_side_by_side(project, first, second):
                reported.add(second.span)
                yield _finding(context, one, second, other, behind=first.background)


def _one_port(items: list[tuple[Launch, Meeting]], launch: Launch) -> bool:
    """Whether a command has the same port in every turn of the loop around it, as far as they were followed."""
    return len({meeting.port for other, meeting in items if other.span == launch.span}) == 1


def _finding(
    context: CheckContext,
    one: Meeting,
    second: Launch,
    other: Meeting,
    *,
    looped: Span | None = None,
    behind: bool = True,
) -> Finding:
    how = "" if other.written else "the default "
    when = one.until or other.until
    before = f" (before {when}, which picks a free one)" if when else ""
    where = "the one that still runs in the background" if behind else "another that runs on the host's network"
    return context.finding(
        f"this job uses {how}port {other.port}, as {where}{before}"
        if looped is None
        else f"every turn of the loop starts a job in the background with {how}port {other.port}{before}",
        other.span if other.written else second.span,
        severity=Severity.WARNING if when else None,
        related=[
            Related(one.span, f"started {'in the background' if behind else 'beside it'} with port {one.port}")
            if looped is None
            else Related(looped, "nothing in this loop waits")
        ],
        plan=_plan(context, second, other) if looped is None else None,
        symbol=second.script_file,
    )


def _plan(context: CheckContext, launch: Launch, meeting: Meeting) -> FixPlan | None:
    flag = context.parameters.get("fix", {}).get(launch.launcher, "")
    options = [option.span for option in launch.options.values() if option.span.file == launch.span.file]
    facts = context.project.facts.get(launch.span.file)
    if not flag or meeting.written or not options or facts is None or facts.shell is None:
        return None
    last = max(options, key=lambda span: span.end)
    arguments = {"flag": flag, "after": last} | ({"value": meeting.port + 1} if "port" in flag else {})
    return context.plan(Operation("set-option", launch.span, arguments))


def _meeting(context: CheckContext, launch: Launch) -> Meeting | None:
    """The port of a launch on this host alone; ``None`` where it is chosen freely, shared on purpose, or not known."""
    parameters = context.parameters
    if launch.launcher not in parameters["launchers"] or launch.outer is not None or launch.open_options:
        return None
    if launch.apart:
        return None
    if launch.nodes.only != 1 or any(dest in launch.options for dest in parameters["free"]):
        return None
    if any(name.startswith(tuple(parameters["variables"])) for name in launch.environment):
        return None
    given = launch.options.get("port")
    versions = context.project.environments.for_file(launch.script_file or launch.file)
    package, version = parameters.get("gives-way-since", {}).get(launch.launcher, ("", ""))
    if package and satisfies(versions, package, f">={version}") is not False:
        return None
    if given is not None:
        text = given.value.only
        usable = isinstance(text, (str, int)) and str(text).isdecimal() and str(text) != "0"
        return Meeting(int(text), given.span, True) if usable else None
    specs = (launcher for spec in context.project.specs for launcher in spec.launchers)
    default = next((spec.default_port for spec in specs if spec.name == launch.launcher), None)
    if default is None:
        return None
    package, version = parameters.get("free-since", {}).get(launch.launcher, ("", ""))
    if package and satisfies(versions, package, f">={version}") is not False:
        return None if is_pinned(versions, package) else Meeting(default, launch.span, False, f"{package} {version}")
    return Meeting(default, launch.span, False)
