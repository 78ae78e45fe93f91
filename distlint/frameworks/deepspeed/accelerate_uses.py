"""DeepSpeed configurations that accelerate makes or reads: its files, its launcher's options, its variables, its plugin."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from distlint.frameworks.deepspeed.given_text import named_document
from distlint.frameworks.deepspeed.hosts import FILE, OWN, PLUGIN_FILE, translate_accelerate, translate_plugin
from distlint.frameworks.deepspeed.use import ACCELERATE, TRAINER, Use, as_document, folders_of, is_left_out, is_made
from distlint.frameworks.general import argument_settings
from distlint.frameworks.huggingface.training_arguments import TrainingArguments, training_arguments
from distlint.link.abstract import Instance, options_of
from distlint.link.modules import External
from distlint.model.document import Document, Entry, Leaf, Mapping, lookup
from distlint.model.launch import Launch, Run
from distlint.model.subject import Setting
from distlint.model.value import unknown

if TYPE_CHECKING:
    from distlint.link.project import CallSite, Project

PLUGIN = "accelerate.DeepSpeedPlugin"
ACCELERATOR = "accelerate.Accelerator"
ACCELERATOR_SIGNATURE = ("device_placement", "split_batches", "mixed_precision", "gradient_accumulation_steps")
"""accelerate/accelerator.py, the same from 0.20 to 1.15."""

PROGRAM = OWN + "program."
"""Prefix of the paths that hold what the ``Accelerator`` of the program is given."""

OPTIONS = (
    FILE, "zero_stage", "offload_optimizer_device", "offload_param_device", "offload_optimizer_nvme_path",
    "offload_param_nvme_path", "gradient_accumulation_steps", "gradient_clipping", "zero3_init_flag",
    "zero3_save_16bit_model",
)  # fmt: skip
"""Options of ``accelerate launch`` that say what the block of its file says (commands/launch.py)."""

SWITCH, FILE_VARIABLE = "ACCELERATE_USE_DEEPSPEED", "ACCELERATE_DEEPSPEED_CONFIG_FILE"


def accelerate_uses(project: Project) -> Iterator[Use]:
    """Every use of DeepSpeed through accelerate, as far as files, command lines and calls tell.

    Where the program makes training arguments, the Trainer reads what accelerate was told, and compares it with them
    (transformers, ``propagate_args_to_deepspeed``).
    """
    for use in _uses(project):
        training = training_arguments(project, use.run) if use.run is not None and use.made_by is None else None
        if training is not None and "deepspeed" in training.settings:
            continue  # the configuration of the arguments is the one that counts
        yield use if training is None else _trained(use, training)


def _trained(use: Use, training: TrainingArguments) -> Use:
    overlay = dict(use.overlay)
    if use.translated and any(training.value(name).only is not False for name in ("fp16", "bf16")):
        # the Trainer's own precision goes over the launcher's
        for path in ("fp16.enabled", "bf16.enabled"):
            if path in overlay:
                overlay[path] = replace(overlay[path], value=unknown("the training arguments decide"))
    return replace(use, host=TRAINER, training=training, overlay=overlay)


def _uses(project: Project) -> Iterator[Use]:
    yield from _from_files(project)
    for run in project.runs:
        if run.launch is not None:
            yield from _from_options(project, run, run.launch)
            yield from _from_variables(project, run, run.launch)
    yield from _from_plugins(project)


# Files ---------------------------------------------------------------------------------------------------------------


def _from_files(project: Project) -> Iterator[Use]:
    """Accelerate files with a DeepSpeed block, for each run that uses them, or by themselves."""
    for path, facts in project.documents.files():
        for document in facts.documents:
            if not _asks_for_engine(document):
                continue
            runs: list[Run | None] = [run for run in project.runs if _uses_file(run, path)]
            for run in runs or [_only_accelerate_run(project, path)]:
                if run is None or run.launch is None or not _given(run.launch):
                    yield _use_of(project, document, path, run)


def _use_of(project: Project, document: Document, near: str, run: Run | None, folders: tuple[str, ...] = ()) -> Use:
    settings = translate_accelerate(document) | _program(project, run)
    given = settings.get(OWN + FILE)
    target = named_document(project, given.value, near, folders) if given is not None else None
    if target is None:
        # what a file says that is not in the project may be anything
        return Use(document, ACCELERATE, run, overlay=settings, translated=True, unseen=given is not None)
    return Use(target, ACCELERATE, run, overlay=settings)


def _asks_for_engine(document: Document) -> bool:
    """Whether an accelerate file has a DeepSpeed block that is used: by its own word, or because nothing says otherwise."""
    if not isinstance(document.root, Mapping) or document.root.entry("deepspeed_config") is None:
        return False
    kind = lookup(document.root, ("distributed_type",))
    return kind.only == "DEEPSPEED" if kind.is_known else not kind.is_absent


def _uses_file(run: Run, path: str) -> bool:
    return run.launch is not None and run.launch.config is not None and run.launch.config.file == path


def _only_accelerate_run(project: Project, path: str) -> Run | None:
    """Where one accelerate file and one script stand in a project and no launch line names either, they belong together."""
    from distlint.frameworks.huggingface.scripts import accelerator_scripts

    files = [p for p, facts in project.documents.files() if any(_is_accelerate(d) for d in facts.documents)]
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


# Command lines -------------------------------------------------------------------------------------------------------


def _from_options(project: Project, run: Run, launch: Launch) -> Iterator[Use]:
    """The options of ``accelerate launch``, which win over the file that it names."""
    given = _given(launch) if launch.launcher == "accelerate" else ()
    below = launch.config.root if launch.config is not None else None
    by_file = launch.config is not None and _asks_for_engine(launch.config)
    if not given or not (launch.option("use-deepspeed").only is True or by_file):
        return
    block = below.entry("deepspeed_config") if isinstance(below, Mapping) and by_file else None
    written = block.node if block is not None and isinstance(block.node, Mapping) else None
    names = {entry.key for entry in given}
    kept = tuple(entry for entry in written.entries if entry.key not in names) if written is not None else ()
    if any(entry.key == FILE for entry in (*kept, *given)):
        # only what the file of accelerate says is refused beside a configuration; options are passed over
        given = tuple(entry for entry in given if entry.key == FILE)
    unseen = launch.open_options or (written is not None and written.open)
    inner = Mapping((*kept, *given), launch.span, unseen)
    place = block.key_span if block is not None else launch.span
    entries = [Entry("deepspeed_config", place, inner)]
    precision = _precision(launch, below)
    if precision is not None and not any(entry.key == FILE for entry in given):
        entries.append(precision)
    document = Document(Mapping(tuple(entries), launch.span), launch.span, "argv", "argv")
    yield _use_of(project, document, run.script_file, run, folders_of(run))


def _given(launch: Launch) -> tuple[Entry, ...]:
    """The options of a launch that say something about DeepSpeed, as entries of a block."""
    entries = []
    for name in OPTIONS:
        option = launch.options.get(name.replace("_", "-"))
        if option is not None:
            value = option.value if option.value.spans else option.value.at(option.span)
            entries.append(Entry(name, option.span, Leaf(value, option.span)))
    return tuple(entries)


def _precision(launch: Launch, below: object) -> Entry | None:
    option = launch.options.get("mixed-precision")
    if option is not None:
        return Entry("mixed_precision", option.span, Leaf(option.value.at(option.span), option.span))
    return below.entry("mixed_precision") if isinstance(below, Mapping) else None


def _from_variables(project: Project, run: Run, launch: Launch) -> Iterator[Use]:
    switch, path = launch.environment.get(SWITCH), launch.environment.get(FILE_VARIABLE)
    if path is None or switch is None or str(switch.only).lower() not in ("true", "1", "yes"):
        return
    document = named_document(project, path, run.script_file, folders_of(run))
    if document is not None:
        yield Use(document, ACCELERATE, run, overlay=_program(project, run))


# The plugin ----------------------------------------------------------------------------------------------------------


def _from_plugins(project: Project) -> Iterator[Use]:
    """The plugins that a script makes, with what the ``Accelerator`` around them says."""
    for found in project.calls_to({PLUGIN}):
        runs: list[Run | None] = list(project.runs_reaching(found.file)) or [None]
        for run in runs:
            if is_made(project, found, run):
                yield from _from_plugin(project, found, run)


def _from_plugin(project: Project, found: CallSite, run: Run | None) -> Iterator[Use]:
    evaluator = project.evaluator(run)
    frame = evaluator.frame(found.file, found.site.function)
    keywords = evaluator.keywords(found.site.call, found.file, found.site.function)
    arguments = Document(keywords, found.span, "call", "python")
    overlay = translate_plugin(arguments)
    given = evaluator.argument(found.site.call, PLUGIN_FILE, 0, frame)
    near = run.script_file if run is not None else found.file
    overlay |= _program(project, run, found)
    documents = as_document(project, given, near, found.span) if given is not None else []
    if documents:
        for document in documents:
            yield Use(document, ACCELERATE, run, made_by=found, overlay=overlay)
    elif is_left_out(given):
        yield Use(arguments, ACCELERATE, run, made_by=found, overlay=overlay, translated=True)


def _program(project: Project, run: Run | None, plugin: CallSite | None = None) -> dict[str, Setting]:
    """What the ``Accelerator`` of the program says about the engine: that which gets the plugin, or the only one there is."""
    made = list(project.calls_to({ACCELERATOR}))
    if plugin is None:
        closure = project.closure(run.script_file) if run is not None else frozenset()
        made = [found for found in made if found.file in closure]
    else:
        made = [found for found in made if _gets(project, found, plugin, run)]
    if len(made) != 1:
        return {}
    settings, _ = argument_settings(project, made[0], ACCELERATOR_SIGNATURE, run)
    found = {
        PROGRAM + name: replace(setting, path=PROGRAM + name)
        for name, setting in settings.items()
        if name in ("mixed_precision", "gradient_accumulation_steps")
    }
    option = run.launch.options.get("mixed-precision") if run is not None and run.launch is not None else None
    if option is not None and PROGRAM + "mixed_precision" not in found:
        path = PROGRAM + "mixed_precision"
        found[path] = Setting(path, option.value, option.span, option.span)
    return found


def _gets(project: Project, found: CallSite, plugin: CallSite, run: Run | None) -> bool:
    evaluator = project.evaluator(run)
    frame = evaluator.frame(found.file, found.site.function)
    given = evaluator.argument(found.site.call, "deepspeed_plugin", None, frame)
    return given is not None and any(_is_from(option, plugin) for option in options_of(given))


def _is_from(option: object, plugin: CallSite) -> bool:
    return (
        isinstance(option, Instance)
        and option.frame.file == plugin.file
        and option.call.at == plugin.site.call.at
        and isinstance(option.callee, External)
    )
