"""Launches that Python programs make: commands that they start, and processes that they start themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from distlint.link.arguments import find_argument
from distlint.link.modules import FunctionRef
from distlint.link.process_counts import product, quotient
from distlint.link.process_loops import joins_job, loop_count
from distlint.link.python_commands import COMMANDS, FUNCTIONS, command_launches
from distlint.model.framework import StarterSpec
from distlint.model.launch import Launch, Run
from distlint.model.value import Confidence, Value, absent, known, unknown

if TYPE_CHECKING:
    from distlint.link.project import CallSite, Project

MAX_SITES = 200
"""So many calls that start processes are looked at."""


def with_python_launches(project: Project, launches: Sequence[Launch]) -> tuple[Launch, ...]:
    """The launches of scripts and files, and those that the Python files of the project make.

    A script that a plain interpreter starts, and that starts its processes itself, has as many as it starts.
    """
    starters = {starter.callee: starter for spec in project.specs for starter in spec.starters}
    names = set(starters) | COMMANDS
    last = {name.rpartition(".")[2] for name in names} | FUNCTIONS
    if not any(project.sites(name) for name in last):
        return tuple(launches)
    sites = [
        (found, starters[found.name])
        for found in project.calls_to(set(starters))
        if not starters[found.name].joining or _is_job(project, found, starters[found.name])
    ][:MAX_SITES]
    result = [_completed(project, launch, sites) for launch in launches]
    started = {launch.script_file for launch in launches if launch.script_file}
    submitted: list[Launch] = []
    for found in _commands(project):
        for one in command_launches(project, found):
            if one.submitted:
                submitted.append(one)
            elif not _same(one, result):
                result.append(one)
            elif not one.world_size.is_unknown:
                # A script whose arguments nobody else gives has those of the program.
                result = [one if _same(one, [other]) and other.world_size.is_unknown else other for other in result]
    called = {call.callee for call in project.launch_index.calls}
    replaced = {one.file for one in submitted} - called
    result = [one for one in result if one.file not in replaced] + submitted
    for found, starter in sites:
        if starter.command:
            result += command_launches(project, found, starter.command)
        elif found.file not in started and not _is_helper(project, found):
            result.append(_started(project, found, starter, None))
    return tuple(result)


def _commands(project: Project) -> Iterator[CallSite]:
    for number, found in enumerate(project.calls_to(COMMANDS)):
        if number >= MAX_SITES:
            return
        yield found


def _same(launch: Launch, others: Sequence[Launch]) -> bool:
    return any(other.span == launch.span and other.launcher == launch.launcher for other in others)


def _is_helper(project: Project, found: CallSite) -> bool:
    """Whether the numbers come from whoever calls the function: the launch is that of the scripts that do."""
    if found.site.function < 0:
        return False
    callers = project.callers(FunctionRef(found.file, found.site.function))
    return any(caller.file != found.file for caller in callers)


def _completed(project: Project, launch: Launch, sites: Sequence[tuple[CallSite, StarterSpec]]) -> Launch:
    """A launch by a plain interpreter with the processes that its script starts."""
    if not launch.script_file or launch.provides or launch.world_size.only != 1 or launch.launcher != _plain(project):
        return launch
    for found, starter in sites:
        if not starter.command and _reached(project, launch.script_file, found):
            counted = _started(project, found, starter, Run(launch.script_file, launch, launch.world_size))
            return replace(
                launch,
                nodes=counted.nodes,
                processes_per_node=counted.processes_per_node,
                world_size=counted.world_size,
            )
    return launch


def _plain(project: Project) -> str:
    for spec in project.specs:
        for launcher in spec.launchers:
            if ("python",) in launcher.commands:
                return launcher.name
    return ""


def _reached(project: Project, script: str, found: CallSite) -> bool:
    """Whether a call stands in a script, or in a function of the project that the script itself calls."""
    if found.file == script:
        return True
    if found.site.function < 0 or found.file not in project.closure(script):
        return False
    callers = project.callers(FunctionRef(found.file, found.site.function))
    return any(caller.file == script for caller in callers)


def _started(project: Project, found: CallSite, starter: StarterSpec, run: Run | None) -> Launch:
    """The launch that a call by which a program starts its own processes is; only likely, as branches may avoid it."""
    each = _in_loop(project, found, run) if starter.joining else _argument(project, found, starter.processes, run)
    if each.is_absent and starter.default is None and project.gpus_per_node is not None:
        each = known(project.gpus_per_node, found.span)
    if each.is_absent:
        reason = "as many as the machine has devices"
        each = known(starter.default, found.span) if starter.default is not None else unknown(reason, found.span)
    nodes = _argument(project, found, starter.nodes, run)
    nodes = known(1, found.span) if nodes.is_absent else nodes
    most = _argument(project, found, starter.most, run)
    if not most.is_absent and (not most.is_known or most.only != nodes.only):
        nodes = unknown("the number of nodes may change while it runs", found.span)
    each, nodes = each.at_most(Confidence.LIKELY), nodes.at_most(Confidence.LIKELY)
    if starter.total:
        missing = unknown("the cluster decides where the processes are", found.span)
        nodes, each, world = missing, quotient(each, missing), each
    else:
        world = product(nodes, each)
    return Launch(
        launcher=starter.callee,
        span=found.span,
        script=known(found.file, found.span),
        script_file=found.file,
        arguments=(),
        options={},
        nodes=nodes,
        processes_per_node=each,
        world_size=world,
        environment={},
        provides=frozenset(),
        open_arguments=True,
        open_options=True,
        guards=1,
        file=found.file,
    )


def _is_job(project: Project, found: CallSite, starter: StarterSpec) -> bool:
    return loop_count(project, found) is not None and joins_job(project, found, starter.joining)


def _in_loop(project: Project, found: CallSite, run: Run | None) -> Value:
    """As many processes as a loop has turns."""
    count = loop_count(project, found)
    if count is None:
        return unknown("started one by one", found.span)
    return project.evaluator(run).value(count, found.file, found.site.function).map(_count)


def _argument(project: Project, found: CallSite, parameter: tuple[str, int | None], run: Run | None) -> Value:
    name, position = parameter
    expr, sure = find_argument(found.site.call, name, position) if name else (None, True)
    if expr is None:
        return absent(found.span) if sure else unknown("behind ** in the call", found.span)
    value = project.evaluator(run).value(expr, found.file, found.site.function)
    return value.map(_count)


def _count(value: object) -> int:
    """A number of processes, or of a list of devices."""
    if isinstance(value, (list, tuple)) and value:
        return len(value)
    if isinstance(value, str) and "," in value:
        return len([part for part in value.split(",") if part.strip()])
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise ValueError("is no number")
    number = int(value)
    if number < 1:
        raise ValueError("as many as the machine has")
    return number
