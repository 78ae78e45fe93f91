"""Weights that a process changes by hand, and where layers are used, in the rehearsal of a program.

A moving average is a copy of the model: where one process updates it, the others go on with what they copied at the start.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from distlint.model.span import Span
from distlint.rehearsal.notes import LAYERS_USED, WEIGHTS_CHANGED, WEIGHTS_EVENED
from distlint.rehearsal.values import Tensor

_MAX_KEPT = 4_000
_MAX_PLACES = 16
_OF_ORIGINAL = 3
"""Parts of what tells a layer that is no copy of another."""


class Change(NamedTuple):
    """Where weights were changed: the place, the function around it, and the calls that lead there."""

    span: Span
    file: str
    function: int
    chain: tuple[Span, ...]


class FromCopy:
    """That a tensor came out of a layer of a copy, among the wrappers that it came out of (``Tensor.through``)."""

    __slots__ = ("group", "part", "span")

    def __init__(self, part: Any, span: Span) -> None:
        self.part = part
        self.span = span
        self.group = None
        """Nobody meets here."""


def updated(player: Any, parts: Iterable[Any], span: Span, scope: Any) -> None:
    """The weights of layers are changed by hand."""
    stage = player.stage
    kept = stage.kept.setdefault(WEIGHTS_CHANGED, {})
    if not stage.kept.get("backward"):
        return  # how they are at the start is another question
    for part in parts:
        place = getattr(part, "place", None)
        if place is not None and len(kept) < _MAX_KEPT:
            kept.setdefault(place, Change(span, scope.file, scope.function, stage.chain))


def changed(player: Any, tensor: Tensor, span: Span, scope: Any) -> None:
    """A method changes a tensor in place; of the weights of layers that is noted."""
    updated(player, getattr(tensor.whole, "owners", ()), span, scope)


def used(player: Any, part: Any, span: Span, *, trained: bool = False) -> None:
    """A layer is called, or (``trained``) its weights, or what they compute, go into the training."""
    stage = player.stage
    kept = stage.kept.setdefault(LAYERS_USED, {})
    if len(kept) < _MAX_KEPT and stage.kept.get("backward"):
        places = kept.setdefault(part.place, {})
        if span in places or len(places) < _MAX_PLACES:
            places[span] = (len(stage.events), trained)


def computed(part: Any, found: Tensor, span: Span) -> None:
    """What a layer of a copy gives leads back to it."""
    if len(part.place) > _OF_ORIGINAL and not any(isinstance(one, FromCopy) for one in found.through):
        found.through = (*found.through, FromCopy(part, span))


def passed_back(player: Any, loss: Tensor) -> None:
    """A backward pass of a loss that a copy had a part in."""
    for one in loss.through:
        if isinstance(one, FromCopy):
            used(player, one.part, one.span, trained=True)


def evened(player: Any, parts: Iterable[Any]) -> None:
    """Weights are sent by another process, or loaded: what was changed by hand before does not tell what they are."""
    stage = player.stage
    if stage.kept.get("backward"):
        kept = stage.kept.setdefault(WEIGHTS_EVENED, set())
        kept.update(one.place for one in parts if hasattr(one, "place"))
