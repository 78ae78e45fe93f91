"""Runs whose model states alone are more than the memory of the devices that they ask for.

``subjects`` are the kinds of subjects that tell the layout, the model and how its states are kept.
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.registry import CheckContext, check
from distlint.link.project import Project
from distlint.model.finding import Finding, Related, Severity
from distlint.model.value import Confidence
from distlint.planning.devices import device_memory
from distlint.planning.run_plan import RunPlan, make_plans

GIB = 1 << 30


@check("memory-fit")
def memory_fit(context: CheckContext) -> Iterator[Finding]:
    """One finding for each run that cannot fit, a warning where that is an estimate."""
    project: Project = context.project
    if project.gpu_memory is None and not any(device_memory(project, launch) for launch in project.launches):
        return
    subjects = [subject for kind in context.parameters["subjects"] for subject in context.subjects(kind)]
    for plan in make_plans(project, subjects):
        found = _finding(context, plan)
        if found is not None:
            yield found


def _finding(context: CheckContext, plan: RunPlan) -> Finding | None:
    budget, device, shape, need = plan.budget, plan.device, plan.sketch.shape, plan.excess
    if budget is None or device is None or need is None:
        return None
    parts = [("weights", need.weights), ("gradients", need.gradients), ("optimizer states", need.optimizer)]
    told = ", ".join(f"{_shown(size)} {name}" for name, size in parts if size)
    related = []
    if shape is not None and shape.span is not None:
        related.append(Related(shape.span, f"{budget.parameters / 1e9:.1f} billion parameters"))
    if device.span is not None:
        related.append(Related(device.span, f"{device.name}: {device.size / GIB:.0f} GiB at most"))
    how = "at least" if plan.is_sure else "about"
    return context.finding(
        f"model states take {how} {_shown(need.total)} on a device ({told}), which has {device.size / GIB:.0f} GiB ({device.name})",
        plan.span,
        severity=None if plan.is_sure else Severity.WARNING,
        related=related,
        confidence=min(_confidence(plan)),
        symbol=plan.launch.script_file if plan.launch is not None else "",
    )


def _confidence(plan: RunPlan) -> Iterator[Confidence]:
    """How sure we are of the sizes that the bound rests on."""
    yield Confidence.LIKELY
    yield plan.sketch.precision.confidence
    yield plan.sketch.sharding.confidence
    if plan.layout is not None:
        yield from (axis.size.confidence for axis in (*plan.layout.axes, *plan.layout.expert_axes))


def _shown(size: float) -> str:
    return f"{size / GIB:.1f} GiB"
