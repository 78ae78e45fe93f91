"""Where a project uses DeepSpeed configurations: each one with who reads it, in which run, and for which call.

A configuration reaches DeepSpeed through a call in Python, an option of a launch line, a trainer's arguments or an accelerate
file. One that nobody is seen to load is judged by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import TYPE_CHECKING

from distlint.frameworks.deepspeed.schema import looks_like_deepspeed
from distlint.frameworks.huggingface.training_arguments import TrainingArguments, training_arguments
from distlint.link.abstract import Abstract, node_of, options_of
from distlint.link.options import split_flag
from distlint.link.project import CallSite
from distlint.model.document import Document, Leaf, Mapping, lookup, node_value
from distlint.model.launch import Argument, Run
from distlint.model.record import dataclass
from distlint.model.span import Span, whole_line
from distlint.model.value import known

if TYPE_CHECKING:
    from distlint.link.project import Project

INITIALIZE = "deepspeed.initialize"
TUNER = "transformers.integrations.deepspeed.HfDeepSpeedConfig"

NATIVE, TRAINER, ACCELERATE, UNKNOWN_HOST = "native", "trainer", "accelerate", "unknown"


@dataclass(slots=True)
class Use:
    """One configuration in use. ``host`` says who reads it; ``call`` is the call that starts the engine, where there is one."""

    document: Document
    host: str
    run: Run | None = None
    call: CallSite | None = None
    training: TrainingArguments | None = None
    accelerate: Document | None = None
    spans: tuple[Span, ...] = field(default=())


def find_uses(project: Project) -> list[Use]:
    """Every use of a DeepSpeed configuration, in a fixed order, each once."""
    uses: list[Use] = []
    seen: set[tuple[object, ...]] = set()
    for use in (*_from_calls(project), *_from_runs(project), *_from_accelerate(project)):
        key = (use.document.span, id(use.document.root), use.host, use.run, use.call.span if use.call else None)
        if key not in seen:
            seen.add(key)
            uses.append(use)
    loaded = {use.document.span for use in uses}
    uses.extend(Use(document, UNKNOWN_HOST) for document in _lone(project) if document.span not in loaded)
    return uses


def as_document(project: Project, value: Abstract, near: str, span: Span) -> list[Document]:
    """The configuration documents that a value can be: a dict, or the path of a file."""
    found = []
    for option in options_of(value):
        if isinstance(option, Mapping):
            found.append(Document(option, option.span, "dict", "python"))
        elif isinstance(option, Leaf):
            for text in option.value.options:
                document = project.document(known(text, *option.value.spans), near)
                if document is not None:
                    found.append(document)
    return found


# Calls ---------------------------------------------------------------------------------------------------------------


def _from_calls(project: Project) -> Iterator[Use]:
    for found in project.calls_to({INITIALIZE}):
        runs: list[Run | None] = list(project.runs_reaching(found.file)) or [None]
        for run in runs:
            for document in _call_documents(project, found, run):
                yield Use(document, NATIVE, run, found)
    for found in project.calls_to({TUNER}):
        if found.site.call.args:
            value = project.evaluator(None).ask(found.site.call.args[0], found.file, found.site.function)
            for document in as_document(project, value, found.file, found.span):
                yield Use(document, TRAINER, None, None)


def _call_documents(project: Project, found: CallSite, run: Run | None) -> list[Document]:
    """The configurations that ``deepspeed.initialize`` gets: ``config``, ``config_params`` or ``args.deepspeed_config``."""
    evaluator = project.evaluator(run)
    frame = evaluator.frame(found.file, found.site.function)
    for name, position in (("config", 9), ("config_params", 11)):
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
        document = project.document(path, run.script_file if run is not None else found.file, _folders(run))
        if document is not None:
            documents.append(document)
    return documents


def _folders(run: Run | None) -> list[str]:
    """Where a relative path of a run may be meant: its working directory first."""
    if run is None or run.launch is None:
        return []
    own = run.launch.span.file.rpartition("/")[0]
    return [folder for folder in (run.launch.directory, own) if folder is not None]


# Command lines -------------------------------------------------------------------------------------------------------


def _runs(project: Project) -> Iterator[Run]:
    """The runs of the project, and one for each file that makes training arguments and that no run is seen to reach."""
    from distlint.frameworks.huggingface.training_arguments import training_calls

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
                document = project.document(path.value, run.script_file, _folders(run), path.text)
                if document is not None and not _is_named_by_call(project, run):
                    yield Use(document, UNKNOWN_HOST, run, spans=(path.span,))


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
    if value.is_known and isinstance(value.only, str):
        document = project.document(value, run.script_file, _folders(run))
        if document is not None:
            yield Use(document, TRAINER, run, training=training, spans=(setting.key_span,))
        return
    made = _training_dict(project, run, training)
    if made is not None:
        yield Use(made, TRAINER, run, training=training, spans=(setting.key_span,))


def _training_dict(project: Project, run: Run, training: TrainingArguments) -> Document | None:
    """The dict given as ``TrainingArguments(deepspeed={...})``."""
    from distlint.frameworks.huggingface.training_arguments import training_calls

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


# Accelerate ----------------------------------------------------------------------------------------------------------


def _from_accelerate(project: Project) -> Iterator[Use]:
    """Accelerate files with a DeepSpeed block, for each run that uses them, or by themselves."""
    for path, facts in project.configuration_files():
        for document in facts.documents:
            if not _asks_for_engine(document):
                continue
            runs: list[Run | None] = [run for run in project.runs if _uses_file(run, path)]
            for run in runs or [_only_accelerate_run(project, path)]:
                target = _named_file(project, document, path)
                if target is not None:
                    yield Use(target, ACCELERATE, run, accelerate=document)
                else:
                    yield Use(document, ACCELERATE, run, accelerate=document)


def _asks_for_engine(document: Document) -> bool:
    """Whether an accelerate file has a DeepSpeed block that is used: by its own word, or because nothing says otherwise."""
    if not isinstance(document.root, Mapping) or document.root.entry("deepspeed_config") is None:
        return False
    kind = lookup(document.root, ("distributed_type",))
    return kind.only == "DEEPSPEED" if kind.is_known else not kind.is_absent


def _uses_file(run: Run | None, path: str) -> bool:
    return (
        run is not None and run.launch is not None and run.launch.config is not None and run.launch.config.file == path
    )


def _only_accelerate_run(project: Project, path: str) -> Run | None:
    """Where one accelerate file and one script stand in a project and no launch line names either, they belong together."""
    from distlint.frameworks.huggingface.scripts import accelerator_scripts

    files = [p for p, facts in project.configuration_files() if any(_is_accelerate(d) for d in facts.documents)]
    scripts = accelerator_scripts(project)
    if (
        files != [path]
        or len(scripts) != 1
        or any(run.launch is not None and run.script_file == scripts[0] for run in project.runs)
    ):
        return None
    return Run(scripts[0], world_size=project.given_size())


def _is_accelerate(document: Document) -> bool:
    return isinstance(document.root, Mapping) and document.root.entry("distributed_type") is not None


def _named_file(project: Project, document: Document, path: str) -> Document | None:
    assert isinstance(document.root, Mapping)  # noqa: S101 - tested by the caller
    block = document.root.entry("deepspeed_config")
    if block is None or not isinstance(block.node, Mapping):
        return None
    entry = block.node.entry("deepspeed_config_file")
    return project.document(node_value(entry.node), path) if entry is not None else None


# Lone files ----------------------------------------------------------------------------------------------------------


def _lone(project: Project) -> Iterator[Document]:
    """Files, here-documents and dicts that evidently are DeepSpeed configurations, whoever may load them."""
    for _, facts in project.configuration_files():
        for document in facts.documents:
            if looks_like_deepspeed(document.root):
                yield document
    for written in project.written:
        if looks_like_deepspeed(written.document.root):
            yield written.document


def place_of(document: Document) -> Span:
    """Where to point for a document as a whole."""
    return document.span if document.carrier != "file" else whole_line(document.file)
