"""Accelerate's launcher.

Options as in ``accelerate/commands/launch.py`` up to 1.15, with a few that older versions had.
"""

from __future__ import annotations

from distlint.model.framework import LauncherSpec, OptionSpec

_SWITCHES = (
    "cpu", "multi_gpu", "tpu", "enable_cpu_affinity", "dynamo_use_fullgraph", "dynamo_use_dynamic",
    "dynamo_use_regional_compilation", "use_deepspeed", "use_fsdp", "use_parallelism_config", "use_megatron_lm",
    "same_network", "tpu_cluster", "no_tpu_cluster", "tpu_use_sudo", "downcast_bf16",
    "fp8_use_autocast_during_eval", "debug", "ipex", "use_xpu", "use_mps_device", "mps", "fp16", "ipex_enabled",
    "use_tp",
)  # fmt: skip

_VALUED = (
    "mixed_precision", "num_cpu_threads_per_process", "dynamo_backend", "dynamo_mode", "gpu_ids", "log_dir", "role",
    "rdzv_backend", "rdzv_conf", "max_restarts", "monitor_interval", "vm", "env", "main_training_function",
    "deepspeed_config_file", "zero_stage", "offload_optimizer_device", "offload_param_device",
    "offload_optimizer_nvme_path", "offload_param_nvme_path", "gradient_accumulation_steps", "gradient_clipping",
    "zero3_init_flag", "zero3_save_16bit_model", "deepspeed_hostfile", "deepspeed_exclusion_filter",
    "deepspeed_inclusion_filter", "deepspeed_multinode_launcher", "deepspeed_moe_layer_cls_names", "fsdp_version",
    "fsdp_offload_params", "fsdp_min_num_params", "fsdp_sharding_strategy", "fsdp_reshard_after_forward",
    "fsdp_auto_wrap_policy", "fsdp_transformer_layer_cls_to_wrap", "fsdp_backward_prefetch", "fsdp_state_dict_type",
    "fsdp_forward_prefetch", "fsdp_use_orig_params", "fsdp_cpu_ram_efficient_loading", "fsdp_sync_module_states",
    "fsdp_activation_checkpointing", "fsdp_activation_checkpointing_offload", "megatron_lm_tp_degree",
    "megatron_lm_use_custom_fsdp", "megatron_lm_no_load_optim", "megatron_lm_eod_mask_loss",
    "megatron_lm_overlap_cpu_optimizer_d2h_h2d", "megatron_lm_no_save_optim", "megatron_lm_optimizer_cpu_offload",
    "megatron_lm_use_precision_aware_optimizer", "megatron_lm_decoder_last_pipeline_num_layers",
    "megatron_lm_pp_degree", "megatron_lm_num_micro_batches", "megatron_lm_sequence_parallelism",
    "megatron_lm_recompute_activations", "megatron_lm_use_distributed_optimizer", "megatron_lm_gradient_clipping",
    "megatron_lm_recompute_granularity", "megatron_lm_recompute_method", "megatron_lm_recompute_num_layers",
    "megatron_lm_attention_backend", "megatron_lm_expert_model_parallel_size", "megatron_lm_context_parallel_size",
    "megatron_lm_attention_dropout", "megatron_lm_hidden_dropout", "megatron_lm_attention_softmax_in_fp32",
    "megatron_lm_expert_tensor_parallel_size", "megatron_lm_calculate_per_token_loss",
    "megatron_lm_use_rotary_position_embeddings", "fp8_backend", "fp8_margin", "fp8_interval", "fp8_format",
    "fp8_amax_history_len", "fp8_amax_compute_algo", "fp8_override_linear_precision", "fp8_opt_level",
    "fp8_enable_fsdp_float8_all_gather", "fp8_pad_inner_dim", "aws_access_key_id", "aws_secret_access_key",
    "mpirun_hostfile", "parallelism_config_dp_replicate_size", "parallelism_config_dp_shard_size",
    "parallelism_config_tp_size", "parallelism_config_cp_size", "parallelism_config_cp_backend",
    "parallelism_config_cp_comm_strategy", "parallelism_config_sp_size", "parallelism_config_sp_backend",
    "parallelism_config_sp_seq_length", "parallelism_config_sp_seq_length_is_variable",
    "parallelism_config_sp_attn_implementation", "fsdp_backward_prefetch_policy",
    "min_num_params", "offload_params", "sharding_strategy", "transformer_layer_cls_to_wrap", "mpirun_ccl", "tp_size",
)  # fmt: skip

_OPTIONS = (
    OptionSpec("config", ("--config_file",)),
    OptionSpec("processes", ("--num_processes",)),
    OptionSpec("nodes", ("--num_machines",)),
    OptionSpec("node-rank", ("--machine_rank",)),
    OptionSpec("address", ("--main_process_ip",)),
    OptionSpec("port", ("--main_process_port",)),
    OptionSpec("module", ("-m", "--module"), 0),
    OptionSpec("no-python", ("--no_python",), 0),
    OptionSpec("tee", ("-t", "--tee")),
    OptionSpec("quiet", ("-q", "--quiet"), 0),
    OptionSpec("help", ("-h", "--help"), 0),
    *(OptionSpec(name.replace("_", "-"), (f"--{name}",), 0) for name in _SWITCHES),
    *(OptionSpec(name.replace("_", "-"), (f"--{name}",)) for name in _VALUED),
)

ACCELERATE = LauncherSpec(
    name="accelerate",
    commands=(
        ("accelerate", "launch"),
        ("accelerate-launch",),
        ("python", "-m", "accelerate.commands.launch"),
        ("python", "-m", "accelerate.commands.accelerate_cli", "launch"),
    ),
    options=_OPTIONS,
    provides=frozenset(
        {
            "RANK",
            "LOCAL_RANK",
            "WORLD_SIZE",
            "LOCAL_WORLD_SIZE",
            "MASTER_ADDR",
            "MASTER_PORT",
            "OMP_NUM_THREADS",
            "ACCELERATE_MIXED_PRECISION",
            "ACCELERATE_USE_DEEPSPEED",
            "ACCELERATE_USE_FSDP",
        }
    ),
    dashes_equal=True,
    abbreviations=False,
    default_processes=None,
    total_processes=True,
    default_port=29500,
    config_keys=(
        ("processes", "num_processes"),
        ("nodes", "num_machines"),
        ("node-rank", "machine_rank"),
        ("address", "main_process_ip"),
        ("port", "main_process_port"),
        ("distributed-type", "distributed_type"),
    ),
    single_when=(("distributed-type", "NO"),),
    single_unless=("multi-gpu", "tpu", "use-deepspeed", "use-fsdp", "use-megatron-lm"),
    devices=("CUDA_VISIBLE_DEVICES",),
)

LAUNCHERS = (ACCELERATE,)
