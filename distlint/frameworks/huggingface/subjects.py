"""What rules of this framework see beyond calls and launches.

``training``: the training arguments of a call in Python, or of a command line or argument file that a script parses.
``training-words``: the same of a command line whose script is not in the project, so that it may be any.
``accelerate``: an Accelerate configuration file, as ``accelerate launch`` reads it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from distlint.frameworks.general import argument_settings
from distlint.frameworks.huggingface.training_arguments import (
    DEFAULTS,
    TrainingArguments,
    parses_strictly,
    relayed_arguments,
    training_arguments,
    training_calls,
    words_as_settings,
)
from distlint.frameworks.reaching import run_of
from distlint.model.document import Document, Mapping, node_value
from distlint.model.launch import Run
from distlint.model.span import whole_line
from distlint.model.subject import Setting, Subject, SubjectKind
from distlint.model.value import Value, absent, known, unknown

if TYPE_CHECKING:
    from distlint.link.project import CallSite, Project
    from distlint.model.sketch import Sketch

SUBJECT_DEFAULTS = {
    **DEFAULTS,
    "eval_strategy": "no",
    "save_strategy": "steps",
    "save_steps": 500,
    "load_best_model_at_end": False,
    "dataloader_num_workers": 0,
    "lr_scheduler_type": "linear",
}
"""transformers/training_args.py: the same from 4.6 to 5.23."""

EVIDENT = frozenset({"output_dir", "per_device_train_batch_size"})
"""Options that only scripts with training arguments have."""

RELAYED = frozenset({"per_device_train_batch_size"})
"""Options by which a trainer's arguments are recognised where another program takes them."""

RENAMED = {"evaluation_strategy": "eval_strategy"}


def _training(project: Project) -> Iterator[Subject]:
    """One subject per construction of training arguments and run, and one per command line that a script parses."""
    for found in training_calls(project):
        runs: list[Run | None] = list(project.runs_reaching(found.file)) or [None]
        for run in runs:
            settings, is_open = argument_settings(project, found, ["output_dir"], run)
            yield _subject(project, TrainingArguments(settings, is_open, found.span), run, found)
    for run in project.runs:
        if run.launch is None or not parses_strictly(project, run):
            continue
        arguments = training_arguments(project, run)
        if arguments is not None and arguments.settings:
            yield _subject(project, arguments, run, None)


def _words(project: Project) -> Iterator[Subject]:
    """Command lines with evident training options whose script is not in the project."""
    for launch in project.launches:
        if launch.script_file:
            continue
        given = {name: (value, span) for name, value, span in words_as_settings(launch.arguments)}
        if not given.keys() >= EVIDENT:
            continue
        settings = {
            name: Setting(name, value, span, value.spans[0] if value.spans else span)
            for name, (value, span) in given.items()
        }
        yield Subject(
            kind="training-words",
            label=launch.span.file,
            span=launch.span,
            settings=settings,
            versions=project.environments.for_file(launch.span.file),
            open_blocks=frozenset({""}),
        )


def _subject(project: Project, arguments: TrainingArguments, run: Run | None, found: CallSite | None) -> Subject:
    settings = dict(arguments.settings)
    for old, new in RENAMED.items():
        if old in settings and new not in settings:
            settings[new] = replace(settings[old], path=new, written=old)
    span = arguments.span or whole_line(run.script_file if run is not None else "")
    return Subject(
        kind="training",
        label=run.span.file if run is not None and run.launch is not None else span.file,
        span=span,
        settings=settings,
        versions=project.environments.for_file(span.file),
        names={
            "world_size": run.world_size if run is not None else unknown("no launch is known"),
            "uses_fsdp": uses_fsdp(settings, arguments.open),
            "gathers_to_save": gathers_to_save(settings, arguments.open),
        },
        open_blocks=frozenset({""}) if arguments.open else frozenset(),
        default=_default,
        run=run,
        extra={"call": found.span, "site": found} if found is not None else {"by_caller": arguments.by_caller},
        sketch=partial(_training_sketch, project),
    )


def uses_fsdp(settings: dict[str, Setting], is_open: bool) -> Value:
    """Whether training arguments ask for FSDP themselves: by a switch, or by words of which some are given."""
    parted = settings.get("fsdp")
    if parted is None:
        return unknown("other arguments are not known") if is_open else known(False)
    words = parted.value.only
    if not parted.value.is_known or not isinstance(words, bool | str | list):
        return unknown("not known whether FSDP is used")
    return known(bool(words) and words != "no")


