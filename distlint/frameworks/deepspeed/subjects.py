"""What rules about DeepSpeed configurations see: the settings, who reads them, the engine's call, and the run around them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from distlint.frameworks.deepspeed import inference, model_kind
from distlint.frameworks.deepspeed.elasticity import elastic_fault, elastic_misfit
from distlint.frameworks.deepspeed.fields import is_number, taken
from distlint.frameworks.deepspeed.hosts import OWN as ACCELERATE_OWN
from distlint.frameworks.deepspeed.schema import (
    FILLED_BY_ACCELERATE,
    FILLED_BY_TRAINER,
    VOCABULARY,
    default,
    is_setting,
)
from distlint.frameworks.deepspeed.settings import deepspeed_settings, open_blocks
from distlint.frameworks.deepspeed.use import ACCELERATE, FABRIC, LIGHTNING, NEOX, TRAINER, UNKNOWN_HOST, Use, place_of
from distlint.frameworks.deepspeed.uses import find_uses
from distlint.frameworks.deepspeed.zero_init import init_context
from distlint.frameworks.general import argument_settings
from distlint.model.document import Document, Mapping
from distlint.model.source import SourceKind
from distlint.model.span import Span
from distlint.model.subject import Setting, Subject, SubjectKind, Versions
from distlint.model.value import Value, known, unknown

if TYPE_CHECKING:
    from distlint.link.project import Project
    from distlint.model.sketch import Sketch

FILLED = {TRAINER: FILLED_BY_TRAINER, ACCELERATE: FILLED_BY_TRAINER}
"""The keys whose ``auto`` a host replaces, the Trainer's where accelerate's script is not known; other hosts replace none."""

INITIALIZE_SIGNATURE = [
    "args", "model", "optimizer", "model_parameters", "training_data", "lr_scheduler", "distributed_port", "mpu",
    "dist_init_required", "collate_fn", "config", "mesh_param", "config_params",
]  # fmt: skip
"""deepspeed/__init__.py, ``initialize`` (0.16 to 0.19; older releases lack the last names)."""

CALL_ARGUMENTS = frozenset(
    {"model", "optimizer", "model_parameters", "lr_scheduler", "mpu", "training_data", "args", "config"}
)

FUNCTIONS: dict[str, Callable[..., Value]] = {
    "elastic_fault": elastic_fault,
    "elastic_misfit": elastic_misfit,
    "is_on": lambda value: known(bool(value)),
    "is_number": is_number,
    "has_item_beside": lambda value, words: known(
        isinstance(value, list) and any(item not in words.split() for item in value)
    ),
}
"""What conditions may ask beside the built-in functions.

