"""The settings of Megatron-LM and its descendants by canonical name, and what holds where nothing is written.

The canonical name is the long option of Megatron-LM with underscores (``tensor_model_parallel_size``), whatever the
carrier calls it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import prod

from distlint.frameworks.megatron.switches import SWITCHES
from distlint.model.subject import Setting
from distlint.model.value import State, Value, absent, known, one_of, unknown

PARALLEL_SIZES = (
    "tensor_model_parallel_size",
    "pipeline_model_parallel_size",
    "context_parallel_size",
    "ds_sequence_parallel_size",
)
"""The sizes whose product is the number of processes that hold one copy of the model."""

UNCOUNTED = ("encoder_tensor_model_parallel_size", "encoder_pipeline_model_parallel_size", "yaml_cfg")
"""Settings with which the product is another one: encoders of their own (core 0.9 to 0.13), or an unread file."""

DEFAULTS: Mapping[str, object] = {
    "tensor_model_parallel_size": 1,
    "pipeline_model_parallel_size": 1,
    "context_parallel_size": 1,
    "ds_sequence_parallel_size": 1,
    "expert_model_parallel_size": 1,
}
"""Sizes that are 1 where nothing is written (``_add_distributed_args`` of all releases; ``ModelParallelConfig``)."""

_VALUED = """
attention_config batch_size ckpt_format cp_comm_type data_path decoder_first_pipeline_num_layers
decoder_last_pipeline_num_layers decoder_num_layers decoder_seq_length deepspeed deepspeed_config encoder_num_layers
encoder_pipeline_model_parallel_size encoder_seq_length encoder_tensor_model_parallel_size expert_tensor_parallel_size
ffn_hidden_size global_batch_size gradient_accumulation_steps heterogeneous_layers_config_encoded_json
heterogeneous_layers_config_path hidden_size hybrid_layer_pattern hybrid_override_pattern kv_channels lr
lr_decay_iters lr_decay_samples lr_warmup_fraction lr_warmup_iters lr_warmup_samples max_position_embeddings
micro_batch_size min_lr model_parallel_size moe_ffn_hidden_size moe_router_topk num_attention_heads num_experts
num_layers num_layers_per_virtual_pipeline_stage num_query_groups num_virtual_stages_per_pipeline_rank optimizer
params_dtype persistent_save_interval pipeline_dtype pipeline_model_parallel_layout pipeline_model_parallel_split_rank
precision rampup_batch_size recompute_granularity recompute_method recompute_num_layers save save_interval seq_length
spec split train_data_path train_iters train_samples transformer_impl valid_data_path
virtual_pipeline_model_parallel_size zero_stage
"""

VALUED = frozenset(_VALUED.split())
"""Settings with a value that rules ask for, beside those with a default."""

NAMES = frozenset(
    {
        "world_size",
        "model_parallel_product",
        "expert_parallel_product",
        "data_parallel_size",
        "carrier",
        "flavour",
        "stray",
        "duplicate",
        "script",
        "adjustable",
    }
)
"""What a subject adds to its settings."""


def known_path(path: str) -> bool:
    """Whether a condition over Megatron settings may use a path."""
    if path in NAMES or path in DEFAULTS or path in VALUED or path.startswith(("env.", "ds.")):
        return True
    return path in _SWITCH_NAMES


_SWITCH_NAMES = frozenset(switch.replace("-", "_") for switch in SWITCHES)


def default(path: str) -> Value:
    """What holds where nothing is written: a parallel size is 1, a switch is off, the rest is absent."""
    if path in DEFAULTS:
        return known(DEFAULTS[path])
    return known(False) if path in _SWITCH_NAMES else absent()


def derived_names(settings: Mapping[str, Setting], world_size: Value, *, is_open: bool) -> dict[str, Value]:
    """The products of parallel sizes, and how many copies of the model the processes hold.

    Unknown where a size is, or where other settings change how processes are counted.
    """
    uncounted = [settings[path] for path in UNCOUNTED if path in settings]
    if uncounted:
        missing = unknown("the parallel layout is not known", uncounted[0].key_span)
        return dict.fromkeys(("model_parallel_product", "expert_parallel_product", "data_parallel_size"), missing)
    sizes = [_size(settings, path, is_open=is_open) for path in PARALLEL_SIZES]
    product = _combined(sizes, prod)
    tensor = "expert_tensor_parallel_size" if "expert_tensor_parallel_size" in settings else PARALLEL_SIZES[0]
    experts = (tensor, "expert_model_parallel_size", "pipeline_model_parallel_size")
    return {
        "model_parallel_product": product,
        "expert_parallel_product": _combined([_size(settings, path, is_open=is_open) for path in experts], prod),
        "data_parallel_size": _combined([world_size, product], _copies),
    }


def _copies(sizes: Iterable[int]) -> int:
    world, product = sizes
    if world % product:
        raise ValueError("the processes do not hold a whole number of copies")
    return world // product


def _size(settings: Mapping[str, Setting], path: str, *, is_open: bool) -> Value:
    setting = settings.get(path)
    if setting is not None:
        # GPT-NeoX writes 0 where there is no pipeline.
        sure = setting.value if setting.certain else unknown("set on some paths only")
        return sure.map(lambda size: 1 if size == 0 else size).at(setting.key_span)
    return unknown(f"`{path}` may be set where we can't see") if is_open else default(path)


def _are_sizes(value: Value) -> bool:
    return bool(value.options) and all(type(option) is int and option > 0 for option in value.options)


def _combined(values: list[Value], function: Callable[[list[int]], int]) -> Value:
    """A number computed from several: unknown where one of them is, or is no positive whole number."""
    # The largest one is named first: it is the likeliest to be wrong.
    ordered = sorted(values, key=lambda value: max(value.options) if _are_sizes(value) else 0, reverse=True)
    spans = tuple(dict.fromkeys(span for value in ordered for span in value.spans[:1]))
    combinations: list[list[int]] = [[]]
    for value in values:
        if value.state not in (State.KNOWN, State.ONE_OF):
            return unknown(value.reason or "is not given", *spans)
        if not _are_sizes(value):
            return unknown("is no positive number", *spans)
        combinations = [[*one, option] for one in combinations for option in value.options][:64]
    try:
        results = [function(one) for one in combinations]
    except ValueError as error:
        return unknown(str(error), *spans)
    return one_of(results, spans, min(value.confidence for value in values))
