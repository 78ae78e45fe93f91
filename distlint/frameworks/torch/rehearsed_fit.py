"""Which batches Lightning's trainer gives each process to train with, and how many, in the rehearsal of a program.

Sources: lightning 2.6, ``pytorch/loops/fit_loop.py`` (``setup_data``: each process goes through as many batches as its own loader has),
``pytorch/trainer/connectors/data_connector.py`` (``_requires_distributed_sampler``), ``pytorch/loops/optimization/automatic.py``.
"""

from __future__ import annotations

from typing import Any

from distlint.frameworks.torch import rehearsed_some_ways as some_ways
from distlint.frameworks.torch.rehearsed_data import Loader, Sampler
from distlint.frameworks.torch.rehearsed_metrics import SINGLE
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.libraries import Arguments
from distlint.rehearsal.stage import Event
from distlint.rehearsal.unknowns import Opaque, Source
from distlint.rehearsal.values import Items, Made, Thing, derived

BATCH = "the batch that each rank gets"
_LIMITS = {"max_steps": -1, "limit_train_batches": 1.0, "overfit_batches": 0.0, "fast_dev_run": False, "max_time": None}
"""Arguments that let a trainer leave the loop before all batches of an epoch were gone through, with what they are if left out."""
_OWN_LOOPS = ("plugins", "reload_dataloaders_every_n_epochs")
_SWITCHES = ("use_distributed_sampler", "replace_sampler_ddp")
_PARALLEL = ("auto", "ddp", "fsdp", "deepspeed")
_MANUAL = "automatic_optimization"


class Batches:
    """A batch of those that the trainer gets from a loader, how many there are (``count``), and the call that makes the loader."""

    __slots__ = ("batch", "call", "count", "span")

    def __init__(self, batch: Any, count: Any, span: Span, call: ir.Call | None) -> None:
        self.batch = batch
        self.count = count
        self.span = span
        self.call = call


def batches_of(player: Any, trainer: Made, loader: Any, span: Span) -> Batches:
    """What a trainer makes of a loader that is handed to it at ``span``."""
    loader = loader.items[0] if isinstance(loader, Items) and loader.items else loader
    if not isinstance(loader, Loader):
        return Batches(Opaque(None, Source(BATCH, span)), _as_many(span), span, None)
    count = _count(player, trainer, loader)
    loader.source = loader.source or Source(BATCH, span)
    return Batches(loader.item(player), count, loader.span, loader.call)


def step_ended(player: Any, module: Thing, loss: Any, batches: Batches, call: ir.Call, scope: Any) -> None:
    """The backward pass behind a training step, in which all processes meet: the trainer makes it, unless it is told not to.

    Where a test chose a number instead of what the module worked out, they meet on the other way only.
    """
    stage = player.stage
    if loss is None or stage.kept.get(SINGLE) or module.attributes.get(_MANUAL, True) is not True:
        return

    def noted() -> None:
        at, file, function = call, scope.file, scope.function
        if batches.call is not None:
            at, file, function = batches.call, batches.span.file, -1
        event = Event("backward", at, file, function, Arguments())
        event.group = stage.everyone
        event.seen["what"] = "backward"
        stage.record(event)

    mark = some_ways.mark_of(player, loss)
    if mark is None:
        noted()
    else:
        some_ways.met(player, mark, noted)


def _as_many(span: Span) -> Opaque:
    """A number of batches that nothing shows to be another one on each process."""
    return Opaque(("batches of the trainer", span))


def _count(player: Any, trainer: Made, loader: Loader) -> Any:
    """How many batches a process goes through in an epoch; taken to be the same everywhere where something else may end it."""
    given = trainer.arguments
    if given is None or given.open or any(given.get(name, None, None) is not None for name in _OWN_LOOPS):
        return _as_many(loader.span)
    if any(given.get(name, None, usual) not in (usual, None) for name, usual in _LIMITS.items()):
        return _as_many(loader.span)
    strategy = given.get("strategy", None, "auto")
    if not (isinstance(strategy, Made) or (isinstance(strategy, str) and strategy.startswith(_PARALLEL))):
        return _as_many(loader.span)
    switches = [given.get(name, None, True) for name in _SWITCHES]
    if not all(isinstance(one, bool) for one in switches):
        return _as_many(loader.span)
    if all(switches) and not _is_parted(loader) and not loader.is_stream(player):
        rows = loader.rows(player)
        world = player.stage.world
        loader.deal(-(-rows // world) if isinstance(rows, int) else derived("share", [rows, world]))
    return loader.length(player)


def _is_parted(loader: Loader) -> bool:
    return isinstance(loader.sampler, Sampler) and "DistributedSampler" in loader.sampler.name
