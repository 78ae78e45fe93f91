"""One of several layers, chosen by something that is drawn anew for each pass: the others get no gradient then.

Source: torch 2.13, ``csrc/distributed/c10d/reducer.cpp``, and a run: a model with a head for each task, of which each pass uses one, ends
in the second forward pass behind a wrapper that does not search for parameters that were not used.
"""

from __future__ import annotations

from typing import Any

from distlint.frameworks.torch import rehearsed_passes as passes
from distlint.model import python as ir
from distlint.rehearsal.merging import merged
from distlint.rehearsal.unknowns import UNKNOWN, Opaque
from distlint.rehearsal.values import Given, Made, Tensor

_MOST = 16
"""Layers of which one is chosen that are followed; of more it is not known which."""


class OneOf(Made):
    """The one of some layers that something chooses which is not known."""

    __slots__ = ("index", "layers")

    def __init__(self, layers: list[Any], index: Any) -> None:
        super().__init__("one of several modules")
        self.layers = layers
        self.index = index

    def attribute(self, player: Any, name: str, expr: ir.Expr, scope: Any) -> Any:
        """A part of it, of which nobody knows what becomes."""
        return UNKNOWN

    def method(self, player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
        """Its call by name; of its other methods nothing is known."""
        if name == "forward":
            return self.called(player, given, call, scope)
        passes.opened(player)
        return UNKNOWN

    def called(self, player: Any, given: Given, call: ir.Call, scope: Any) -> Any:
        """What one of them gives; the pass uses that one where it is the only one that is chosen."""
        stage = player.stage
        told = self.index if passes.is_only_choice(player, self.layers) else UNKNOWN
        unsure, reasons = stage.unsure, len(stage.reasons)
        results = []
        for layer in self.layers:
            stage.unsure += 1
            stage.reasons.append(told)
            try:
                results.append(player.apply(layer, given, call, scope))
            finally:
                stage.unsure = unsure
                del stage.reasons[reasons:]
        found = results[0]
        for other in results[1:]:
            found = merged(found, other, [self.index])
        return found


def one_of(player: Any, layers: list[Any] | None, index: Any) -> Any:
    """The layer that is chosen by an index that is not known, during a pass through a wrapped model."""
    if not layers or len({id(one) for one in layers}) != len(layers):
        return UNKNOWN
    if not 1 < len(layers) <= _MOST or not isinstance(index, Opaque | Tensor):
        return UNKNOWN
    if not index.chance and index.source is None:
        return UNKNOWN  # it may be chosen once and for all, in a program that makes a model of one layer then
    return OneOf(list(layers), _anew(index)) if passes.chooses(player, layers) else UNKNOWN


def _anew(index: Opaque | Tensor) -> Opaque:
    """What chooses, as something that is another in each pass: a batch of each process's own is as good as what is drawn."""
    told = Opaque(index.sign, index.source)
    told.chance = True
    return told