``is_number`` is Python's view of it, in which true and false are numbers. ``has_item_beside(x, "a b")`` asks whether a
list holds anything but these words. ``is_on`` is for switches that nobody converts: whatever Python takes for true
switches them on, also the string "off".
"""

FOREIGN = ("call.", "training.", ACCELERATE_OWN)
"""Prefixes of settings that are not the configuration's own: of the call, of the trainer, in accelerate's own words."""

NAMES = frozenset(
    {
        "world_size",
        "batch_ranks",
        "host",
        "pipeline_model",
        "pipeline_stages",
        "expert_layers",
        "strict_json",
        "zero_init",
        "client_optimizer",
        "program",
        "launch.autotuning",
        "configured_checkpointing",
    }
)


def build(project: Project) -> Iterator[Subject]:
    """One subject per configuration and run."""
    for use in find_uses(project):
        if use.document.carrier == "file" and project.documents.is_broken(use.document.file):
            # Nobody gets what could be read of it: the file is one fault, and not what seems to stand in it.
            nothing = Mapping((), use.document.root.span, open=True)
            yield subject_of(project, replace(use, document=replace(use.document, root=nothing)))
        else:
            yield subject_of(project, use)


def subject_of(project: Project, use: Use) -> Subject:
    """The settings of one use with everything that decides what they mean."""
    place = place_of(use.document)
    script = (
        use.run.script_file if use.run is not None else use.call.file if use.call is not None else use.document.file
    )
    versions = project.environments.for_file(script)
    if use.release:
        versions = versions.capped("deepspeed", use.release)
    settings, blocks = _settings(use)
    names: dict[str, Value] = {
        "world_size": use.run.world_size if use.run is not None else unknown("no launch is known"),
        "host": known(use.host) if use.host != "unknown" else unknown("nobody is seen to load it", place),
        "pipeline_model": unknown("the model is not known", place),
        "pipeline_stages": unknown("the model is not known", place),
        "expert_layers": unknown("the model is not known", place),
        "launch.autotuning": _is_tuned(use),
        "configured_checkpointing": _configured_checkpointing(project),
    }
    strict = _strict_json(project, use.document)
    if strict is not None:
        names["strict_json"] = known(strict, place)
    if use.run is None and use.made_by is None:
        names["program"] = unknown("the program is not known", place)
    else:
        names["program"] = known(use.run.script_file if use.run is not None else use.document.file)
    if use.host in (UNKNOWN_HOST, NEOX) or (use.host in (LIGHTNING, FABRIC) and "optimizer" not in settings):
        names |= {f"call.{name}": unknown("the call that starts the engine is not known") for name in CALL_ARGUMENTS}
    if use.call is not None:
        _add_call(project, use, settings, names)
        names["zero_init"] = init_context(project, use.call, use.run)
    if use.training is not None:
        _add_training(use, settings, names)
    names.update(use.names)
    is_file = use.document.carrier != "dict"
    names["batch_ranks"] = model_kind.batch_ranks(names, settings, versions, is_file)
    return Subject(
        kind="deepspeed",
        label=_label(use),
        span=place,
        settings=settings,
        versions=versions,
        names=names,
        open_blocks=blocks,
        default=partial(_default, versions),
        taken=partial(taken, VOCABULARY, versions),
        functions={**FUNCTIONS, "mentions": partial(_mentions, project)},
        run=use.run,
        extra=_extra(use),
        sketch=partial(_sketch, project),
    )


def _sketch(project: Project, subject: Subject) -> Sketch | None:
    from distlint.frameworks.deepspeed.layout import sketch_of

    return sketch_of(project, subject)


def _extra(use: Use) -> dict[str, object]:
    """What checks and fixes want beside the settings: the trees as written, their vocabulary, where new keys go."""
    call = use.call or use.made_by
    extra: dict[str, object] = {
        "use": use,
        "vocabulary": VOCABULARY,
        "foreign": FOREIGN,
        "made-by": call.span if call is not None else None,
    }
    extra["documents"] = () if use.translated else (use.document,)
    # a host spells the settings its own way, so a key of DeepSpeed's can't be added to what it says
    extra["root"] = Span("", 1, 1, 1, 1) if use.translated else use.document.root.span
    if use.document.carrier == "file" and not use.translated:
        extra["root"] = place_of(use.document)
    return extra


def _strict_json(project: Project, document: Document) -> bool | None:
    """Whether ``json.load`` takes a configuration file; ``None`` where it is no JSON file."""
    facts = project.file_facts(document.file)
    if document.carrier != "file" or facts is None or facts.kind is not SourceKind.JSON:
        return None
    return "json" in facts.loaders


def _label(use: Use) -> str:
    if use.run is not None and use.run.launch is not None:
        return (
            f"{use.run.launch.launcher} {use.run.script_file} ({use.run.launch.span.file}:{use.run.launch.span.line})"
        )
    return use.document.file


def _default(versions: Versions, path: str) -> Value:
    return default(path, versions.newest("deepspeed"))


def _settings(use: Use) -> tuple[dict[str, Setting], frozenset[str]]:
    if use.translated:
        return dict(use.overlay), frozenset({""} if use.unseen else ())
    hosted = None if use.host == UNKNOWN_HOST else FILLED.get(use.host, False)
    if use.host == ACCELERATE and (use.run is not None or use.made_by is not None):
        hosted = FILLED_BY_ACCELERATE
    settings = dict(deepspeed_settings([use.document], hosted))
    settings.update(use.overlay)
    return settings, open_blocks([use.document])


def _add_call(project: Project, use: Use, settings: dict[str, Setting], names: dict[str, Value]) -> None:
    assert use.call is not None  # noqa: S101 - tested by the caller
    arguments, is_open = argument_settings(project, use.call, INITIALIZE_SIGNATURE, use.run)
    from distlint.frameworks.general import argument_value
    from distlint.link.arguments import find_argument

    for position, name in enumerate(INITIALIZE_SIGNATURE):
        if name not in CALL_ARGUMENTS:
            continue
        expr, certain = find_argument(use.call.site.call, name, position)
        if expr is not None and name in arguments:
            value = argument_value(project, expr, use.call, use.run)
            given = arguments[name]
            settings[f"call.{name}"] = Setting(f"call.{name}", value, given.key_span, given.span)
        elif not certain or is_open:
            names[f"call.{name}"] = unknown("the call's arguments are not known", use.call.span)
    optimizer = settings.get("call.optimizer")
    if optimizer is not None:
        names["client_optimizer"] = _made_by(optimizer.value)
    model = settings.get("call.model")
    if model is not None:
        names["pipeline_model"] = model_kind.is_pipeline(model.value)
        if names["pipeline_model"].is_known and names["pipeline_model"].only:
            names["pipeline_stages"] = model_kind.pipeline_stages(project, model.value, use.run)
    names["expert_layers"] = model_kind.has_experts(project, use.call, use.run)


def _made_by(thing: Value) -> Value:
    """The class or function that made an object, by its dotted name; its place is the call that did."""
    if not thing.is_known or not isinstance(thing.only, str) or not thing.only.startswith("<"):
        return unknown("the object is not known", *thing.spans)
    return known(thing.only.strip("<>").removesuffix("()"), *(thing.spans[-1:]))


def _mentions(project: Project, text: str) -> Value:
    """Whether a text occurs in any of the project's Python files."""
    return known(project.mentions(text))


