"""Which layers are used while a wrapped model is called, in the rehearsal of a program: what ``rehearsed_waits`` compares."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

from distlint.frameworks.torch import rehearsed_frozen as freezing
from distlint.frameworks.torch import rehearsed_reentrant as reentrant
from distlint.frameworks.torch import rehearsed_unheard as unheard
from distlint.frameworks.torch.rehearsed_recording import is_silent
from distlint.model.span import Span
from distlint.rehearsal.notes import PAST_WRAPPER
from distlint.rehearsal.unknowns import Opaque
from distlint.rehearsal.values import Tensor

WATCHED = "wrapped models whose layers are all known"
WRAPPERS = "wrapped models"
COMPUTED = "layers that computed something since the last backward pass"
_PASSES = "forward passes under way"
_BESIDES = "layers used since the last backward pass"
_OPEN = "a forward pass was made since the last backward pass"
_INNER = "modules in wrapped models, with the wrapper"
_MAX_MARKS = 100_000


class Unsummed:
    """A forward pass whose gradients stay on their rank, among the wrappers that a tensor came out of (``Tensor.through``).

    ``past`` says that it is one of the model inside, past its wrapper.
    """

    __slots__ = ("group", "past", "span", "sure", "wrapper")

    def __init__(self, wrapper: Any, span: Span, *, sure: bool, past: bool = False) -> None:
        self.wrapper = wrapper
        self.span = span
        self.sure = sure
        self.past = past
        self.group = None
        """Nobody meets here."""


class Pass:
    """A forward pass: the layers that it uses, and those that it may use; ``open`` where others may be among them.

    ``chance`` are those that it uses where something that is drawn anew, as a batch is, says so: with the places where it does, and with
    that something. ``choices`` are the layers of which it takes one, each time with those that it was not known to use; it began in
    ``loops``.

    It stands among the wrappers that a tensor came out of (``Tensor.through``); ``group`` is ``None`` because nobody meets in it.
    """

    __slots__ = ("chance", "choices", "group", "loops", "maybe", "open", "span", "used", "wrapper")

    def __init__(self, wrapper: Any, span: Span, loops: tuple[int, int]) -> None:
        self.wrapper = wrapper
        self.span = span
        self.loops = loops
        self.group = None
        self.choices: dict[frozenset[int], list[set[int]]] = {}
        self.used: dict[int, Any] = {}
        self.maybe: dict[int, Any] = {}
        self.chance: dict[int, tuple[Any, set[Any], Any]] = {}
        self.open = False


def computed(player: Any, parts: Collection[Any], span: Span | None, *, inside: bool = False) -> None:
    """Layers, or parameters, certainly compute something that has gradients; ``span`` is where that is called.

    ``inside`` says that this is somewhere in the call of the module whose own they are.
    """
    stage = player.stage
    if not inside and not is_silent(player):
        reentrant.used(player, parts)
    if stage.unsure or is_silent(player) or not stage.kept.get(WRAPPERS):
        return
    kept = stage.kept.setdefault(COMPUTED, {})
    for part in parts:
        if len(kept) < _MAX_MARKS:
            kept.setdefault(id(part), (part, span))


def begun(player: Any, wrapper: Any, span: Span) -> tuple[Any, ...]:
    """A forward pass through a wrapper begins: what its results lead back to."""
    if wrapper.paused or wrapper.stored.get("require_backward_grad_sync") is False:
        return (Unsummed(wrapper, span, sure=player.stage.unsure >= wrapper.doubt),)
    kept = player.stage.kept
    if id(wrapper) not in kept.get(WATCHED, {}):
        return (wrapper,)
    made = Pass(wrapper, span, _loops(player.stage))
    kept.setdefault(_PASSES, []).append((made, player.stage.unsure, len(player.stage.reasons)))
    kept[_OPEN] = True
    return wrapper, made


def wrapped(player: Any, wrapper: Any, parts: Iterable[Any]) -> None:
    """A model was wrapped: from here on its parts are called through the wrapper, or past it."""
    inner = player.stage.kept.setdefault(_INNER, {})
    for part in (wrapper.inner, *parts):
        if len(inner) < _MAX_MARKS:
            inner[id(part)] = (wrapper, part)


def past(player: Any, module: Any, span: Span, forward: Callable[[tuple[Any, ...]], Any]) -> Any:
    """Calls a module: what its results lead back to, where it is a part of a wrapped model, and the wrapper is not called.

    Through one that is frozen gradients only pass.
    """
    from distlint.frameworks.torch.rehearsed_modules import parts_of_model

    stage = player.stage
    wrapper, _ = stage.kept.get(_INNER, {}).get(id(module), (None, None))
    if wrapper is None or wrapper.calls or is_silent(player):
        return forward(())
    frozen = freezing.is_frozen(player, parts_of_model(module))
    stage.looked_at(PAST_WRAPPER, span, fits=frozen)
    wrapper.calls += 1
    try:
        return forward(() if frozen else (Unsummed(wrapper, span, sure=True, past=True),))
    finally:
        wrapper.calls -= 1


def ended(player: Any, through: tuple[Any, ...]) -> None:
    """It ends."""
    if len(through) > 1:
        player.stage.kept[_PASSES].pop()


def used(player: Any, parts: Iterable[Any], place: Any = None) -> None:
    """Layers are used: they may get a gradient from what is computed here; ``place`` is where they are called."""
    stage = player.stage
    if not stage.kept.get(WATCHED):
        return
    marked = {id(one): one for one in parts}
    passes = stage.kept.get(_PASSES, ())
    for made, unsure, reasons in passes:
        if stage.unsure == unsure and not is_silent(player):
            made.used.update(marked)
        elif place is not None and (drawn := _drawn_in(stage.reasons[reasons:])) is not None:
            for key, one in marked.items():
                made.chance.setdefault(key, (one, set(), drawn))[1].add((place, stage.chain))
        else:
            made.maybe.update(marked)
    besides = stage.kept.setdefault(_BESIDES, {})
    if not passes and len(besides) < _MAX_MARKS:
        besides.update(marked)


def chooses(player: Any, layers: Collection[Any]) -> bool:
    """One of some layers is chosen during a pass; whether there is one.

    As long as it is not called, the pass may use any of them.
    """
    parts = _parts(layers)
    under_way = player.stage.kept.get(_PASSES, ())
    for made, _, _ in under_way:
        made.choices.setdefault(frozenset(map(id, layers)), []).append(parts.keys() - made.maybe.keys())
        made.maybe.update(parts)
    return bool(under_way)


def names_one(player: Any, layers: Collection[Any]) -> None:
    """A pass takes one of some layers by a name that is known: where it chooses one besides, those may be the ones that this leaves."""
    for made, _, _ in player.stage.kept.get(_PASSES, ()):
        key = frozenset(map(id, layers))
        if key in made.choices:
            made.maybe.update(_parts(layers))
        made.choices.setdefault(key, []).append(set())


def _loops(stage: Any) -> tuple[int, int]:
    """Loops and comprehensions around of which one turn stands for others."""
    return len(stage.loops), stage.repeating


def _parts(layers: Collection[Any]) -> dict[int, Any]:
    from distlint.frameworks.torch.rehearsed_modules import parts_of_model

    return {id(part): part for layer in layers for part in (layer, *parts_of_model(layer))}


def is_only_choice(player: Any, layers: Collection[Any]) -> bool:
    """Whether the passes under way choose among some layers once, and in no loop of their own: what is chosen then is called."""
    key = frozenset(map(id, layers))
    under_way = [made for made, _, _ in player.stage.kept.get(_PASSES, ())]
    if any(len(made.choices.get(key, ())) != 1 or _loops(player.stage) != made.loops for made in under_way):
        return False
    for made in under_way:
        for part in made.choices[key][0]:
            made.maybe.pop(part, None)
    return True


def _drawn_in(tests: Iterable[Any]) -> Any:
    """The first of some tests that something decides which is drawn anew each time."""
    return next((one for one in tests if isinstance(one, Opaque | Tensor) and one.chance), None)


def read(player: Any, parts: Collection[Any]) -> None:
    """Parameters are read: between a forward and a backward pass that may be for the loss."""
    unheard.read(player, parts)
    if player.stage.kept.get(_OPEN):
        used(player, parts)


def opened(player: Any) -> None:
    """Something is called that nobody sees, and that may be any layer."""
    for made, _, _ in player.stage.kept.get(_PASSES, ()):
        made.open = True


def taken(player: Any) -> dict[int, Any]:
    """A backward pass is made: the layers that were used besides forward passes since the last one."""
    player.stage.kept[_OPEN] = False
    found: dict[int, Any] = player.stage.kept.pop(_BESIDES, {})
    return found
