"""Where a project uses DeepSpeed configurations: each one with who reads it, in which run, and for which call.

A configuration reaches DeepSpeed through a call in Python, an option of a launch line, a trainer's arguments or an accelerate
file. One that nobody is seen to load is judged by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.frameworks.deepspeed.accelerate_uses import accelerate_uses
from distlint.frameworks.deepspeed.given_text import named_document
from distlint.frameworks.deepspeed.lightning import lightning_uses
from distlint.frameworks.deepspeed.neox_uses import neox_uses
from distlint.frameworks.deepspeed.python_dicts import lone_dicts
from distlint.frameworks.deepspeed.schema import looks_like_deepspeed
from distlint.frameworks.deepspeed.trainer_files import trainer_file_uses
from distlint.frameworks.deepspeed.use import (
    ACCELERATE,
    FABRIC,
    LIGHTNING,
    NATIVE,
    NEOX,
    TRAINER,
    UNKNOWN_HOST,
    Use,
    as_document,
    folders_of,
    is_made,
    place_of,
)
from distlint.frameworks.deepspeed.yaml_numbers import with_open_numbers
from distlint.frameworks.huggingface.training_arguments import TrainingArguments, training_arguments, training_calls
from distlint.link.abstract import node_of, options_of
from distlint.link.options import split_flag
from distlint.link.project import CallSite
from distlint.model.document import Document, Mapping, node_value
from distlint.model.launch import Argument, Run
from distlint.model.span import whole_line

if TYPE_CHECKING:
    from distlint.link.project import Project

__all__ = [
    "ACCELERATE",
    "FABRIC",
    "LIGHTNING",
    "NATIVE",
    "NEOX",
    "TRAINER",
    "UNKNOWN_HOST",
    "Use",
    "find_uses",
    "place_of",
]

INITIALIZE = "deepspeed.initialize"
TUNER = "transformers.integrations.deepspeed.HfDeepSpeedConfig"


def find_uses(project: Project) -> list[Use]:
    """Every use of a DeepSpeed configuration, in a fixed order, each once."""
    uses: list[Use] = []
    seen: set[tuple[object, ...]] = set()
    found = [
        *_from_calls(project),
        *_from_runs(project),
        *accelerate_uses(project),
        *lightning_uses(project),
        *neox_uses(project),
    ]
    judged = {use.document.span for use in found if use.training is not None}
    found += [use for use in trainer_file_uses(project) if use.document.span not in judged]
    for use in found:
        caller = use.call or use.made_by
        key = (use.document.span, id(use.document.root), use.host, use.run, caller.span if caller else None)
        if key not in seen:
            seen.add(key)
            uses.append(use)
    # a file that a script loads and changes is what it was made into
    loaded = {use.document.span for use in uses} | {whole_line(use.document.root.span.file) for use in uses}
    uses.extend(Use(document, UNKNOWN_HOST) for document in _lone(project) if document.span not in loaded)
    return uses


# Calls ---------------------------------------------------------------------------------------------------------------


def _from_calls(project: Project) -> Iterator[Use]:
    for found in project.calls_to({INITIALIZE}):
        runs: list[Run | None] = list(project.runs_reaching(found.file)) or [None]
        for run in runs:
            if not is_made(project, found, run):
                continue
            for document in _call_documents(project, found, run):
                yield Use(document, NATIVE, run, found)
    for found in project.calls_to({TUNER}):
        if found.site.call.args:
            value = project.evaluator(None).ask(found.site.call.args[0], found.file, found.site.function)
            for document in as_document(project, value, found.file, found.span):
                yield Use(document, UNKNOWN_HOST)


def _call_documents(project: Project, found: CallSite, run: Run | None) -> list[Document]:
    """The configurations that ``deepspeed.initialize`` gets: ``config``, ``config_params`` or ``args.deepspeed_config``."""
    evaluator = project.evaluator(run)
    frame = evaluator.frame(found.file, found.site.function)
    for name, position in (("config", 10), ("config_params", 12)):
        given = evaluator.argument(found.site.call, name, position, frame)
        if given is not None:
            return as_document(project, given, run.script_file if run is not None else found.file, found.span)
    given = evaluator.argument_attribute(found.site.call, "args", 0, ("deepspeed_config",), frame)
    documents = []
    for option in options_of(given) if given is not None else ():
        if isinstance(option, Mapping):
            documents.append(Document(option, option.span, "dict", "python"))
            continue
        path = node_value(node_of(option, found.span))
        document = named_document(project, path, run.script_file if run is not None else found.file, folders_of(run))
        if document is not None:
            documents.append(document)
    return documents


# Command lines -------------------------------------------------------------------------------------------------------


def _runs(project: Project) -> Iterator[Run]:
    """The runs of the project, and one for each file that makes training arguments and that no run is seen to reach."""
    yield from project.runs
    reached = {file for run in project.runs for file in project.closure(run.script_file)}
    for file in sorted({found.file for found in training_calls(project)} - reached):
        yield Run(file, world_size=project.given_size())


def _from_runs(project: Project) -> Iterator[Use]:
    for run in _runs(project):
        training = training_arguments(project, run)
        if training is not None:
            yield from _from_training(project, run, training)
        elif run.launch is not None:
            path = _option(run, ("--deepspeed_config", "--deepspeed-config", "--ds_config", "--deepspeed_config_file"))
            if path is not None:
                document = named_document(project, path.value, run.script_file, folders_of(run), path.text)
                if document is not None and not _is_named_by_call(project, run):
                    yield Use(document, UNKNOWN_HOST, run)


def _is_named_by_call(project: Project, run: Run) -> bool:
    """Whether the run's own calls already lead to its configuration."""
    closure = project.closure(run.script_file)
    return any(
        found.file in closure and _call_documents(project, found, run) for found in project.calls_to({INITIALIZE})
    )


