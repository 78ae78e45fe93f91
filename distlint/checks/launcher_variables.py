"""Scripts that overwrite with a constant what their launcher tells each process.

Parameters: ``variables`` (those that differ between processes, or that the launcher has already used), ``devices``
(those that list the devices of a process; a list that is too short for the processes of a node hides their devices).
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.environment_stores import Store, environment_stores
from distlint.checks.execution import Execution
from distlint.checks.registry import CheckContext, check
from distlint.link.project import Project
from distlint.model.finding import Finding, Operation, Related
from distlint.model.launch import Launch


@check("launcher-variables")
def launcher_variables(context: CheckContext) -> Iterator[Finding]:
    """A finding for each constant that a launched script certainly writes over a variable of its launcher."""
    project: Project = context.project
    devices = frozenset(context.parameters.get("devices", ()))
    names = frozenset(context.parameters["variables"]) | devices
    stores = [one for one in environment_stores(project, names) if one.literal and not one.only_if_missing]
    for run in project.runs if stores else ():
        launch = run.launch
        if launch is None or launch.world_size.only == 1:
            continue
        execution = Execution(project, run)
        for store in stores:
            problem = _too_few(launch, store) if store.name in devices else _overwritten(launch, store)
            if not problem or not execution.reaches(store.file, store.function, store.at):
                continue
            yield context.finding(
                problem,
                store.span,
                related=[Related(launch.span, f"`{launch.launcher}` starts the processes here")],
                plan=context.plan(Operation("remove-statement", store.span)),
                symbol=store.name,
            )


def _overwritten(launch: Launch, store: Store) -> str:
    if store.name not in launch.provides:
        return ""
    return f"`{store.name}` is set to {str(store.value.only)!r}, over what the launcher told this process"


def _too_few(launch: Launch, store: Store) -> str:
    """Why a list of devices does not go with the launch: several processes of a node, and fewer devices in the list."""
    processes, text = launch.processes_per_node.only, str(store.value.only)
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not isinstance(processes, int) or not parts or not all(part.isdecimal() for part in parts):
        return ""
    if processes <= len(parts) or "LOCAL_RANK" not in launch.provides:
        return ""
    return f"`{store.name}` is set to {text!r} in each of the {processes} processes of a node"
