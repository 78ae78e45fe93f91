"""What libraries on top of PyTorch make of models and loaders in the rehearsal of a program, and what processes have together."""

from __future__ import annotations

from typing import Any

from distlint.frameworks.torch.rehearsed_data import Loader
from distlint.frameworks.torch.rehearsed_modules import is_module, parts_of_model
from distlint.frameworks.torch.rehearsed_optimizers import Optimizer, Scheduler
from distlint.frameworks.torch.rehearsed_wrappers import DATA_PARALLEL, Wrapped
from distlint.model.span import Span
from distlint.rehearsal.unknowns import UNKNOWN, Opaque, Source
from distlint.rehearsal.values import Given, Items, Made, Table, Tensor, Thing, combined, derived

GATHERING = ("gather", "gather_for_metrics", "all_gather")
MODEL_MAKERS = ("from_pretrained()", "from_config()")


def data_parallel(player: Any, model: Any, span: Span) -> Wrapped:
    """A model behind a wrapper that sums up gradients, as libraries make it."""
    wrapper = Wrapped(DATA_PARALLEL, None, Given([], {}), model, player.stage.everyone)
    for position, part in enumerate(parts_of_model(model)):
        part.sign, part.source = hash(("sent", span, position)), None
        part.synced = True
    return wrapper


class Dealt(Loader):
    """A loader whose batches are dealt out to the processes."""

    __slots__ = ("inner",)

    def __init__(self, inner: Loader, span: Span, why: str) -> None:
        super().__init__(inner.call, inner.arguments or Given([], {}), span)
        self.inner = inner
        self.source = Source(why, span)

    def begins(self, player: Any, span: Span) -> None:
        """Such a loader tells its sampler the epoch by itself."""

    def length(self, player: Any) -> Any:
        """As many for each process: batches are repeated where they do not come out even."""
        whole = self.inner.length(player)
        return -(-whole // player.stage.world) if isinstance(whole, int) else derived("dealt", [whole])


def prepared(player: Any, value: Any, span: Span, why: str) -> Any:
    """What a library gives back for a thing that it is to make ready: ``why`` says what a loader's batches are then."""
    if isinstance(value, Loader):
        return value if isinstance(value, Dealt) else Dealt(value, span, why)
    if isinstance(value, Optimizer | Scheduler | Wrapped):
        return value
    is_made = isinstance(value, Made) and value.name.endswith(MODEL_MAKERS)
    if is_module(player, value) or is_made or isinstance(value, Thing):
        return data_parallel(player, value, span)
    return Opaque(None) if isinstance(value, Opaque) else value


def met(player: Any, name: str, value: Any, sign: Any, span: Span, depth: int = 0) -> Any:
    """What processes have after they brought together what each of them has."""
    world = player.stage.world
    if isinstance(value, Tensor):
        shape = value.shape
        if name in GATHERING and shape is not None:
            size = world if not shape else shape[0] * world if isinstance(shape[0], int) else UNKNOWN
            shape = (size if name == "gather" else Opaque(("gathered", sign)), *shape[1:])
        if name == "pad_across_processes":
            return Tensor(None, value.dtype, span, combined("padded", [value]), value.source)
        return Tensor(shape, value.dtype, span, sign)
    if type(value) is tuple and depth < 2:
        return tuple(met(player, name, one, hash((sign, at)), span, depth + 1) for at, one in enumerate(value))
    if isinstance(value, Table) and not value.open and depth < 2:
        return Table(
            {key: met(player, name, one, hash((sign, key)), span, depth + 1) for key, one in value.items.items()}
        )
    if isinstance(value, Items) and value.items is not None and depth < 2:
        parts = [met(player, name, one, hash((sign, at)), span, depth + 1) for at, one in enumerate(value.items)]
        return Items(parts)
    return Opaque(sign)
