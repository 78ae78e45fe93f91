"""GPT-NeoX's configurations as Megatron settings: how a launch merges them, and on how many devices it runs.

Names and order as in ``megatron/neox_arguments/arguments.py`` (``from_ymls``, ``consume_deepy_args``,
``calculate_derived``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from distlint.model.document import Document, Mapping, find, node_value
from distlint.model.launch import Launch
from distlint.model.record import dataclass
from distlint.model.span import Span
from distlint.model.subject import Setting
from distlint.model.value import Confidence, Value, known, unknown

if TYPE_CHECKING:
    from distlint.link.project import Project

_CANONICAL = {
    "pipe_parallel_size": "pipeline_model_parallel_size",
    "model_parallel_size": "tensor_model_parallel_size",
    "num_kv_heads": "num_query_groups",
    "train_micro_batch_size_per_gpu": "micro_batch_size",
    "train_batch_size": "global_batch_size",
    "gradient_accumulation_steps": "gradient_accumulation_steps",
    "num_layers": "num_layers",
    "hidden_size": "hidden_size",
    "num_attention_heads": "num_attention_heads",
    "seq_length": "seq_length",
    "max_position_embeddings": "max_position_embeddings",
    "attention_config": "attention_config",
    "precision": "precision",
    "min_lr": "min_lr",
}
_TELLING = frozenset({"pipe_parallel_size", "model_parallel_size"})
_MODEL = frozenset(
    {"num_layers", "hidden_size", "num_attention_heads", "train_micro_batch_size_per_gpu", "train_iters"}
)

_COUNTED_ELSEWHERE = frozenset({"hostfile", "include", "exclude", "launcher", "deepspeed_slurm", "deepspeed_mpi"})
"""With these the devices are counted from what is not in the file."""

_VALUED_FLAGS = frozenset(
    {
        "--wandb_group",
        "--wandb_run_name",
        "--wandb_team",
        "--iteration",
        "--eval_results_prefix",
        "-H",
        "--hostfile",
        "-i",
        "--sample_input_file",
        "-o",
        "--sample_output_file",
        "--autotuning",
        "--eval_tasks",
    }
)


@dataclass(slots=True)
class NeoxSettings:
    """The merged configurations of one run: settings by canonical name, keys that two files hold, devices in use."""

    settings: dict[str, Setting] = field(default_factory=dict)
    duplicates: list[tuple[str, Span]] = field(default_factory=list)
    devices: Value = field(default_factory=lambda: unknown("the number of devices is not known"))
    open: bool = False


def looks_like_neox(document: Document) -> bool:
    """Whether a configuration evidently is one of GPT-NeoX: it sets a parallel size under its name, and a model."""
    if not isinstance(document.root, Mapping):
        return False
    keys = {_normal(entry.key) for entry in document.root.entries}
    return bool(keys & _TELLING) and bool(keys & _MODEL)


def documents_of(project: Project, launch: Launch) -> tuple[list[Document], bool]:
    """The configurations that a launch names, and whether there may be others that are not in the project."""
    folder = ""
    names: list[Value] = []
    words = list(launch.arguments)
    at = 0
    while at < len(words):
        text = words[at].value.only
        at += 1
        if text in ("-d", "--conf_dir"):
            folder = str(words[at].value.only) if at < len(words) and words[at].value.is_known else "?"
            at += 1
        elif text in _VALUED_FLAGS:
            at += 1
        elif not (isinstance(text, str) and text.startswith("-")):
            names.append(words[at - 1].value)
    documents = []
    for name in names:
        path = name.map(lambda text: _path(folder, str(text)))
        document = project.document(path, launch.file or launch.span.file, _folders(launch))
        if document is not None:
            documents.append(document)
    return documents, launch.open_arguments or len(documents) < len(names)


def _path(folder: str, name: str) -> str:
    full = f"{folder.rstrip('/')}/{name}" if folder else name
    return full if full.endswith((".yml", ".json")) else full + ".yml"


def _folders(launch: Launch) -> list[str]:
    own = launch.span.file.rpartition("/")[0]
    return [folder for folder in (launch.directory, own) if folder is not None]


def read_neox(documents: Sequence[Document], launch: Launch | None, *, is_open: bool) -> NeoxSettings:
    """Configurations merged in the order in which they are given."""
    read = NeoxSettings(open=is_open)
    seen: dict[str, Span] = {}
    counted: dict[str, Value] = {}
    for document in documents:
        assert isinstance(document.root, Mapping)  # noqa: S101 - the callers choose such documents
        read.open = read.open or document.root.open
        own = {}
        for entry in document.root.entries:
            key = _normal(entry.key)
            # Keys are compared as they are written with those that earlier files gave after conversion.
            if entry.key == key and (key in seen or key in own):
                read.duplicates.append((key, entry.key_span))
            own[key] = entry.key_span
            counted[key] = node_value(entry.node)
        seen.update(own)
        for setting in _settings(document.root):
            previous = read.settings.get(setting.path)
            read.settings[setting.path] = (
                setting
                if previous is None
                else Setting(setting.path, setting.value, setting.key_span, setting.span, previous, setting.certain)
            )
    if launch is not None and not read.open:
        read.devices = _devices(counted, launch)
    return read


def _settings(root: Mapping) -> Iterator[Setting]:
    for entry in root.entries:
        path = _CANONICAL.get(_normal(entry.key))
        if path is not None:
            value = node_value(entry.node)
            value = value if value.spans else value.at(entry.node.span)
            yield Setting(path, value, entry.key_span, entry.node.span, certain=entry.certain, written=str(entry.key))
    for path, keys in (("zero_stage", ("zero_optimization", "stage")), ("lr", ("optimizer", "params", "lr"))):
        inner, _ = find(root, keys)
        if inner is not None:
            value = node_value(inner.node).at(inner.node.span)
            yield Setting(path, value, inner.key_span, inner.node.span, certain=inner.certain)


def _devices(keys: dict[str, Value], launch: Launch) -> Value:
    given = keys.get("global_num_gpus")
    if given is not None:
        return given
    if any(key in keys and keys[key].only is not None for key in _COUNTED_ELSEWHERE):
        return unknown("the hosts are not known", launch.span)
    if any(word.text in ("-H", "--hostfile") for word in launch.arguments):
        return unknown("the hosts are not known", launch.span)
    visible = launch.environment.get("CUDA_VISIBLE_DEVICES")
    if visible is None or not visible.is_known:
        return unknown("as many as the machine has devices", launch.span)
    names = [name for name in str(visible.only).split(",") if name.strip()]
    if not names:
        return unknown("no device is visible", *visible.spans)
    # A host file in its usual place would be read instead; few machines have one.
    return known(len(names), *(visible.spans or (launch.span,)), confidence=min(visible.confidence, Confidence.LIKELY))


def _normal(key: object) -> str:
    return str(key).replace("-", "_")
