"""The settings of Megatron-LM and its descendants by canonical name, and what holds where nothing is written.

The canonical name is the long option of Megatron-LM with underscores (``tensor_model_parallel_size``), whatever the
carrier calls it.
"""

from __future__ import annotations

from collections.abc import Mapping

from distlint.frameworks.megatron.switches import SWITCHES
from distlint.model.value import Value, absent, known

PARALLEL_SIZES = (
    "tensor_model_parallel_size",
    "pipeline_model_parallel_size",
    "context_parallel_size",
    "ds_sequence_parallel_size",
)
"""The sizes whose product is the number of processes that hold one copy of the model."""

UNCOUNTED = ("yaml_cfg",)
"""Settings with which the product is not known: a file that is not read."""

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

_SIZES = """
account_for_embedding_in_pipeline_split account_for_loss_in_pipeline_split async_save async_strategy
check_for_nan ckpt_convert_format ckpt_convert_save cp_comm_type data_args_path data_cache_path
dataloader_defer_npy_index_mmap dataloader_fast_cache_load decrease_batch_size_if_needed
end_weight_decay eval_global_batch_size eval_interval eval_iters eval_micro_batch_size exit_interval
full_validation hierarchical_context_parallel_sizes legacy_tokenizer load load_main_params_from_ckpt log_interval
log_memory_interval lr_decay_style lr_warmup_init lr_wsd_decay_iters lr_wsd_decay_samples lr_wsd_decay_style
merge_file microbatch_group_size_per_virtual_pipeline_stage microbatch_group_size_per_vp_stage
min_lr mock_data mtp_num_layers no_load_optim non_persistent_ckpt_type
non_persistent_local_ckpt_dir non_persistent_save_interval num_dataset_builder_threads
num_distributed_optimizer_instances override_opt_param_scheduler override_ckpt_iteration
overlap_p2p_communication_warmup_flush per_split_data_args_path phase_transition_iterations pretrained_checkpoint
replication replication_jump save_retain_interval seed skip_train standalone_embedding_stage start_weight_decay
step_batch_size_schedule tensor_parallel_num_weight_shards test_data_path tiktoken_pattern tokenizer_model
tokenizer_type use_checkpoint_args use_checkpoint_opt_param_scheduler use_distributed_optimizer
use_legacy_models use_persistent_ckpt_worker use_tp_pp_dp_mapping vocab_file vocab_size weight_decay
weight_decay_incr_style
"""

SIZE_OPTIONS = frozenset(_SIZES.split())
"""What the rules about sizes, schedules, data and checkpoints ask for beside the settings above."""

NAMES = frozenset(
    {
        "world_size",
        "model_parallel_product",
        "expert_parallel_product",
        "data_parallel_size",
        "decoder_world_size",
        "virtual_stages",
        "split_layers",
        "middle_layers",
        "middle_stages",
        "layout_stages",
        "layout_fault",
        "micro_batches",
        "ramp_start",
        "ramp_step",
        "ramp_samples",
        "ramp_misfit",
        "phases",
        "written_tensor_size",
        "written_pipeline_size",
        "carrier",
        "flavour",
        "stray",
        "duplicate",
        "script",
        "adjustable",
        "nodes",
        "processes_per_node",
        "rack",
    }
)
"""What a subject adds to its settings."""


def known_path(path: str) -> bool:
    """Whether a condition over Megatron settings may use a path."""
    if path in NAMES or path in DEFAULTS or path in VALUED or path in SIZE_OPTIONS or path.startswith(("env.", "ds.")):
        return True
    return path in _SWITCH_NAMES


_SWITCH_NAMES = frozenset(switch.replace("-", "_") for switch in SWITCHES)


def default(path: str) -> Value:
    """What holds where nothing is written: a parallel size is 1, a switch is off, the rest is absent."""
    if path in DEFAULTS:
        return known(DEFAULTS[path])
    return known(False) if path in _SWITCH_NAMES else absent()
