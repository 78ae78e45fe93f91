"""Weights that are loaded after a model was wrapped, in the rehearsal of a program.

Sources: torch 2.13, ``nn/parallel/distributed.py``, ``__init__``: weights are made equal once, when the model is wrapped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from distlint.model import python as ir
from distlint.rehearsal.notes import LOADS
from distlint.rehearsal.stage import Event, Fault

LOADED = "weights loaded behind the wrap"
"""Fault, if other processes do not load them as well."""

_BEHIND = "weights loaded, with the operations before them"
_TOLD = "loaded weights that a pass was made with"
_TRAINED = "models that passes were made through"
_PASSES = frozenset({"forward", "backward", "barrier"})
_MAX_PLACES = 1_000


def loaded(player: Any, module: Any, call: ir.Call, scope: Any) -> None:
    """``module.load_state_dict(...)``."""
    stage = player.stage
    span = ir.unpack(call.at, scope.file)
    places = stage.kept.setdefault(LOADS, set())
    behind = stage.kept.setdefault(_BEHIND, [])
    if len(places) < _MAX_PLACES and len(behind) < _MAX_PLACES:
        places.add(span)
        # under a test that is not known it may be the end of the training; before the first pass it can only be its start
        late = bool(stage.unsure) and id(module) in stage.kept.get(_TRAINED, ())
        behind.append((module, span, len(stage.events), late, stage.chain))


def handed(player: Any) -> None:
    """A module, or some of its parameters, go where nobody sees what is done with them: weights may be sent there."""
    player.stage.kept.pop(_BEHIND, None)


def passed_back(
    player: Any, wrapper: Any, weights_of: Callable[[Any, Any], list[Any] | None], call: ir.Call, scope: Any
) -> None:
    """A backward pass through a wrapped model: the weights that were loaded since it was wrapped."""
    stage = player.stage
    told = stage.kept.setdefault(_TOLD, set())
    stage.kept.setdefault(_TRAINED, {})[id(wrapper.inner)] = wrapper.inner
    if stage.unsure:
        return
    for module, span, before, late, chain in stage.kept.get(_BEHIND, ()):
        if late or module is not wrapper.inner or before < wrapper.made or wrapper.sharded:
            continue
        if stage.rank and any(event.name not in _PASSES for event in stage.events[:before]):
            continue  # what the first process has sent, perhaps
        if (id(module), span) in told:
            continue  # the first pass behind it has the least between them
        told.add((id(module), span))
        since = [event for event in stage.events[before:] if event.name not in _PASSES]
        event = Event("load_state_dict", call, scope.file, scope.function, {})
        words = {"backward": event.span, "wrapper": wrapper.span, "since": since}
        words["weights"] = weights_of(player, module) if since else None
        event.chain = chain
        stage.faults.append(Fault(LOADED, span, event, words))
