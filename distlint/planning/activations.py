"""What the forward pass keeps for the backward pass.

Korthikanti et al. 2022, "Reducing Activation Recomputation in Large Transformer Models", section 4 and table 2: a layer
keeps s·b·h·(34 + 5·a·s/h) bytes in half precision, of which tensor parallelism divides 24 + 5·a·s/h, and sequence
parallelism also the other 10; selective recomputation drops the 5·a·s/h of the attention, and full recomputation leaves
the layer's input, 2·s·b·h. Of the 34, 16 belong to a feed-forward part four times as wide as the model, so that other
widths count 4·f/h, as Megatron-LM counts (``theoretical_memory_usage.py``, ``compute_activation_memory``). With 1F1B the
first stage holds as many micro-batches as there are stages, so activations of all layers; interleaving adds
(p - 1) / (p·v) to that.
"""

from __future__ import annotations

from typing import NamedTuple

from distlint.model.sketch import ModelShape


class Spread(NamedTuple):
    """How a micro-batch is spread over ranks."""

    tensor: int = 1
    sequence_parallel: bool = False
    context: int = 1
    pipeline: int = 1
    virtual: int = 1
    micro_batches: int | None = None


def layer_activations(shape: ModelShape, micro_batch: int, spread: Spread, recompute: str, *, scores: bool) -> float:
    """Bytes that one layer keeps of one micro-batch on one rank, in half precision.

    ``recompute`` is ``none``, ``selective`` or ``full``; ``scores`` says whether the attention scores are kept at all.
    """
    tokens = shape.sequence / spread.context * micro_batch * shape.hidden
    rest = spread.tensor if spread.sequence_parallel else 1
    if recompute == "full":
        return 2 * tokens
    width = _width(shape)
    kept = 10 / rest + (8 + 4 * width / shape.hidden) / spread.tensor
    if recompute == "none" and scores:
        kept += 5 * shape.heads * shape.sequence / spread.context / shape.hidden / spread.tensor
    return tokens * kept


def _width(shape: ModelShape) -> float:
    """The width of the feed-forward part that a token goes through, on average over the layers."""
    if not shape.expert_layers or not shape.layers:
        return shape.ffn
    routed = shape.routed * shape.expert_ffn + shape.shared_ffn
    plain = shape.layers - shape.expert_layers
    return (plain * shape.ffn + shape.expert_layers * routed) / shape.layers


def rank_activations(shape: ModelShape, micro_batch: int, spread: Spread, recompute: str, *, scores: bool) -> float:
    """Bytes that a rank of the first stage keeps, embedding and (with one stage only) output included."""
    total = layer_activations(shape, micro_batch, spread, recompute, scores=scores) * shape.layers
    rest = spread.tensor if spread.sequence_parallel else 1
    tokens = shape.sequence / spread.context * micro_batch
    # the numbers of tokens and positions, and the dropout behind the embedding
    total += (8 * tokens / rest + tokens * shape.hidden / rest) * spread.pipeline
    if spread.virtual > 1:
        total *= 1 + (spread.pipeline - 1) / (spread.pipeline * spread.virtual)
    elif spread.pipeline > 1 and spread.micro_batches is not None:
        total *= min(1, spread.micro_batches / spread.pipeline)
    if spread.pipeline == 1:
        total += tokens * 4 * (shape.hidden + shape.vocabulary) / spread.tensor
    if recompute == "full":
        # While the gradient of a layer is computed, everything of this one layer is there again.
        total += layer_activations(shape, micro_batch, spread, "none", scores=scores)
    return total
