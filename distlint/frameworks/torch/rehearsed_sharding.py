"""Whose parameters are whole when they are used, of modules that are sharded in place, in the rehearsal of a program.

Sources: torch 2.13, ``distributed/fsdp/_fully_shard/_fsdp_state.py``: the hooks of a forward pass, and nothing else, make parameters
whole; a root leaves them so until the backward pass, unless it is told otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from distlint.model import python as ir
from distlint.rehearsal.stage import Event, Fault
from distlint.rehearsal.values import Items

_FRAMES = "calls of modules"
SHARDED = "modules sharded in place"


def during(player: Any, wrappers: tuple[Any, ...], forward: Callable[[], Any]) -> Any:
    """A forward pass of modules that are sharded in place: their parameters are whole in it, and perhaps behind it."""
    frames = player.stage.kept.setdefault(_FRAMES, [])
    frames.append(len(player.stage.chain))
    for one in wrappers:
        one.inside += 1
    try:
        return forward()
    finally:
        frames.pop()
        for one in wrappers:
            one.inside -= 1
            given = one.arguments
            one.whole = given is None or given.get("reshard_after_forward", None, None) is not True


def resharded(player: Any) -> None:
    """A backward pass has ended: parameters lie in parts again."""
    for one in player.stage.kept.get(SHARDED, ()):
        one.whole = False


def used(player: Any, layer: Any, call: ir.Call, scope: Any) -> None:
    """A layer is called: its parameters lie in parts where nothing that made them whole is under way."""
    stage = player.stage
    manager = layer.manager
    if manager is None or manager.inside or manager.whole or manager.inner is layer or stage.unsure or stage.alone:
        return
    if isinstance(manager.inner, Items) or not layer.has_parameters or any(stage.attempts):
        return
    event = Event(layer.kind, call, scope.file, scope.function, {})
    frames = set(stage.kept.get(_FRAMES, ()))
    at = len(stage.chain) - 1
    while at in frames and at > 0:
        at -= 1
    inside = scope.function >= 0 and stage.project.module(scope.file).functions[scope.function].owner >= 0
    span = stage.chain[at] if inside and at >= 0 else event.span
    event.chain = stage.chain[:at] if inside and at >= 0 else stage.chain
    stage.faults.append(Fault("sharded model bypassed", span, event, {"first": manager.span, "layer": event.span}))
    manager.whole = True  # the program ends here
