"""Parameters that are trained although a wrapper was made while they were frozen, in the rehearsal of a program.

Source: torch 2.13, ``nn/parallel/distributed.py``, ``_build_params_for_reducer``: gradients are averaged of the parameters that need one
when the model is wrapped.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.notes import THAWED_BEHIND
from distlint.rehearsal.stage import Event, Fault

_NOW = "parameters that are certainly frozen"
_LEFT = "parameters that were frozen when their model was wrapped"
_BEHIND = "parameters that are trained since, although no wrapper knows them"
_MOST = 2_000


def frozen(player: Any, parts: Iterable[Any], span: Span) -> None:
    """Layers, or the layers of parameters, get no gradient from here on."""
    kept = player.stage.kept
    now = kept.setdefault(_NOW, {})
    for part in parts:
        kept.get(_BEHIND, {}).pop(id(part), None)
        if player.stage.unsure:
            now.pop(id(part), None)
        elif len(now) < _MOST:
            now[id(part)] = (part, span)


def as_before(player: Any, span: Span) -> None:
    """A parameter that needs a gradient is told so once more."""
    player.stage.looked_at(THAWED_BEHIND, span, fits=not player.stage.unsure)


def trained(player: Any, parts: Iterable[Any], span: Span, *, certainly: bool) -> None:
    """They get one from here on, or they may: under a test that is not known they do so in some round, as the program means them to."""
    stage = player.stage
    behind = stage.kept.setdefault(_BEHIND, {})
    stage.looked_at(THAWED_BEHIND, span, fits=False)
    for part in parts:
        stage.kept.get(_NOW, {}).pop(id(part), None)
        left = stage.kept.get(_LEFT, {}).get(id(part))
        if left is not None and certainly:
            behind[id(part)] = (part, span, stage.chain, *left[1:])


def wrapped(player: Any, wrapper: Any, parts: Iterable[Any]) -> None:
    """A model is wrapped: parameters that are frozen now are left out, the others are known."""
    kept = player.stage.kept
    left = kept.setdefault(_LEFT, {})
    for part in parts:
        left.pop(id(part), None)
        kept.get(_BEHIND, {}).pop(id(part), None)
        now = kept.get(_NOW, {}).get(id(part))
        if now is not None and not player.stage.unsure and wrapper.group is player.stage.everyone:
            left[id(part)] = (part, wrapper.span, now[1])


def stepped(player: Any, parts: Iterable[Any], call: ir.Call, scope: Any) -> None:
    """An optimizer takes the gradients of its parameters, also those that nobody has averaged."""
    stage = player.stage
    behind = stage.kept.get(_BEHIND, {})
    if not behind or stage.world < 2:
        return
    found = next((behind[id(part)] for part in parts if id(part) in behind), None)
    if found is not None:
        _, span, chain, wrapper, before = found
        event = Event("step", call, scope.file, scope.function, {})
        event.chain = chain
        stage.faults.append(
            Fault(THAWED_BEHIND, span, event, {"wrapper": wrapper, "frozen": before, "step": event.span})
        )
        behind.clear()
