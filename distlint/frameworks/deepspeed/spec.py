"""How DeepSpeed is recognised, imported and launched."""

from __future__ import annotations

from distlint.frameworks.deepspeed.collectives import COLLECTIVES
from distlint.frameworks.deepspeed.launchers import LAUNCHERS
from distlint.model.framework import FrameworkSpec, ParserSpec, StarterSpec

SPEC = FrameworkSpec(
    name="deepspeed",
    prefix="DS",
    packages=("deepspeed",),
    modules=("deepspeed",),
    literals=(
        b"deepspeed",
        b"DeepSpeedStrategy",
        b"DeepSpeedPlugin",
        b"zero_optimization",
        b".save_checkpoint(",
        b".backward()",
    ),
    config_keys=(b"zero_optimization", b"train_micro_batch_size_per_gpu", b"train_batch_size", b"deepspeed"),
    launchers=LAUNCHERS,
    results=(
        ("deepspeed.initialize", (0,), "deepspeed.runtime.engine.DeepSpeedEngine"),
        ("deepspeed.init_inference", (), "deepspeed.inference.engine.InferenceEngine"),
    ),
    starters=(StarterSpec("deepspeed.launcher.runner.main", command=("deepspeed",)),),
    parsers=(
        # deepspeed/__init__.py, _add_core_arguments: the deepscale spellings are still accepted
        ParserSpec(
            "deepspeed.add_config_arguments",
            (
                ("--deepspeed", False),
                ("--deepspeed_config", True),
                ("--deepscale", False),
                ("--deepscale_config", True),
            ),
        ),
    ),
    lazily_exported=(
        ("deepspeed.pipe.PipelineModule", "deepspeed.PipelineModule"),
        ("deepspeed.runtime.pipe.PipelineModule", "deepspeed.PipelineModule"),
        ("deepspeed.runtime.pipe.module.PipelineModule", "deepspeed.PipelineModule"),
        ("deepspeed.runtime.zero.Init", "deepspeed.zero.Init"),
        ("deepspeed.runtime.zero.partition_parameters.Init", "deepspeed.zero.Init"),
    ),
    rank_sources=(
        ("deepspeed.initialize()[0].global_rank", "rank"),
        ("deepspeed.initialize()[0].local_rank", "local-rank"),
        ("deepspeed.comm.get_rank", "rank"),
        ("deepspeed.comm.get_local_rank", "local-rank"),
        ("deepspeed.comm.get_world_size", "world"),
        ("deepspeed.comm.is_initialized", "initialized"),
        ("deepspeed.comm.is_available", "initialized"),
        ("deepspeed.runtime.engine.DeepSpeedEngine().global_rank", "rank"),
        ("deepspeed.runtime.engine.DeepSpeedEngine().local_rank", "local-rank"),
        ("deepspeed.runtime.engine.DeepSpeedEngine().world_size", "world"),
    ),
    varying=(("deepspeed.initialize()[2]", "the batches that the engine gives each rank"),),
    evened=(
        ("deepspeed.comm.all_reduce", "tensor:0"),
        ("deepspeed.comm.broadcast", "tensor:0"),
        ("deepspeed.comm.broadcast_object_list", "object_list:0"),
        ("deepspeed.comm.all_gather", "tensor_list:0"),
        ("deepspeed.comm.all_gather_into_tensor", "output_tensor:0"),
        ("deepspeed.comm.all_gather_object", "object_list:0"),
    ),
    collectives=COLLECTIVES,
    rehearsed="distlint.frameworks.deepspeed.rehearsed",
    rehearsed_calls=("initialize", "init_distributed"),
)
