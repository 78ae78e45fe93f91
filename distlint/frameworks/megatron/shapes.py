"""The model that Megatron's options describe (``megatron/training/arguments.py``, ``_add_network_size_args`` and following)."""

from __future__ import annotations

from distlint.frameworks.given import UNSEEN, given, is_on, whole
from distlint.frameworks.megatron.patterns import pattern_value
from distlint.model.sketch import ModelShape
from distlint.model.subject import Subject

_VOCABULARIES = {
    "GPT2BPETokenizer": 50257, "BertWordPieceLowerCase": 30522, "BertWordPieceCase": 28996,
    "HFGPT2Tokenizer": 50257, "HFTokenizer": 50277,
}  # fmt: skip
"""Vocabularies of the tokenizers' usual files: only for the estimate."""

MAX_LAYERS = 4096
"""A model with more layers than this is not counted."""

_OTHER_MODELS = ("hybrid_layer_pattern", "hybrid_override_pattern", "is_hybrid_model", "encoder_num_layers",
                 "spec", "heterogeneous_layers_config_path", "heterogeneous_layers_config_encoded_json",
                 "img_h", "retro_encoder_layers", "experimental_attention_variant")  # fmt: skip
"""Options with which the layers are others than those that we count."""

_OTHER_SCRIPTS = (
    "pretrain_t5",
    "pretrain_mamba",
    "pretrain_vision",
    "pretrain_vlm",
    "pretrain_retro",
    "pretrain_ict",
    "finetune_",
)


def shape_of(subject: Subject) -> ModelShape | None:
    """The transformer of a command line, or ``None`` where it is another kind of model or a size is missing."""
    layers, hidden, heads = (
        whole(given(subject, path)) for path in ("num_layers", "hidden_size", "num_attention_heads")
    )
    if (
        not 0 < layers <= MAX_LAYERS
        or not hidden
        or not heads
        or any(path in subject.settings for path in _OTHER_MODELS)
    ):
        return None
    script = subject.names["script"].only
    if isinstance(script, str) and script.startswith(_OTHER_SCRIPTS):
        return None
    missing: list[str] = []
    assumed: list[str] = []
    gated = is_on(subject, "swiglu").only is True
    # without a width given: 4 h, or two thirds of it in whole 64s for gated layers (validate_args)
    ffn = whole(given(subject, "ffn_hidden_size")) or (int(4 * hidden * 2 / 3 / 64) * 64 if gated else 4 * hidden)
    vocabulary = _padded_vocabulary(subject, missing, assumed)
    rms = given(subject, "normalization").only == "RMSNorm"
    experts, expert_layers = _experts(subject, layers, missing)
    return ModelShape(
        layers=layers,
        hidden=hidden,
        heads=heads,
        ffn=ffn,
        groups=whole(given(subject, "num_query_groups")) if is_on(subject, "group_query_attention").only is True else 0,
        head_size=whole(given(subject, "kv_channels")),
        vocabulary=vocabulary,
        tied=is_on(subject, "untie_embeddings_and_output_weights").only is not True,
        gated=gated,
        norm=1 if rms else 2,
        biases=is_on(subject, "disable_bias_linear").only is False,
        positions=_positions(subject),
        sequence=whole(given(subject, "seq_length")),
        experts=experts,
        routed=whole(given(subject, "moe_router_topk")) or 2,
        expert_ffn=whole(given(subject, "moe_ffn_hidden_size")) or ffn,
        expert_layers=expert_layers,
        shared_ffn=whole(given(subject, "moe_shared_expert_intermediate_size")),
        latent=_latent(subject),
        extra_layers=whole(given(subject, "mtp_num_layers")),
        missing=tuple(missing),
        assumed=tuple(assumed),
        span=subject.settings["hidden_size"].key_span,
    )


