"""Layers in reentrant checkpoints that no gradient comes to, in the rehearsal of a program.

Source: torch 2.13, ``utils/checkpoint.py``: ``CheckpointFunction`` is a function of the tensors that it is given by themselves, and
computes under ``no_grad``; where none of them needs a gradient nothing is recorded, its result needs none, and in the backward pass
nothing is computed again. Parameters are no inputs of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from distlint.frameworks.torch.rehearsed_needs import FROZEN, certainly_needs, has_none
from distlint.frameworks.torch.rehearsed_recording import is_recorded
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.notes import UNHEARD
from distlint.rehearsal.stage import Event, Fault
from distlint.rehearsal.unknowns import Number
from distlint.rehearsal.values import Tensor, is_known

_INSIDE = "layers in checkpoints without gradients since the last backward pass"
_LEFT = "layers that the last backward passes left without gradients"
_OUTSIDE = "layers that are used outside of such checkpoints"
_HOOKED = "functions are called with what comes into modules, or out of them"
_WAITING = "wrappers that wait for gradients which checkpoints keep back"
_MOST = 2_000


def keeps_back(player: Any, values: Iterable[Any]) -> bool:
    """Whether none of the inputs of a checkpoint needs a gradient, although gradients are recorded."""
    return is_recorded(player) is True and not player.stage.kept.get(_HOOKED) and all(map(_needs_none, values))


def _needs_none(value: Any) -> bool:
    if isinstance(value, Tensor):
        return has_none(value)
    return is_known(value) or isinstance(value, Number)


def came_out(value: Any) -> Any:
    """What such a checkpoint gives needs no gradient."""
    if type(value) is Tensor:
        value.gradient = False
    for one in value if type(value) is tuple else ():
        came_out(one)
    return value


def hooked(player: Any) -> None:
    """Functions are to be called when modules are: they may say of what comes in or out that it needs a gradient."""
    player.stage.kept[_HOOKED] = True


def computed(player: Any, parts: Iterable[Any], inside: Span | None, *, sure: bool, trains: bool) -> None:
    """Layers compute something that has gradients: ``inside`` of a checkpoint that keeps them back, or outside of any.

    ``trains`` says that this may be in the training.
    """
    kept = player.stage.kept
    for part in parts:
        if inside is None and trains:
            _is_outside(kept, part)
        elif inside is not None and sure and len(kept.setdefault(_INSIDE, {})) < _MOST:
            kept[_INSIDE].setdefault(id(part), (part, inside, player.stage.chain))


def read(player: Any, parts: Iterable[Any]) -> None:
    """Parameters are read, or modules go where nobody sees what is done with them: a gradient may come to them from there."""
    kept = player.stage.kept
    if kept.get(_INSIDE):
        for part in parts:
            _is_outside(kept, part)


def _is_outside(kept: dict[str, Any], part: Any) -> None:
    outside = kept.setdefault(_OUTSIDE, {})
    if len(outside) < _MOST * 10:
        outside[id(part)] = part
    for name in (_INSIDE, _LEFT):
        kept.get(name, {}).pop(id(part), None)


def passed_back(player: Any, loss: Tensor, call: ir.Call, scope: Any) -> None:
    """A backward pass: the layers in such checkpoints have no gradient of it, and a wrapper may wait for these."""
    stage = player.stage
    inside = stage.kept.pop(_INSIDE, None)
    if not inside:
        return
    outside = stage.kept.get(_OUTSIDE, {})
    left = stage.kept.setdefault(_LEFT, {})
    words = {"backward": ir.unpack(call.at, scope.file)}
    left.update(
        (key, (*found, {})) for key, found in inside.items() if key not in outside and _is_trained(player, found[0])
    )
    for wrapper in loss.through if left else ():
        if _waits(wrapper):
            event = Event("backward", call, scope.file, scope.function, {})
            _waited(player, wrapper, left, event, {"wrapper": wrapper.span, **words})


def _waited(player: Any, wrapper: Any, left: dict[int, Any], event: Event, words: dict[str, Any]) -> None:
    """What a wrapper waits for is missed by the next forward pass through it."""
    from distlint.frameworks.torch.rehearsed_modules import parts_of_model

    stage = player.stage
    own = [left[id(one)] for one in parts_of_model(wrapper.inner) if id(one) in left]
    waiting: set[int] = stage.kept.setdefault(_WAITING, set())
    again = stage.repeating or id(wrapper) in waiting
    for found in own:
        found[-1].update(words)
        if again and not stage.unsure:
            _fault(stage, found, event)
    if own and not stage.unsure:
        waiting.add(id(wrapper))
    else:
        waiting.discard(id(wrapper))


def _waits(wrapper: Any) -> bool:
    given = getattr(wrapper, "arguments", None)
    return (
        given is not None
        and not given.open
        and given.get("find_unused_parameters", None, False) is False
        and given.get("static_graph", None, False) is False
        and getattr(wrapper, "sharded", True) is False
        and not wrapper.paused
    )


def _is_trained(player: Any, part: Any) -> bool:
    """Whether a layer has parameters, or is one, that certainly need a gradient."""
    if isinstance(part, Tensor):
        return certainly_needs(player, part)
    weights = part.own_weights()
    if weights is None:
        return bool(part.has_parameters) and id(part) not in player.stage.kept.get(FROZEN, {})
    return any(certainly_needs(player, one) for _, one in weights)


def stepped(player: Any, optimizer: Any, call: ir.Call, scope: Any) -> None:
    """An optimizer takes a step: layers that it holds, and that no gradient came to, stay as they are."""
    from distlint.frameworks.torch.rehearsed_beside import modules_held
    from distlint.frameworks.torch.rehearsed_stale import is_taken

    stage = player.stage
    left = stage.kept.get(_LEFT)
    if not left or stage.alone or stage.world < 2:
        return
    held = list(modules_held(player, optimizer))
    event = Event("step", call, scope.file, scope.function, {})
    for key, found in list(left.items()):
        if any(is_taken(one, {key}) for one in held):
            if not found[-1]:
                found[-1]["step"] = event.span
            _fault(stage, found, event)
            del left[key]


def _fault(stage: Any, found: tuple[Any, Span, Any, dict[str, Any]], event: Event) -> None:
    part, span, chain, words = found
    event.chain = chain
    call, file = getattr(part, "call", None), getattr(part, "file", "")
    made = ir.unpack(call.at, file) if call is not None and file else part.at if isinstance(part, Tensor) else None
    stage.faults.append(Fault(UNHEARD, span, event, {"made": made, **words}))
