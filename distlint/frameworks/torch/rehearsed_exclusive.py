"""Options of a loader that exclude each other, in the rehearsal of a program.

Source: torch 2.13, ``utils/data/dataloader.py``: the tests at the start of ``DataLoader.__init__``, in their order.
"""

from __future__ import annotations

from typing import Any

from distlint.model import python as ir
from distlint.rehearsal.notes import EXCLUSIVE
from distlint.rehearsal.stage import Event, Fault
from distlint.rehearsal.values import Given, Items, Made, Thing

_OBJECTS = (Made, Thing, Items, list, tuple, range)


def tested(player: Any, given: Given, call: ir.Call, scope: Any) -> None:
    """A loader is made: it refuses certain options together. Nothing is said where an exception is waited for."""
    stage = player.stage
    if stage.alone or any(stage.attempts) or given.open:
        return
    first, second = _refused(stage, given)
    if first:
        event = Event("DataLoader", call, scope.file, scope.function, {})
        event.chain = stage.chain
        stage.faults.append(Fault(EXCLUSIVE, event.span, event, {"first": first, "second": second}))


def _refused(stage: Any, given: Given) -> tuple[str, str]:
    """Two options that exclude each other; empty words where there are none for certain."""
    shuffles = given.get("shuffle", 2, None) is True
    has_sampler = isinstance(given.get("sampler", 3, None), _OBJECTS)
    has_batches = isinstance(given.get("batch_sampler", 4, None), _OBJECTS)
    drops = given.get("drop_last", 8, False) is True
    named: tuple[tuple[str, bool], ...]
    if is_stream(stage, given.get("dataset", 0, None)):
        named = (("`shuffle=True`", shuffles), ("`sampler`", has_sampler), ("`batch_sampler`", has_batches))
        second = next((name for name, is_given in named if is_given), "")
        return ("an `IterableDataset`", second) if second else ("", "")
    if has_sampler and shuffles:
        return "`sampler`", "`shuffle=True`"
    if has_batches:
        size = given.get("batch_size", 1, 1)
        has_size = size is None or (isinstance(size, int) and size != 1)
        named = (
            ("`batch_size`", has_size),
            ("`shuffle=True`", shuffles),
            ("`sampler`", has_sampler),
            ("`drop_last=True`", drops),
        )
        second = next((name for name, is_given in named if is_given), "")
        return ("`batch_sampler`", second) if second else ("", "")
    return ("`batch_size=None`", "`drop_last=True`") if drops and given.get("batch_size", 1, 1) is None else ("", "")


def is_stream(stage: Any, dataset: Any) -> bool:
    """Whether a data set is one of the program's own that gives its rows in turn."""
    if not isinstance(dataset, Thing):
        return False
    return any(name.endswith("IterableDataset") for name in stage.project.modules.external_bases(dataset.cls))
