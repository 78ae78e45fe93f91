"""What rules about Megatron see: a command line, a GPT-NeoX run or a configuration object, and the run around it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from distlint.frameworks.general import launch_settings
from distlint.frameworks.megatron import relayed
from distlint.frameworks.megatron.assigned import assigned_arguments
from distlint.frameworks.megatron.batches import batch_names
from distlint.frameworks.megatron.call_refusals import call_refusals
from distlint.frameworks.megatron.calls import (
    DATA_PARALLEL_CONFIG,
    INITIALIZE,
    OPTIMIZER_CONFIG,
    call_default,
    call_settings,
    config_calls,
    group_calls,
    other_config_calls,
)
from distlint.frameworks.megatron.command_line import CommandSettings, is_megatron, read_command, strays_of
from distlint.frameworks.megatron.flags import DEEPSPEED, LM
from distlint.frameworks.megatron.neox import NeoxSettings, documents_of, looks_like_neox, read_neox
from distlint.frameworks.megatron.neox_refusals import neox_refusals
from distlint.frameworks.megatron.readers import only_framework_reads
from distlint.frameworks.megatron.recipes import recipe_launches
from distlint.frameworks.megatron.refusals import refusals
from distlint.frameworks.megatron.settings import PARALLEL_SIZES, command_default, default, known_path
from distlint.frameworks.megatron.sizes import PIPELINE, TENSOR, Given, derived_names, shrunk
from distlint.frameworks.megatron.stages import stage_names
from distlint.frameworks.megatron.versions import versions_for
from distlint.frameworks.megatron.yaml_files import OPTION, read_yaml
from distlint.frameworks.reaching import run_of, runs_through
from distlint.link.project import CallSite
from distlint.model.document import Document, Mapping, find, node_value
from distlint.model.launch import Launch, Run, in_blocks
from distlint.model.span import whole_line
from distlint.model.subject import Setting, Subject, SubjectKind
from distlint.model.value import Confidence, Value, absent, known, unknown

if TYPE_CHECKING:
    from distlint.link.project import Project
    from distlint.model.sketch import Sketch

ARGV, NEOX, CONFIG, GROUPS, YAML = "argv", "neox", "config", "groups", "yaml"
"""The carriers: a command line, GPT-NeoX's files, a configuration object, the call that makes the process groups, and the
file that a command line names instead of options."""
OPTIMIZER, DATA_PARALLEL = "optimizer", "data-parallel"
"""Further carriers: the settings of an optimizer, and of the wrapper around a model, in Python."""

_FROM_CHECKPOINT = ("use_checkpoint_args", "yaml_cfg")
"""Switches with which a checkpoint or a file says what the model is like."""


_NO_NODES = {name: unknown("no launch is known") for name in ("nodes", "processes_per_node", "rack", "blackwell")}


def build(project: Project) -> Iterator[Subject]:
    """One subject per Megatron command, per GPT-NeoX run or file that no run names, and per call in Python."""
    named: set[str] = set()
    for launch in project.launches:
        if launch.launcher == "deepy":
            documents, is_open = documents_of(project, launch)
            documents = [document for document in documents if isinstance(document.root, Mapping)]
            named.update(document.file for document in documents)
            if documents:
                yield _neox_subject(project, documents, launch, is_open=is_open)
        elif is_megatron(project, launch):
            yield _command_subject(project, launch)
    for launch in recipe_launches(project):
        yield _command_subject(project, launch)
    for path, facts in project.documents.files():
        for document in facts.documents[:1]:
            if path not in named and looks_like_neox(document):
                yield _neox_subject(project, [document], None, is_open=True)
    for found in (*config_calls(project), *group_calls(project), *other_config_calls(project)):
        for run in runs_through(project, found):
            yield _call_subject(project, found, run)


# Command lines -------------------------------------------------------------------------------------------------------


def _command_subject(project: Project, launch: Launch) -> Subject:
    run = run_of(project, launch)
    versions = versions_for(project, launch.script_file or launch.span.file)
    read = read_command(project, launch, versions)
    file = read_yaml(project, launch, read, versions) if read.flavour == LM else None
    settings = read.settings if file is None else dict(file.settings)
    _add_deepspeed(project, launch, settings)
    is_deepspeed = read.flavour == DEEPSPEED
    is_open = file.open if file else read.open or any(name in settings for name in _FROM_CHECKPOINT)
    world = _processes(launch, run.world_size)
    holds = file.default if file else command_default(read.view)
    default = _unless_assigned(project, launch, settings, holds)
    given = Given(settings, is_open, versions, is_deepspeed, default=default, yaml=file is not None)
    lowered = shrunk(given, world)
    given = replace(given, taken=lowered)
    derived = _derived(given, world)
    if lowered:
        derived |= {"written_tensor_size": _written(settings, lowered, TENSOR)}
        derived |= {"written_pipeline_size": _written(settings, lowered, PIPELINE)}
    names = {
        "world_size": world,
        "carrier": known(ARGV if file is None else YAML),
        "flavour": known(read.flavour),
        "stray": _stray(read),
        "duplicate": absent() if file is None else file.duplicate,
        "replaced": absent(),
        "missing_fields": absent() if file is None else file.missing,
        "load_given": _load_given(read) if file is None else known("load" in settings),
        "script": _script(launch),
        "adjustable": _adjustable(settings, launch),
        "nodes": launch.nodes
        if launch.launcher != "python" or in_blocks(launch)
        else unknown("the scheduler scatters the ranks over the nodes"),
        "processes_per_node": launch.processes_per_node,
        "rack": _is_rack(project, launch),
        "blackwell": _is_blackwell(project, launch),
        **derived,
    }
    settings.update({path: one for path, one in launch_settings(launch).items() if path.startswith("env.")})
    return Subject(
        kind="megatron",
        label=f"{launch.launcher} {launch.script.only or 'script'} ({launch.span.file}:{launch.span.line})",
        span=launch.span if file is None else read.settings[OPTION].key_span,
        settings=settings,
        versions=versions,
        names=names,
        open_blocks=frozenset({""}) if is_open else frozenset(),
        default=default,
        taken=lambda setting: lowered.get(setting.path, setting.value),
        run=run,
        extra={
            **({"command": launch.span} if file is None else {"whole": file.file}),
            "launch": launch,
            # every rule about the reader asks
            "refusals": cache(lambda: tuple(refusals(project, launch, read, versions))),
            "only_framework_reads": only_framework_reads(project, launch, read),
        },
        sketch=_sketch,
    )


def _processes(launch: Launch, world: Value) -> Value:
    """How many processes there are, as far as a launch tells."""
    if launch.launcher != "python" or launch.outer is not None:
        return world
    # Nothing but the interpreter: a scheduler that we don't see, or the program itself (Ray's actors), may have started it
    # many times. Megatron asks the environment how often.
    stated = launch.environment.get("WORLD_SIZE", absent())
    return world.at_most(Confidence.POSSIBLE) if stated.is_absent else stated.map(int)


def _unless_assigned(
    project: Project, launch: Launch, settings: dict[str, Setting], default: Callable[[str], Value]
) -> Callable[[str], Value]:
    """The defaults, nothing known of what the program sets itself; neither is of what is written for it."""
    own = assigned_arguments(project, launch.script_file, str(launch.script.only or "").rpartition("/")[2])
    for path in own & settings.keys():
        span = settings[path].span
        settings[path] = replace(settings[path], value=unknown(_SET_BY_PROGRAM, span))
    return (lambda path: unknown(_SET_BY_PROGRAM) if path in own else default(path)) if own else default


_SET_BY_PROGRAM = "the program sets it itself"


def _load_given(read: CommandSettings) -> Value:
    """Whether a checkpoint to load is named; arguments from a checkpoint, which leave others open, name none."""
    if any(name in read.settings for name in ("load", "pretrained_checkpoint")):
        return known(True)
    return unknown("may be given where we can't see") if read.open or "yaml_cfg" in read.settings else known(False)


def _derived(given: Given, world: Value, *, is_config: bool = False) -> dict[str, Value]:
    """What follows from the settings of a subject: sizes, pipeline stages and batches."""
    sizes = derived_names(given, world)
    return {**sizes, **stage_names(given, is_config=is_config), **batch_names(given, sizes["data_parallel_size"])}


def _written(settings: dict[str, Setting], lowered: dict[str, Value], path: str) -> Value:
    """What is written for a size that is lowered."""
    return settings[path].value.at(settings[path].key_span) if path in lowered else absent()


_RACK = re.compile(r"gb[23]00|nvl[ _-]?\d", re.IGNORECASE)
"""Machines whose fast links reach beyond a node: a rack of them is one domain."""


def _is_rack(project: Project, launch: Launch) -> Value:
    """Whether the batch script speaks of machines that are linked as fast across nodes as within one."""
    return known(any(_RACK.search(project.text_of(file)) for file in {launch.file, launch.span.file} if file))


_BLACKWELL = re.compile(r"(?<![a-z0-9])g?b[23]00(?![0-9])|blackwell", re.IGNORECASE)
"""GPUs from compute capability 10 on."""


def _is_blackwell(project: Project, launch: Launch) -> Value:
    """Whether the script, or its name, speaks of such GPUs, for which Megatron asks for less."""
    files = {launch.file, launch.span.file} - {""}
    return known(any(_BLACKWELL.search(f"{file}\n{project.text_of(file)}") for file in files))


def _script(launch: Launch) -> Value:
    """The file name of the script."""
    return launch.script.map(lambda text: str(text).rpartition("/")[2])


def _adjustable(settings: dict[str, Setting], launch: Launch) -> Value:
    """Whether parallel sizes are made to vary: defaults for the environment to replace, values of a loop or branch."""
    sizes = [settings[path].value for path in PARALLEL_SIZES if path in settings]
    return known(bool(sizes) and (launch.guards > 0 or any(size.confidence < Confidence.CERTAIN for size in sizes)))


def _stray(read: CommandSettings) -> Value:
    for flag, word, span in strays_of(read):
        return known(f"{flag} {word}" if not word.startswith(flag) else word, span)
    return absent()


def _add_deepspeed(project: Project, launch: Launch, settings: dict[str, Setting]) -> None:
    """What the DeepSpeed configuration of a command says, below ``ds``."""
    given = settings.get("deepspeed_config")
    if given is None or not given.certain:
        return
    words = {word.span: word.text for word in launch.arguments}
    folders = [folder for folder in (launch.directory, launch.span.file.rpartition("/")[0]) if folder is not None]
    near = launch.script_file or launch.span.file
    document = project.documents.found(given.value, near, folders, words.get(given.span, ""))
    if document is None:
        return
    places = {
        "ds.zero_stage": ("zero_optimization", "stage"),
        "ds.offload_optimizer": ("zero_optimization", "offload_optimizer", "device"),
        "ds.optimizer": ("optimizer", "type"),
        "ds.force_cpu_optimizer": ("zero_force_ds_cpu_optimizer",),
    }
    for path, keys in places.items():
        entry, _ = find(document.root, keys)
        if entry is not None:
            value = node_value(entry.node)
            value = value if value.spans else value.at(entry.node.span)
            written = ".".join(keys)
            settings[path] = Setting(
                path, value, entry.key_span, entry.node.span, certain=entry.certain, written=written
            )


# GPT-NeoX ------------------------------------------------------------------------------------------------------------


def _neox_subject(project: Project, documents: list[Document], launch: Launch | None, *, is_open: bool) -> Subject:
    read = read_neox(documents, launch, is_open=is_open)
    run = run_of(project, launch) if launch is not None else None
    given = project.given_size()
    world = given if given.is_known else read.devices
    place = documents[0].span if documents[0].carrier != "file" else whole_line(documents[0].file)
    names = {
        "world_size": world,
        "carrier": known(NEOX),
        "flavour": known("neox"),
        "stray": absent(),
        "duplicate": _duplicate(read),
        "replaced": _replaced(read),
        "script": absent(),
        "adjustable": known(False),
        **_NO_NODES,
        **_derived(Given(read.settings, read.open), world),
    }
    return Subject(
        kind="megatron",
        label=f"deepy ({launch.span.file}:{launch.span.line})" if launch is not None else documents[0].file,
        span=place,
        settings=read.settings,
        versions=project.environments.for_file(documents[0].file),
        names=names,
        open_blocks=frozenset({""}) if read.open else frozenset(),
        default=_neox_default,
        run=run,
        extra={
            "root": documents[0].span,
            "files": tuple(documents),
            "refusals": cache(lambda: tuple(neox_refusals(project, documents))),
        },
        sketch=_sketch,
    )


def _sketch(subject: Subject) -> Sketch | None:
    from distlint.frameworks.megatron.layout import sketch_of

    return sketch_of(subject)


def _duplicate(read: NeoxSettings) -> Value:
    if not read.duplicates:
        return absent()
    return known(", ".join(dict.fromkeys(key for key, _ in read.duplicates)), read.duplicates[0][1])


def _replaced(read: NeoxSettings) -> Value:
    """What is said of keys that a later file, or line, gives in another spelling."""
    said = [f"`{later}` takes the place of `{earlier}`, the same key" for earlier, later, _ in read.replaced]
    return known("; ".join(dict.fromkeys(said)), read.replaced[0][2]) if said else absent()


def _neox_default(path: str) -> Value:
    # megatron/neox_arguments/neox_args.py: no pipeline unless one is asked for; deepspeed_args.py: no accumulation
    numbers = {"pipeline_model_parallel_size": 0, "gradient_accumulation_steps": 1}
    return known(numbers[path]) if path in numbers else default(path)


# Calls ---------------------------------------------------------------------------------------------------------------


_CARRIERS = {INITIALIZE: GROUPS, OPTIMIZER_CONFIG: OPTIMIZER, DATA_PARALLEL_CONFIG: DATA_PARALLEL}
"""What carries the settings of a call: a model's configuration object where none of these does."""


