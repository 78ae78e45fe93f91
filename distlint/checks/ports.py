"""Jobs that run side by side on one host and meet at the same port.

Parameters: ``launchers`` (those that take a fixed port), ``free`` (options, by ``dest``, that make the launcher choose
a free one), ``variables`` (prefixes of variables that may hold an address), ``fix`` (launcher to the option that a fix
adds; one that needs a value gets the next port), ``free-since`` (launcher to the package and version since which it
takes a free port when it is given none).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

from distlint.checks.registry import CheckContext, check
from distlint.judge.versions import is_pinned, satisfies
from distlint.link.project import Project
from distlint.model.finding import Finding, FixPlan, Operation, Related, Severity
from distlint.model.launch import Launch, exclusive
from distlint.model.shell import Command, ShellFacts
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
    for file, items in by_file.items():
        reported: set[Span] = set()
        for (first, one), (second, other) in combinations(sorted(items, key=lambda item: item[0].span.start), 2):
            if one.port == other.port and second.span not in reported and _side_by_side(project, file, first, second):
                reported.add(second.span)
                yield _finding(context, one, second, other)


def _finding(context: CheckContext, one: Meeting, second: Launch, other: Meeting) -> Finding:
    how = "" if other.written else "the default "
    when = one.until or other.until
    before = f" (before {when}, which picks a free one)" if when else ""
    return context.finding(
        f"this job uses {how}port {other.port}, as the one that still runs in the background{before}",
        other.span if other.written else second.span,
        severity=Severity.WARNING if when else None,
        related=[Related(one.span, f"started in the background with port {one.port}")],
        plan=_plan(context, second, other),
        symbol=second.script_file,
    )


def _plan(context: CheckContext, launch: Launch, meeting: Meeting) -> FixPlan | None:
    flag = context.parameters.get("fix", {}).get(launch.launcher, "")
    options = [option.span for option in launch.options.values() if option.span.file == launch.span.file]
    if not flag or meeting.written or not options:
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
    if given is not None:
        text = given.value.only
        usable = isinstance(text, (str, int)) and str(text).isdecimal() and str(text) != "0"
        return Meeting(int(text), given.span, True) if usable else None
    specs = (launcher for spec in context.project.specs for launcher in spec.launchers)
    default = next((spec.default_port for spec in specs if spec.name == launch.launcher), None)
    if default is None:
        return None
    package, version = parameters.get("free-since", {}).get(launch.launcher, ("", ""))
    versions = context.project.environments.for_file(launch.script_file or launch.file)
    if package and satisfies(versions, package, f">={version}") is not False:
        return None if is_pinned(versions, package) else Meeting(default, launch.span, False, f"{package} {version}")
    return Meeting(default, launch.span, False)


def _side_by_side(project: Project, file: str, first: Launch, second: Launch) -> bool:
    """Whether the second is started while the first runs: it is in the background, and nothing waits in between."""
    if not first.background or first.branch != second.branch or exclusive(first, second) or first.span == second.span:
        return False
    facts = project.facts[file].shell
    if facts is None:
        return False
    between = (first.span.end, second.span.start)
    return not any(between[0] <= span.start <= between[1] for span in _waits(facts))


def _waits(facts: ShellFacts) -> Iterator[Span]:
    """The commands of a script that let time pass until jobs end: ``wait`` by any form, ``fg``, ``kill``."""
    stack: list[object] = list(facts.statements)
    while stack:
        item = stack.pop()
        if isinstance(item, Command) and item.words and item.words[0].literal in ("wait", "fg", "kill", "pkill"):
            yield item.span
        if isinstance(item, tuple):
            stack.extend(item)
        elif hasattr(item, "__dataclass_fields__") and not isinstance(item, Command):
            stack.extend(getattr(item, name) for name in item.__dataclass_fields__)
