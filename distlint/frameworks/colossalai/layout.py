"""What a Colossal-AI plugin says of a run's layout, batch, precision and memory.

The axes are those of the plugins' ``ProcessGroupMesh`` (``colossalai/booster/plugin`` of 0.3.6 to 0.5.0), which numbers ranks
with the last axis fastest: (dp, pp, tp, sp), or (pp, dp, tp, sp) with ``dp_outside=False``, tp and sp swapped for
``ring_attn``; (moe_dp, pp, ep, tp, sp) for layers with experts; (zero, extra_dp, tp) for Gemini.
"""

from __future__ import annotations

from distlint.frameworks.colossalai.plugins import GEMINI, HYBRID, LOW_LEVEL_ZERO, MOE, TORCH_DDP, TORCH_FSDP
from distlint.frameworks.given import given, is_on
from distlint.model.layout import (
    DATA,
    EXPERT,
    EXPERT_DATA,
    EXPERT_TENSOR,
    PIPELINE,
    SEQUENCE,
    SHARD,
    TENSOR,
    Axis,
    Layout,
)
from distlint.model.sketch import Sketch
from distlint.model.subject import Subject
from distlint.model.value import Value, absent, computed, known, unknown

_RANK = 20
_SHARED = ("split_gather", "ring")


def sketch_of(subject: Subject) -> Sketch | None:
    """What a subject of the kind ``colossalai-plugin`` says of its run."""
    plugin = subject.names["plugin"].only
    sketch = Sketch("colossalai", _RANK, world=subject.names["world_size"])
    sketch.precision = given(subject, "precision") if plugin not in (TORCH_DDP, TORCH_FSDP) else absent()
    sketch.notes = (f"the script makes a {plugin}",)
    if plugin in (HYBRID, MOE):
        _add_hybrid(subject, sketch, with_experts=plugin == MOE)
    elif plugin == GEMINI:
        _add_gemini(subject, sketch)
    elif plugin == LOW_LEVEL_ZERO:
        extra = given(subject, "extra_dp_size", 1)
        inner = _rest(sketch.world, [extra])
        sketch.layout = Layout((Axis(SHARD, inner), Axis(DATA, extra)), order="(extra_dp, dp)")
        if extra.only == 1:
            sketch.layout = Layout((Axis(DATA, inner),))
        sketch.sharding, sketch.sharded_by = given(subject, "stage"), "ZeRO"
        sketch.offload_optimizer = is_on(subject, "cpu_offload")
    elif plugin == TORCH_FSDP:
        sketch.layout = Layout((Axis(SHARD, sketch.world),))
        sketch.sharding, sketch.sharded_by = known(3), "FSDP"
    else:
        sketch.layout = Layout((Axis(DATA, sketch.world),))
        sketch.sharding = known(0)
    sketch.master = known(True) if plugin in (HYBRID, MOE, GEMINI, LOW_LEVEL_ZERO) else absent()
    return sketch


def _rest(world: Value, sizes: list[Value]) -> Value:
    def shared(numbers: list[int]) -> int:
        left = numbers[0]
        for number in numbers[1:]:
            if number < 1 or left % number or not left:
                raise ValueError(f"{numbers[0]} processes are no multiple of the sizes of the plugin")
            left //= number
        return left

    return computed([world, *sizes], shared)


def _add_hybrid(subject: Subject, sketch: Sketch, *, with_experts: bool) -> None:
    tensor, pipeline = given(subject, "tp_size", 1), given(subject, "pp_size", 1)
    enabled, mode = is_on(subject, "enable_sequence_parallelism"), given(subject, "sequence_parallelism_mode")
    own = known(1)
    if enabled.only is True and mode.only not in _SHARED:
        size = given(subject, "sp_size")
        own = known(1) if size.is_absent else size
        own = own if mode.is_absent or mode.is_known else unknown("the mode of sequence parallelism is not known")
    elif enabled.is_unknown:
        own = unknown(enabled.reason)
    sketch.sequence_parallel = known(enabled.only is True and mode.only in _SHARED)
    data = Axis(DATA, _rest(sketch.world, [tensor, pipeline, own]))
    outside = given(subject, "moe_dp_outside" if with_experts else "dp_outside", True)
    pair = (
        [Axis(TENSOR, tensor), Axis(SEQUENCE, own)]
        if mode.only == "ring_attn"
        else [Axis(SEQUENCE, own), Axis(TENSOR, tensor)]
    )
    inner = [axis for axis in pair if axis.name != SEQUENCE or axis.size.only != 1]
    outer = [data, Axis(PIPELINE, pipeline)] if outside.only is False else [Axis(PIPELINE, pipeline), data]
    order = "(pp, dp, tp, sp)" if outside.only is False else "(dp, pp, tp, sp)"
    experts: tuple[Axis, ...] = ()
    if with_experts:
        expert = given(subject, "ep_size")
        copies = Axis(EXPERT_DATA, _rest(sketch.world, [tensor, pipeline, own, expert]))
        stages = Axis(PIPELINE, pipeline)
        tail = (copies, stages) if outside.only is False else (stages, copies)
        experts = (Axis(EXPERT_TENSOR, tensor), Axis(EXPERT, expert), *tail)
        order = "(moe_dp, pp, ep, tp, sp)"
    chunks = given(subject, "num_model_chunks", 1)
    sketch.layout = Layout((*inner, *outer), experts, chunks if chunks.only != 1 else absent(), order)
    sketch.micro_batch = given(subject, "microbatch_size")
    sketch.sharding, sketch.sharded_by = given(subject, "zero_stage"), "ZeRO"
    sketch.offload_optimizer = is_on(subject, "cpu_offload")


def _add_gemini(subject: Subject, sketch: Sketch) -> None:
    tensor, extra = given(subject, "tp_size", 1), given(subject, "extra_dp_size", 1)
    zero = _rest(sketch.world, [tensor, extra])
    axes = [Axis(TENSOR, tensor), Axis(DATA, extra), Axis(SHARD, zero)]
    kept = [axis for axis in axes if axis.size.only != 1 or axis.name == SHARD]
    sketch.layout = Layout(tuple(kept), order="(zero, extra_dp, tp)")
    fraction, policy = given(subject, "shard_param_frac", 1.0), given(subject, "placement_policy", "static")
    sketch.sharded_by = "Gemini"
    if policy.only == "static":
        sketch.sharding = fraction.map(lambda part: {1.0: 3, 0.0: 2}[float(part)])
        sketch.offload_optimizer = _moved(given(subject, "offload_optim_frac", 0.0))
        sketch.offload_parameters = _moved(given(subject, "offload_param_frac", 0.0))
    else:
        sketch.sharding = unknown("the placement policy decides while it runs", *policy.spans)
        sketch.offload_optimizer = sketch.offload_parameters = sketch.sharding


def _moved(fraction: Value) -> Value:
    return fraction.map(lambda part: {1.0: True, 0.0: False}[float(part)])
