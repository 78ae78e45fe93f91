"""Weights that a process changes by hand, and where layers are used, in the rehearsal of a program.

A moving average is a copy of the model: where one process updates it, the others go on with what they copied at the start.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from distlint.frameworks.torch import rehearsed_redrawn as redrawn
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.notes import COPIED_EARLY, COPIES, LAYERS_USED, WEIGHTS_CHANGED, WEIGHTS_EVENED
from distlint.rehearsal.randomness import OWN_SEED
from distlint.rehearsal.stage import Event, Fault
from distlint.rehearsal.values import Items, Tensor, Thing

_MAX_KEPT = 4_000
_MAX_PLACES = 16
_MAX_DEPTH = 6
_MAX_BELOW = 200
_SENT = "layers whose first weights a wrapper replaced"
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


def replaced(tensor: Tensor) -> None:
    """The weights of layers are set to what is the same on all processes."""
    for part in getattr(tensor.whole, "owners", ()):
        part.source = None


def used(player: Any, part: Any, span: Span, *, trained: bool = False) -> None:
    """A layer is called, or (``trained``) its weights, or what they compute, go into the training."""
    stage = player.stage
    kept = stage.kept.setdefault(LAYERS_USED, {})
    if len(kept) < _MAX_KEPT and stage.kept.get("backward"):
        places = kept.setdefault(part.place, {})
        if span in places or len(places) < _MAX_PLACES:
            places[span] = (len(stage.events), trained)


def sent(player: Any, parts: Iterable[Any], span: Span) -> None:
    """A wrapper sends the weights of one process to all: copies that were made before keep those that each one drew."""
    kept = player.stage.kept.setdefault(_SENT, {})
    for part in parts:
        source = part.source
        if source is not None and source.why == OWN_SEED and hasattr(part, "place") and len(kept) < _MAX_KEPT:
            kept.setdefault(part.place, span)


def _kept_own(player: Any, part: Any, span: Span) -> None:
    """A layer of a copy is called: with other weights on each process, perhaps, although the model itself has the same everywhere."""
    stage = player.stage
    wrapped = stage.kept.get(_SENT, {}).get(part.place[:_OF_ORIGINAL])
    own = part.source is not None and part.source.why == OWN_SEED
    if wrapped is None or not own or stage.unsure or not stage.rank:
        return
    made = (where for whole, where in stage.kept.get(COPIES, ()) if any(one is part for one in layers_below(whole)))
    copied = next(made, None)
    if copied is not None:
        event = Event("deepcopy", ir.Call(ir.Constant(None, 0), (), (), 0), span.file, -1, {})
        stage.faults.append(
            Fault(COPIED_EARLY, copied, event, {"wrapper": wrapped, "seed": part.source.span, "forward": span})
        )


def layers_below(value: Any, depth: int = 0) -> Iterator[Any]:
    """The layers in a module, and in its modules."""
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, Thing):
        for one in list(value.attributes.values())[:_MAX_BELOW]:
            yield from layers_below(one, depth + 1)
    elif isinstance(value, Items):
        for one in (value.items or ())[:_MAX_BELOW]:
            yield from layers_below(one, depth + 1)
    elif hasattr(value, "place"):
        yield value
        for one in (value.children or ())[:_MAX_BELOW]:
            yield from layers_below(one, depth + 1)


def computed(player: Any, part: Any, found: Any, span: Span) -> None:
    """What a layer of a copy gives leads back to it."""
    if len(part.place) > _OF_ORIGINAL:
        _kept_own(player, part, span)
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
    parts = list(parts)
    redrawn.evened(player, parts)
    if stage.kept.get("backward"):
        kept = stage.kept.setdefault(WEIGHTS_EVENED, set())
        kept.update(one.place for one in parts if hasattr(one, "place"))
