"""What each device of a run has to hold: a lower bound that is sure, and an estimate."""

from __future__ import annotations

from math import ceil

from distlint.model.layout import (
    CONTEXT,
    DATA,
    EXPERT,
    EXPERT_DATA,
    EXPERT_TENSOR,
    PIPELINE,
    SEQUENCE,
    SHARD,
    TENSOR,
    Layout,
)
from distlint.model.record import dataclass
from distlint.model.sketch import ModelShape, Sketch
from distlint.model.value import Value
from distlint.planning.activations import Spread, rank_activations
from distlint.planning.batches import Batch
from distlint.planning.memory import Bytes, Need, least_bytes, state_need, usual_bytes
from distlint.planning.parameters import count_parameters, fullest_share, mean_share

UNBOUNDED = float("inf")
REPLICATING = (DATA, SHARD, CONTEXT, SEQUENCE)
"""The axes along which the states of the model are the same."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Parameters, and bytes on a device.

    ``least`` is what some device has to hold in model states whatever else is true, ``None`` where nothing is sure.
    ``states`` and ``activations`` are estimates for the fullest device. ``bytes`` are those of each parameter before
    they are shared out, ``level`` and ``replicas`` how they are.
    """

    parameters: int
    share: float
    least: Need | None = None
    states: Need | None = None
    activations: float | None = None
    bytes: Bytes | None = None
    level: int = 0
    replicas: float | None = None
    assumed: tuple[str, ...] = ()
    """What the estimate takes for granted."""

    @property
    def estimate(self) -> float | None:
        """States and activations together, as far as they are known."""
        if self.states is None:
            return None
        return self.states.total + (self.activations or 0)


def budget_of(sketch: Sketch, batch: Batch, replicas: Value) -> Budget | None:
    """What each device holds, or ``None`` where the size of the model or the way it is cut is not known."""
    shape, layout = sketch.shape, sketch.layout
    if shape is None or layout is None or shape.layers < 1 or shape.hidden < 1:
        return None
    parts = _parts(layout)
    if parts is None:
        return None
    parameters = count_parameters(shape)
    copies, expert_copies = _copies(layout, sketch)
    least = least_bytes(sketch)
    bound = None
    if least is not None:
        levels = [level for level in sketch.sharding.options if level in (0, 1, 2, 3)]
        level = max(levels) if levels else 0 if sketch.sharding.is_absent else 3
        bound = state_need(
            least, mean_share(parameters, *parts), level, copies or UNBOUNDED, expert_copies or UNBOUNDED
        )
    share = fullest_share(parameters, *parts)
    usual, level = usual_bytes(sketch), _level(sketch)
    assumed: list[str] = []
    states = None
    if sketch.plain.is_known and sketch.plain.only is False and sketch.trains.only is not False:
        usual = None
    if usual is not None and level is not None and (copies or level == 0):
        states = state_need(usual, share, level, copies or 1, expert_copies or copies or 1)
        if sketch.trains.only is False:
            states = Need(states.weights, 0, 0)
        elif sketch.optimizer.is_absent:
            assumed.append("an optimizer with two moments, as Adam")
    assumed += shape.assumed
    activations = None
    if sketch.trains.only is not False:
        activations = _activations(shape, sketch, batch, layout, assumed)
    return Budget(
        parameters=parameters.total,
        share=share.plain + share.experts,
        least=bound if bound is not None and bound.total > 0 else None,
        states=states,
        activations=activations,
        bytes=usual,
        level=level or 0,
        replicas=copies,
        assumed=tuple(assumed),
    )


def _level(sketch: Sketch) -> int | None:
    if sketch.sharding.is_absent:
        return 0
    level = sketch.sharding.only
    return level if level in (0, 1, 2, 3) else None


def _parts(layout: Layout) -> tuple[int, int, int, int] | None:
    """Tensor, pipeline, expert-tensor and expert size; ``None`` where one is not known."""
    tensor, pipeline, expert = layout.ranks(TENSOR), layout.ranks(PIPELINE), layout.ranks(EXPERT)
    if tensor is None or pipeline is None or expert is None:
        return None
    expert_tensor = tensor if layout.size(EXPERT_TENSOR).is_absent else layout.ranks(EXPERT_TENSOR)
    return None if expert_tensor is None else (tensor, pipeline, expert_tensor, expert)


def _copies(layout: Layout, sketch: Sketch) -> tuple[float | None, float | None]:
    """How many ranks share out the states of the plain layers and those of the experts."""
    copies: float | None = layout.ranks(*REPLICATING)
    if not layout.size(SHARD).is_absent and sketch.sharding.only not in (None, 0):
        copies = layout.ranks(SHARD, CONTEXT, SEQUENCE)
    experts: float | None = copies if layout.size(EXPERT_DATA).is_absent else layout.ranks(EXPERT_DATA)
    instances = sketch.instances.only
    if type(instances) is int and instances > 1:
        copies = None if copies is None else copies / instances
        experts = None if experts is None else experts / instances
    return copies, experts


def _activations(shape: ModelShape, sketch: Sketch, batch: Batch, layout: Layout, assumed: list[str]) -> float | None:
    micro = batch.micro.only
    tensor, pipeline, context = layout.ranks(TENSOR), layout.ranks(PIPELINE), layout.ranks(CONTEXT, SEQUENCE)
    if type(micro) is not int or not shape.sequence or not shape.heads or None in (tensor, pipeline, context):
        return None
    assert tensor is not None and pipeline is not None and context is not None  # noqa: S101, PT018 - tested above
    recompute = sketch.recompute.only
    if recompute not in ("none", "selective", "full"):
        if sketch.recompute.is_unknown:
            return None
        recompute = "none"
    scores = sketch.attention_stored.only
    if scores is None:
        scores = False
        if recompute == "none":
            assumed.append("attention that does not keep its scores (flash attention)")
    virtual = layout.virtual_stages.only
    spread = Spread(
        tensor,
        sketch.sequence_parallel.only is True,
        context,
        pipeline,
        virtual if type(virtual) is int and virtual > 0 else 1,
        batch.accumulation.only if type(batch.accumulation.only) is int else None,
    )
    kept = rank_activations(shape, micro, spread, recompute, scores=bool(scores))
    if sketch.precision.only == "fp32":
        kept *= 2
    return float(ceil(kept))