def _configured_checkpointing(project: Project) -> Value:
    """Whether activation checkpointing gets the configuration, and nothing that would override it."""
    calls = [found.site.call for found in project.calls_to(CHECKPOINTING)]
    if not calls:
        return known(False)
    given = [{keyword.name for keyword in call.keywords} for call in calls]
    plain = all(
        names <= {"mpu_", "deepspeed_config"} and len(call.args) <= 2 for call, names in zip(calls, given, strict=True)
    )
    handed = all("deepspeed_config" in names or len(call.args) == 2 for call, names in zip(calls, given, strict=True))
    return known(True) if plain and handed else unknown("its arguments decide")


def _is_tuned(use: Use) -> Value:
    """Whether the launch starts DeepSpeed's tuner, which runs the script many times for a few steps."""
    launch = use.run.launch if use.run is not None else None
    if launch is None or launch.open_options:
        return unknown("no launch is known")
    return known("autotuning" in launch.options, launch.span)


CHECKPOINTING = frozenset(
    {"deepspeed.checkpointing.configure", "deepspeed.runtime.activation_checkpointing.checkpointing.configure"}
)


def _add_training(use: Use, settings: dict[str, Setting], names: dict[str, Value]) -> None:
    assert use.training is not None  # noqa: S101 - tested by the caller
    from distlint.frameworks.huggingface.training_arguments import DEFAULTS

    for name, setting in use.training.settings.items():
        settings[f"training.{name}"] = setting
    for name in DEFAULTS:
        if name not in use.training.settings:
            names[f"training.{name}"] = use.training.value(name)


def known_path(path: str) -> bool:
    """Whether a condition over a DeepSpeed subject may use a dotted path."""
    if path in NAMES or path.startswith(("training.", "accelerate.", "lightning.")):
        return True
    if path.startswith("call."):
        return path[len("call.") :] in CALL_ARGUMENTS
    return is_setting(path)


KINDS = (SubjectKind("deepspeed", "deepspeed", known_path, build, frozenset({*FUNCTIONS, "mentions"})), inference.KIND)
