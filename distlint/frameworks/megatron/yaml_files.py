"""The file behind ``--yaml-cfg``: its keys are the run's settings, and the options of the command line are ignored.

As ``load_yaml``, ``validate_yaml`` and ``core_transformer_config_from_yaml`` (``megatron/training/yaml_arguments.py``, core
0.6 to 0.19) read it: the model's keys stand in ``language_model``, those of parallelism in ``model_parallel``, all others at
the top level, and there are no defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field
from typing import TYPE_CHECKING, Any

from distlint.frameworks.megatron.calls import TRANSFORMER_CONFIG, canonical_field
from distlint.frameworks.megatron.command_line import PACKAGE, CommandSettings
from distlint.frameworks.megatron.settings import default
from distlint.frameworks.megatron.signatures import table
from distlint.model.document import Entry, Mapping, node_value
from distlint.model.record import dataclass
from distlint.model.span import Span
from distlint.model.subject import Setting, Versions
from distlint.model.value import Value, absent, known, unknown

if TYPE_CHECKING:
    from distlint.link.project import Project
    from distlint.model.launch import Launch

OPTION = "yaml_cfg"
MODEL, PARALLEL = "language_model", "model_parallel"

_OVERWRITTEN = frozenset(
    {
        "virtual_pipeline_model_parallel_size",
        "num_virtual_stages_per_pipeline_rank",
        "pipeline_dtype",
        "variable_seq_lengths",
        "batch_p2p_comm",
        "deallocate_pipeline_outputs",
        "params_dtype",
        "gated_linear_unit",
        "swiglu",
        "squared_relu",
        "quick_geglu",
        "init_method",
        "embedding_init_method",
        "output_layer_init_method",
        "overlap_p2p_comm",
        "group_query_attention",
    }
)
"""Keys that are replaced by others, or that nothing reads."""

_ACTIVATIONS = {"swiglu": "silu", "squaredrelu": "squared_relu", "gelu": "gelu"}
_SHOWN = 1
_OUTER = "account_for_embedding_in_pipeline_split"
"""Asked for at the top level as well, since it is a field of the configuration (core 0.11 on)."""


@dataclass(slots=True)
class YamlSettings:
    """What a file says: settings by canonical name, and what it lacks or holds twice.

    ``empty`` are the keys without a value.
    """

    settings: dict[str, Setting] = field(default_factory=dict)
    empty: set[str] = field(default_factory=set)
    duplicate: Value = field(default_factory=absent)
    missing: Value = field(default_factory=absent)
    default: Callable[[str], Value] = default
    open: bool = False
    file: str = ""


def read_yaml(project: Project, launch: Launch, read: CommandSettings, versions: Versions) -> YamlSettings | None:
    """The file that a command names; ``None`` where none is named, or it is not in the project or no mapping."""
    given = read.settings.get(OPTION)
    if given is None or not given.certain:
        return None
    words = {word.span: word.text for word in launch.arguments}
    folders = [folder for folder in (launch.directory, launch.span.file.rpartition("/")[0]) if folder is not None]
    near = launch.script_file or launch.span.file
    document = project.documents.found(given.value, near, folders, words.get(given.span, ""))
    if document is None or document.format != "yaml" or not isinstance(document.root, Mapping):
        return None
    found = YamlSettings(open=document.root.open, file=document.file)
    places: dict[str, list[tuple[str, Span]]] = {}
    for section, entry in _entries(document.root, found):
        name = str(entry.key)
        places.setdefault(name, []).append((section, entry.key_span))
        path, value = canonical_field(name), node_value(entry.node)
        if value.is_known and value.only is None:
            found.empty.add(path)
        elif name not in _OVERWRITTEN and (path not in found.settings or section):
            if any("${" in text for text in value.options if isinstance(text, str)):
                value = unknown("the environment may say it", entry.node.span)
            value = value if value.spans else value.at(entry.node.span)
            found.settings[path] = Setting(
                path, value, entry.key_span, entry.node.span, certain=entry.certain, written=name
            )
    _activation(found)
    found.duplicate = _twice(places)
    fields = _fields(versions.newest(PACKAGE))
    inner = {name for name, at in places.items() if any(section for section, _ in at)}
    lacking = [name for name in fields if name not in inner]
    outer = [_OUTER] if _OUTER in fields and _OUTER not in places else []
    if (lacking or outer) and not found.open and not _has_own_fields(project) and _builds_by_file(project, launch):
        lacking = lacking or outer
        shown = ", ".join(f"`{name}`" for name in lacking[:_SHOWN])
        more = f" and {len(lacking) - _SHOWN} more" if len(lacking) > _SHOWN else ""
        found.missing = known(shown + more, _place(document.root))
    found.default = _defaults(found, {canonical_field(name) for name in lacking})
    return found


def _entries(root: Mapping, found: YamlSettings) -> Iterator[tuple[str, Entry]]:
    """Every key with its section (``""`` for the top level); of a key that stands twice in one the last."""
    for entry in _last(root):
        if entry.key in (MODEL, PARALLEL):
            if isinstance(entry.node, Mapping):
                found.open = found.open or entry.node.open or not entry.certain
                yield from ((str(entry.key), inner) for inner in _last(entry.node))
            else:
                found.open = True
        else:
            yield "", entry


def _last(mapping: Mapping) -> list[Entry]:
    return list({str(entry.key): entry for entry in mapping.entries}.values())


def _place(root: Mapping) -> Span:
    entry = root.entry(MODEL) or root.entry(PARALLEL)
    return entry.key_span if entry is not None else root.span


def _twice(places: dict[str, list[tuple[str, Span]]]) -> Value:
    """A key that two of the places hold, which can't be put together then."""
    for name, at in places.items():
        if len(at) > 1 and any(section for section, _ in at):
            inner = next(span for section, span in reversed(at) if section)
            return known(name, inner)
    return absent()


