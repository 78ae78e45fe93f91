"""What the wrapper of a model waits for in backward passes, in the rehearsal of a program, and what never comes.

Sources: torch 2.13, ``csrc/distributed/c10d/reducer.cpp``: a backward pass leaves the reduction open where parameters that it waits for
get no gradient, and the next forward pass raises (``ensure_prior_reduction_finished``); with a static graph the parameters that get
one must be those of the first backward pass.
"""

from __future__ import annotations

from typing import Any

from distlint.frameworks.torch import rehearsed_loads as loads
from distlint.frameworks.torch import rehearsed_passes as passes
from distlint.frameworks.torch import rehearsed_unheard as unheard
from distlint.frameworks.torch.rehearsed_layers import parameter_shapes
from distlint.frameworks.torch.rehearsed_members import members
from distlint.frameworks.torch.rehearsed_modules import Layer, Parameters, is_module, parts_of_model
from distlint.frameworks.torch.rehearsed_needs import FROZEN
from distlint.frameworks.torch.rehearsed_passes import WATCHED, Pass
from distlint.frameworks.torch.rehearsed_weights import Weight
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.entities import MethodOf
from distlint.rehearsal.libraries import GRADIENTS_KEPT
from distlint.rehearsal.notes import GRAPH_CHANGED, LEFT_OUT
from distlint.rehearsal.stage import Event, Fault
from distlint.rehearsal.unknowns import Opaque
from distlint.rehearsal.values import Items, Table, Tensor, Thing


class Watched:
    """What a wrapper waits for: the layers with parameters by their names."""

    __slots__ = ("first", "layers", "missed", "static", "wrapper")

    def __init__(self, wrapper: Any, layers: list[tuple[str, Layer]], *, static: bool) -> None:
        self.wrapper = wrapper
        self.layers = layers
        self.static = static
        self.missed: tuple[Any, ...] | None = None
        """The backward pass that left the reduction open."""
        self.first: tuple[frozenset[int], Span] | None = None
        """The layers that the first backward pass reached, and where it stands."""


def watch(player: Any, wrapper: Any) -> bool:
    """Remembers which parameters a wrapper waits for; whether these are known."""
    given = wrapper.arguments
    if given is None or given.open or given.get("find_unused_parameters", None, False) is not False:
        return False
    static = given.get("static_graph", None, False)
    named = members(wrapper.inner, "", deep=True)
    if named is None or not isinstance(static, bool):
        return False
    frozen = player.stage.kept.get(FROZEN, {})
    layers = [(name, one) for name, one in named if isinstance(one, Layer) and id(one) not in frozen and _trained(one)]
    if layers:
        player.stage.kept.setdefault(WATCHED, {})[id(wrapper)] = Watched(wrapper, layers, static=static)
        player.stage.looks_at(LEFT_OUT, wrapper.span)
    return bool(layers)


def _trained(layer: Layer) -> bool:
    """Whether a layer certainly has parameters of its own that nobody else has."""
    if layer.stored or layer.arguments is None:
        return False
    known = parameter_shapes(layer.kind, layer.arguments)
    if known is not None:
        return bool(known)
    return layer.kind.startswith(("LSTM", "GRU", "Bilinear", "MultiheadAttention", "ConvTranspose"))


def handed(player: Any, values: Any, depth: int = 0) -> None:
    """Values go where nobody sees what is done with them: modules among them may be called there."""
    for value in values:
        if _has_weights(player, value):
            loads.handed(player)
        if isinstance(value, Layer | Thing | Weight) or hasattr(value, "inner"):
            parts = [value, *parts_of_model(value)]
            unheard.read(player, parts)
            passes.used(player, parts)
        elif depth < 2 and isinstance(value, Items | Table | tuple):
            rows = value.items if isinstance(value, Items | Table) else value
            handed(player, rows.values() if isinstance(rows, dict) else rows or (), depth + 1)


def unfollowed(player: Any, items: Any) -> None:
    """A loop goes through more modules than are followed: the others are called, or not, as those are."""
    for value in items:
        if isinstance(value, Layer | Thing) or hasattr(value, "inner"):
            passes.used(player, [value, *parts_of_model(value)])
        elif isinstance(value, Items | tuple):
            rows = value.items if isinstance(value, Items) else value
            passes.used(player, [part for row in rows or () for part in (row, *parts_of_model(row))])


