"""Checkpoints of several processes in the rehearsal of a program: where they are, what is loaded, and who holds a state.

Sources: torch 2.13, ``distributed/checkpoint/state_dict_loader.py`` (``load``: tensors are filled in place, other values are put into
the dictionary), ``filesystem.py`` (the metadata is written by one process), ``state_dict.py`` (``_verify_state_dict``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from distlint.frameworks.torch import rehearsed_saves as saves
from distlint.frameworks.torch import rehearsed_unfilled as unfilled
from distlint.model import python as ir
from distlint.rehearsal.libraries import together
from distlint.rehearsal.notes import FOLDER_DRAWN
from distlint.rehearsal.stage import Event, Fault
from distlint.rehearsal.unknowns import UNKNOWN, Opaque
from distlint.rehearsal.values import Given, Made, Table, signature, source_of

_PREFIX = "torch.distributed.checkpoint."
_FUNCTIONS = ("save", "async_save", "load", "save_state_dict", "load_state_dict")
_WRITERS = ("storage_writer", "storage_reader")
NOT_SENT = "state of one process"
"""Fault: one process alone holds a state that is to be loaded, and it is not sent to the others."""


def met(player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
    """Processes save or load together: notes in which folder, and what is loaded. ``name`` is the function's dotted name.

    What the function gives, if that is all that it does with what it is given; otherwise ``NotImplemented``.
    """
    last = name.removeprefix(_PREFIX).rpartition(".")[2]
    if not name.startswith(_PREFIX) or last not in _FUNCTIONS:
        return NotImplemented
    stage = player.stage
    event = next((one for one in reversed(stage.events[-2:]) if one.call is call), None)
    if event is not None:
        folder = _folder(last, given)
        source = source_of([folder])
        # a clock may show all processes the same, and a host may be the same; what each draws for itself is another on each
        if folder is not UNKNOWN and (source is None or source.drawn):
            event.seen["folder"], event.seen[FOLDER_DRAWN] = signature(folder), source
    state = given.get("state_dict", 0, UNKNOWN)
    if last.startswith("load") and isinstance(state, Table) and given.get("planner", None, None) is None:
        _loaded(player, state, event, call, scope)
        unfilled.filled(player, state, call, scope, objects=last == "load")
        saves.loaded(player, event, call, scope)
        return None
    if last == "async_save":
        return saves.begun(player, event, call, scope)
    if last.startswith("save"):
        saves.saved(player, call, scope)
    return NotImplemented


def _folder(last: str, given: Given) -> Any:
    """Where a checkpoint is: given by itself, or to what reads or writes."""
    found = given.get("checkpoint_id", None, None) if not last.endswith("state_dict") else None
    for name in _WRITERS:
        through = given.get(name, 1 if last.endswith("state_dict") else None, None)
        if isinstance(through, Made) and through.arguments is not None and found is None:
            found = through.arguments.get("path", 0, UNKNOWN)
    return UNKNOWN if found is None else found


def _loaded(player: Any, state: Table, event: Event | None, call: ir.Call, scope: Any) -> None:
    """Numbers of a state come from the checkpoint now, and are nowhere but in the dictionary."""
    stage = player.stage
    sign = together(player, call, scope)
    numbers = []
    for table in _tables(state, 0):
        for key, value in list(table.items.items()):
            if isinstance(value, int | float) and not isinstance(value, bool):
                numbers.append((table, key))
                player.put(table.items, key, Opaque(hash((sign, key)) if sign is not None else None))
    if event is not None and numbers:
        for table, key in numbers:
            table.unread = {*(table.unread or ()), key}
        stage.watched.append((event, numbers, stage.kept.get("backward", 0)))


def _tables(state: Table, depth: int) -> Iterator[Table]:
    yield state
    for value in state.items.values():
        if isinstance(value, Table) and depth < 3:
            yield from _tables(value, depth + 1)


def set_state(player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> None:
    """A state is loaded into a model that may be sharded: each process needs one, unless that of rank 0 is sent."""
    options = given.get("options", None, None)
    flags = options.arguments if isinstance(options, Made) else None
    if player.stage.unsure or given.open or (options is not None and flags is None):
        return
    if flags is not None:
        if (
            flags.open
            or flags.get("broadcast_from_rank0", 5, False) is not False
            or flags.get("strict", 4, True) is not True
        ):
            return
    if name == "set_optimizer_state_dict":
        state = given.get("optim_state_dict", 2, UNKNOWN)
    else:
        state = given.get("model_state_dict", 1 if name == "set_model_state_dict" else None, UNKNOWN)
    if state is None or (isinstance(state, Table) and not state.items and not state.open):
        event = Event(name, call, scope.file, scope.function, {})
        event.chain = player.stage.chain
        player.stage.faults.append(Fault(NOT_SENT, event.span, event, {}))
