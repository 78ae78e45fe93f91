"""Layers that each process of a rehearsal chooses by what it has for itself: their gradients are there on some processes only.

Source: torch 2.13, ``optim/optimizer.py`` (``zero_grad`` sets gradients to ``None``), and a run: ``grad`` of a layer that no pass came
through is ``None``.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from distlint.rehearsal.unknowns import Opaque, Perhaps, Source
from distlint.rehearsal.values import Tensor, source_of

_CHOSEN = "layers used where a process's own figures say so"
_SURE = "layers used anyway"
_MOST = 2_000


def used(player: Any, layer: Any) -> None:
    """A layer is called: anyway, or where a test that each process answers for itself says so."""
    stage = player.stage
    source = source_of(stage.reasons) if stage.unsure else None
    if not stage.unsure:
        _keep(player, _SURE, layer, None)
    elif source is not None:
        _keep(player, _CHOSEN, layer, source)


def picked(player: Any, layers: Collection[Any] | None, index: Any) -> None:
    """One of several layers is taken, by a number that each process works out for itself."""
    source = index.source if isinstance(index, Opaque | Tensor) else None
    for layer in layers or () if source is not None else ():
        for part in (layer, *(getattr(layer, "children", None) or ())):
            _keep(player, _CHOSEN, part, source)


def _keep(player: Any, what: str, layer: Any, source: Source | None) -> None:
    kept = player.stage.kept.setdefault(what, {})
    if len(kept) < _MOST:
        kept.setdefault(id(layer), (layer, source))


def gradient(player: Any, owners: Collection[Any], found: Tensor) -> Any:
    """The gradient of a parameter, which may be one of some layers': perhaps there is none."""
    kept = player.stage.kept
    chosen, sure = kept.get(_CHOSEN, {}), kept.get(_SURE, {})
    sources = [chosen[id(one)][1] for one in owners if id(one) in chosen and id(one) not in sure]
    return Perhaps(found, None, sources[0]) if sources else found
