"""Buffers that a model averages over the batches of each process, in the rehearsal of a program.

Source: torch 2.13, ``nn/parallel/distributed.py``: with ``forward_sync_buffers=False``, once ``broadcast_buffers=False``, a wrapper leaves
buffers alone after it was made. What a forward pass puts into them stays on its process, and the next pass computes with it.
"""

from __future__ import annotations

from typing import Any

from distlint.frameworks.torch import rehearsed_statistics as statistics
from distlint.frameworks.torch.rehearsed_empty import things_in
from distlint.frameworks.torch.rehearsed_plain import BUFFERS
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.libraries import GRADIENTS_KEPT
from distlint.rehearsal.notes import BUFFERS_EVENED, OWN_BUFFERS
from distlint.rehearsal.stage import Event, Fault
from distlint.rehearsal.values import Tensor, Thing, source_of

_MARKED = "modules of which a wrapper leaves the buffers alone"
_AVERAGED = "buffers averaged over the batches of a process"
_MOST = 500
_ADDING = frozenset({"+", "-", "add_", "sub_", "lerp_", "addcmul_", "addcdiv_", "index_add_", "scatter_add_", "addmm_"})
"""Operators, and methods, that bring something new into what a tensor held."""
_REPLACING = frozenset({"copy_", "fill_", "zero_", "set_"})


class FromBuffer:
    """That a tensor was computed with a buffer, among the wrappers that it came out of (``Tensor.through``)."""

    __slots__ = ("group", "name", "thing", "wrapper")

    def __init__(self, thing: Thing, name: str, wrapper: Any) -> None:
        self.thing = thing
        self.name = name
        self.wrapper = wrapper
        self.group = None
        """Nobody meets here."""

    def now(self) -> Tensor | None:
        """What the buffer is now."""
        found = self.thing.attributes.get(self.name)
        return found if isinstance(found, Tensor) else None


def wrapped(player: Any, wrapper: Any) -> None:
    """A model was wrapped: whether its buffers are left alone from here on."""
    stage = player.stage
    given = wrapper.arguments
    if stage.unsure or stage.world < 2 or given is None or given.open or wrapper.group is not stage.everyone:
        return
    sends = given.get("forward_sync_buffers", None, None)
    if sends is None:
        sends = given.get("broadcast_buffers", 4, True)
    if sends is not False:
        return
    names = stage.kept.get(BUFFERS, {})
    marked = stage.kept.setdefault(_MARKED, {})
    for thing in things_in(wrapper.inner):
        for name in sorted(one for one in names.get(id(thing), (None, ()))[1] if isinstance(one, str)):
            value = thing.attributes.get(name)
            if type(value) is Tensor and not value.gradient and len(marked) < _MOST:
                mark = FromBuffer(thing, name, wrapper)
                value.through = (*value.through, mark)
                marked.setdefault(id(thing), {})[name] = mark


def changed(player: Any, tensor: Tensor, how: str, others: list[Any], span: Span | None) -> None:
    """An operator or a method changes a tensor in place."""
    for mark in _marks(player, tensor):
        own = source_of(others) is not None
        if own and how in _ADDING:
            _note(player, mark, span)
        elif own and how == "copy_":
            _follow(player, mark, others, span)
        elif not own and how in _REPLACING:
            _even(player, mark)


def stored(player: Any, base: Any, name: str, value: Any, span: Span) -> None:
    """A buffer is replaced by another tensor: by one that was made of it and of a batch, perhaps."""
    mark = player.stage.kept.get(_MARKED, {}).get(id(base), {}).get(name)
    if mark is None:
        return
    if not isinstance(value, Tensor) or value.source is None:
        _even(player, mark)
    else:
        _follow(player, mark, [value], span)


def evened(player: Any, tensor: Tensor, *, of_state: bool) -> None:
    """All processes have the same in a tensor now; ``of_state``: it was taken from a state, and may be any buffer."""
    for mark in _marks(player, tensor):
        _even(player, mark)
    if of_state:
        told(player)


def told(player: Any) -> None:
    """The program goes through buffers, or through states, by itself: it may bring them together."""
    statistics.evened(player)
    for marks in player.stage.kept.get(_MARKED, {}).values():
        for mark in marks.values():
            _even(player, mark)


def listed(player: Any, name: str) -> None:
    """``module.buffers()``, or another list of what a module has."""
    if name in ("buffers", "named_buffers"):
        told(player)


def handed(player: Any, value: Any) -> None:
    """A model goes where nobody sees what is done with its buffers."""
    marked = player.stage.kept.get(_MARKED)
    if marked and (isinstance(value, Thing) or hasattr(value, "inner")):
        for thing in things_in(value):
            for mark in marked.get(id(thing), {}).values():
                _even(player, mark)


def passed_back(player: Any, wrapper: Any, loss: Tensor, call: ir.Call, scope: Any) -> None:
    """A backward pass: gradients of different functions are averaged, where the loss was computed with buffers that differ."""
    stage = player.stage
    averaged = stage.kept.get(_AVERAGED)
    if not averaged or stage.unsure or stage.kept.get(GRADIENTS_KEPT):
        return
    for mark in [one for one in loss.through if isinstance(one, FromBuffer) and one.wrapper is wrapper]:
        value = mark.now()
        found = averaged.get((id(mark.thing), mark.name))
        if found is None or value is None or value.whole.source is None:
            continue
        for key in [key for key in averaged if key[0] == id(mark.thing)]:
            del averaged[key]
        name, span, chain = found
        event = Event("backward", call, scope.file, scope.function, {})
        event.chain = chain
        words = {"name": name, "wrapper": wrapper.span, "backward": event.span, "module": mark.thing.born}
        stage.faults.append(Fault(OWN_BUFFERS, span or event.span, event, words))


def _marks(player: Any, tensor: Tensor) -> list[FromBuffer]:
    """The buffers that a tensor is, or shares all of its memory with."""
    if not player.stage.kept.get(_MARKED):
        return []
    found = [one for one in tensor.through if isinstance(one, FromBuffer)]
    return [one for one in found if (now := one.now()) is not None and _is_all(tensor, now)]


def _is_all(tensor: Tensor, buffer: Tensor) -> bool:
    if tensor.whole is not buffer.whole:
        return False
    return (
        tensor is buffer or tensor.shape is buffer.shape or (tensor.shape is not None and tensor.shape == buffer.shape)
    )


def _note(player: Any, mark: FromBuffer, span: Span | None) -> None:
    averaged = player.stage.kept.setdefault(_AVERAGED, {})
    averaged.setdefault((id(mark.thing), mark.name), (mark.name, span, player.stage.chain))


def _follow(player: Any, mark: FromBuffer, values: list[Any], span: Span | None) -> None:
    """A buffer is set to what was made of a batch: with what it held before, or of another buffer that is averaged."""
    averaged = player.stage.kept.setdefault(_AVERAGED, {})
    made_of = [one for value in values if isinstance(value, Tensor) for one in value.through]
    if mark in made_of:
        _note(player, mark, span)
    for one in made_of:
        known = averaged.get((id(one.thing), one.name)) if isinstance(one, FromBuffer) else None
        if known is not None:
            averaged.setdefault((id(mark.thing), mark.name), known)


def _even(player: Any, mark: FromBuffer) -> None:
    player.stage.kept.setdefault(BUFFERS_EVENED, set()).add(mark.thing.born)
