"""States of optimizers, schedulers and scalers that the first process alone loads, in the rehearsal of a program.

Whatever the processes send each other, the state of an object is the one that it was loaded with, or had before: it is another one on a
process only if that loads it as well, or something reaches for it there. So what the others do with their object between two of
its steps is looked at, and not what was sent.

Sources: torch 2.13, ``optim/optimizer.py`` and ``optim/lr_scheduler.py``, ``load_state_dict`` (what the object holds is replaced),
``amp/grad_scaler.py``, ``load_state_dict`` (the scale); ``nn/parallel/distributed.py`` sends parameters and buffers only.
"""

from __future__ import annotations

from typing import Any

from distlint.model import python as ir
from distlint.rehearsal.notes import STATE_LOADED, STATES_LOADED, STEPS_UNTOUCHED
from distlint.rehearsal.stage import Event, Fault
from distlint.rehearsal.values import Given, Made

_STATES = "states that optimizers loaded"
_MAX_PLACES = 1_000


class Resumed(Made):
    """What steps, and has a state that a checkpoint may hold."""

    __slots__ = ("before", "handled")

    def __init__(self, name: str, call: ir.Call, given: Given) -> None:
        super().__init__(name, call, given)
        self.handled = 0
        """How often somebody loaded, took or reached for its state, or may have done so."""
        self.before = 0
        """The same when it took its last step."""


def loaded(player: Any, resumed: Resumed, call: ir.Call, scope: Any) -> None:
    """``optimizer.load_state_dict(...)``."""
    stage = player.stage
    span = ir.unpack(call.at, scope.file)
    resumed.handled += 1
    places = stage.kept.setdefault(STATES_LOADED, set())
    if len(places) < _MAX_PLACES:
        places.add((span, _made(resumed)))
    states = stage.kept.setdefault(_STATES, {})
    if stage.unsure and stage.kept.get("backward"):
        states.pop(id(resumed), None)  # it may be the end of the training
    elif len(states) < _MAX_PLACES:
        states[id(resumed)] = (resumed, span, stage.chain)


def stepped(player: Any, resumed: Resumed, call: ir.Call, scope: Any) -> None:
    """It takes a step, with what it has loaded, or with what it had."""
    stage = player.stage
    _, span, chain = stage.kept.get(_STATES, {}).pop(id(resumed), (None, None, ()))
    step = _step(player, resumed, call, scope)
    untouched = resumed.handled == resumed.before and not resumed.stored
    resumed.before = resumed.handled
    if span is not None and stage.rank == 0:
        event = Event("load_state_dict", call, scope.file, scope.function, {})
        event.chain = chain
        words = {
            "step": event.span,
            "taken": step,
            "made": _made(resumed),
            "events": len(stage.events),
            "what": _kind(resumed),
        }
        stage.faults.append(Fault(STATE_LOADED, span, event, words))
    steps = stage.kept.setdefault(STEPS_UNTOUCHED, set())
    if untouched and len(steps) < _MAX_PLACES:
        steps.add(step)


def _step(player: Any, resumed: Resumed, call: ir.Call, scope: Any) -> tuple[Any, ...]:
    """What is equal for the same step on all processes: whose it is, where, and behind how many backward passes."""
    return (_made(resumed), scope.file, call.at, player.stage.kept.get("backward", 0))


def _kind(resumed: Resumed) -> str:
    """Whether it is a scheduler, a scaler or an optimizer, for a message."""
    kinds = (("lr_scheduler.", "scheduler"), ("GradScaler", "scaler"))
    return next((kind for part, kind in kinds if part in resumed.name), "optimizer")


def _made(resumed: Resumed) -> tuple[Any, ...] | None:
    return None if resumed.call is None else (resumed.file, resumed.call.at)
