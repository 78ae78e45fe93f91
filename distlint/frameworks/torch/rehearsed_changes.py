"""What is put into a model after it was wrapped, in the rehearsal of a program.

Sources: torch 2.13, ``nn/parallel/distributed.py``: the reducer is built of the parameters that the module has when it is wrapped.
"""

from __future__ import annotations

from typing import Any

from distlint.frameworks.torch import rehearsed_recording as recording
from distlint.frameworks.torch import rehearsed_scaling as scaling
from distlint.frameworks.torch import rehearsed_stale as stale
from distlint.frameworks.torch import rehearsed_written as writing
from distlint.frameworks.torch.rehearsed_in_place import below
from distlint.frameworks.torch.rehearsed_modules import Layer, frozen, parts_of_model, trained
from distlint.frameworks.torch.rehearsed_needs import FROZEN
from distlint.frameworks.torch.rehearsed_weights import Weight
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.stage import Event, Fault
from distlint.rehearsal.unknowns import Opaque
from distlint.rehearsal.values import Made, Tensor, Thing

_STORED = "modules by the place where they were put into others"
_KNOWN = "modules of models when these were wrapped"
MAX_STORED = 2_000


def stored(player: Any, base: Any, name: str, value: Any, span: Span) -> None:
    """A value becomes an attribute of an object: a module of another, or what is said of a parameter."""
    kept = player.stage.kept.setdefault(_STORED, {})
    if isinstance(base, Tensor) and not isinstance(base, Weight) and name in ("requires_grad", "grad"):
        recording.said(base, value if name == "requires_grad" else None)
    if name == "param_groups" and isinstance(base, Made):
        stale.refilled(player, base)
    if isinstance(base, Weight) and name == "requires_grad":
        trained(player, base, value, span)
    elif isinstance(base, Weight) and (value is False or type(value) is Opaque):
        frozen(player, base)  # it may be left out of the training by another name
    if isinstance(base, Weight) and isinstance(value, Tensor):
        scaling.plain(player)  # its gradient, perhaps
        if name == "data":
            writing.written(player.stage)
    if isinstance(value, Weight) and value.owners:
        frozen(player, value)  # another layer has it as well: its gradient may come from there
    if (
        isinstance(base, Thing)
        and isinstance(value, Thing | Layer)
        and len(kept) < MAX_STORED
        and not player.stage.unsure
    ):
        kept[id(value)] = (value, span, player.stage.chain)
        stale.put_in(player, base, name, value, span)


def wrapped(player: Any, wrapper: Any) -> None:
    """Remembers what a model consists of when it is wrapped."""
    held = [*below(wrapper.inner), *parts_of_model(wrapper.inner)]
    player.stage.kept.setdefault(_KNOWN, {})[id(wrapper)] = (wrapper, {id(one) for one in held}, held)


def passed_back(player: Any, wrapper: Any, call: ir.Call, scope: Any) -> None:
    """A backward pass through a wrapper: modules with parameters that it does not know are trained by each process for itself."""
    stage = player.stage
    known = stage.kept.get(_KNOWN, {}).get(id(wrapper))
    if known is None or stage.unsure:
        return
    for module in below(wrapper.inner):
        place = stage.kept.get(_STORED, {}).get(id(module))
        if id(module) in known[1] or place is None:
            continue
        still = stage.kept.get(FROZEN, {})
        parts = [one for one in parts_of_model(module) if id(one) not in known[1] and id(one) not in still]
        if any(isinstance(one, Weight) or one.has_parameters for one in parts):
            event = Event("backward", call, scope.file, scope.function, {})
            event.chain = place[2]
            stage.faults.append(Fault("module put in late", place[1], event, {"backward": event.span}))
            return
