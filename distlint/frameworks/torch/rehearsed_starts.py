"""How a rehearsed program starts its processes itself: the one whose turn it is is followed."""

from __future__ import annotations

from typing import Any

from distlint.model import python as ir
from distlint.rehearsal.stage import Left
from distlint.rehearsal.unknowns import UNKNOWN, Opaque
from distlint.rehearsal.values import Given, Tensor


def spawned(player: Any, given: Given, call: ir.Call, scope: Any) -> Any:
    """``torch.multiprocessing.spawn``: this process is one of those that it starts. Raises ``Left`` behind it."""
    stage = player.stage
    count = given.get("nprocs", 2, 1)
    items = player.items_of(given.get("args", 1, ()))
    if isinstance(count, int) and count != stage.world:
        stage.declared = count
    if not isinstance(count, int) or stage.rank < count:
        player.apply(
            given.get("fn", 0, UNKNOWN),
            Given([stage.rank, *map(_handed, items or ())], {}, is_open=items is None),
            call,
            scope,
        )
    raise Left("exit")


def _handed(value: Any) -> Any:
    """An argument for processes that are started: what one process worked out is the same for all of them."""
    if isinstance(value, Opaque) and value.source is not None:
        return Opaque(("handed on", value.source))
    if isinstance(value, Tensor) and value.source is not None:
        return Tensor(value.shape, value.dtype, value.at, ("handed on", value.source))
    return value


def process_made(player: Any, given: Given, call: ir.Call, scope: Any) -> Any:
    """``multiprocessing.Process``: the one whose turn it is is followed. Raises ``Left`` behind it."""
    stage = player.stage
    stage.started += 1
    items = player.items_of(given.get("args", 3, ()))
    if stage.started - 1 == stage.rank and items is not None:
        player.apply(given.get("target", 1, UNKNOWN), Given([_handed(item) for item in items], {}), call, scope)
        raise Left("exit")
    return UNKNOWN
