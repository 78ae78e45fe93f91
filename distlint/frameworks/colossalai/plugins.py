"""Colossal-AI's booster and its plugins: their names, and the parameters that they take by release.

The parameters and their defaults are those of the harvested releases (``knowledge/api.zip``, 0.2.0 to 0.5.0).
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from distlint.knowledge.api import Symbol, api

PACKAGE = "colossalai"
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

PARAMETERS = frozenset(
    {
        "backoff_factor",
        "chunk_config_dict",
        "cpu_offload",
        "custom_policy",
        "enable_async_reduce",
        "enable_gradient_accumulation",
        "enable_sequence_overlap",
        "enable_sequence_parallelism",
        "ep_size",
        "extra_dp_size",
        "gradient_checkpoint_config",
        "gpu_margin_mem_ratio",
        "growth_factor",
        "hysteresis",
        "initial_scale",
        "inner_ring_size",
        "master_weights",
        "max_norm",
        "max_prefetch",
        "max_scale",
        "microbatch_size",
        "min_scale",
        "mixed_precision",
        "norm_type",
        "num_layers_per_stage",
        "num_microbatches",
        "num_model_chunks",
        "offload_optim_frac",
        "offload_param_frac",
        "overlap_allgather",
        "overlap_communication",
        "parallel_output",
        "pin_memory",
        "placement_policy",
        "pp_size",
        "pp_style",
        "precision",
        "scheduler_nodes",
        "sequence_parallelism_mode",
        "shard_param_frac",
        "sharding_strategy",
        "sp_size",
        "stage",
        "steady_cuda_cap_ratio",
        "strict_ddp_mode",
        "tp_size",
        "use_fp8",
        "warmup_non_model_data_ratio",
        "zero_stage",
    }
)
"""Every parameter of a plugin that rules may ask for."""

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


class Constructor(NamedTuple):
    """What is taken: parameters in order, those that have no default, and the defaults that can be read."""

    parameters: tuple[str, ...]
    required: tuple[str, ...]
    defaults: Mapping[str, Any]


def symbol_in(name: str, release: str) -> Symbol | None:
    """What the API table says of something that can be called, in a release.

    In the newest release that has it where that one is not harvested or does not have it: a copy of the library, a release to come.
    """
    for one in (release, *reversed(api().releases(PACKAGE))):
        symbol = api().find(name, one).symbol
        if symbol is not None and symbol.parameters:
            return symbol
    return None


@cache
def signature(name: str, release: str) -> Constructor:
    """What something that can be called takes in a release, as ``symbol_in`` finds it."""
    symbol = symbol_in(name, release)
    found = [one for one in (symbol.parameters or () if symbol else ()) if one.kind in ("normal", "keyword")]
    found = [one for one in found if one.name != "self"]
    defaults = {one.name: _literal(one.default) for one in found if one.default is not None}
    return Constructor(
        tuple(one.name for one in found),
        tuple(one.name for one in found if one.default is None),
        {name: value for name, value in defaults.items() if value is not _UNREAD},
    )


def constructor(plugin: str, release: str) -> Constructor:
    """The constructor of a plugin in a release."""
    return signature(f"colossalai.booster.plugin.{MODULES[plugin]}.{plugin}", release)


def is_known_argument(plugin: str, name: str) -> bool:
    """Whether any harvested release of a plugin takes an argument of that name."""
    return any(name in constructor(plugin, release).parameters for release in api().releases(PACKAGE))


_UNREAD = object()


def _literal(text: str) -> Any:
    """The value of a default; a power of numbers is the only expression that these constructors write."""
    try:
        tree = ast.parse(text, mode="eval").body
        if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Pow):
            return ast.literal_eval(tree.left) ** ast.literal_eval(tree.right)
        return ast.literal_eval(tree)
    except (SyntaxError, ValueError, TypeError):
        return _UNREAD
