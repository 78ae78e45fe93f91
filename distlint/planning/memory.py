"""What training needs of a device's memory: the states of the model, and the activations.

Model states: weights, gradients and the optimizer's states take 2 + 2 + 12 bytes for each parameter in mixed precision
with Adam, and ZeRO's stages 1, 2 and 3 share out the 12, then the gradients, then the weights between the replicas
(Rajbhandari et al. 2020, "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models", sections 3 and 5).
Where gradients are kept in full precision it is 2 + 4 + 12: that is what Megatron-LM takes
(``megatron/training/theoretical_memory_usage.py``: 18, and 6 + 12 / replicas with its distributed optimizer), and DeepSpeed's
own estimates add full gradients to the shared part (``runtime/zero/stage_1_and_2.py`` and ``stage3.py``,
``estimate_zero2_model_states_mem_needs`` and ``estimate_zero3_model_states_mem_needs`` of 0.19).
"""

from __future__ import annotations

from typing import NamedTuple

from distlint.model.sketch import Sketch
from distlint.model.value import Value
from distlint.planning.parameters import Share

HALF = frozenset({"bf16", "fp16", "fp8", "fp4", "bfp16"})
_TWO_MOMENTS = frozenset({"adam", "adamw", "fusedadam", "cpuadam", "deepspeedcpuadam", "hybridadam", "adamw_torch",
                          "adamw_torch_fused", "adamw_hf", "adamw_apex_fused", "lamb", "fusedlamb", "radam"})  # fmt: skip
_ONE_MOMENT = frozenset({"lion", "sgd", "momentum", "adagrad", "muon"})


class Bytes(NamedTuple):
    """Bytes for each parameter on a device, before anything is shared out."""

    weights: float
    gradients: float
    optimizer: float


class Need(NamedTuple):
    """Bytes on a device."""

    weights: float
    gradients: float
    optimizer: float

    @property
    def total(self) -> float:
        """All together."""
        return self.weights + self.gradients + self.optimizer


def usual_bytes(sketch: Sketch) -> Bytes | None:
    """What the states take if what is not said is what is usual; ``None`` where the precision is not known."""
    precision = sketch.precision.only
    if not isinstance(precision, str):
        return None
    moments = _moments(sketch.optimizer)
    if precision not in HALF:
        return _offloaded(sketch, Bytes(4, 4, moments), sure=False)
    master = sketch.master.only is not False
    gradients = 4 if sketch.full_gradients.only is True else 2
    return _offloaded(sketch, Bytes(2, gradients, (4 + moments) if master else moments / 2), sure=False)


def least_bytes(sketch: Sketch) -> Bytes | None:
    """What the states take at least; ``None`` where parts may be frozen, quantized or kept in fewer bytes.

    What may be on the processor's side counts nothing, nor does an optimizer that we don't know.
    """
    precision = sketch.precision.only
    if not isinstance(precision, str) or sketch.plain.only is not True or precision in ("fp8", "fp4"):
        return None
    moments = _moments(sketch.optimizer) if _name(sketch.optimizer) in _TWO_MOMENTS else 0
    if precision not in HALF:
        return _offloaded(sketch, Bytes(4, 4, moments), sure=True)
    gradients = 4 if sketch.full_gradients.only is True else 2
    optimizer = 4 + moments if sketch.master.only is True else moments / 2
    return _offloaded(sketch, Bytes(2, gradients, optimizer), sure=True)


def _moments(optimizer: Value) -> float:
    name = _name(optimizer)
    if name in _ONE_MOMENT:
        return 4
    if "8bit" in name or "8_bit" in name:
        return 2
    return 0 if name in ("adafactor", "none") else 8


def _name(optimizer: Value) -> str:
    return str(optimizer.only).lower() if isinstance(optimizer.only, str) else ""


def _offloaded(sketch: Sketch, states: Bytes, *, sure: bool) -> Bytes:
    """Without what lies in the processor's memory; where that is not known, it counts for ``sure`` needs as if it did."""

    def away(value: Value) -> bool:
        return value.only is True if not sure else not (value.is_absent or value.only is False)

    if away(sketch.offload_parameters):
        states = states._replace(weights=0)
    if away(sketch.offload_optimizer):
        states = states._replace(optimizer=0, gradients=states.gradients if sketch.keeps_gradients else 0)
    return states


def state_need(states: Bytes, share: Share, level: int, replicas: float, expert_replicas: float) -> Need:
    """What the states of a rank's parameters take, where ``level`` of them (0 to 3) are shared by its replicas."""

    def part(size: float, from_level: int) -> float:
        over, experts_over = (replicas, expert_replicas) if level >= from_level else (1, 1)
        return size * (share.plain / over + share.experts / experts_over)

    return Need(part(states.weights, 3), part(states.gradients, 2), part(states.optimizer, 1))
