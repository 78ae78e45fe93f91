"""Layers that are computed again in a backward pass of their own, in the rehearsal of a program: reentrant checkpoints.

Sources: torch 2.13, ``utils/checkpoint.py``: without ``use_reentrant`` a checkpoint is reentrant; the backward pass of its output makes
one for what was computed in it. ``csrc/distributed/c10d/reducer.cpp``: a parameter is marked as ready once in a backward pass: by its
hook, which runs in each of these passes, and with ``find_unused_parameters`` where the search behind the forward pass did not find it,
which does not look into checkpoints. With a static graph both are counted first.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from distlint.frameworks.torch import rehearsed_unheard as unheard
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.notes import READY_TWICE
from distlint.rehearsal.stage import Event, Fault
from distlint.rehearsal.unknowns import UNKNOWN, Opaque
from distlint.rehearsal.values import Given, Items, Tensor

_PREFIX = "torch.utils.checkpoint."
_OWN = ("use_reentrant", "preserve_rng_state", "context_fn", "determinism_check", "debug", "early_stop")
_REGIONS = "reentrant checkpoints under way"
_USES = "layers used in a forward pass, in checkpoints and outside"
_TWICE = "wrapped models whose parameters will be ready twice"
_COUNT = "checkpoints so far"
_MOST = 2_000
_OUTSIDE = 0


class _Region(NamedTuple):
    """A reentrant checkpoint under way: its number, where it is, and the tensors that it is given.

    ``feels`` where one of them needs a gradient, ``mute`` where certainly none does.
    """

    number: int
    span: Span
    given: frozenset[int]
    feels: bool
    mute: bool


class Use:
    """A layer in a forward pass: the reentrant checkpoints that it was used in by their numbers (0: outside), and where the last one is."""

    __slots__ = ("layer", "places", "span")

    def __init__(self, layer: Any) -> None:
        self.layer = layer
        self.places: set[int] = set()
        self.span: Span | None = None


def made(player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
    """What a checkpoint gives: that of the function, or of several in turn; ``NotImplemented`` for other calls."""
    if "register_module_forward" in name:
        unheard.hooked(player)
    if not name.startswith(_PREFIX) or given.open:
        return NotImplemented
    last = name[len(_PREFIX) :]
    words = {key: value for key, value in given.keywords.items() if key not in _OWN}
    if last == "checkpoint":
        functions: list[Any] | None = [given.get("function", 0, UNKNOWN)]
        values = list(given.positional[1:])
        words.pop("function", None)
    elif last == "checkpoint_sequential":
        steps = given.get("functions", 0, UNKNOWN)
        children = getattr(steps, "children", None)
        functions = children if children is not None else steps.items if isinstance(steps, Items) else None
        values, words = [given.get("input", 2, UNKNOWN)], {}
    else:
        return NotImplemented
    if not functions:
        return NotImplemented
    span = ir.unpack(call.at, scope.file)
    is_reentrant = given.get("use_reentrant", None, None) in (None, True)
    regions = player.stage.kept.setdefault(_REGIONS, [])
    number = player.stage.kept[_COUNT] = player.stage.kept.get(_COUNT, 0) + 1
    mute = False
    if is_reentrant:
        everything = (*values, *words.values())
        tensors = [one for one in everything if isinstance(one, Tensor)]
        feels, mute = any(one.gradient is True for one in tensors), unheard.keeps_back(player, everything)
        regions.append(_Region(number, span, frozenset(map(id, tensors)), feels, mute))
    try:
        found: Any = UNKNOWN
        for function in functions:
            found = player.apply(function, Given(values, words), call, scope)
            values, words = [found], {}
    finally:
        if is_reentrant:
            regions.pop()
    return unheard.came_out(found) if mute else found


def used(player: Any, parts: Collection[Any]) -> None:
    """Layers, or parameters that no layer has, are used in a forward pass with gradients."""
    stage = player.stage
    uses, regions = stage.kept.get(_USES), stage.kept.get(_REGIONS)
    if regions:
        # what a checkpoint is given gets its gradient outside
        parts = [part for part in parts if not any(id(part) in one.given for one in regions)]
    inside = next((one.span for one in regions or () if one.mute), None)
    trains = not any(_is_mode(one) and not _holds(stage, one) for one in stage.reasons)
    unheard.computed(player, parts, inside, sure=_is_sure(stage), trains=trains)
    if uses is None:
        return
    for part in parts:
        if not _is_sure(stage) or len(uses) >= _MOST:
            continue
        one = uses.setdefault(id(part), Use(part))
        if not regions:
            one.places.add(_OUTSIDE)
        elif regions[-1].feels:
            one.places.add(regions[-1].number)
            one.span = regions[-1].span


def _is_sure(stage: Any) -> bool:
    """Whether a process certainly comes here in a pass of the training."""
    return not stage.unsure or all(_is_mode(one) and _holds(stage, one) for one in stage.reasons)


def _is_mode(test: Any) -> bool:
    return isinstance(test, Opaque) and test.sign == ("training",)


def _holds(stage: Any, test: Any) -> bool:
    return bool(stage.sides.get(id(test), True))


def begun(player: Any, wrapper: Any) -> Any:
    """A forward pass through a wrapper begins; what was noted in one around it."""
    kept = player.stage.kept
    before = kept.get(_USES)
    kept[_USES] = {} if not wrapper.sharded else None
    return before


def ended(player: Any, wrapper: Any, before: Any, frozen: dict[int, Any]) -> None:
    """It ends: whether a parameter will be ready twice."""
    kept = player.stage.kept
    uses: dict[int, Use] | None = kept.pop(_USES, None)
    kept[_USES] = before
    given = wrapper.arguments
    if not uses or given is None or given.open or wrapper.paused or wrapper.call is None:
        return
    search, static = given.get("find_unused_parameters", None, False), given.get("static_graph", None, False)
    if static is not False or not isinstance(search, bool):
        return
    waiting = kept.setdefault(_TWICE, {})
    waiting.pop(id(wrapper), None)
    for one in uses.values():
        trained = getattr(one.layer, "has_parameters", True) and id(one.layer) not in frozen
        if trained and one.span is not None and (search or len(one.places) > 1):
            waiting[id(wrapper)] = (wrapper, one.span, search)
            return


def passed_back(player: Any, wrapper: Any, call: ir.Call, scope: Any) -> None:
    """A backward pass through a wrapper."""
    stage = player.stage
    _, span, search = stage.kept.get(_TWICE, {}).pop(id(wrapper), (None, None, False))
    if span is None or stage.unsure:
        return
    event = Event("backward", call, scope.file, scope.function, {})
    event.chain = stage.chain
    words = {"wrapper": wrapper.span, "backward": event.span, "search": search}
    stage.faults.append(Fault(READY_TWICE, span, event, words))
