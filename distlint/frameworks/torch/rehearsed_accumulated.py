"""Gradients that a model sharded in place is told to keep whole on their rank, in the rehearsal of a program.

Sources: torch 2.13, ``distributed/fsdp/_fully_shard/_fully_shard.py`` (``set_requires_gradient_sync``) and ``_fsdp_param_group.py``: what
is said when a backward pass is made decides whether it reduces gradients; what it does not reduce is added up beside the parameters,
where no optimizer sees it, and goes into the next reduction.
"""

from __future__ import annotations

from typing import Any

from distlint.frameworks.torch.rehearsed_beside import modules_held
from distlint.frameworks.torch.rehearsed_modules import with_parts
from distlint.frameworks.torch.rehearsed_outputs import IN_PLACE
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.notes import UNREDUCED
from distlint.rehearsal.stage import Event, Fault
from distlint.rehearsal.values import Given

_SAID = "whether models sharded in place reduce gradients"
_LEFT = "gradients that models sharded in place have not reduced"


def told(player: Any, module: Any, given: Given, span: Span) -> None:
    """``set_requires_gradient_sync``: of a part of a model, or where it is not known, nothing is said of any."""
    stage = player.stage
    wrapper = stage.kept.get(IN_PLACE, {}).get(id(module))
    flag = given.get("requires_gradient_sync", 0, None)
    whole = not given.open and given.get("recurse", None, True) is True
    if wrapper is None or not whole or stage.unsure or not isinstance(flag, bool):
        stage.kept[_SAID] = {}
        stage.kept[_LEFT] = {}
        return
    stage.kept.setdefault(_SAID, {})[id(wrapper)] = (wrapper, flag, span)


def passed_back(player: Any, through: tuple[Any, ...], span: Span) -> None:
    """A backward pass: gradients are reduced with all that was added up, or added up."""
    stage = player.stage
    said = stage.kept.get(_SAID)
    if not said:
        return
    left = stage.kept.setdefault(_LEFT, {})
    for one in through:
        wrapper, flag, place = said.get(id(one), (None, True, None))
        if wrapper is None:
            continue
        left.pop(id(one), None)
        if not flag and not stage.unsure:
            left[id(one)] = (wrapper, place, span, tuple(stage.loops))


def stepped(player: Any, optimizer: Any, call: ir.Call, scope: Any) -> None:
    """An optimizer steps while gradients are not reduced."""
    stage = player.stage
    left = stage.kept.get(_LEFT)
    if not left or stage.unsure or stage.world < 2 or optimizer.hooks or optimizer.arguments is None:
        return
    parts = {id(part) for one in modules_held(player, optimizer) for part in with_parts(one)}
    for wrapper, place, span, loops in list(left.values()):
        if tuple(stage.loops[: len(loops)]) != loops or not any(id(one) in parts for one in with_parts(wrapper.inner)):
            continue
        event = Event("step", call, scope.file, scope.function, {})
        event.chain = stage.chain
        words = {"backward": span, "wrapper": wrapper.span, "told": place}
        stage.faults.append(Fault(UNREDUCED, event.span, event, words))
