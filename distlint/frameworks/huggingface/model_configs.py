"""The model of a run by its ``config.json``, where the project holds one.

Names and defaults as in ``transformers/models/*/configuration_*.py`` (4.40 to 5.x). A kind of model that is not listed here is
not counted.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from distlint.link.abstract import node_of
from distlint.model.document import Document, Mapping, node_value
from distlint.model.launch import Run
from distlint.model.sketch import ModelShape
from distlint.model.span import whole_line
from distlint.model.value import Value

if TYPE_CHECKING:
    from distlint.link.project import Project


class Kind(NamedTuple):
    """What all models of a kind have in common."""

    gated: bool = True
    norm: int = 1
    biases: bool = False
    query_biases: bool = False
    tied: bool = False
    positions: bool = False


_GATED = Kind()
_KINDS = {
    "llama": _GATED, "mistral": _GATED, "mixtral": _GATED, "internlm2": _GATED, "phi3": _GATED, "olmo": _GATED,
    "qwen2": Kind(query_biases=True), "qwen2_moe": Kind(query_biases=True), "qwen3": _GATED, "qwen3_moe": _GATED,
    "gemma": Kind(tied=True), "gemma2": Kind(tied=True), "deepseek_v2": _GATED, "deepseek_v3": _GATED,
    "gpt2": Kind(gated=False, norm=2, biases=True, tied=True, positions=True),
    "gpt_neox": Kind(gated=False, norm=2, biases=True),
    "opt": Kind(gated=False, norm=2, biases=True, tied=True, positions=True),
    "bloom": Kind(gated=False, norm=2, biases=True, tied=True),
}  # fmt: skip

_NAMES = {
    "hidden_size": ("hidden_size", "n_embd", "d_model"),
    "layers": ("num_hidden_layers", "n_layer", "num_layers"),
    "heads": ("num_attention_heads", "n_head", "num_heads"),
    "ffn": ("intermediate_size", "n_inner", "ffn_dim"),
    "positions": ("max_position_embeddings", "n_positions"),
}

_CHANGED = re.compile(
    r"(?:num_hidden_layers|n_layers?|hidden_size|intermediate_size|num_local_experts)[\"']?\]?\s*[=:](?!=)"
)
"""A program that sets one of the sizes makes another model than its file describes."""

MAX_LAYERS = 4096
"""A model with more layers than this is not counted."""

_OPTIONS = ("model_name_or_path", "model", "model_path", "pretrained_model_name_or_path", "model_id", "config_name",
            "pretrained", "model_dir", "base_model", "model_name")  # fmt: skip
_NO_MODELS = ("Tokenizer", "Processor", "FeatureExtractor", "GenerationConfig", "PeftModel", "Adapter")


def model_of(project: Project, run: Run | None, words: dict[str, Value]) -> ModelShape | None:
    """The model that a run trains: by an option that names its folder, or by what the script loads.

    ``words`` are the arguments of the run by name. ``None`` where several may be meant, or none is in the project.
    """
    if run is None:
        return None
    shapes: dict[str, ModelShape | None] = {}
    for name in _OPTIONS:
        if name in words:
            _add(project, words[name], run, shapes)
    if not shapes:
        for path in _loaded(project, run):
            _add(project, path, run, shapes)
    found = list(shapes.values())
    if len(found) != 1 or any(_CHANGED.search(project.text_of(file)) for file in project.closure(run.script_file)):
        return None
    return found[0]


def _loaded(project: Project, run: Run) -> list[Value]:
    from distlint.link.arguments import find_argument
    from distlint.model import python as ir

    closure = project.closure(run.script_file)
    found = []
    for site in project.sites("from_pretrained"):
        if site.file not in closure:
            continue
        name = project.modules.dotted(site.site.call.func, site.file)
        if any(word in name for word in _NO_MODELS):
            continue
        expr, _ = find_argument(site.site.call, "pretrained_model_name_or_path", 0)
        if expr is not None:
            answer = project.evaluator(run).ask(expr, site.file, site.site.function)
            found.append(node_value(node_of(answer, ir.unpack(expr.at, site.file))))
    return found


def _add(project: Project, path: Value, run: Run, shapes: dict[str, ModelShape | None]) -> None:
    if not path.is_known or not isinstance(path.only, str) or not path.only.strip():
        return
    folders = [run.launch.directory or ""] if run.launch is not None else []
    if run.launch is not None:
        folders.append(run.launch.span.file.rpartition("/")[0])
    text = path.only.rstrip("/")
    full = path.map(lambda _: text if text.endswith(".json") else f"{text}/config.json")
    document = project.documents.found(full, run.script_file, folders)
    if document is not None and document.file not in shapes:
        shapes[document.file] = shape_of(document)


def shape_of(document: Document) -> ModelShape | None:
    """The transformer that a ``config.json`` describes; ``None`` for a kind that we don't count or a size that is missing."""
    root = document.root
    if not isinstance(root, Mapping):
        return None
    plain = {entry.key: node_value(entry.node).only for entry in root.entries if isinstance(entry.key, str)}
    kind = _KINDS.get(str(plain.get("model_type")))
    if kind is None:
        return None
    hidden, layers, heads = (_number(plain, *_NAMES[name]) for name in ("hidden_size", "layers", "heads"))
    if not hidden or not 0 < layers <= MAX_LAYERS or not heads:
        return None
    ffn = _number(plain, *_NAMES["ffn"]) or 4 * hidden
    experts = _number(plain, "num_local_experts", "num_experts", "n_routed_experts")
    expert_ffn = _number(plain, "moe_intermediate_size") or ffn
    shared = _number(plain, "shared_expert_intermediate_size") or _number(plain, "n_shared_experts") * expert_ffn
    first = _number(plain, "first_k_dense_replace")
    step = _number(plain, "decoder_sparse_step", "moe_layer_freq") or 1
    expert_layers = sum(1 for index in range(layers) if index >= first and (index + 1) % step == 0) if experts else 0
    tied = plain.get("tie_word_embeddings")
    return ModelShape(
        layers=layers,
        hidden=hidden,
        heads=heads,
        ffn=ffn,
        groups=_number(plain, "num_key_value_heads", "num_kv_heads"),
        head_size=_number(plain, "head_dim"),
        vocabulary=_number(plain, "vocab_size"),
        tied=tied if isinstance(tied, bool) else kind.tied,
        gated=kind.gated,
        norm=kind.norm,
        biases=kind.biases,
        query_biases=kind.query_biases,
        positions=_number(plain, *_NAMES["positions"]) if kind.positions else 0,
        experts=experts,
        routed=_number(plain, "num_experts_per_tok"),
        expert_ffn=expert_ffn if experts else 0,
        expert_layers=expert_layers,
        shared_ffn=shared if experts else 0,
        latent=_latent(plain),
        span=whole_line(document.file),
    )


def _latent(plain: dict[str, Any]) -> tuple[int, ...]:
    rank = _number(plain, "kv_lora_rank")
    if not rank:
        return ()
    return (
        _number(plain, "q_lora_rank"),
        rank,
        _number(plain, "qk_nope_head_dim"),
        _number(plain, "qk_rope_head_dim"),
        _number(plain, "v_head_dim"),
    )


def _number(plain: dict[str, Any], *names: str) -> int:
    for name in names:
        value = plain.get(name)
        if type(value) is int and 0 < value < 1 << 40:
            return value
    return 0
