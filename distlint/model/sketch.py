"""What a framework knows of a job before it is started: layout, batch, precision, states and model.

A framework fills what it knows of one subject; ``planning`` puts together what several know of the same run. A value that
is absent was not looked for or not given.
"""

from __future__ import annotations

from dataclasses import field

from distlint.model.layout import Layout
from distlint.model.record import dataclass
from distlint.model.span import Span
from distlint.model.value import Value, absent


@dataclass(frozen=True, slots=True)
class ModelShape:
    """The sizes of a transformer, 0 where a part is not there or its size is not known.

    ``gated`` feed-forward layers have three matrices instead of two; ``norm`` is the number of vectors of a
    normalisation (one for RMSNorm, two for LayerNorm). ``expert_layers`` counts the layers whose feed-forward part is
    ``experts`` experts of width ``expert_ffn``, ``routed`` of which work on a token, beside shared ones of width
    ``shared_ffn``. ``latent`` holds the sizes of multi-head latent attention (query rank, key-value rank, head, rotary
    and value size). ``exact`` says that nothing we know of is missing from the count of parameters.
    """

    layers: int
    hidden: int
    heads: int
    ffn: int
    groups: int = 0
    head_size: int = 0
    vocabulary: int = 0
    tied: bool = True
    gated: bool = False
    norm: int = 2
    biases: bool = True
    query_biases: bool = False
    positions: int = 0
    sequence: int = 0
    experts: int = 0
    routed: int = 0
    expert_ffn: int = 0
    expert_layers: int = 0
    shared_ffn: int = 0
    latent: tuple[int, ...] = ()
    latent_norms: bool = True
    extra_layers: int = 0
    exact: bool = True
    missing: tuple[str, ...] = ()
    """What is not known of it, in words."""
    assumed: tuple[str, ...] = ()
    """What was taken for granted of it, in words."""
    span: Span | None = None
    """Where its sizes stand."""


@dataclass(slots=True)
class Sketch:
    """What one framework knows of one run.

    ``rank`` orders the sketches of a run: what a framework that lays out the ranks says comes before what one says that
    only replicates them.
    """

    framework: str
    rank: int = 0
    layout: Layout | None = None
    world: Value = field(default_factory=absent)
    micro_batch: Value = field(default_factory=absent)
    accumulation: Value = field(default_factory=absent)
    global_batch: Value = field(default_factory=absent)
    precision: Value = field(default_factory=absent)
    sharding: Value = field(default_factory=absent)
    """How much of the model's states the replicas share out, as ZeRO's stages count it: 0 to 3."""
    sharded_by: str = ""
    """What shares them out, in the words of the framework."""
    instances: Value = field(default_factory=absent)
    """How many groups of replicas hold the shared states once each."""
    optimizer: Value = field(default_factory=absent)
    master: Value = field(default_factory=absent)
    """Whether the optimizer keeps a copy of the weights in full precision beside those in half precision."""
    full_gradients: Value = field(default_factory=absent)
    """Whether gradients are kept in full precision."""
    offload_optimizer: Value = field(default_factory=absent)
    offload_parameters: Value = field(default_factory=absent)
    keeps_gradients: bool = False
    """Whether gradients stay on the device where the optimizer is offloaded."""
    recompute: Value = field(default_factory=absent)
    """``none``, ``selective`` or ``full``."""
    sequence_parallel: Value = field(default_factory=absent)
    """Whether the ranks of a tensor-parallel group also share out what lies between their layers."""
    attention_stored: Value = field(default_factory=absent)
    """Whether the attention scores are kept for the backward pass (false with flash attention)."""
    plain: Value = field(default_factory=absent)
    """Whether all weights are trained, in the precision that is stated: nothing frozen, no adapters, no quantization."""
    trains: Value = field(default_factory=absent)
    """Whether it is a training at all; absent for one."""
    shape: ModelShape | None = None
    notes: tuple[str, ...] = ()
