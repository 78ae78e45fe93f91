"""The settings of Megatron-LM and its descendants by canonical name, and what holds where nothing is written.

The canonical name is that of the destination which Megatron-LM's option has (``tensor_model_parallel_size``), whatever
the carrier calls it; see ``flags`` for further names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from distlint.frameworks.megatron.flags import FlagView, is_switch, setting_names
from distlint.frameworks.megatron.signatures import field_names
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
        "whole_batch",
        "ramp_start",
        "ramp_step",
        "ramp_samples",
        "ramp_misfit",
        "hierarchical_product",
        "moe_layers",
        "moe_layer_odd",
        "no_rope_layers",
        "hybrid_layers",
        "hybrid_segments",
        "cp_comm_types",
        "load_given",
        "written_tensor_size",
        "written_pipeline_size",
        "carrier",
        "flavour",
        "stray",
        "duplicate",
        "replaced",
        "missing_fields",
        "script",
        "adjustable",
        "nodes",
        "processes_per_node",
        "rack",
        "blackwell",
    }
)
"""What a subject adds to its settings."""


_BEYOND = frozenset({"attention_config", "precision", "gradient_accumulation_steps"})
"""Settings that no command line has: keys of GPT-NeoX."""


def known_path(path: str) -> bool:
    """Whether a condition over Megatron settings may use a path."""
    if path in NAMES or path in DEFAULTS or path in _BEYOND or path.startswith(("env.", "ds.", "neox.")):
        return True
    return path in setting_names() or path in field_names()


def default(path: str) -> Value:
    """What holds where nothing is written, of whatever carrier: a parallel size is 1, a switch is off."""
    if path in DEFAULTS:
        return known(DEFAULTS[path])
    return known(False) if is_switch(path) else absent()


def command_default(view: FlagView) -> Callable[[str], Value]:
    """What holds where a command line does not say otherwise, in the releases that it may be for."""

    def of(path: str) -> Value:
        value = view.default(path)
        return known(DEFAULTS[path]) if path in DEFAULTS and not value.is_known else value

    return of
