"""How Megatron-LM and what is built on it (Megatron-DeepSpeed, GPT-NeoX) is recognised, imported and launched."""

from __future__ import annotations

from distlint.frameworks.megatron.collectives import COLLECTIVES
from distlint.frameworks.megatron.launchers import LAUNCHERS
from distlint.model.framework import FrameworkSpec

SPEC = FrameworkSpec(
    name="megatron",
    prefix="MG",
    packages=("megatron-core",),
    modules=("megatron",),
    literals=(
        *(b"megatron", b"tensor_model_parallel_size", b"--max-position-embeddings"),
        # what stands in a launch script of a project that holds nothing else of Megatron
        *(b"--num-attention-heads", b"--micro-batch-size", b"pretrain_gpt.py", b"pretrain_bert.py", b"pretrain_t5.py"),
        b"pretrain_mamba.py",
    ),
    config_keys=(
        b"pipe-parallel-size",
        b"model-parallel-size",
        b"pipe_parallel_size",
        b"tensor_model_parallel_size",
        b"tensor-model-parallel-size",
        b"pipeline_model_parallel_size",
        b"MODEL_ARGS",
        b"TRAINING_PARAMS_PATH",
    ),
    launchers=LAUNCHERS,
    records=(
        "megatron.core.ModelParallelConfig",
        "megatron.core.transformer.TransformerConfig",
        "megatron.core.transformer.MLATransformerConfig",
        "megatron.core.optimizer.OptimizerConfig",
        "megatron.core.distributed.DistributedDataParallelConfig",
    ),
    rank_sources=tuple(
        (f"megatron.core.{module}.{name}", "group-rank")
        for module in ("parallel_state", "mpu")
        for name in (
            "get_tensor_model_parallel_rank",
            "get_pipeline_model_parallel_rank",
            "get_virtual_pipeline_model_parallel_rank",
            "get_data_parallel_rank",
            "get_context_parallel_rank",
            "get_expert_model_parallel_rank",
            "get_expert_tensor_parallel_rank",
            "is_pipeline_first_stage",
            "is_pipeline_last_stage",
        )
    ),
    lazily_exported=(
        ("megatron.core.optimizer.optimizer_config.OptimizerConfig", "megatron.core.optimizer.OptimizerConfig"),
        (
            "megatron.core.distributed.distributed_data_parallel_config.DistributedDataParallelConfig",
            "megatron.core.distributed.DistributedDataParallelConfig",
        ),
        ("megatron.core.model_parallel_config.ModelParallelConfig", "megatron.core.ModelParallelConfig"),
        (
            "megatron.core.transformer.transformer_config.TransformerConfig",
            "megatron.core.transformer.TransformerConfig",
        ),
        (
            "megatron.core.transformer.transformer_config.MLATransformerConfig",
            "megatron.core.transformer.MLATransformerConfig",
        ),
    ),
    collectives=COLLECTIVES,
)
