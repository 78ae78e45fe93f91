"""Megatron Core's configuration objects in Python: their arguments as settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from distlint.frameworks.copies import copied_calls
from distlint.frameworks.general import argument_settings
from distlint.frameworks.megatron.objects import named_objects, own_fields
from distlint.frameworks.megatron.settings import DEFAULTS, default
from distlint.frameworks.megatron.signatures import field_default
from distlint.frameworks.megatron.versions import PACKAGE
from distlint.link.modules import ClassRef
from distlint.link.project import CallSite
from distlint.model import python as ir
from distlint.model.launch import Run
from distlint.model.subject import Setting, Versions
from distlint.model.value import Value, absent

if TYPE_CHECKING:
    from distlint.link.project import Project

PARALLEL_CONFIG = "megatron.core.ModelParallelConfig"
TRANSFORMER_CONFIG = "megatron.core.transformer.TransformerConfig"
CONFIGS = (
    PARALLEL_CONFIG,
    TRANSFORMER_CONFIG,
    "megatron.core.transformer.MLATransformerConfig",
)
OPTIMIZER_CONFIG = "megatron.core.optimizer.OptimizerConfig"
DATA_PARALLEL_CONFIG = "megatron.core.distributed.DistributedDataParallelConfig"
"""The settings of the optimizer and of the wrapper around the model, which know nothing of the model."""
INITIALIZE = "megatron.core.parallel_state.initialize_model_parallel"

_CONFIG_FILES = {
    PARALLEL_CONFIG: "megatron/core/model_parallel_config.py",
    TRANSFORMER_CONFIG: "megatron/core/transformer/transformer_config.py",
    "megatron.core.transformer.MLATransformerConfig": "megatron/core/transformer/transformer_config.py",
}
_OTHER_FILES = {
    OPTIMIZER_CONFIG: "megatron/core/optimizer/optimizer_config.py",
    DATA_PARALLEL_CONFIG: "megatron/core/distributed/distributed_data_parallel_config.py",
}
_INITIALIZE_FILES = {INITIALIZE: "megatron/core/parallel_state.py"}
"""Where they are defined, for projects that hold a copy of Megatron."""

_POSITIONS = {
    INITIALIZE: ("tensor_model_parallel_size", "pipeline_model_parallel_size", "virtual_pipeline_model_parallel_size"),
    **dict.fromkeys(_CONFIG_FILES, ("tensor_model_parallel_size",)),
}
"""The parameters that stand first in every release (core 0.4 to 0.19 seen)."""

_FIELDS = {
    "num_moe_experts": "num_experts",
    "num_layers_in_first_pipeline_stage": "decoder_first_pipeline_num_layers",
    "num_layers_in_last_pipeline_stage": "decoder_last_pipeline_num_layers",
}
"""Fields that have another name than the option."""

_OPTIONS = {option: name for name, option in _FIELDS.items()}


def canonical_field(name: str) -> str:
    """The setting that a field of a configuration makes."""
    return _FIELDS.get(name, name)


def config_calls(project: Project) -> Iterator[CallSite]:
    """Every construction of a configuration, also of the project's own subclasses that don't define ``__init__``."""
    yield from project.calls_to(CONFIGS)
    yield from copied_calls(project, _CONFIG_FILES)
    for file in project.python_files:
        for index, definition in enumerate(project.module(file).classes):
            owner = ClassRef(file, index)
            bases = project.modules.external_bases(owner) & set(CONFIGS) if definition.bases else set()
            if not bases or project.modules.method(owner, "__init__") is not None:
                continue
            for found in project.sites(definition.name):
                if project.modules.resolve(found.site.call.func, found.file) == owner:
                    yield found._replace(name=min(bases))


def other_config_calls(project: Project) -> Iterator[CallSite]:
    """Every construction of the settings of an optimizer or of the wrapper around the model."""
    yield from project.calls_to(set(_OTHER_FILES))
    yield from copied_calls(project, _OTHER_FILES)


def group_calls(project: Project) -> Iterator[CallSite]:
    """Every call that makes Megatron's process groups."""
    yield from project.calls_to({INITIALIZE})
    yield from copied_calls(project, _INITIALIZE_FILES)


def call_default(project: Project, found: CallSite, versions: Versions) -> Callable[[str], Value]:
    """What holds where a call does not say otherwise: the defaults of the class or function in the release in use."""
    version = versions.newest(PACKAGE)
    written = own_fields(project, found)

    def of(path: str) -> Value:
        field = _OPTIONS.get(path, path)
        if field in written:
            return absent() if written[field].is_known and written[field].only is None else written[field]
        own = field_default(found.name, field, version) if version else None
        if own is None or (path in DEFAULTS and not own.is_known):
            return default(path)
        return own

    return of


def call_settings(project: Project, found: CallSite, run: Run | None) -> tuple[dict[str, Setting], bool]:
    """The arguments of a call by canonical name, and whether there may be others that we can't see."""
    order = _POSITIONS.get(found.name, ())
    given, is_open = argument_settings(project, found, order, run)
    settings = {}
    if found.name not in (INITIALIZE, OPTIMIZER_CONFIG, DATA_PARALLEL_CONFIG):
        fields, is_fixed = _own_fields(project, found)
        is_open = is_open or not is_fixed
        given = {**fields, **given}
    objects = named_objects(project, found, run)
    for name, setting in given.items():
        path = _FIELDS.get(name, name)
        if setting.value.is_known and setting.value.only is None:
            continue
        settings[path] = Setting(
            path,
            objects.get(name, setting.value),
            setting.key_span,
            setting.span,
            setting.overrides,
            setting.certain,
            name,
        )
    return settings, is_open or len(found.site.call.args) > len(order)


def _own_fields(project: Project, found: CallSite) -> tuple[dict[str, Setting], bool]:
    """The defaults that the project's own subclasses give to fields, and whether nothing else can change fields."""
    owner = project.modules.resolve(found.site.call.func, found.file)
    fields: dict[str, Setting] = {}
    is_fixed = True
    for one in reversed(project.modules.ancestry(owner)) if isinstance(owner, ClassRef) else ():
        if one.file.endswith(tuple(_CONFIG_FILES.values())):
            continue
        definition = project.module(one.file).classes[one.index]
        is_fixed = is_fixed and not _has_own_method(project, one, "__post_init__")
        for statement in definition.body if definition.decorators else ():
            # what has no annotation, or stands in a class that is no dataclass, is no field
            if type(statement) is not ir.Assign or statement.value is None or statement.annotation is None:
                continue
            for target in statement.targets:
                if type(target) is ir.Name:
                    value = project.evaluator(None).value(statement.value, one.file, -1)
                    span = ir.unpack(target.at, one.file)
                    fields[target.id] = Setting(target.id, value.at(span), span, span)
    return fields, is_fixed


def _has_own_method(project: Project, owner: ClassRef, name: str) -> bool:
    functions = project.module(owner.file).functions
    return any(function.owner == owner.index and function.name == name for function in functions)
