"""What a script's own wrappers say of the layout: replicas of DDP, shards of FSDP.

Only for scripts that lay nothing else out: a device mesh may cut the ranks in any way.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.model.layout import DATA, SHARD, Axis, Layout
from distlint.model.sketch import Sketch
from distlint.model.subject import Subject, SubjectKind
from distlint.model.value import known, unknown

if TYPE_CHECKING:
    from distlint.link.project import Project

_RANK = 1
_REPLICATING = "torch.nn.parallel.DistributedDataParallel"
_SHARDING = ("torch.distributed.fsdp.FullyShardedDataParallel", "torch.distributed.fsdp.fully_shard")
_OTHER = ("init_device_mesh", "DeviceMesh", "process_group=", "sharding_strategy", "mesh=", "new_group")
"""Words in the files of a run with which the ranks may be cut in another way."""


def _build(project: Project) -> Iterator[Subject]:
    """One subject per launched run that wraps a model, and wraps it in one way."""
    calls = list(project.calls_to({_REPLICATING, *_SHARDING}))
    for run in project.runs if calls else ():
        if run.launch is None:
            continue
        closure = project.closure(run.script_file)
        names = {found.name for found in calls if found.file in closure}
        kinds = {name in _SHARDING for name in names}
        if len(kinds) != 1 or any(word in project.text_of(file) for file in sorted(closure) for word in _OTHER):
            continue
        yield Subject(
            kind="torch-wrapped",
            label=run.script_file,
            span=run.span,
            settings={},
            versions=project.environments.for_file(run.script_file),
            names={"world_size": run.world_size, "sharded": known(kinds.pop())},
            run=run,
            sketch=_sketch,
        )


def _sketch(subject: Subject) -> Sketch:
    world = subject.names["world_size"]
    sketch = Sketch("torch", _RANK, world=world)
    sharded = subject.names["sharded"].only
    sketch.layout = Layout((Axis(SHARD if sharded else DATA, world),))
    if sharded:
        sketch.sharding, sketch.sharded_by = unknown("the arguments of FSDP decide"), "FSDP"
    return sketch


KIND = SubjectKind("torch-wrapped", "torch", str.isidentifier, _build)