def _activation(found: YamlSettings) -> None:
    """The names that the configuration has for an activation function."""
    setting = found.settings.get("activation_func")
    if setting is None or not setting.value.is_known or setting.value.only not in _ACTIVATIONS:
        return
    kind = setting.value.only

    def put(path: str, value: Any) -> None:
        made = value if isinstance(value, Value) else known(value, setting.span)
        found.settings[path] = Setting(path, made, setting.key_span, setting.span, certain=setting.certain)

    put("activation_func", _ACTIVATIONS[kind])
    put("swiglu", kind == "swiglu")
    put("gated_linear_unit", kind == "swiglu")
    found.empty -= {"swiglu", "gated_linear_unit"}
    bias = found.settings.get("add_bias_linear")
    if kind == "swiglu":
        fused = found.settings.pop("bias_swiglu_fusion", None)
        put("bias_activation_fusion", fused.value if fused is not None else False)
    elif kind == "gelu" and bias is not None and bias.value.only is not False:
        put("bias_activation_fusion", False)


def _fields(version: str) -> list[str]:
    """What every release that a version may mean demands in the sections; nothing for a version that is not known."""
    if not version:
        return []
    releases = table()
    indexes = releases.indexes(version)
    prefix = f"{TRANSFORMER_CONFIG}#"
    return [
        path.removeprefix(prefix)
        for path in releases.names
        if path.startswith(prefix) and path != prefix and all(releases.entry(path, one) is not None for one in indexes)
    ]


def _has_own_fields(project: Project) -> bool:
    """Whether the project holds a copy of the configuration, which may have other fields."""
    return any(path.endswith("core/transformer/transformer_config.py") for path in project.paths)


def _builds_by_file(project: Project, launch: Launch) -> bool:
    """Whether the script makes its model of the file: Megatron's own for GPT does, and what calls the same function."""
    if not launch.script_file:
        return str(launch.script.only or "").rpartition("/")[2] == "pretrain_gpt.py"
    return any(
        name in project.text_of(launch.script_file) for name in ("core_transformer_config_from_yaml", "gpt_builder")
    )


def _defaults(found: YamlSettings, lacking: set[str]) -> Callable[[str], Value]:
    def of(path: str) -> Value:
        if path in _OVERWRITTEN:
            return known(False) if path in ("swiglu", "gated_linear_unit") else default(path)
        if path in lacking and path not in found.empty:
            return unknown("the file lacks it")
        # a size of null is refused, and no size of one
        return absent() if path in found.empty and path.endswith("_parallel_size") else default(path)

    return of
