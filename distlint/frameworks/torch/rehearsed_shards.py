"""Files that hold the state of an optimizer of a sharded model, in the rehearsal of a program.

Sources: torch 2.13, ``distributed/fsdp/fully_sharded_data_parallel.py``, ``optim_state_dict``: the ``state_dict()`` of the optimizer itself
has the part of its process; a run with gloo on two processes: with the file of one process all others go on with that one's moments.
"""

from __future__ import annotations

from typing import Any

from distlint.frameworks.torch.rehearsed_beside import modules_held
from distlint.frameworks.torch.rehearsed_modules import with_parts
from distlint.frameworks.torch.rehearsed_unfilled import State
from distlint.model import python as ir
from distlint.rehearsal.notes import SHARD_SAVED
from distlint.rehearsal.stage import Event, Fault
from distlint.rehearsal.unknowns import UNKNOWN
from distlint.rehearsal.values import Given, Items, Table, signature

_WRAPPERS = "wrappers that leave each process a part of the parameters"
_DEEP = 3


def wrapped(player: Any, wrapper: Any) -> None:
    """``FullyShardedDataParallel(...)``."""
    kept = player.stage.kept.setdefault(_WRAPPERS, {})
    for part in with_parts(wrapper.inner):
        kept[id(part)] = wrapper


def saved(player: Any, given: Given, call: ir.Call, scope: Any) -> None:
    """``torch.save(...)``."""
    state = _state_in(player, given.get("obj", 0, None), 0)
    if state is None or given.open or player.stage.alone:
        return
    event = Event("save", call, scope.file, scope.function, {})
    event.chain = player.stage.chain
    file = given.get("f", 1, UNKNOWN)
    words = {"taken": state.span, "file": None if file is UNKNOWN else signature(file)}
    player.stage.faults.append(Fault(SHARD_SAVED, event.span, event, words))


def _state_in(player: Any, value: Any, depth: int) -> State | None:
    """The state of an optimizer of a sharded model that is, or is in, what is saved."""
    if isinstance(value, State):
        return value if _is_of_shards(player, value) else None
    rows = value.items.values() if isinstance(value, Table) else value.items if isinstance(value, Items) else ()
    found = (_state_in(player, one, depth + 1) for one in rows or ()) if depth < _DEEP else ()
    return next((one for one in found if one is not None), None)


def _is_of_shards(player: Any, state: State) -> bool:
    """Whether the parameters are certainly those of a model of which each process holds a part."""
    wrappers = player.stage.kept.get(_WRAPPERS, {})
    held = [wrappers.get(id(one)) for one in modules_held(player, state.owner)]
    return bool(held) and all(
        one is not None
        and one.arguments is not None
        and not one.arguments.open
        and one.arguments.get("sharding_strategy", 2, None) is None
        and one.group is player.stage.everyone
        for one in held
    )