def _padded_vocabulary(subject: Subject, missing: list[str], assumed: list[str]) -> int:
    padded = whole(given(subject, "padded_vocab_size"))
    if padded:
        return padded
    size = whole(given(subject, "vocab_size"))
    if not size:
        tokenizer = given(subject, "tokenizer_type").only
        size = _VOCABULARIES.get(str(tokenizer), 0)
        if not size:
            missing.append("the size of the vocabulary is not known: the embedding is left out")
            return 0
        assumed.append(f"the vocabulary of {tokenizer}'s usual file ({size})")
    # megatron/training/tokenizer: a multiple of --make-vocab-size-divisible-by (128) × tensor size
    multiple = (whole(given(subject, "make_vocab_size_divisible_by")) or 128) * max(
        whole(given(subject, "tensor_model_parallel_size")), 1
    )
    return -(-size // multiple) * multiple


def _positions(subject: Subject) -> int:
    """The number of learned positions."""
    kind = given(subject, "position_embedding_type", "learned_absolute").only
    rotary = any(
        is_on(subject, path).only is not False for path in ("use_rotary_position_embeddings", "use_rotary_emb")
    )
    if kind != "learned_absolute" or rotary or is_on(subject, "no_position_embedding").only is not False:
        return 0
    return whole(given(subject, "max_position_embeddings"))


def _experts(subject: Subject, layers: int, missing: list[str]) -> tuple[int, int]:
    """The number of experts of a layer and of the layers that have them (``--moe-layer-freq``)."""
    experts = whole(given(subject, "num_experts"))
    if experts < 1 or (experts == 1 and subject.names["flavour"].only != "megatron-lm"):
        return 0, 0
    frequency = given(subject, "moe_layer_freq")
    if frequency.is_absent or frequency.reason == UNSEEN:
        return experts, layers
    pattern = layer_pattern(frequency.only, layers)
    if pattern is None:
        missing.append("which layers have experts is not known")
        return 0, 0
    return experts, sum(pattern)


def layer_pattern(written: object, layers: int) -> list[int] | None:
    """Which layers have experts, from a number (every n-th), a list or an expression such as ``([0]*3+[1]*58)``."""
    if layers > MAX_LAYERS:
        return None
    if isinstance(written, str):
        try:
            written = pattern_value(written.replace(" ", ""))
        except ValueError:
            return None
    if type(written) is int:
        return [int(index % written == 0) for index in range(layers)] if written > 0 else None
    if not isinstance(written, list) or any(kind not in (0, 1) for kind in written):
        return None
    return written if len(written) == layers else None


def _latent(subject: Subject) -> tuple[int, ...]:
    """Multi-head latent attention with its sizes; the defaults are those of ``_add_mla_args``."""
    if is_on(subject, "multi_latent_attention").only is not True:
        return ()
    return (
        whole(given(subject, "q_lora_rank")),
        whole(given(subject, "kv_lora_rank")) or 32,
        whole(given(subject, "qk_head_dim")) or 128,
        whole(given(subject, "qk_pos_emb_head_dim")) or 64,
        whole(given(subject, "v_head_dim")) or 128,
    )


def neox_shape(subject: Subject) -> ModelShape | None:
    """The transformer of GPT-NeoX files."""
    layers, hidden, heads = (
        whole(given(subject, path)) for path in ("num_layers", "hidden_size", "num_attention_heads")
    )
    if not 0 < layers <= MAX_LAYERS or not hidden or not heads:
        return None
    gated = given(subject, "activation").only in ("swiglu", "geglu", "reglu", "bilinear", "glu")
    missing: list[str] = []
    assumed: list[str] = []
    vocabulary = _padded_vocabulary(subject, missing, assumed)
    return ModelShape(
        layers=layers,
        hidden=hidden,
        heads=heads,
        ffn=whole(given(subject, "intermediate_size")) or 4 * hidden,
        groups=whole(given(subject, "num_query_groups")),
        vocabulary=vocabulary,
        tied=is_on(subject, "no_weight_tying").only is not True,
        gated=gated,
        norm=1 if given(subject, "norm").only == "rmsnorm" else 2,
        positions=whole(given(subject, "max_position_embeddings"))
        if given(subject, "pos_emb", "learned").only == "learned"
        else 0,
        sequence=whole(given(subject, "seq_length")),
        missing=tuple(missing),
        assumed=tuple(assumed),
        span=subject.settings["hidden_size"].key_span,
    )
