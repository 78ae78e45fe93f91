"""What each rank holds of the gradients of a sharded model, taken for the whole, in the rehearsal of a program.

Source: torch 2.13, ``distributed/tensor/_api.py``: ``to_local`` gives the part of this rank, without any communication.
"""

from __future__ import annotations

from typing import Any

from distlint.frameworks.torch.rehearsed_shapes import view
from distlint.frameworks.torch.rehearsed_weights import Gradient
from distlint.model import python as ir
from distlint.rehearsal.notes import OWN_NORM
from distlint.rehearsal.stage import Event, Fault
from distlint.rehearsal.unknowns import Source
from distlint.rehearsal.values import Tensor, source_of

_WHY = "the part of a gradient that each rank holds"
_SCALING = ("mul", "div", "*", "/", "true_divide")
_TAKEN = "calls that gave a rank's own part"
_MOST = 100


def local(player: Any, base: Tensor, call: ir.Call, scope: Any) -> Tensor:
    """The part of this rank of a distributed tensor."""
    stage = player.stage
    made = view(base, None)
    owners = base.whole.owners if isinstance(base.whole, Gradient) else []
    if stage.world > 1 and any(one.sharded for one in owners):
        event = Event("to_local", call, scope.file, scope.function, {})
        event.chain = stage.chain
        taken = stage.kept.setdefault(_TAKEN, {})
        if len(taken) < _MOST:
            taken[event.span] = event
        made.sign, made.source = None, Source(_WHY, event.span)
        made.sharded = False
    return made


def scaled(player: Any, tensor: Tensor, how: str, others: list[Any]) -> None:
    """A tensor is changed in place: the gradient of a sharded model by a factor that follows from the rank's own part."""
    source, whole = source_of(others), tensor.whole
    if source is None or source.why != _WHY or not how.startswith(_SCALING) or not isinstance(whole, Gradient):
        return
    event = player.stage.kept.get(_TAKEN, {}).get(source.span)
    if event is not None and any(one.sharded for one in whole.owners):
        player.stage.faults.append(Fault(OWN_NORM, event.span, event, {}))
