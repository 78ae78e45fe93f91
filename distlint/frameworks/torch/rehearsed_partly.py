"""Gradients of a scaled loss of which a scaler has unscaled those of some optimizers only, in the rehearsal of a program.

Source: torch 2.13, ``amp/grad_scaler.py``, ``unscale_``: it divides the gradients of the optimizer that it is given, and no others.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from distlint.frameworks.torch.rehearsed_beside import modules_held
from distlint.frameworks.torch.rehearsed_modules import Layer, with_parts
from distlint.frameworks.torch.rehearsed_scaling import PARTLY
from distlint.frameworks.torch.rehearsed_stale import all_made
from distlint.model.span import Span


def left(player: Any, parameters: Any) -> tuple[Span, Any] | None:
    """An optimizer that holds some parameters and was not unscaled while another was, and the backward pass that made the gradients."""
    module = getattr(parameters, "module", None)
    found = player.stage.kept.get(PARTLY)
    if found is None or module is None:
        return None
    span, through, done = found
    if not any(module in (one, one.inner) for one in through if hasattr(one, "inner")):
        return None  # the pass may not have come through all of it
    whole = _parts([module])
    known = _parts(one for optimizer in done for one in modules_held(player, optimizer))
    for optimizer in all_made(player.stage):
        if optimizer in done or optimizer.arguments is None or optimizer.call is None:
            continue
        if (_parts(modules_held(player, optimizer)) & whole) - known:
            return span, optimizer
    return None


def _parts(modules: Iterable[Any]) -> set[int]:
    """The layers with parameters in some modules, by ``id``."""
    return {
        id(part)
        for module in modules
        for part in with_parts(getattr(module, "inner", module))
        if isinstance(part, Layer) and part.has_parameters
    }
