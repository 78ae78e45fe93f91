"""Models without any wrapper that each process trains with its part of the data, in the rehearsal of a program.

Source: torch 2.13, ``utils/data/distributed.py`` and ``nn/parallel/distributed.py``: a distributed sampler hands each process a part of the
rows, and does nothing else; what brings the gradients together is the wrapper, or the program.
"""

from __future__ import annotations

from typing import Any

from distlint.frameworks.torch import rehearsed_beside as beside
from distlint.frameworks.torch import rehearsed_written as writing
from distlint.frameworks.torch.rehearsed_passes import WRAPPERS
from distlint.frameworks.torch.values import SHARE
from distlint.model import python as ir
from distlint.rehearsal.notes import GRADIENTS_BY_HAND, TRAINED_ALONE
from distlint.rehearsal.stage import Event, Fault

_LOSS = "why the last loss is another one on each process"


def passed_back(player: Any, loss: Any) -> None:
    """A backward pass is made from a loss."""
    player.stage.kept[_LOSS] = (loss.source, len(player.stage.events))
    writing.passed_back(player.stage)


def stepped(player: Any, optimizer: Any, call: ir.Call, scope: Any) -> None:
    """An optimizer takes gradients that only the process' own rows made, of a model that no wrapper is around."""
    stage = player.stage
    kept = stage.kept
    source, since = kept.get(_LOSS, (None, 0))
    if source is None or source.why != SHARE or stage.unsure or stage.world < 2 or optimizer.hooks:
        return
    if kept.get(WRAPPERS) or kept.get(GRADIENTS_BY_HAND) or beside.may_be_wrapped(player):
        return
    if beside.others_met(stage, since) or next(beside.modules_held(player, optimizer), None) is None:
        return
    event = Event("step", call, scope.file, scope.function, {})
    event.chain = stage.chain
    stage.faults.append(Fault(TRAINED_ALONE, event.span, event, {"source": source}))
