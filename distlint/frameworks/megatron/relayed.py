"""Launches of programs that hand Megatron's options on to it under its own names (``megatron sft --tensor_model_parallel_size 2``).

No rule judges them: such programs have defaults and checks of their own. Their parallel sizes and batches mean what
Megatron's do (ms-swift, ``swift/megatron/arguments/megatron_args.py``), which is what the plan of a run shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.frameworks.megatron.command_line import is_megatron, read_command
from distlint.frameworks.megatron.layout import layout_of
from distlint.frameworks.megatron.settings import PARALLEL_SIZES
from distlint.frameworks.megatron.versions import versions_for
from distlint.frameworks.reaching import run_of
from distlint.model.sketch import Sketch
from distlint.model.subject import Subject, SubjectKind
from distlint.model.value import Value, absent, known

if TYPE_CHECKING:
    from distlint.link.project import Project

_PROGRAMS = frozenset({"megatron"})
"""Launchers that start nothing but such programs."""

_BATCHES = {"micro_batch": "micro_batch_size", "global_batch": "global_batch_size"}


def _build(project: Project) -> Iterator[Subject]:
    """One subject per launch with Megatron's parallel sizes that is no command of Megatron's own."""
    for launch in project.launches:
        if launch.launcher == "deepy":
            continue
        versions = versions_for(project, launch.script_file or launch.span.file)
        settings = read_command(project, launch, versions).settings
        if launch.launcher not in _PROGRAMS and not any(path in settings for path in PARALLEL_SIZES):
            continue
        if is_megatron(project, launch):
            continue
        run = run_of(project, launch)
        yield Subject(
            kind="megatron-relayed",
            label=launch.launcher,
            span=launch.span,
            settings=settings,
            versions=versions,
            names={
                "world_size": run.world_size,
                "carrier": known("argv"),
                "flavour": known("megatron-lm"),
            },
            open_blocks=frozenset({""}) if launch.open_arguments else frozenset(),
            default=_default,
            run=run,
            sketch=_sketch,
        )


def _default(path: str) -> Value:
    return known(1) if path in PARALLEL_SIZES or path == "expert_model_parallel_size" else absent()


def _sketch(subject: Subject) -> Sketch:
    sketch = Sketch("megatron", 25, world=subject.names["world_size"], layout=layout_of(subject))
    for name, path in _BATCHES.items():
        setting = subject.settings.get(path)
        if setting is not None and setting.certain:
            setattr(sketch, name, setting.value)
    sketch.notes = ("the options go through another program to Megatron, whose defaults are not known here",)
    return sketch


KIND = SubjectKind("megatron-relayed", "megatron", str.isidentifier, _build)
