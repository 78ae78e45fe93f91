"""Colossal-AI's booster plugins: their names, parameters and defaults.

From the constructors in ``colossalai/booster/plugin`` of 0.3.6 and 0.5.0. A parameter that only one of them has is
listed with its default; whether a release takes it is not this module's business.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

BOOSTER = "colossalai.booster.Booster"

HYBRID = "HybridParallelPlugin"
MOE = "MoeHybridParallelPlugin"
GEMINI = "GeminiPlugin"
LOW_LEVEL_ZERO = "LowLevelZeroPlugin"
TORCH_DDP = "TorchDDPPlugin"
TORCH_FSDP = "TorchFSDPPlugin"

MODULES = {
    HYBRID: "hybrid_parallel_plugin",
    MOE: "moe_hybrid_parallel_plugin",
    GEMINI: "gemini_plugin",
    LOW_LEVEL_ZERO: "low_level_zero_plugin",
    TORCH_DDP: "torch_ddp_plugin",
    TORCH_FSDP: "torch_fsdp_plugin",
}
"""The module of each plugin below ``colossalai.booster.plugin``."""

SIGNATURES: Mapping[str, tuple[str, ...]] = {
    HYBRID: ("tp_size", "pp_size"),
    MOE: ("tp_size", "pp_size", "ep_size"),
    LOW_LEVEL_ZERO: ("stage", "precision"),
}
"""Positional parameters that are the same in all these releases."""

_HYBRID_DEFAULTS: Mapping[str, Any] = {
    "precision": "fp16",
    "zero_stage": 0,
    "enable_sequence_parallelism": False,
    "pp_style": "1f1b",
    "num_model_chunks": 1,
    "overlap_communication": True,
}

DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    HYBRID: _HYBRID_DEFAULTS,
    MOE: {**_HYBRID_DEFAULTS, "overlap_communication": False},
    GEMINI: {
        "precision": "fp16",
        "placement_policy": "static",
        "shard_param_frac": 1.0,
        "offload_optim_frac": 0.0,
        "offload_param_frac": 0.0,
        "tp_size": 1,
        "extra_dp_size": 1,
        "enable_sequence_parallelism": False,
    },
    LOW_LEVEL_ZERO: {"stage": 1, "precision": "fp16", "extra_dp_size": 1, "cpu_offload": False, "norm_type": 2.0},
    TORCH_DDP: {},
    TORCH_FSDP: {},
}
"""Defaults of the parameters that rules ask for, by plugin."""

PARAMETERS = frozenset(
    {
        "ep_size",
        "microbatch_size",
        "num_layers_per_stage",
        "num_microbatches",
        "pp_size",
        "scheduler_nodes",
        "sequence_parallelism_mode",
        "sp_size",
        *(name for defaults in DEFAULTS.values() for name in defaults),
    }
)
"""Every parameter that rules may ask for."""

EXPORTS = (
    *(
        (f"colossalai.booster.plugin.{module}.{name}", f"colossalai.booster.plugin.{name}")
        for name, module in MODULES.items()
    ),
    ("colossalai.booster.booster.Booster", BOOSTER),
)
"""Where plugins and booster are defined, and where they are exported."""

FILES = {
    f"colossalai.booster.plugin.{name}": f"colossalai/booster/plugin/{module}.py" for name, module in MODULES.items()
}
"""The file of each plugin, for projects that hold a copy of Colossal-AI."""
