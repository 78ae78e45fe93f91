"""Gradients of parameters in the rehearsal of a program: what ``parameter.grad`` gives."""

from __future__ import annotations

from typing import Any

from distlint.frameworks.torch import rehearsed_under_way as under_way
from distlint.frameworks.torch.rehearsed_weights import Gradient, Weight
from distlint.rehearsal.values import Tensor


def gradient_of(player: Any, base: Tensor) -> Tensor:
    """``parameter.grad``."""
    kept = player.stage.kept
    found = Gradient(base.shape, base.dtype, base.at)
    if isinstance(base, Weight):
        found.owners = [*base.owners, base]
        found.sharded = base.whole.sharded  # it is parted as the parameter is
        found.pending = under_way.on_gradient(player, base)
        if base.synced:
            found.sign = hash(("gradient", base.sign, kept.get("backward", 0)))
        else:
            found.source = kept.get("gradient")
    return found
