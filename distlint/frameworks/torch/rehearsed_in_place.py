"""Which modules are sharded in place, and in which order, in the rehearsal of a program.

Sources: torch 2.13, ``distributed/fsdp/_fully_shard/_fully_shard.py``: a call shards all parameters below a module that are not
sharded yet.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from distlint.frameworks.torch import rehearsed_modules as modules
from distlint.frameworks.torch.rehearsed_outputs import IN_PLACE
from distlint.frameworks.torch.rehearsed_sharding import SHARDED
from distlint.model import python as ir
from distlint.rehearsal.stage import Event, Fault
from distlint.rehearsal.values import Items, Thing

MAX_BELOW = 400


def below(module: Any, depth: int = 0) -> Iterator[Any]:
    """A module and those in it."""
    if depth > 6:
        return
    if isinstance(module, Thing):
        yield module
        for value in list(module.attributes.values())[:MAX_BELOW]:
            yield from below(value, depth + 1)
    elif isinstance(module, modules.Layer):
        yield module
        for child in (module.children or ())[:MAX_BELOW]:
            yield from below(child, depth + 1)
    elif isinstance(module, Items):
        for value in (module.items or ())[:MAX_BELOW]:
            yield from below(value, depth + 1)


def shard(player: Any, module: Any, wrapper: Any, call: ir.Call, scope: Any) -> None:
    """``fully_shard(module)``: what is in it and not sharded yet belongs to this call."""
    stage = player.stage
    own = {id(one) for one in below(module)}
    late = None
    for part in modules.parts_of_model(module):
        if not isinstance(part, modules.Layer):
            continue
        if part.manager is None:
            part.manager = wrapper
        elif id(part.manager.inner) not in own and part.manager.call is not None and part.has_parameters:
            late = late or part.manager
    if late is not None and not stage.unsure:
        event = Event("fully_shard", call, scope.file, scope.function, {})
        event.chain = stage.chain
        stage.faults.append(Fault("sharded from outside", event.span, event, {"first": late.span}))
    stage.kept.setdefault(SHARDED, []).append(wrapper)


def opened(player: Any, module: Any) -> None:
    """The program says itself when the parameters of a module are whole: nothing is known of that from here on."""
    wrapper = player.stage.kept.get(IN_PLACE, {}).get(id(module))
    if wrapper is not None:
        wrapper.inside += 1
