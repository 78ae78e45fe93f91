"""GPT-NeoX's configurations as Megatron settings: how a launch merges them, and on how many devices it runs.

Names and order as in ``megatron/neox_arguments/arguments.py`` (``from_ymls``, ``consume_deepy_args``,
``calculate_derived``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from distlint.model.document import Document, Entry, find, node_value
from distlint.model.document import Mapping as DocumentMapping
from distlint.model.framework import FileOptions
from distlint.model.launch import Argument, Launch, LaunchOption
from distlint.model.record import dataclass
from distlint.model.span import Span, whole_line
from distlint.model.subject import Setting
from distlint.model.value import Value, absent, known, unknown

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
OWN = "neox."
"""Before the names of all other keys of the top level, as GPT-NeoX calls them."""

_ATTENTION = frozenset(
    {"global", "local", "sparse_fixed", "sparse_variable", "bigbird", "bslongformer", "gmlp", "amlp", "flash"}
    | {"rwkv", "mamba"}
)
"""``ATTENTION_TYPE_CHOICES`` (``megatron/neox_arguments/neox_args.py``, v1.0 to today)."""

_INNER = {
    "zero_stage": ("zero_optimization", "stage"),
    "lr": ("optimizer", "params", "lr"),
    f"{OWN}optimizer_type": ("optimizer", "type"),
    f"{OWN}optimizer_params": ("optimizer", "params"),
    f"{OWN}fp16_enabled": ("fp16", "enabled"),
    f"{OWN}bf16_enabled": ("bf16", "enabled"),
}
_TELLING = frozenset({"pipe_parallel_size", "model_parallel_size"})
_MODEL = frozenset(
    {"num_layers", "hidden_size", "num_attention_heads", "train_micro_batch_size_per_gpu", "train_iters"}
)

_HANDED_ON = {
    "hostfile": "hostfile",
    "include": "include",
    "exclude": "exclude",
    "num_nodes": "nodes",
    "num_gpus": "processes-per-node",
    "master_port": "port",
    "master_addr": "address",
    "launcher": "launcher",
}
"""Keys that ``deepy.py`` hands to DeepSpeed's launcher (``get_deepspeed_main_args``), as options of a launch."""

_OF_CLUSTERS = ("launcher", "deepspeed_slurm", "deepspeed_mpi")
"""With these and no hosts there is a list of hosts in its usual place, which nobody sees."""

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
    replaced: list[tuple[str, str, Span]] = field(default_factory=list)
    """Keys whose value a later spelling of them takes the place of: the earlier and the later one, and its place."""
    devices: Value = field(default_factory=lambda: unknown("the number of devices is not known"))
    open: bool = False


def looks_like_neox(document: Document) -> bool:
    """Whether a configuration evidently is one of GPT-NeoX: it sets a parallel size under its name, and a model."""
    if not isinstance(document.root, DocumentMapping):
        return False
    keys = {_normal(entry.key) for entry in document.root.entries}
    return bool(keys & _TELLING) and bool(keys & _MODEL)


def documents_of(project: Project, launch: Launch) -> tuple[list[Document], bool]:
    """The configurations that a launch names, and whether there may be others that are not in the project."""
    near, folders = launch.file or launch.span.file, _folders(launch)
    paths = configuration_paths(launch.options, launch.arguments)
    documents = [one for one in (project.documents.found(path, near, folders) for path in paths) if one is not None]
    return documents, launch.open_arguments or len(documents) < len(paths)


def configuration_paths(options: Mapping[str, LaunchOption], arguments: Sequence[Argument]) -> list[Value]:
    """The paths of the configurations that a command of ``deepy.py`` names: words in front of the script, and behind."""
    before = options["conf-dir"].value if "conf-dir" in options else absent()
    folder = "" if before.is_absent else str(before.only) if before.is_known else "?"
    names: list[Value] = []
    at = 0
    while at < len(arguments):
        text = arguments[at].value.only
        at += 1
        if text in ("-d", "--conf_dir"):
            folder = str(arguments[at].value.only) if at < len(arguments) and arguments[at].value.is_known else "?"
            at += 1
        elif text in _VALUED_FLAGS:
            at += 1
        elif not (isinstance(text, str) and text.startswith("-")):
            names.append(arguments[at - 1].value)
    return [name.map(lambda text: _path(folder, str(text))) for name in names]