def _from_training(project: Project, run: Run, training: TrainingArguments) -> Iterator[Use]:
    setting = training.settings.get("deepspeed")
    if setting is None:
        return
    value = setting.value
    if isinstance(value.only, str) or value.symbol:
        document = named_document(project, value, run.script_file, folders_of(run))
        if document is not None:
            yield Use(document, TRAINER, run, training=training)
        return
    made = _training_dict(project, run, training)
    if made is not None:
        yield Use(made, TRAINER, run, training=training)


def _training_dict(project: Project, run: Run, training: TrainingArguments) -> Document | None:
    """The dict given as ``TrainingArguments(deepspeed={...})``."""
    for found in training_calls(project):
        if found.span == training.span:
            evaluator = project.evaluator(run)
            frame = evaluator.frame(found.file, found.site.function)
            given = evaluator.argument(found.site.call, "deepspeed", None, frame)
            for option in options_of(given) if given is not None else ():
                if isinstance(option, Mapping):
                    return Document(option, option.span, "dict", "python")
    return None


def _option(run: Run, flags: tuple[str, ...]) -> Argument | None:
    """The word that a launch gives to one of some options of the script."""
    words = run.launch.arguments if run.launch is not None else ()
    for index, word in enumerate(words):
        flag, inline = split_flag(word)
        if flag in flags:
            if inline is not None:
                return word._replace(value=inline, text=word.text.partition("=")[2])
            return words[index + 1] if index + 1 < len(words) else None
    return None


# Lone files ----------------------------------------------------------------------------------------------------------


def _lone(project: Project) -> Iterator[Document]:
    """Files, here-documents and dicts that evidently are DeepSpeed configurations, whoever may load them."""
    for _, facts in project.documents.files():
        for document in facts.documents:
            if looks_like_deepspeed(document.root):
                yield with_open_numbers(document) if document.format == "yaml" else document
    for written in project.documents.written:
        if looks_like_deepspeed(written.document.root):
            yield written.document
    yield from lone_dicts(project)
