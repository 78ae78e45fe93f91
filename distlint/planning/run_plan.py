"""The plan of a run: what all that is known of it says together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field, fields, replace
from typing import TYPE_CHECKING

from distlint.model.launch import Launch, in_blocks
from distlint.model.layout import DATA, SHARD, Grid, Layout
from distlint.model.record import dataclass
from distlint.model.sketch import Sketch
from distlint.model.span import Span
from distlint.model.subject import Subject
from distlint.model.value import Value, absent, computed, join, unknown
from distlint.model.value import known as known_value
from distlint.planning.batches import Batch, solve_batch
from distlint.planning.budget import Budget, budget_of
from distlint.planning.devices import Memory, device_memory
from distlint.planning.memory import Need

if TYPE_CHECKING:
    from distlint.link.project import Project

PLAIN = "python"
"""The launcher that only runs a script: such commands are shown where a framework knows something of them."""


@dataclass(slots=True)
class RunPlan:
    """One run as far as it is known: where it starts, how many processes, how they are laid out, what they hold."""

    title: str
    span: Span
    launch: Launch | None
    files: frozenset[str]
    nodes: Value
    per_node: Value
    world: Value
    sketch: Sketch
    frameworks: tuple[str, ...]
    batch: Batch
    device: Memory | None = None
    budget: Budget | None = None
    splits: tuple[tuple[str, int, int], ...] = ()
    """(axis, groups that lie on several nodes, groups in all), for axes of which any does."""
    unknown: tuple[tuple[str, str], ...] = field(default=())
    """What is not known, and why."""

    @property
    def blocks(self) -> bool:
        """Whether ranks fill one node after the other: a scheduler that starts each of them may scatter them."""
        return self.launch is None or self.launch.launcher != PLAIN or in_blocks(self.launch)

    @property
    def excess(self) -> Need | None:
        """The model states of a device where they are more than its memory: at least so much, or about (``is_sure``)."""
        if self.budget is None or self.device is None:
            return None
        least, states = self.budget.least, self.budget.states
        if least is not None and least.total > self.device.size:
            return least
        sketch = self.sketch
        moved = sketch.offload_optimizer.is_unknown or sketch.offload_parameters.is_unknown
        if sketch.plain.only is not True or moved or states is None or states.total <= self.device.size:
            return None
        return states

    @property
    def is_sure(self) -> bool:
        """Whether ``excess`` is a lower bound."""
        return self.budget is not None and self.excess is self.budget.least

    @property
    def layout(self) -> Layout | None:
        """How the ranks are laid out."""
        return self.sketch.layout

    def grid(self) -> Grid | None:
        """The ranks with all sizes known, where they are exactly the processes that are started."""
        grid = self.layout.grid() if self.layout is not None else None
        return grid if grid is not None and self.world.only in (None, grid.world) else None


def make_plans(
    project: Project, subjects: Iterable[Subject], failed: Callable[[Subject, Exception], None] | None = None
) -> list[RunPlan]:
    """The plans of a project's runs in the order of their places: launches, then what nobody is seen to launch.

    ``failed`` is told of a subject whose framework failed to say what it knows; without it such a failure is raised.
    """
    sketches: dict[object, list[tuple[Subject, Sketch]]] = {}
    for subject in subjects:
        try:
            sketch = subject.sketch(subject) if subject.sketch is not None else None
        except Exception as error:  # one framework that fails must not end the others
            if failed is None:
                raise
            failed(subject, error)
            continue
        if sketch is not None:
            sketches.setdefault(_key(subject), []).append((subject, sketch))
    plans = []
    for launch in project.launches:
        known = sketches.pop(id(launch), [])
        if any(_says_much(sketch) for _, sketch in known) or _starts_job(launch):
            plans.append(_plan(project, launch, known))
    for known in sketches.values():
        if known[0][0].run is None or known[0][0].run.launch is None:
            plans.append(_plan(project, None, known))
    return sorted(plans, key=lambda plan: (plan.launch is None, plan.span, plan.title))


def _key(subject: Subject) -> object:
    run = subject.run
    if run is None:
        return subject.span.file, subject.span.line
    return id(run.launch) if run.launch is not None else run.script_file


def _says_much(sketch: Sketch) -> bool:
    """Whether a framework knows anything of a run that is worth showing."""
    return sketch.layout is not None or any(
        value.is_known for value in (sketch.precision, sketch.sharding, sketch.micro_batch)
    )


def _starts_job(launch: Launch) -> bool:
    """Whether a command starts a job by itself: some launcher does, or the script that starts its own processes."""
    if launch.launcher != PLAIN:
        return True
    return launch.world_size.only not in (None, 1) and launch.script.is_known


def _plan(project: Project, launch: Launch | None, known: Sequence[tuple[Subject, Sketch]]) -> RunPlan:
    sketch = merged([one for _, one in known])
    subject = known[0][0] if known else None
    world = launch.world_size if launch is not None else absent()
    given = project.given_size()
    if given.is_known:
        world = given
    elif not sketch.world.is_absent and (world.is_absent or world.is_unknown or not sketch.world.is_unknown):
        world = sketch.world
    if world.is_absent:
        world = unknown("no launch of it was found")
    span = launch.span if launch is not None else subject.span if subject is not None else Span("", 1, 1, 1, 1)
    layout = sketch.layout
    replicas = _replicas(layout, world)
    batch = solve_batch(sketch.micro_batch, replicas, sketch.accumulation, sketch.global_batch)
    nodes = launch.nodes if launch is not None else absent()
    per_node = launch.processes_per_node if launch is not None else absent()
    if launch is None or (given.is_known and (nodes.is_unknown or per_node.is_unknown) and project.gpus_per_node):
        nodes, per_node = _spread(project, world)
    counts = (nodes.only, per_node.only, world.only)
    if all(type(count) is int for count in counts) and counts[0] * counts[1] != counts[2]:
        # the world was told by something else than the launch
        nodes, per_node = _spread(project, world)
    plan = RunPlan(
        title=_title(launch, subject),
        span=span,
        launch=launch,
        files=frozenset(_files(launch, known)),
        nodes=nodes,
        per_node=per_node,
        world=world,
        sketch=sketch,
        frameworks=tuple(dict.fromkeys(one.framework for _, one in known)),
        batch=batch,
        device=device_memory(project, launch),
    )
    plan.budget = budget_of(sketch, batch, replicas)
    plan.splits = tuple(_splits(plan))
    plan.unknown = tuple(_unknown(plan))
    return plan


def _spread(project: Project, world: Value) -> tuple[Value, Value]:
    """Nodes, and processes on each, where the settings tell how many devices a node has."""
    each, total = project.gpus_per_node, world.only
    if each is None or type(total) is not int or (total > each and total % each):
        return absent(), absent()
    return known_value(max(1, total // each)), known_value(min(each, total))


def _files(launch: Launch | None, known: Sequence[tuple[Subject, Sketch]]) -> Iterator[str]:
    if launch is not None:
        yield from (launch.span.file, launch.file, launch.script_file)
    for subject, sketch in known:
        yield subject.span.file
        yield from (setting.span.file for setting in subject.settings.values())
        if sketch.shape is not None and sketch.shape.span is not None:
            yield sketch.shape.span.file


def _title(launch: Launch | None, subject: Subject | None) -> str:
    if launch is None:
        return subject.label if subject is not None else ""
    script = launch.script.only if isinstance(launch.script.only, str) else launch.script_file or "unknown script"
    outer = launch.outer.launcher + " " if launch.outer is not None else ""
    return f"{outer}{launch.launcher} {script}"


def _replicas(layout: Layout | None, world: Value) -> Value:
    """How many ranks get batches of their own."""
    if layout is None:
        return absent() if world.is_absent else unknown("the layout is not known")
    sizes = [size for name in (DATA, SHARD) if not (size := layout.size(name)).is_absent]
    if len(sizes) == 1:
        return sizes[0]
    return computed(sizes, lambda parts: parts[0] * parts[1]) if sizes else unknown("the layout is not known")


def merged(sketches: Sequence[Sketch]) -> Sketch:
    """What several frameworks know of one run: the highest rank is asked first, and equals have to agree."""
    ordered = sorted(sketches, key=lambda one: -one.rank)
    if not ordered:
        return Sketch("")
    result = replace(ordered[0])
    for item in fields(Sketch):
        values = [(one.rank, getattr(one, item.name)) for one in ordered]
        if isinstance(values[0][1], Value):
            setattr(result, item.name, _agreed(values))
        elif item.name in ("layout", "shape", "sharded_by"):
            setattr(result, item.name, next((value for _, value in values if value), values[0][1]))
    if not _agree([one.layout for one in ordered if one.rank == ordered[0].rank]):
        result.layout = None
    _refuse_other_kinds(result)
    result.notes = tuple(dict.fromkeys(note for one in ordered for note in one.notes))
    return result


MAX = 1 << 40
"""A batch of more samples than this is no batch."""

_TEXTS = ("precision", "optimizer", "recompute")
_NUMBERS = ("micro_batch", "accumulation", "global_batch", "instances")


def _refuse_other_kinds(sketch: Sketch) -> None:
    """Takes values of another kind than they have to be for unknown: files may say anything."""
    for name in (*_TEXTS, *_NUMBERS, "sharding"):
        value: Value = getattr(sketch, name)
        kind = str if name in _TEXTS else int
        fits = all(type(option) is kind for option in value.options)
        if fits and kind is int:
            fits = all(option in (0, 1, 2, 3) if name == "sharding" else 0 < option < MAX for option in value.options)
        if not fits:
            nothing = all(option is None for option in value.options)
            setattr(sketch, name, absent() if nothing else unknown("is of a kind that makes no sense", *value.spans))


def _agree(layouts: Sequence[Layout | None]) -> bool:
    """Whether layouts are the same but for axes of one rank."""
    forms = {
        tuple((axis.name, repr(axis.size.options)) for axis in layout.axes if axis.size.only != 1)
        for layout in layouts
        if layout is not None
    }
    return len(forms) < 2


def _agreed(values: Sequence[tuple[int, Value]]) -> Value:
    best = absent()
    for rank in dict.fromkeys(rank for rank, _ in values):
        given = [value for one, value in values if one == rank and not value.is_absent]
        if not given:
            continue
        value = join(given)
        if not value.is_unknown:
            return value
        best = value if best.is_absent else best
    return best


def _splits(plan: RunPlan) -> Iterator[tuple[str, int, int]]:
    grid, per_node = plan.grid(), plan.per_node.only
    if grid is None or type(per_node) is not int or per_node < 1 or plan.nodes.only == 1 or not plan.blocks:
        return
    for name, size in zip(grid.names, grid.sizes, strict=True):
        if size > 1 and (split := grid.split_groups(name, per_node)):
            yield name, split, grid.world // size


def _unknown(plan: RunPlan) -> Iterator[tuple[str, str]]:
    for name, value in (("world size", plan.world), ("nodes", plan.nodes), ("processes per node", plan.per_node)):
        if value.is_unknown:
            yield name, value.reason or "is not known"
    layout = plan.layout
    if layout is None and plan.world.only != 1:
        yield "layout", "no framework says how the ranks are laid out"
    elif layout is not None:
        for axis in layout.axes:
            if axis.size.is_unknown and not plan.world.is_unknown:
                yield f"{axis.name} size", axis.size.reason or "is not known"
    batch = plan.batch
    for name, value in (
        ("micro batch", batch.micro),
        ("accumulation", batch.accumulation),
        ("global batch", batch.whole),
    ):
        if value.is_unknown and not plan.world.is_unknown:
            yield name, value.reason or "is not known"
    for name, value in (
        ("precision", plan.sketch.precision),
        ("sharding", plan.sketch.sharding),
        ("optimizer", plan.sketch.optimizer),
    ):
        if value.is_unknown:
            yield name, value.reason or "is not known"
    if plan.frameworks and plan.sketch.shape is None:
        yield "model size", "neither the command nor a configuration of the model in the project tells it"
    elif plan.sketch.shape is not None:
        for part in plan.sketch.shape.missing:
            yield "model size", part
    if plan.budget is not None and plan.sketch.trains.only is not False:
        if plan.sketch.plain.is_known and plan.sketch.plain.only is False:
            yield (
                "model states",
                "not all weights are seen to be trained as they are (adapters, frozen or quantized weights)",
            )
        elif plan.budget.states is None:
            yield "model states", "the precision or how they are shared out is not known"
        if plan.budget.activations is None and plan.sketch.shape is not None and not plan.sketch.shape.sequence:
            yield "activations", "the length of the sequences is not known"
        elif plan.budget.activations is None and plan.sketch.recompute.is_unknown:
            yield "activations", plan.sketch.recompute.reason or "what is recomputed is not known"
    if plan.budget is not None and plan.device is None:
        yield "memory of a device", "no scheduler option names the device; `gpu-memory` in the settings does"