def _call_subject(project: Project, found: CallSite, run: Run | None) -> Subject:
    settings, is_open = call_settings(project, found, run)
    world = unknown("no launch is known") if run is None else run.world_size
    if run is not None and run.launch is not None:
        world = _processes(run.launch, world)
    is_groups = found.name == INITIALIZE
    versions = versions_for(project, found.file)
    holds = call_default(project, found, versions)
    names = {
        "world_size": world if is_groups else unknown("a configuration object does not start processes"),
        "carrier": known(_CARRIERS.get(found.name, CONFIG)),
        "flavour": known("megatron-lm"),
        "stray": absent(),
        "duplicate": absent(),
        "replaced": absent(),
        "script": absent(),
        "adjustable": known(False),
        **_NO_NODES,
        **_derived(Given(settings, is_open, versions, default=holds), world, is_config=not is_groups),
    }
    return Subject(
        kind="megatron",
        label=found.name,
        span=found.span,
        settings=settings,
        versions=versions,
        names=names,
        open_blocks=frozenset({""}) if is_open else frozenset(),
        default=holds,
        run=run,
        extra={"root": found.span, "refusals": cache(lambda: tuple(call_refusals(project, found, run, versions)))},
        sketch=_sketch,
    )


KINDS: tuple[SubjectKind, ...] = (SubjectKind("megatron", "megatron", known_path, build), relayed.KIND)
