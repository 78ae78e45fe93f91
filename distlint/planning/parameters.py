"""How many parameters a transformer has, and how many of them one rank holds.

Counted as Megatron-LM counts them (``megatron/training/theoretical_memory_usage.py`` of core 0.16.1), which leaves out
biases, routers and learned positions; they are added here where the shape has them. The counts of the published Llama
checkpoints come out exactly.
"""

from __future__ import annotations

from typing import NamedTuple

from distlint.model.sketch import ModelShape


class Parameters(NamedTuple):
    """The parameters of a model by how they are spread: experts, the other parts of the layers, the two ends."""

    layers: int
    experts: int
    embedding: int
    head: int
    extra: int = 0
    """Of further layers that stand on one pipeline stage only (multi-token prediction)."""

    @property
    def total(self) -> int:
        """All of them."""
        return self.layers + self.experts + self.embedding + self.head + self.extra


def count_parameters(shape: ModelShape) -> Parameters:
    """The parameters of a model; what is not known of it counts nothing."""
    h = shape.hidden
    norms = 2 * shape.norm * h
    attention = _attention(shape)
    matrices = 3 if shape.gated else 2
    dense = matrices * h * shape.ffn + ((shape.ffn * (matrices - 1) + h) if shape.biases else 0)
    experts = shape.experts * matrices * h * shape.expert_ffn
    beside = h * shape.experts + matrices * h * shape.shared_ffn
    plain = shape.layers - shape.expert_layers
    last_routes = shape.expert_layers > 0
    extra = shape.extra_layers * (norms + attention + (beside + experts if last_routes else dense))
    embedding = shape.vocabulary * h
    return Parameters(
        layers=shape.layers * (norms + attention) + plain * dense + shape.expert_layers * beside + shape.norm * h,
        experts=shape.expert_layers * experts,
        embedding=embedding + shape.positions * h,
        head=0 if shape.tied else embedding,
        extra=extra,
    )


def _attention(shape: ModelShape) -> int:
    h = shape.hidden
    if shape.latent:
        return _latent_attention(shape)
    head = shape.head_size or h // max(shape.heads, 1)
    query, keys = head * shape.heads, head * (shape.groups or shape.heads)
    biases = query + 2 * keys + h if shape.biases else query + 2 * keys if shape.query_biases else 0
    return 2 * h * query + 2 * h * keys + biases


def _latent_attention(shape: ModelShape) -> int:
    h, heads = shape.hidden, shape.heads
    query_rank, rank, head, rotary, value = shape.latent
    norm = shape.norm if shape.latent_norms else 0
    query = query_rank * (h + heads * (head + rotary) + norm) if query_rank else h * heads * (head + rotary)
    return query + rank * (h + heads * (head + value) + norm) + h * rotary + heads * value * h


class Share(NamedTuple):
    """The parameters on one rank: those that all replicas hold, and the experts, of which there are fewer copies."""

    plain: float
    experts: float


def fullest_share(parameters: Parameters, tensor: int, pipeline: int, expert_tensor: int, expert: int) -> Share:
    """What the fullest rank holds: its part of the layers, the embedding, and the head where there is one stage only.

    The "most loaded shard" of Megatron-LM (``compute_weight_and_optimizer_memory``).
    """
    ends = parameters.embedding + (parameters.head if pipeline == 1 else 0) + parameters.extra
    plain = (parameters.layers / pipeline + ends) / tensor
    return Share(plain, parameters.experts / (pipeline * expert * expert_tensor))


def mean_share(parameters: Parameters, tensor: int, pipeline: int, expert_tensor: int, expert: int) -> Share:
    """What a rank holds on average, so what some rank holds at least, wherever the layers are put."""
    plain = parameters.layers + parameters.embedding + parameters.head
    return Share(plain / (tensor * pipeline), parameters.experts / (pipeline * expert * expert_tensor))
