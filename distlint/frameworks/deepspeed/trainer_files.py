"""DeepSpeed configurations that trainers outside of the project read: named in their argument files, or on their command lines.

LLaMA-Factory, TRL's command line and transformers' own examples parse ``TrainingArguments`` by transformers' names;
axolotl translates its own (``core/trainer_builder.py``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.frameworks.deepspeed.given_text import named_document
from distlint.frameworks.deepspeed.use import TRAINER, Use
from distlint.frameworks.huggingface.training_arguments import TrainingArguments, words_as_settings
from distlint.model.document import Document, Mapping, node_value
from distlint.model.launch import Launch, Run
from distlint.model.span import Span
from distlint.model.subject import Setting
from distlint.model.value import Confidence, known

if TYPE_CHECKING:
    from distlint.link.project import Project

KEY = "deepspeed"

TRAINING_MARKS = frozenset({"output_dir", "per_device_train_batch_size"})
"""Keys of which a file of training arguments by transformers' names has at least one."""

CHANGERS = ("auto_find_batch_size", "fp16_full_eval", "bf16_full_eval")

AXOLOTL_MARKS = frozenset({"base_model", "micro_batch_size"})
AXOLOTL = {
    "micro_batch_size": "per_device_train_batch_size",
    "gradient_accumulation_steps": "gradient_accumulation_steps",
    "max_grad_norm": "max_grad_norm",
}
"""Names of axolotl for training arguments whose values it hands on unchanged."""


def trainer_file_uses(project: Project) -> Iterator[Use]:
    """The configurations that argument files and launches of scripts outside of the project name."""
    for path, facts in project.documents.files():
        for document in facts.documents:
            arguments = _arguments_of(document)
            if arguments is not None:
                yield from _named_by(project, arguments, Run(path, world_size=project.given_size()))
    for launch in project.launches:
        if not launch.script_file:
            arguments = _words_of(launch)
            if arguments is not None:
                run = Run(launch.span.file, launch, world_size=launch.world_size)
                yield from _named_by(project, arguments, run)


def _named_by(project: Project, arguments: TrainingArguments, run: Run) -> Iterator[Use]:
    found = named_document(project, arguments.settings[KEY].value, run.script_file)
    if found is not None:
        yield Use(found, TRAINER, run, training=arguments)


def _arguments_of(document: Document) -> TrainingArguments | None:
    """The training arguments of a file; what it leaves out may be given elsewhere, or have other defaults."""
    root = document.root
    if not isinstance(root, Mapping) or root.entry(KEY) is None:
        return None
    keys = {entry.key for entry in root.entries}
    if keys >= AXOLOTL_MARKS:
        return TrainingArguments(_unlikely() | dict(_settings(root, AXOLOTL)), True, document.span)
    if not keys & TRAINING_MARKS:
        return None
    return TrainingArguments(_unlikely() | dict(_settings(root, None)), True, document.span)


def _unlikely() -> dict[str, Setting]:
    """Arguments that change what others mean, and that a file which wants them says."""
    nowhere = Span("", 1, 1, 1, 1)
    value = known(False, confidence=Confidence.LIKELY)
    return {name: Setting(name, value, nowhere, nowhere) for name in CHANGERS}


def _settings(root: Mapping, names: dict[str, str] | None) -> Iterator[tuple[str, Setting]]:
    for entry in root.entries:
        key = str(entry.key)
        name = key if names is None or key == KEY else names.get(key, "")
        if name:
            value = node_value(entry.node).at_most(Confidence.LIKELY)
            value = value if value.spans else value.at(entry.node.span)
            yield name, Setting(name, value, entry.key_span, entry.node.span, certain=entry.certain, written=key)


def _words_of(launch: Launch) -> TrainingArguments | None:
    """The training arguments on the command line of a script that is not in the project."""
    given = _unlikely() | {
        name: Setting(name, value.at_most(Confidence.LIKELY), span, value.spans[0] if value.spans else span)
        for name, value, span in words_as_settings(launch.arguments)
    }
    if KEY not in given or not given.keys() >= TRAINING_MARKS:
        return None
    return TrainingArguments(given, True, launch.span)
