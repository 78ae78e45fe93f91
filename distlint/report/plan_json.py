"""Plans of runs as one JSON object, described in ``docs/plan.md``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

from distlint.model.launch import Launch
from distlint.model.value import State, Value
from distlint.planning.origins import places_of

if TYPE_CHECKING:
    from distlint.link.project import Project
    from distlint.model.layout import Axis, Grid, Layout
    from distlint.planning.budget import Budget
    from distlint.planning.memory import Need
    from distlint.planning.run_plan import RunPlan

SCHEMA_VERSION = 1
MAX_GROUPS = 64
"""Of an axis with more groups than this only the first ones are listed."""
MAX_MEMBERS = 4096


def plans_as_json(project: Project, plans: Sequence[RunPlan]) -> str:
    """All plans; names and meanings of fields do not change within a ``schema_version``."""
    from distlint import __version__

    written = {
        "schema_version": SCHEMA_VERSION,
        "distlint_version": __version__,
        "runs": [_plan(project, plan) for plan in plans],
    }
    return json.dumps(written, indent=2, allow_nan=False) + "\n"


def _plan(project: Project, plan: RunPlan) -> dict[str, Any]:
    sketch, launch = plan.sketch, plan.launch

    def value(one: Value) -> dict[str, Any]:
        return _value(project, one, launch)

    return {
        "title": plan.title,
        "file": plan.span.file,
        "line": plan.span.line,
        "launch": _launch(launch),
        "frameworks": list(plan.frameworks),
        "world_size": value(plan.world),
        "nodes": value(plan.nodes),
        "processes_per_node": value(plan.per_node),
        "layout": _layout(plan, value) if plan.layout is not None else None,
        "batch": {
            "micro": value(plan.batch.micro),
            "replicas": value(plan.batch.replicas),
            "accumulation": value(plan.batch.accumulation),
            "global": value(plan.batch.whole),
            "computed": ["global" if name == "whole" else name for name in plan.batch.derived],
            "fits": plan.batch.fits,
        },
        "precision": value(sketch.precision),
        "sharding": {"by": sketch.sharded_by, "stage": value(sketch.sharding)},
        "optimizer": value(sketch.optimizer),
        "offload": {"optimizer": value(sketch.offload_optimizer), "parameters": value(sketch.offload_parameters)},
        "recompute": value(sketch.recompute),
        "memory": _memory(plan.budget) if plan.budget is not None else None,
        "device": {"bytes": plan.device.size, "name": plan.device.name} if plan.device is not None else None,
        "split_groups": [{"axis": axis, "split": split, "groups": groups} for axis, split, groups in plan.splits],
        "notes": list(sketch.notes),
        "unknown": [{"what": what, "why": why} for what, why in plan.unknown],
    }


def _value(project: Project, value: Value, launch: Launch | None) -> dict[str, Any]:
    options = [_plain(option) for option in value.options]
    return {
        "value": options[0] if value.state is State.KNOWN else None,
        "state": value.state.value,
        "options": options if value.state is State.ONE_OF else [],
        "confidence": value.confidence.word,
        "reason": value.reason,
        "from": [
            {"file": place.file, "line": place.line, "column": place.column, "text": place.text}
            for place in places_of(project, value, launch)
        ],
    }


def _plain(option: object) -> Any:
    """An option as JSON has it: anything but a number, a word or a truth value as text, and so a number that is none."""
    if isinstance(option, float):
        return option if isfinite(option) else str(option)
    return option if isinstance(option, (int, str)) else str(option)


def _launch(launch: Launch | None) -> dict[str, Any] | None:
    if launch is None:
        return None
    return {
        "launcher": launch.launcher,
        "scheduler": launch.outer.launcher if launch.outer is not None else None,
        "script": launch.script.only if isinstance(launch.script.only, str) else None,
        "script_file": launch.script_file or None,
    }


def _layout(plan: RunPlan, value: Any) -> Mapping[str, Any]:
    layout: Layout | None = plan.layout
    assert layout is not None  # noqa: S101 - tested by the caller

    def axes(given: Sequence[Axis]) -> list[dict[str, Any]]:
        return [{"name": axis.name, "size": value(axis.size)} for axis in given]

    grid = plan.grid()
    return {
        "order": layout.order,
        "axes": axes(layout.axes),
        "expert_axes": axes(layout.expert_axes),
        "virtual_stages": value(layout.virtual_stages),
        "groups": _groups(grid) if grid is not None else None,
    }


def _groups(grid: Grid) -> dict[str, list[list[int]]]:
    """The groups of ranks of each axis with more than one rank, as far as they are few."""
    found: dict[str, list[list[int]]] = {}
    for name, size in zip(grid.names, grid.sizes, strict=True):
        if size > 1 and size <= MAX_MEMBERS:
            groups = grid.groups(name)
            found[name] = [group for _, group in zip(range(MAX_GROUPS), groups, strict=False)]
    return found


def _memory(budget: Budget) -> dict[str, Any]:
    def need(one: Need | None) -> dict[str, int] | None:
        if one is None:
            return None
        return {
            "weights": round(one.weights),
            "gradients": round(one.gradients),
            "optimizer": round(one.optimizer),
            "total": round(one.total),
        }

    return {
        "parameters": budget.parameters,
        "parameters_on_fullest_device": round(budget.share),
        "least_bytes": need(budget.least),
        "states_bytes": need(budget.states),
        "activation_bytes": round(budget.activations) if budget.activations is not None else None,
        "estimate_bytes": round(budget.estimate) if budget.estimate is not None else None,
        "assumed": list(budget.assumed),
    }
