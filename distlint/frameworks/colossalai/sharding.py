"""Models that a program parts by itself: one subject per call of ``ShardFormer.optimize`` and run.

What is known of the model is called as for a booster; ``tp_size`` is the number of ranks among which tensors are parted, ``stages`` that of
the pipeline, ``stage_layers`` how many layers its stages hold together where the program says so, ``sequence_mode`` the way of sequences.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.frameworks.colossalai.boosted import maker_of, name_of
from distlint.frameworks.colossalai.models import NAMES as MODEL_NAMES
from distlint.frameworks.colossalai.models import model_facts
from distlint.frameworks.colossalai.plugins import PACKAGE, signature
from distlint.frameworks.general import argument_settings, moved
from distlint.frameworks.reaching import runs_through
from distlint.link.abstract import Instance, node_of
from distlint.link.items import elements
from distlint.model.document import node_value
from distlint.model.subject import Subject
from distlint.model.value import Value, known, unknown

if TYPE_CHECKING:
    from distlint.link.abstract import Abstract
    from distlint.link.evaluate import Evaluator
    from distlint.link.project import CallSite, Project
    from distlint.model.launch import Run

_FORMERS = frozenset(
    {
        "colossalai.shardformer.ShardFormer()",
        "colossalai.shardformer.shard.ShardFormer()",
        "colossalai.shardformer.shard.shardformer.ShardFormer()",
    }
)
_MESHES = frozenset(
    {"colossalai.cluster.ProcessGroupMesh()", "colossalai.cluster.process_group_mesh.ProcessGroupMesh()"}
)
_CONFIG = "colossalai.shardformer.shard.shard_config.ShardConfig"
_PARAMETERS = ("model", "policy")
_MANAGERS = frozenset(
    {"colossalai.pipeline.PipelineStageManager()", "colossalai.pipeline.stage_manager.PipelineStageManager()"}
)
_NAMES = frozenset({"world_size", "tp_size", "stages", "stage_layers", "sequence_mode", *MODEL_NAMES})


def known_path(path: str) -> bool:
    """Whether a condition over a model that is parted may use a path."""
    head, _, tail = path.partition(".")
    return path in _NAMES or (head == "argument" and tail in _PARAMETERS)


def build(project: Project) -> Iterator[Subject]:
    """The subjects of a project; none where nothing makes a ``ShardFormer``."""
    if not project.sites("ShardFormer"):
        return
    for found in project.sites("optimize"):
        for run in runs_through(project, found):
            evaluator = project.evaluator(run)
            base = getattr(found.site.call.func, "base", None)
            former = maker_of(evaluator.ask(base, found.file, found.site.function)) if base is not None else None
            if former is not None and name_of(evaluator, former) in _FORMERS:
                yield _subject(project, evaluator, found, run, former)


def _subject(project: Project, evaluator: Evaluator, found: CallSite, run: Run | None, former: Instance) -> Subject:
    given, is_open = argument_settings(project, found, list(_PARAMETERS), run)
    settings = {
        f"argument.{name}": moved(one, f"argument.{name}")
        for name, one in given.items()
        if name in _PARAMETERS and not (one.value.is_known and one.value.only is None)
    }
    versions = project.environments.for_file(found.file)
    release = versions.newest(PACKAGE)
    count = run.world_size if run is not None else unknown("no launch is known")
    names: dict[str, Value] = {"world_size": count}
    config = maker_of(evaluator.argument(former.call, "shard_config", 0, former.frame, former.state))
    if config is not None:
        names["tp_size"] = _size(evaluator, config, count, release)
        names["sequence_mode"] = _sequence_mode(evaluator, config, release)
        names.update(_pipeline(evaluator, config, release))
    frame = evaluator.frame(found.file, found.site.function)
    model = evaluator.argument(found.site.call, "model", 0, frame)
    if model is not None:
        names |= model_facts(project, evaluator, model, release)
    for name in sorted(_NAMES - names.keys()):
        names[name] = unknown("not known")
    return Subject(
        kind="colossalai-sharding",
        label="colossalai.shardformer.ShardFormer.optimize",
        span=found.span,
        settings=settings,
        versions=versions,
        names=names,
        open_blocks=frozenset({"argument"}) if is_open else frozenset(),
        run=run,
        extra={"call": found},
    )


def _size(evaluator: Evaluator, config: Instance, count: Value, release: str) -> Value:
    """Among how many ranks tensors are parted (``shardformer/shard/shard_config.py``, ``__post_init__``, 0.3.2 to 0.5.0)."""
    enabled = _setting(evaluator, config, "enable_tensor_parallelism", release)
    if enabled is not None:
        switch = node_value(node_of(enabled, config.span()))
        if switch.only is False:
            return known(1, *switch.spans)
        if switch.only is not True:
            return unknown("whether tensors are parted is not known")
    group = _setting(evaluator, config, "tensor_parallel_process_group", release)
    if group is None:
        return count
    made = maker_of(group)
    if made is None:
        return count if node_value(node_of(group, config.span())).is_known else unknown("the group is not known")
    return _ranks_of(evaluator, made)


def _sequence_mode(evaluator: Evaluator, config: Instance, release: str) -> Value:
    """How sequences are parted where that is switched on (``split_gather`` if nothing is said, same place)."""
    enabled = _setting(evaluator, config, "enable_sequence_parallelism", release)
    if enabled is None or node_value(node_of(enabled, config.span())).only is not True:
        return unknown("sequences are not parted, or that is not known")
    mode = _setting(evaluator, config, "sequence_parallelism_mode", release)
    return node_value(node_of(mode, config.span())) if mode is not None else known("split_gather", config.span())


def _pipeline(evaluator: Evaluator, config: Instance, release: str) -> Iterator[tuple[str, Value]]:
    """The stages of the pipeline, and the layers that they hold together where these are given (``pipeline/stage_manager.py``)."""
    manager = maker_of(_setting(evaluator, config, "pipeline_stage_manager", release))
    if manager is None or name_of(evaluator, manager) not in _MANAGERS:
        return
    mesh = maker_of(evaluator.argument(manager.call, "pg_mesh", 0, manager.frame, manager.state))
    if mesh is not None and name_of(evaluator, mesh) in _MESHES:
        axis = evaluator.argument(manager.call, "pipeline_axis", 1, manager.frame, manager.state)
        yield "stages", _axis_size(evaluator, mesh, axis)
    layers = evaluator.argument(manager.call, "num_layers_per_stage", None, manager.frame, manager.state)
    given = node_value(node_of(layers, manager.span())) if layers is not None else unknown("not given")
    if isinstance(given.only, list) and all(type(one) is int for one in given.only):
        yield "stage_layers", known(sum(given.only), *given.spans)


def _setting(evaluator: Evaluator, config: Instance, name: str, release: str) -> Abstract | None:
    """What a ``ShardConfig`` is given under the name of a field, whose place depends on the release."""
    fields = signature(_CONFIG, release).parameters
    position = fields.index(name) if name in fields else None
    return evaluator.argument(config.call, name, position, config.frame, config.state)


def _ranks_of(evaluator: Evaluator, group: Instance) -> Value:
    """How many ranks a group has: one of an axis of a mesh, or one of ranks that are listed."""
    called = name_of(evaluator, group)
    if called == "torch.distributed.new_group()":
        ranks = evaluator.argument(group.call, "ranks", 0, group.frame, group.state)
        items = elements(ranks) if ranks is not None else None
        return known(len(items), group.span()) if items is not None else unknown("the ranks are not known")
    base = getattr(group.call.func, "base", None)
    mesh = maker_of(evaluator.evaluate(base, group.frame, group.state)) if base is not None else None
    if mesh is None or not called.endswith(".get_group_along_axis()") or name_of(evaluator, mesh) not in _MESHES:
        return unknown("the group is not known")
    return _axis_size(evaluator, mesh, evaluator.argument(group.call, "axis", 0, group.frame, group.state))


def _axis_size(evaluator: Evaluator, mesh: Instance, axis: Abstract | None) -> Value:
    """How many ranks a mesh has along one of its axes."""
    number = node_value(node_of(axis, mesh.span())).only if axis is not None else None
    if type(number) is not int or number < 0:
        return unknown("the axis is not known")
    size = evaluator.argument(mesh.call, "", number, mesh.frame, mesh.state)
    return (
        node_value(node_of(size, mesh.span())).at(mesh.span())
        if size is not None
        else unknown("the mesh has no such axis")
    )