def _has_weights(player: Any, value: Any) -> bool:
    if isinstance(value, Tensor):
        return isinstance(value.whole, Weight)
    is_thing = isinstance(value, Thing) and is_module(player, value)
    return is_thing or isinstance(value, Layer | Parameters) or hasattr(value, "inner")


def missed(player: Any, callee: Any) -> None:
    """Something is called that nobody sees: where it may be a module, it may be any."""
    if isinstance(callee, MethodOf):
        if isinstance(callee.receiver, Opaque) and callee.name not in ("forward", "__call__"):
            return
        handed(player, [callee.receiver])
        if not isinstance(callee.receiver, Opaque | Thing):
            return
    passes.opened(player)


def reached(player: Any, loss: Any, call: ir.Call, scope: Any) -> None:
    """A backward pass: what the wrappers wait for comes, or does not."""
    stage = player.stage
    besides = passes.taken(player)
    made = [one for one in loss.through if isinstance(one, Pass)]
    if stage.kept.get(GRADIENTS_KEPT):
        return
    for wrapper in {id(one.wrapper): one.wrapper for one in made}.values():
        watched: Watched | None = stage.kept.get(WATCHED, {}).get(id(wrapper))
        if watched is None or wrapper.paused or wrapper not in loss.through:
            continue
        own = [one for one in made if one.wrapper is wrapper]
        if any(one.open for one in own):
            watched.missed = None
            stage.looked_at(LEFT_OUT, wrapper.span, fits=False)
            continue
        _judge(player, watched, own, besides, call, scope)


def _judge(player: Any, watched: Watched, made: list[Pass], besides: dict[int, Any], call: ir.Call, scope: Any) -> None:
    stage = player.stage
    frozen = stage.kept.get(FROZEN, {})
    layers = [(name, id(one)) for name, one in watched.layers if id(one) not in frozen]
    sure = {key for one in made for key in one.used}
    maybe = {key for one in made for key in one.maybe}
    chance = {key for one in made for key in one.chance}
    missing = [(name, key) for name, key in layers if key not in sure and key not in besides]
    doubtful = any(key in maybe or key in chance for _, key in missing) or (bool(missing) and stage.unsure > 0)
    stage.looked_at(LEFT_OUT, watched.wrapper.span, fits=not doubtful)
    if stage.unsure:
        watched.missed = None
        return
    span = ir.unpack(call.at, scope.file)
    if watched.static:
        reached = frozenset(key for _, key in layers if key in sure or key in besides)
        if any(key in maybe or key in chance for _, key in missing):
            watched.first = None
        elif watched.first is None:
            watched.first = reached, span
        elif watched.first[0] != reached:
            other = [name for name, key in layers if (key in reached) is not (key in watched.first[0])]
            _fault(player, GRAPH_CHANGED, watched, made[-1], other, watched.first[1], call, scope)
            watched.first = None
        return
    if watched.missed is not None:
        first, names, before = watched.missed
        watched.missed = None
        _fault(player, LEFT_OUT, watched, first, names, before, call, scope)
        return
    often = {key for one in made for key, (_, places, _) in one.chance.items() if len(places) > 1 or len(made) > 1}
    missing = [(name, key) for name, key in missing if key not in maybe]
    names = [name for name, key in missing if key not in chance] or [name for name, key in missing if key not in often]
    if not names:
        return
    if stage.repeating:
        _fault(player, LEFT_OUT, watched, made[-1], names, span, call, scope)
    else:
        watched.missed = made[-1], names, span


def _fault(
    player: Any, kind: str, watched: Watched, one: Pass, names: list[str], first: Span, call: ir.Call, scope: Any
) -> None:
    player.stage.looked_at(LEFT_OUT, watched.wrapper.span, fits=False)
    event = Event("backward", call, scope.file, scope.function, {})
    event.chain = player.stage.chain
    layer = dict(watched.layers)[names[0]]
    drawn = one.chance[id(layer)][2] if id(layer) in one.chance else None
    made = ir.unpack(layer.call.at, layer.file) if layer.call is not None and layer.file else None
    words = {
        "names": names,
        "chance": drawn is not None,
        "batches": drawn is not None and drawn.source is not None and not drawn.source.drawn,
        "made": made,
        "forward": one.span,
        "first": first,
        "wrapper": watched.wrapper.span,
        "prepared": watched.wrapper.prepared,
    }
    player.stage.faults.append(Fault(kind, made or one.span, event, words))
