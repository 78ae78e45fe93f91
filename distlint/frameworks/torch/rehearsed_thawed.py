"""Parameters that are trained although a wrapper was made while they were frozen, in the rehearsal of a program.

Source: torch 2.13, ``nn/parallel/distributed.py``, ``_build_params_for_reducer``: gradients are averaged of the parameters that need one
when the model is wrapped.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.notes import THAWED_BEHIND
from distlint.rehearsal.stage import Event, Fault

_NOW = "parameters that are certainly frozen"
_LEFT = "parameters that were frozen when their model was wrapped"
_BEHIND = "parameters that are trained since, although no wrapper knows them"
_MOST = 2_000


class Thawed(NamedTuple):
    """A part that is trained since its model was wrapped, and where: the calls and the tests that lead there.

    ``wrapper`` and ``frozen`` say where it was wrapped, and frozen before.
    """

    part: Any
    span: Span
    chain: tuple[Span, ...]
    way: tuple[Any, ...]
    wrapper: Span
    frozen: Span


def frozen(player: Any, parts: Iterable[Any], span: Span) -> None:
    """Layers, or the layers of parameters, get no gradient from here on."""
    kept = player.stage.kept
    now = kept.setdefault(_NOW, {})
    for part in parts:
        kept.get(_BEHIND, {}).pop(id(part), None)
        if not player.stage.unsure and len(now) < _MOST:  # what is frozen stays so, if it is told perhaps
            now[id(part)] = (part, span)


def frozen_now(player: Any) -> dict[int, Any]:
    """The parts that are certainly frozen, by ``id``."""
    found: dict[int, Any] = player.stage.kept.get(_NOW, {})
    return found


def trained_behind(player: Any) -> dict[int, Thawed]:
    """The parts that are trained since their model was wrapped, by ``id``."""
    found: dict[int, Thawed] = player.stage.kept.get(_BEHIND, {})
    return found


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
            behind[id(part)] = Thawed(part, span, stage.chain, stage.way, *left[1:])


def parted(player: Any, whole: Any, part: Any, *, alike: bool) -> None:
    """A part of a module comes into sight: what was said of the module was said of it, unless (``alike``) it may have been told apart."""
    kept = player.stage.kept
    for rows in (kept.get(_NOW, {}), kept.get(_LEFT, {})) if alike else ():
        if id(whole) in rows and len(rows) < _MOST:
            rows[id(part)] = (part, *rows[id(whole)][1:])
    behind = trained_behind(player)
    if alike and id(whole) in behind:
        behind[id(part)] = behind[id(whole)]._replace(part=part)


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


def stepped(
    player: Any,
    parts: Iterable[Any],
    call: ir.Call,
    scope: Any,
    later: Iterable[tuple[tuple[Any, ...], Any]] = (),
) -> None:
    """An optimizer takes the gradients of its parameters, also those that nobody has averaged.

    ``later`` are parts that it holds where some tests say so: those by which they are trained, perhaps.
    """
    stage = player.stage
    behind = trained_behind(player)
    if not behind or stage.world < 2:
        return
    found = next((behind[id(part)] for part in parts if id(part) in behind), None)
    found = found or next(
        (behind[id(part)] for way, part in later if id(part) in behind and behind[id(part)].way == way), None
    )
    if found is not None:
        event = Event("step", call, scope.file, scope.function, {})
        event.chain = found.chain
        words = {"wrapper": found.wrapper, "frozen": found.frozen, "step": event.span}
        stage.faults.append(Fault(THAWED_BEHIND, found.span, event, words))
