"""Running statistics of layers that normalize by batches, in the rehearsal of a program: each process has those of its own batches.

Source: torch 2.13, ``nn/modules/batchnorm.py``: in training a layer puts the mean and the variance of each batch into its buffers, and
normalizes by them in evaluation. ``nn/parallel/distributed.py`` sends buffers before a forward pass unless the wrapper is told not to
(``forward_sync_buffers=False``, once ``broadcast_buffers=False``).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from distlint.frameworks.torch.rehearsed_empty import things_in
from distlint.model.span import Span
from distlint.rehearsal.notes import OWN_STATISTICS, STATISTICS_EVENED, STATISTICS_FOLLOWED
from distlint.rehearsal.stage import Event, Fault
from distlint.rehearsal.unknowns import Source
from distlint.rehearsal.values import Tensor, source_of

_MARKED = "layers of which a wrapper leaves the statistics alone"
_MOST = 500
BUFFERS = frozenset({"running_mean", "running_var", "num_batches_tracked", "buffers", "named_buffers"})
"""What a program asks a module for that brings statistics together itself."""


class _Marked:
    """A layer that normalizes by batches, with the wrapper around it, and why its statistics differ, if they do."""

    __slots__ = ("layer", "source", "wrapper")

    def __init__(self, layer: Any, wrapper: Span | None) -> None:
        self.layer = layer
        self.wrapper = wrapper
        self.source: Source | None = None


def wrapped(player: Any, wrapper: Any, parts: Iterable[Any]) -> None:
    """A model was wrapped: whether the statistics of its layers are left alone from here on."""
    stage = player.stage
    given = wrapper.arguments
    if stage.world < 2 or not leaves_buffers(given) or wrapper.group is not stage.everyone:
        return
    method = stage.project.modules.method
    if any(method(thing.cls, name) for thing in things_in(wrapper.inner) for name in ("train", "eval")):
        return  # it says itself which of its layers are in training
    marked = stage.kept.setdefault(_MARKED, {})
    for part in parts:
        if _keeps_statistics(part) and len(marked) < _MOST:
            marked[id(part)] = _Marked(part, wrapper.span)


def _keeps_statistics(part: Any) -> bool:
    """Whether a part of a model is certainly a layer that takes up each batch."""
    given = getattr(part, "arguments", None)
    if not getattr(part, "kind", "").startswith("BatchNorm") or given is None or given.open:
        return False
    momentum = given.get("momentum", 2, None)
    tracks = given.get("track_running_stats", 4, True) is True
    return tracks and (momentum is None or (isinstance(momentum, float) and momentum > 0))


def leaves_buffers(given: Any) -> bool:
    """Whether the arguments of a wrapper certainly tell it to leave buffers alone."""
    if given is None or given.open:
        return False
    sends = given.get("forward_sync_buffers", None, None)
    return (given.get("broadcast_buffers", 4, True) if sends is None else sends) is False


def passed(player: Any, layer: Any, values: Iterable[Any], found: Any) -> None:
    """A batch went through a layer, in training into its statistics, and in evaluation it was normalized by them."""
    marked = player.stage.kept.get(_MARKED)
    one = marked.get(id(layer)) if marked else None
    if one is None or not layer.kind.startswith("BatchNorm"):
        return
    if layer.training:
        if source_of(values) is not None:
            one.source = Source(OWN_STATISTICS, one.wrapper, indirect=True)
    elif one.source is not None and isinstance(found, Tensor) and found.source is None:
        found.source = one.source
        found.sign = None if found.sign is None else hash((OWN_STATISTICS, player.stage.rank, found.sign))


def evened(player: Any) -> None:
    """The program goes through modules, or through what they hold, by itself: it may bring statistics together.

    Before they differ that brings nothing about.
    """
    marked = player.stage.kept.get(_MARKED)
    if marked and any(one.source is not None for one in marked.values()):
        player.stage.kept[STATISTICS_EVENED] = True
        marked.clear()


def handed(player: Any, parts: Iterable[Any]) -> None:
    """Parts of a model go where nobody sees what is done with them."""
    marked = player.stage.kept.get(_MARKED)
    if marked and any(id(part) in marked for part in parts):
        evened(player)


def followed(player: Any, source: Source | None, scheduler: Any, call: Any, scope: Any) -> None:
    """A scheduler is told a figure: it is another one on each process where such statistics had a part in it."""
    if source is None or source.why != OWN_STATISTICS:
        return
    event = Event("step", call, scope.file, scope.function, {})
    event.chain = player.stage.chain
    words = {"wrapper": source.span, "scheduler": scheduler}
    player.stage.faults.append(Fault(STATISTICS_FOLLOWED, event.span, event, words))