def launcher_options(
    given: Mapping[str, LaunchOption],
    arguments: Sequence[Argument],
    environment: Mapping[str, Value],
    find: Callable[[Value], Document | None],
) -> FileOptions:
    """What ``deepy.py`` hands to DeepSpeed's launcher: from its configurations, its own options, the environment.

    Source: ``get_deepspeed_main_args`` and ``consume_deepy_args``. The last file that has a key decides; ``-H`` beats
    them, ``DLTS_HOSTFILE`` comes last on the line and beats that.
    """
    keys: dict[str, Entry] = {}
    is_open = False
    for path in configuration_paths(given, arguments):
        document = find(path)
        if document is None or not isinstance(document.root, DocumentMapping) or document.root.open:
            is_open = True
        else:
            keys.update({_normal(entry.key): entry for entry in document.root.entries})
    options: dict[str, LaunchOption] = {}
    for key, dest in _HANDED_ON.items():
        entry = keys.get(key)
        value = node_value(entry.node) if entry is not None else absent()
        if entry is not None and not (value.is_known and value.only is None):
            value = value if value.spans else value.at(entry.node.span)
            options[dest] = LaunchOption(str(entry.key), value, entry.node.span)
    options.update(given)
    for flag, argument in pairwise(arguments):
        if flag.value.only in ("-H", "--hostfile"):
            options["hostfile"] = LaunchOption(flag.text, argument.value, argument.span)
    hosts = environment.get("DLTS_HOSTFILE")
    if hosts is not None and not hosts.is_absent:
        place = next(iter(hosts.spans), None) or (arguments[0].span if arguments else whole_line(""))
        options["hostfile"] = LaunchOption("DLTS_HOSTFILE", hosts, place)
    on_cluster = any(node_value(keys[key].node).only for key in _OF_CLUSTERS if key in keys)
    if on_cluster and "hostfile" not in options and "include" not in options:
        is_open = True
    return FileOptions(options, is_open)


def _path(folder: str, name: str) -> str:
    full = f"{folder.rstrip('/')}/{name}" if folder else name
    return full if full.endswith((".yml", ".json")) else full + ".yml"


def _folders(launch: Launch) -> list[str]:
    own = launch.span.file.rpartition("/")[0]
    return [folder for folder in (launch.directory, own) if folder is not None]


def read_neox(documents: Sequence[Document], launch: Launch | None, *, is_open: bool) -> NeoxSettings:
    """Configurations merged in the order in which they are given."""
    read = NeoxSettings(open=is_open)
    if launch is not None:
        read.devices = launch.world_size
    seen: dict[str, Span] = {}
    written: dict[str, tuple[str, Value]] = {}
    for document in documents:
        assert isinstance(document.root, DocumentMapping)  # noqa: S101 - the callers choose such documents
        read.open = read.open or document.root.open
        own = {}
        for entry in document.root.entries:
            key = _normal(entry.key)
            # Keys are compared as they are written with those that earlier files gave after conversion.
            if entry.key == key and (key in seen or key in own):
                read.duplicates.append((key, entry.key_span))
            elif key in written and _differ(written[key][1], node_value(entry.node)):
                read.replaced.append((written[key][0], str(entry.key), entry.key_span))
            written[key] = (str(entry.key), node_value(entry.node))
            own[key] = entry.key_span
            if key == "global_num_gpus":
                read.devices = node_value(entry.node)
        seen.update(own)
        for setting in _settings(document.root):
            previous = read.settings.get(setting.path)
            read.settings[setting.path] = (
                setting
                if previous is None
                else Setting(setting.path, setting.value, setting.key_span, setting.span, previous, setting.certain)
            )
    return read


def _differ(one: Value, other: Value) -> bool:
    return one.is_known and other.is_known and bool(one.only != other.only)


def _settings(root: DocumentMapping) -> Iterator[Setting]:
    for entry in root.entries:
        path = _CANONICAL.get(_normal(entry.key))
        if path is not None:
            value = node_value(entry.node)
            value = value if value.spans else value.at(entry.node.span)
            yield Setting(path, value, entry.key_span, entry.node.span, certain=entry.certain, written=str(entry.key))
    for entry in root.entries:
        if _normal(entry.key) in _CANONICAL:
            continue
        path = f"{OWN}{_normal(entry.key)}"
        value = node_value(entry.node)
        value = value if value.spans else value.at(entry.node.span)
        # null is no value here
        if not (value.is_known and value.only is None):
            yield Setting(path, value, entry.key_span, entry.node.span, certain=entry.certain, written=str(entry.key))
    yield from _attention(root)
    for path, keys in _INNER.items():
        inner, _ = find(root, keys)
        if inner is not None:
            value = node_value(inner.node).at(inner.node.span)
            yield Setting(path, value, inner.key_span, inner.node.span, certain=inner.certain)


def _attention(root: DocumentMapping) -> Iterator[Setting]:
    """What ``attention_config`` says: for how many layers, or how long a pattern for all, and the first odd type.

    As ``expand_attention_types`` (``megatron/utils.py``) reads it.
    """
    entry, _ = find(root, ("attention_config",))
    value = node_value(entry.node) if entry is not None else unknown("not given")
    if entry is None or not value.is_known or not isinstance(value.only, list):
        return
    count, types = 0, []
    found: dict[str, Any] = {}
    for item in value.only:
        if isinstance(item, str):
            count += 1
            types.append(item)
        elif isinstance(item, list) and len(item) == 2 and isinstance(item[0], list) and item[0]:
            types += item[0]
            if item[1] == "all":
                found["attention_pattern"] = len(item[0])
                break
            count += len(item[0]) * (item[1] if type(item[1]) is int else 0)
        else:
            return
    if "attention_pattern" not in found:
        found["attention_layers"] = count
    odd = next((str(kind) for kind in types if kind not in _ATTENTION), "")
    if odd:
        found["attention_odd"] = odd
    for name, one in found.items():
        written = known(one, entry.node.span)
        yield Setting(f"{OWN}{name}", written, entry.key_span, entry.node.span, certain=entry.certain)


def _normal(key: object) -> str:
    return str(key).replace("-", "_")
