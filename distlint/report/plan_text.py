"""Plans of runs for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from distlint.model.layout import EXPERT, EXPERT_TENSOR, TITLES, Grid, Layout
from distlint.model.value import State, Value
from distlint.planning.origins import Place, places_of
from distlint.report.terminal import harmless

if TYPE_CHECKING:
    from distlint.link.project import Project
    from distlint.planning.run_plan import RunPlan

LABEL = 12
_SYMBOLS = {
    "micro": "micro batch",
    "replicas": "data-parallel size",
    "accumulation": "accumulation",
    "whole": "global batch",
}


def plans_as_text(project: Project, plans: Sequence[RunPlan]) -> str:
    """One paragraph per run, separated by empty lines."""
    if not plans:
        return "no runs: nothing in these paths starts a distributed job\n"
    texts = ("".join(f"{harmless(line)}\n" for line in plan_lines(project, plan)) for plan in plans)
    return "\n".join(dict.fromkeys(texts))


def plan_lines(project: Project, plan: RunPlan) -> Iterator[str]:
    """The lines about one run, the first of which names it; as they come from the project, so not yet harmless."""
    yield f"{plan.span.file}:{plan.span.line}  {plan.title}"
    yield from _counts(project, plan)
    if plan.layout is not None:
        yield from _layout_lines(plan, plan.layout)
    yield from _batch_lines(project, plan)
    yield from _states(project, plan)
    yield from _memory(plan)
    for name, split, groups in plan.splits:
        if name in ("TP", "ETP"):
            yield _row(
                "warning", f"{split} of {groups} {TITLES[name]} groups lie on several nodes, where links are slow"
            )
    for note in plan.sketch.notes:
        yield _row("note", note)
    reasons: dict[str, list[str]] = {}
    for name, reason in plan.unknown:
        names = reasons.setdefault(reason, [])
        if name not in names:
            names.append(name)
    for reason, names in reasons.items():
        yield _row("unknown", f"{', '.join(names)}: {reason}")


def _row(label: str, text: str) -> str:
    return f"  {label:<{LABEL}} {text}"


def shown(value: Value, missing: str = "?") -> str:
    """A value in few words."""
    if value.state is State.KNOWN:
        return _word(value.only)
    if value.state is State.ONE_OF:
        return " or ".join(_word(option) for option in value.options)
    return missing


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}".replace(",", " ") if isinstance(value, int) and value >= 10_000 else str(value)


def _counts(project: Project, plan: RunPlan) -> Iterator[str]:
    parts = ""
    if not plan.nodes.is_absent and not plan.per_node.is_absent:
        nodes, per_node = shown(plan.nodes), shown(plan.per_node)
        if nodes != "?" or per_node != "?":
            parts = f" = {nodes} node{'' if nodes == '1' else 's'} × {per_node}"
    yield _row("world size", f"{shown(plan.world)}{parts}{_doubt(plan.world)}")
    sources = [("nodes", plan.nodes), ("processes", plan.per_node), ("world size", plan.world)]
    told: set[Place] = set()
    for name, value in sources:
        places = places_of(project, value, plan.launch)
        if name == "world size" and told:
            break
        if places and told.issuperset(places):
            continue
        if value.is_known or value.state is State.ONE_OF:
            text = _from(plan, places) if places else _given_by(plan, name, value, project.gpus_per_node)
            if text:
                yield _row("", f"{name} {shown(value)}: {text}")
            told |= set(places)


def _is_default(plan: RunPlan) -> bool:
    options = plan.launch.options if plan.launch is not None else {}
    return "processes-per-node" not in options and "processes" not in options


def _given_by(plan: RunPlan, name: str, value: Value, devices: int | None) -> str:
    spread = name != "world size" and not value.spans
    if devices is not None and (spread or (name == "processes" and value.only == devices and _is_default(plan))):
        return "`gpus-per-node` of the settings"
    if plan.launch is None:
        return ""
    if name == "world size":
        return "" if value.spans else "given by the settings"
    dest = "nodes" if name == "nodes" else "processes-per-node"
    option = plan.launch.options.get(dest) or plan.launch.options.get("processes")
    if option is not None and (dest in plan.launch.options or name != "nodes"):
        return f"`{option.flag}` of the command"
    return f"default of {plan.launch.launcher}" if value.spans else ""


def _from(plan: RunPlan, places: Sequence[Place]) -> str:
    return ", ".join(f"`{place.text}` ({_place(plan, place.file, place.line)})" for place in places)


def _place(plan: RunPlan, file: str, line: int) -> str:
    """A place as briefly as possible: the line alone where it is in the file that the plan is about."""
    return f"line {line}" if file == plan.span.file else f"{file}:{line}"


def _doubt(value: Value) -> str:
    return (
        ""
        if value.is_unknown or value.is_absent or value.confidence.word == "certain"
        else f" ({value.confidence.word})"
    )


def _layout_lines(plan: RunPlan, layout: Layout) -> Iterator[str]:
    yield _row("layout", axes_text(layout))
    if layout.expert_axes:
        yield _row("", "layers with experts: " + " × ".join(f"{a.name} {shown(a.size)}" for a in layout.expert_axes))
    if not layout.virtual_stages.is_absent:
        yield _row("", f"virtual stages on each pipeline rank: {shown(layout.virtual_stages)}")
    grid = plan.grid()
    if grid is None or grid.world < 2:
        return
    per_node = plan.per_node.only if plan.blocks else None
    yield from _group_lines(grid, grid.names, per_node)
    experts = layout.expert_grid()
    if experts is not None and experts.world == grid.world:
        yield from _group_lines(experts, (EXPERT, EXPERT_TENSOR), per_node)


def _group_lines(grid: Grid, names: Sequence[str], per_node: object) -> Iterator[str]:
    for name, size in zip(grid.names, grid.sizes, strict=True):
        if size > 1 and name in names:
            first = next(iter(grid.groups(name)))
            nodes = ""
            if isinstance(per_node, int) and per_node > 0:
                count = len({rank // per_node for rank in first})
                nodes = ", on one node" if count == 1 else f", on {count} nodes"
            yield _row(
                "",
                f"{TITLES.get(name, name)} groups: {grid.world // size} of {size}, the first {ranks_text(first)}{nodes}",
            )


def axes_text(layout: Layout) -> str:
    """The sizes of the axes, from the one whose ranks are neighbours to the one whose ranks lie furthest apart."""
    order = f"  (rank order {layout.order})" if layout.order else ""
    return " × ".join(f"{axis.name} {shown(axis.size)}" for axis in layout.axes) + order


def ranks_text(ranks: Sequence[int]) -> str:
    """A group of ranks: all of a few, else its first ones and the last."""
    if len(ranks) > 1 and ranks[-1] - ranks[0] == len(ranks) - 1:
        return f"ranks {ranks[0]}-{ranks[-1]}"
    if len(ranks) > 6:
        return "ranks " + ", ".join(str(rank) for rank in ranks[:3]) + f", ... {ranks[-1]}"
    return "ranks " + ", ".join(str(rank) for rank in ranks)


def batch_text(plan: RunPlan) -> str:
    """The batch equation with a word for each size that is not known; ``""`` where nothing of it is."""
    batch = plan.batch
    if all(value.is_absent or value.is_unknown for value in (batch.micro, batch.accumulation, batch.whole)):
        return ""
    parts = {name: shown(getattr(batch, name), f"<{word}>") for name, word in _SYMBOLS.items()}
    return (
        f"{parts['micro']} micro × {parts['replicas']} replicas × {parts['accumulation']} accumulation"
        f" = {parts['whole']} global"
    )


def _batch_lines(project: Project, plan: RunPlan) -> Iterator[str]:
    text = batch_text(plan)
    if not text:
        return
    wrong = "  (does not come out)" if plan.batch.fits is False else ""
    yield _row("batch", text + wrong)


def _states(project: Project, plan: RunPlan) -> Iterator[str]:
    sketch = plan.sketch
    if not sketch.precision.is_absent:
        yield _row("precision", shown(sketch.precision))
    if not sketch.sharding.is_absent and (sketch.sharding.only != 0 or sketch.sharded_by == "ZeRO"):
        what = {0: "nothing shared out", 1: "optimizer states", 2: "optimizer states and gradients",
                3: "weights, gradients and optimizer states"}.get(sketch.sharding.only, "")  # fmt: skip
        name = (
            f"{sketch.sharded_by} stage {shown(sketch.sharding)}" if sketch.sharded_by == "ZeRO" else sketch.sharded_by
        )
        yield _row("sharding", f"{name}: {what or '?'}" if name else "?")
    parts = []
    if not sketch.optimizer.is_absent:
        parts.append(shown(sketch.optimizer))
    if sketch.offload_optimizer.only is True:
        parts.append("optimizer states offloaded")
    if sketch.offload_parameters.only is True:
        parts.append("parameters offloaded")
    if parts:
        yield _row("optimizer", ", ".join(parts))
    if sketch.recompute.is_known and sketch.recompute.only != "none":
        yield _row("recompute", shown(sketch.recompute))


def gigabytes(size: float) -> str:
    """Bytes in units of 2^30, by which devices are sold as gigabytes."""
    number = size / (1 << 30)
    return f"{number:.1f} GiB" if number >= 0.1 else f"{number:.3f} GiB"


def parameters_text(count: float) -> str:
    """A number of parameters as people say it."""
    return f"{count / 1e9:.2f} billion" if count >= 1e9 else f"{count / 1e6:.0f} million"


def _memory(plan: RunPlan) -> Iterator[str]:
    budget = plan.budget
    shape = plan.sketch.shape
    if budget is None or shape is None:
        return
    place = f" ({_place(plan, shape.span.file, shape.span.line)})" if shape.span is not None else ""
    yield _row(
        "model",
        f"{parameters_text(budget.parameters)} parameters, {parameters_text(budget.share)} in the largest part{place}",
    )
    parts = []
    if budget.least is not None:
        parts.append(f"at least {gigabytes(budget.least.total)} of model states")
    if budget.states is not None:
        text = f"about {gigabytes(budget.states.total)} of model states"
        if budget.activations is not None:
            text += f" + {gigabytes(budget.activations)} of activations"
        parts.append(text)
    if plan.device is not None:
        parts.append(f"a device has {gigabytes(plan.device.size)} ({plan.device.name})")
    if parts:
        yield _row("memory", "; ".join(parts))
    if plan.device is not None:
        if plan.excess is not None:
            sure = plan.is_sure
            yield _row(
                "warning", f"the model states alone {'do not fit' if sure else 'are estimated not to fit'} (RUN610)"
            )
        elif budget.states is not None and budget.states.total > plan.device.size:
            yield _row("note", "trained as they are, the weights would take more than the device has")
        elif budget.estimate is not None and budget.estimate > plan.device.size:
            yield _row("note", "with activations the estimate is more than the device has")
    if budget.assumed and budget.states is not None:
        yield _row("", "the estimate assumes " + " and ".join(budget.assumed))