def gathers_to_save(settings: dict[str, Setting], is_open: bool) -> Value:
    """Whether ``save_model`` gathers weights that FSDP has parted, by the training arguments alone.

    Source: transformers 5.23.0, ``trainer.py``, ``save_model``, and ``training_args.py``: with ``FULL_STATE_DICT``, which is the default.
    """
    parted, config = uses_fsdp(settings, is_open), settings.get("fsdp_config")
    if parted.only is not True:
        return parted
    if config is None:
        return unknown("other arguments are not known") if is_open else known(True)
    given = config.value.only
    if not config.value.is_known or not isinstance(given, dict | None):
        return unknown("the configuration of FSDP is not known")
    given = given or {}
    kind = given.get("state_dict_type", given.get("fsdp_state_dict_type", "FULL_STATE_DICT"))
    return known("FULL_STATE_DICT" in str(kind).upper())


def _training_sketch(project: Project, subject: Subject) -> Sketch | None:
    from distlint.frameworks.huggingface.layout import training_sketch

    return training_sketch(project, subject)


def _accelerate_sketch(subject: Subject) -> Sketch | None:
    from distlint.frameworks.huggingface.layout import accelerate_sketch

    return accelerate_sketch(subject)


def _default(path: str) -> Value:
    return known(SUBJECT_DEFAULTS[path]) if path in SUBJECT_DEFAULTS else absent()


def _relayed(project: Project) -> Iterator[Subject]:
    """Launches of programs that hand training arguments on to a trainer; for the plan of a run, as no rule judges them."""
    known_runs = {id(run.launch) for run in project.runs if run.launch is not None and parses_strictly(project, run)}
    for launch in project.launches:
        if id(launch) in known_runs:
            continue
        arguments = relayed_arguments(project, launch)
        if not arguments.settings.keys() & RELAYED:
            continue
        run = run_of(project, launch)
        yield Subject(
            kind="training-relayed",
            label=launch.launcher,
            span=launch.span,
            settings=arguments.settings,
            versions=project.environments.for_file(launch.span.file),
            names={"world_size": run.world_size},
            open_blocks=frozenset({""}) if arguments.open else frozenset(),
            run=run,
            sketch=_relayed_sketch,
        )


def _relayed_sketch(subject: Subject) -> Sketch | None:
    from distlint.frameworks.huggingface.layout import relayed_sketch

    return relayed_sketch(subject)


def _accelerate(project: Project) -> Iterator[Subject]:
    """One subject per Accelerate configuration file."""
    for path, facts in project.documents.files():
        for document in facts.documents:
            if path.endswith((".yaml", ".yml")) and is_accelerate_file(document):
                runs: list[Run | None] = [run for run in project.runs if _names(run, path)]
                for run in runs or [None]:
                    yield Subject(
                        kind="accelerate",
                        label=path,
                        span=whole_line(path),
                        settings=dict(_flattened(document.root, "")),
                        versions=project.environments.for_file(path),
                        names={"world_size": run.world_size if run is not None else unknown("no launch is known")},
                        open_blocks=frozenset({""})
                        if isinstance(document.root, Mapping) and document.root.open
                        else frozenset(),
                        run=run,
                        sketch=_accelerate_sketch,
                    )


def is_accelerate_file(document: Document) -> bool:
    """Whether a document is evidently a configuration for ``accelerate launch``."""
    root = document.root
    if not isinstance(root, Mapping):
        return False
    return root.entry("distributed_type") is not None and any(
        root.entry(key) is not None
        for key in ("compute_environment", "num_processes", "num_machines", "mixed_precision")
    )


def _names(run: Run, path: str) -> bool:
    return run.launch is not None and run.launch.config is not None and run.launch.config.file == path


def _flattened(node: object, prefix: str, depth: int = 0) -> Iterator[tuple[str, Setting]]:
    if not isinstance(node, Mapping) or depth > 6:
        return
    for entry in node.entries:
        if isinstance(entry.key, str) and entry.key.isidentifier():
            path = f"{prefix}{entry.key}"
            value = node_value(entry.node)
            yield (
                path,
                Setting(
                    path,
                    value if value.spans else value.at(entry.node.span),
                    entry.key_span,
                    entry.node.span,
                    certain=entry.certain,
                ),
            )
            yield from _flattened(entry.node, f"{path}.", depth + 1)


def _is_path(path: str) -> bool:
    return all(part.isidentifier() for part in path.split("."))


KINDS: tuple[SubjectKind, ...] = (
    SubjectKind("training", "huggingface", str.isidentifier, _training),
    SubjectKind("training-words", "huggingface", str.isidentifier, _words),
    SubjectKind("accelerate", "huggingface", _is_path, _accelerate),
    SubjectKind("training-relayed", "huggingface", str.isidentifier, _relayed),
)
"""The kinds of subject of this framework."""
