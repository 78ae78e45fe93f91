"""The collectives of DeepSpeed.

Sources: deepspeed 0.19.8, ``comm/comm.py``, ``runtime/engine.py``, ``runtime/pipe/engine.py``, ``runtime/zero/partition_parameters.py`` and
``parameter_offload.py``.
"""

from __future__ import annotations

from distlint.model.framework import CollectiveSpec

_ENGINE = "deepspeed.initialize()[0]"

PARTITIONED = "partitioned-parameters"
"""ZeRO stage 3: each rank holds a slice of every parameter, and a forward pass collects them."""

_COMMUNICATION = (
    CollectiveSpec("deepspeed.comm.barrier", "barrier", group=("group", 0)),
    CollectiveSpec("deepspeed.comm.monitored_barrier", "monitored_barrier", group=("group", 0)),
    CollectiveSpec("deepspeed.comm.all_reduce", "all_reduce", tensor=("tensor", 0), group=("group", 2)),
    CollectiveSpec("deepspeed.comm.all_gather", "all_gather", tensor=("tensor", 1), group=("group", 2)),
    CollectiveSpec("deepspeed.comm.all_gather_into_tensor", "all_gather", tensor=("tensor", 1), group=("group", 2)),
    CollectiveSpec("deepspeed.comm.broadcast", "broadcast", tensor=("tensor", 0), root=("src", 1), group=("group", 2)),
    CollectiveSpec("deepspeed.comm.reduce", "reduce", tensor=("tensor", 0), root=("dst", 1), group=("group", 3)),
    CollectiveSpec("deepspeed.comm.reduce_scatter", "reduce_scatter", group=("group", 3)),
    CollectiveSpec("deepspeed.comm.reduce_scatter_tensor", "reduce_scatter", group=("group", 3)),
    CollectiveSpec("deepspeed.comm.all_to_all_single", "all_to_all", group=("group", 4)),
    CollectiveSpec("deepspeed.comm.new_group", "new_group"),
    CollectiveSpec("deepspeed.init_distributed", "init_process_group"),
)

_ENGINES = (
    CollectiveSpec("deepspeed.initialize", "deepspeed.initialize"),
    CollectiveSpec(f"{_ENGINE}.save_checkpoint", "save_checkpoint"),
    CollectiveSpec(f"{_ENGINE}.load_checkpoint", "load_checkpoint"),
    CollectiveSpec(f"{_ENGINE}.train_batch", "train_batch"),
    CollectiveSpec(f"{_ENGINE}.eval_batch", "eval_batch"),
    CollectiveSpec(f"{_ENGINE}.backward", "engine backward", timed_by="set_gradient_accumulation_boundary"),
    CollectiveSpec("deepspeed.zero.GatheredParameters", "GatheredParameters", lone_argument=("enabled", False)),
)

_STAGE_3 = (
    CollectiveSpec(f"{_ENGINE}()", "forward", configured=PARTITIONED),
    *(
        CollectiveSpec(f"{_ENGINE}.{name}", name.rpartition(".")[2], configured=PARTITIONED)
        for name in (
            "generate",
            "module.generate",
            "forward",
            "save_16bit_model",
            "save_fp16_model",
            "_zero3_consolidated_16bit_state_dict",
        )
    ),
)

COLLECTIVES = (*_COMMUNICATION, *_ENGINES, *_STAGE_3)
