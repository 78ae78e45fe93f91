"""Gradients that ``no_sync`` leaves on their rank until an optimizer takes them, in the rehearsal of a program.

Sources: torch 2.13, ``nn/parallel/distributed.py``: whether a backward pass sums up the gradients is decided in its forward pass, and what
it sums up is all that was gathered before. With sharded models there are no copies that could drift apart.
"""

from __future__ import annotations

from typing import Any

from distlint.frameworks.torch.rehearsed_beside import modules_held
from distlint.frameworks.torch.rehearsed_modules import with_parts
from distlint.frameworks.torch.rehearsed_passes import Unsummed
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.notes import AVERAGED_BEHIND, LEFT_ON_RANK, PAST_WRAPPER, STEPPED, UNSUMMED
from distlint.rehearsal.stage import Event, Fault


class _Left:
    """Gradients of a wrapped model that nobody has summed up; ``loops`` are the ones around of which not all turns are followed."""

    __slots__ = ("loops", "past", "span", "wrapper")

    def __init__(self, mark: Unsummed, loops: tuple[int, ...]) -> None:
        self.wrapper = mark.wrapper
        self.span = mark.span
        self.past = mark.past
        self.loops = loops


def passed_back(player: Any, through: tuple[Any, ...]) -> None:
    """A backward pass: gradients stay where they are, or all that were gathered so far are summed up."""
    stage = player.stage
    stage.kept[STEPPED] = {}
    left: dict[int, _Left] = stage.kept.setdefault(LEFT_ON_RANK, {})
    marks = [one for one in through if isinstance(one, Unsummed)]
    open_ones = {id(one.wrapper) for one in marks if not one.sure}
    for key in {id(one) for one in through} | open_ones:
        left.pop(key, None)
    if stage.unsure:
        return
    for one in marks:
        summed = any(one.wrapper is other for other in through)
        if not summed and id(one.wrapper) not in open_ones:
            left[id(one.wrapper)] = _Left(one, tuple(stage.loops))


def stepped(player: Any, optimizer: Any, call: ir.Call, scope: Any) -> None:
    """An optimizer takes the gradients."""
    stage = player.stage
    _note_step(player, optimizer, ir.unpack(call.at, scope.file))
    left: dict[int, _Left] = stage.kept.get(LEFT_ON_RANK, {})
    if not left or stage.unsure or stage.world < 2 or optimizer.hooks or optimizer.arguments is None:
        return
    modules = list(modules_held(player, optimizer))
    for one in list(left.values()):
        wrapper = one.wrapper
        if wrapper.sharded or wrapper.group is not stage.everyone or tuple(stage.loops[: len(one.loops)]) != one.loops:
            continue
        own = {id(part) for part in with_parts(wrapper.inner)} | {id(wrapper)}
        if not any(id(part) in own for module in modules for part in with_parts(module)):
            continue
        event = Event("step", call, scope.file, scope.function, {})
        event.chain = stage.chain
        kind = PAST_WRAPPER if one.past else UNSUMMED
        words = {"forward": one.span, "wrapper": wrapper.span, "prepared": wrapper.prepared}
        stage.faults.append(Fault(kind, event.span, event, words))


def _note_step(player: Any, optimizer: Any, span: Span) -> None:
    """Remembers whose gradients an optimizer has taken; nothing before the first backward pass, or once gradients were brought together."""
    stage = player.stage
    stepped = stage.kept.get(STEPPED)
    if stepped is None or stage.unsure or optimizer.arguments is None or optimizer.hooks:
        stage.kept.pop(STEPPED, None)
        return
    for module in modules_held(player, optimizer):
        stepped.update((id(part), (part, span)) for part in with_parts(module))


def averaged(stage: Any, gradients: list[Any], event: Event) -> None:
    """Gradients are brought together by hand: too late where an optimizer has taken them as they were."""
    stepped = stage.kept.pop(STEPPED, None)
    if not stepped or stage.unsure or stage.world < 2:
        return
    found = [next((stepped[id(one)] for one in tensor.owners if id(one) in stepped), None) for tensor in gradients]
    if found and all(one is not None for one in found) and found[0] is not None:
        stage.faults.append(Fault(AVERAGED_BEHIND, event.span, event, {"step": found[0][1]}))
