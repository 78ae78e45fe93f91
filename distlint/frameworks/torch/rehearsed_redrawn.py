"""Weights that are drawn anew after a wrapper has made them equal, in the rehearsal of a program.

Sources: torch 2.13, ``nn/parallel/distributed.py``, ``__init__``: weights are sent once, when a model is wrapped; ``nn/init.py``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.notes import REDRAWN
from distlint.rehearsal.stage import Event, Fault
from distlint.rehearsal.values import Tensor

_NAMES = """
    normal_ uniform_ trunc_normal_ exponential_ log_normal_ cauchy_ geometric_ random_ bernoulli_
    xavier_uniform_ xavier_normal_ kaiming_uniform_ kaiming_normal_ orthogonal_ sparse_
"""
DRAWING = frozenset(_NAMES.split())
"""Methods of tensors, and functions of ``torch.nn.init``, that fill with random numbers."""

_DRAWN = "weights drawn since the model was wrapped"
_MOST = 2_000


def filled(player: Any, tensor: Any, span: Span) -> None:
    """A tensor is filled with random numbers of the process' own generator."""
    if isinstance(tensor, Tensor):
        of_layers(player, getattr(tensor.whole, "owners", ()), span)


def of_layers(player: Any, parts: Iterable[Any], span: Span) -> None:
    """The weights of layers are drawn anew."""
    stage = player.stage
    _, source = stage.drawn(span)
    kept = stage.kept.setdefault(_DRAWN, {})
    for part in parts:
        if source is None or stage.unsure or not part.synced or part.sharded:
            kept.pop(id(part), None)
        elif len(kept) < _MOST:
            kept[id(part)] = (part, span, source, stage.chain)


def evened(player: Any, parts: Iterable[Any]) -> None:
    """Weights are sent by another process, or loaded."""
    kept = player.stage.kept.get(_DRAWN, {})
    for part in parts:
        kept.pop(id(part), None)


def passed_back(player: Any, wrapper: Any, parts: Iterable[Any], call: ir.Call, scope: Any) -> None:
    """A backward pass through a wrapper: the process trains on from weights of its own."""
    stage = player.stage
    kept = stage.kept.get(_DRAWN, {})
    if not kept or stage.unsure or wrapper.group is not stage.everyone:
        return
    found = next((kept[id(one)] for one in parts if id(one) in kept), None)
    if found is None:
        return
    _, span, source, chain = found
    kept.clear()
    event = Event("backward", call, scope.file, scope.function, {})
    event.chain = chain
    words = {"wrapper": wrapper.span, "backward": event.span, "seed": source.span, "why": source.why}
    stage.faults.append(Fault(REDRAWN, span, event, words))
