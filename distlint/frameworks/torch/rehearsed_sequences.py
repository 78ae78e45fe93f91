"""Models of the project that are sequences of layers: classes derived from ``torch.nn.Sequential``.

Source: torch 2.13, ``nn/modules/container.py``: the layers that the constructor is given are attributes named by their
numbers, or by the keys of a dictionary, and ``forward`` calls one after the other.
"""

from __future__ import annotations

from typing import Any

from distlint.frameworks.torch.rehearsed_modules import SEQUENCES, Layer, layer
from distlint.model import python as ir
from distlint.rehearsal.values import Given, Table, Thing

_KEPT = "sequences of layers"


def built(player: Any, thing: Thing, given: Given) -> None:
    """The constructor of the library's class is called with the layers."""
    if not player.stage.project.modules.external_bases(thing.cls) & SEQUENCES:
        return
    layers, names = list(given.positional), None
    if len(layers) == 1 and isinstance(layers[0], Table) and not layers[0].open:
        names, layers = [str(name) for name in layers[0].items], list(layers[0].items.values())
    if given.open:
        thing.open = True
        return
    call = ir.Call(ir.Constant(None, 0), (), (), 0)
    sequence = layer(player, "Sequential", Given(layers, {}), call, player.module_scope(player.stage.entry))
    sequence.names = names
    for name, one in zip(names or map(str, range(len(layers))), layers, strict=True):
        player.put(thing.attributes, name, one)
    player.stage.kept.setdefault(_KEPT, {})[id(thing)] = thing, sequence


def sequence_of(player: Any, thing: Any) -> Layer | None:
    """The layers of an object of such a class, as the library's own sequence; ``None`` for others."""
    found = player.stage.kept.get(_KEPT, {}).get(id(thing))
    return found[1] if found is not None else None
