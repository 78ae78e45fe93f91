"""Scripts that overwrite what their launcher tells each process with what can't be right.

Parameters: ``variables`` (those that differ between processes, or that the launcher has already used), ``devices``
(those that list the devices of a process; a list that is too short for the processes of a node hides their devices),
``meanings`` (what a variable must hold: ``rank``, ``local-rank`` or ``world``), and ``told`` (library functions, by the
argument with which they do without the variables).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from distlint.checks.environment_stores import Store, environment_stores
from distlint.checks.execution import Execution
from distlint.checks.ranks import Process, RankView
from distlint.checks.registry import CheckContext, check
from distlint.link.project import Project
from distlint.model.finding import Finding, Operation, Related
from distlint.model.launch import Launch
from distlint.model.value import Value


@check("launcher-variables")
def launcher_variables(context: CheckContext) -> Iterator[Finding]:
    """A finding for each value that a launched script certainly writes to a variable, and that can't be right."""
    project: Project = context.project
    devices = frozenset(context.parameters.get("devices", ()))
    names = frozenset(context.parameters["variables"]) | devices
    meanings: Mapping[str, str] = context.parameters.get("meanings", {})
    stores = [one for one in environment_stores(project, names) if not one.only_if_missing]
    for run in project.runs if stores else ():
        launch = run.launch
        if launch is None or launch.world_size.only == 1:
            continue
        execution = Execution(project, run)
        for store in stores:
            if not store.literal:
                problem = _misplaced(context, launch, store, meanings.get(store.name, ""))
            else:
                problem = _too_few(launch, store) if store.name in devices else _overwritten(launch, store)
            if not problem or not execution.reaches(store.file, store.function, store.at):
                continue
            yield context.finding(
                problem,
                store.span,
                related=[Related(launch.span, f"`{launch.launcher}` starts the processes here")],
                plan=context.plan(Operation("remove-statement", store.span))
                if store.literal or store.name in launch.provides
                else None,
                symbol=store.name,
            )


def _overwritten(launch: Launch, store: Store) -> str:
    if store.name not in launch.provides:
        return ""
    return f"`{store.name}` is set to {str(store.value.only)!r}, over what the launcher told this process"


# No number of these can be taken for another one.
_STRANGER = Process(rank=1009, local_rank=13, devices=47, node=89, nodes=97, per_node=53)
_NAMES = {
    1009: "rank",
    13: "local rank",
    47: "number of devices",
    53: "number of processes of a node",
    89: "number of the node",
    97: "number of nodes",
    83: "local number of the task that started the launcher",
    101: "number of tasks that start launchers",
    103: "number of the task that started the launcher",
}
_TASK = Process(rank=103, local_rank=83, world=101, nodes=97, node=89)
"""What the variables of a scheduler say in the processes of a launcher that it starts once on each node."""
_ACROSS_NODES = {
    ("rank", 13): "is the same on every node",
    ("local-rank", 1009): "is larger than the devices of a node from the second node on",
    ("world", 47): "counts one node only",
    ("world", 53): "counts one node only",
}
_ON_A_NODE = {
    **{
        (meaning, number): "all processes of a node share"
        for meaning in ("rank", "local-rank")
        for number in (89, 83, 103)
    },
    ("world", 97): "counts one process for each node",
    ("world", 101): "counts one process for each node",
}
_EVERYWHERE = {
    ("rank", 47): "is the same for all processes",
    ("rank", 53): "is the same for all processes",
    ("rank", 97): "is the same for all processes",
    ("world", 1009): "differs between processes",
    ("world", 13): "differs between processes",
}


def _misplaced(context: CheckContext, launch: Launch, store: Store, meaning: str) -> str:
    """Why a value that tells one thing of a process can't stand for another one."""
    project: Project = context.project
    if not meaning or _told(context, launch):
        return ""
    outer = launch.outer.provides if launch.outer is not None else frozenset()
    own = launch.provides - outer
    number = _number(project, store, _STRANGER, own or {*launch.provides, *launch.environment})
    if number is None and own and launch.outer is not None and launch.outer.processes_per_node.only == 1:
        number = _number(project, store, _TASK, {*outer, *launch.environment})
    if number is None:
        return ""
    why = _EVERYWHERE.get((meaning, number), "")
    if not why and _several(launch.nodes) and _several(launch.processes_per_node):
        why = _ACROSS_NODES.get((meaning, number), "")
    elif not why and _several(launch.nodes):
        why = _ACROSS_NODES.get((meaning, number), "") if meaning == "rank" else ""
    if not why and _several(launch.processes_per_node):
        why = _ON_A_NODE.get((meaning, number), "")
    return f"`{store.name}` is set to the {_NAMES[number]}, which {why}" if why else ""


def _number(project: Project, store: Store, process: Process, variables: Collection[str]) -> int | None:
    """The value that a statement writes on a process where these variables tell it where it is."""
    view = RankView(project, process, guess=False, variables=variables)
    value = view.ask(store.expr, store.file, store.function)
    if isinstance(value, str) and value.isdecimal() and len(value) < 6:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _several(count: Value) -> bool:
    return isinstance(count.only, int) and count.only > 1


def _told(context: CheckContext, launch: Launch) -> bool:
    """Whether a call that would read the variables is given what they say as arguments."""
    closure = context.project.closure(launch.script_file)
    told: Mapping[str, str] = context.parameters.get("told", {})
    return any(
        keyword.name in (None, told[found.name])
        for found in context.project.calls_to(set(told))
        if found.file in closure
        for keyword in found.site.call.keywords
    )


def _too_few(launch: Launch, store: Store) -> str:
    """Why a list of devices does not go with the launch: several processes of a node, and fewer devices in the list."""
    processes, text = launch.processes_per_node.only, str(store.value.only)
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not isinstance(processes, int) or not parts or not all(part.isdecimal() for part in parts):
        return ""
    if processes <= len(parts) or "LOCAL_RANK" not in launch.provides:
        return ""
    return f"`{store.name}` is set to {text!r} in each of the {processes} processes of a node"
