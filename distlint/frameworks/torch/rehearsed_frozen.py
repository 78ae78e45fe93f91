"""Parameters that are frozen after their model was wrapped, in the rehearsal of a program.

Sources: torch 2.13, ``nn/parallel/distributed.py``: the parameters that a reducer waits for are those that need a gradient when the model
is wrapped; a forward pass refuses to start before all of them had one in the last backward pass.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.notes import FROZEN_BEHIND
from distlint.rehearsal.stage import Event, Fault

_BEHIND = "parameters frozen since their model was wrapped"
_WAITING = "wrappers that wait for gradients that never come"
_MOST = 2_000


def frozen(player: Any, parts: Iterable[Any], span: Span) -> None:
    """Layers, or the layers of parameters, get no gradient from here on."""
    stage = player.stage
    kept = stage.kept.setdefault(_BEHIND, {})
    for part in parts:
        if stage.unsure or not getattr(part, "synced", False) or getattr(part, "sharded", True):
            kept.pop(id(part), None)
        elif len(kept) < _MOST and getattr(part, "has_parameters", True):
            kept[id(part)] = (part, span, stage.chain)


def thawed(player: Any, parts: Iterable[Any]) -> None:
    """They get one again, or a wrapper is made that does not wait for them."""
    kept = player.stage.kept.get(_BEHIND, {})
    for part in parts:
        kept.pop(id(part), None)


def is_frozen(player: Any, parts: Iterable[Any]) -> bool:
    """Whether none of some layers and parameters, of which there are, gets a gradient now."""
    kept = player.stage.kept.get(_BEHIND)
    own = [part for part in parts if getattr(part, "has_parameters", True)] if kept else ()
    return bool(own) and all(id(part) in kept for part in own)


def passed_back(player: Any, wrapper: Any, parts: Iterable[Any], call: ir.Call, scope: Any) -> None:
    """A backward pass through a wrapper: the next forward pass finds what is missing."""
    stage = player.stage
    kept = stage.kept.get(_BEHIND, {})
    given = wrapper.arguments
    waits = (
        given is not None
        and not given.open
        and given.get("find_unused_parameters", None, False) is False
        and given.get("static_graph", None, False) is False
    )
    if not kept or stage.unsure or not waits or wrapper.paused or wrapper.sharded:
        return
    found = next((kept[id(one)] for one in parts if id(one) in kept), None)
    waiting: set[int] = stage.kept.setdefault(_WAITING, set())
    if found is None:
        waiting.discard(id(wrapper))
        return
    if not stage.repeating and id(wrapper) not in waiting:
        waiting.add(id(wrapper))
        return
    _, span, chain = found
    kept.clear()
    event = Event("backward", call, scope.file, scope.function, {})
    event.chain = chain
    stage.faults.append(Fault(FROZEN_BEHIND, span, event, {"wrapper": wrapper.span, "backward": event.span}))
