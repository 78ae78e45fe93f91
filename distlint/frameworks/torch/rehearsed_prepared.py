"""What libraries on top of PyTorch make of models and loaders in the rehearsal of a program, and what processes have together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from distlint.frameworks.torch import rehearsed_beside as beside
from distlint.frameworks.torch import rehearsed_changes as changes
from distlint.frameworks.torch import rehearsed_copies as copies
from distlint.frameworks.torch import rehearsed_frozen as freezing
from distlint.frameworks.torch import rehearsed_passes as passes
from distlint.frameworks.torch import rehearsed_plain as plain
from distlint.frameworks.torch import rehearsed_thawed as thawed
from distlint.frameworks.torch import rehearsed_waits as waits
from distlint.frameworks.torch.rehearsed_communication import look
from distlint.frameworks.torch.rehearsed_data import Loader
from distlint.frameworks.torch.rehearsed_dealt import Dealing, Dealt
from distlint.frameworks.torch.rehearsed_modules import is_module, parts_of_model
from distlint.frameworks.torch.rehearsed_optimizers import Optimizer, Scheduler
from distlint.frameworks.torch.rehearsed_weights import Gradient, Weight
from distlint.frameworks.torch.rehearsed_wrappers import DATA_PARALLEL, NoSync, Wrapped, backward
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.libraries import Excusing
from distlint.rehearsal.notes import GRADIENTS_BY_HAND, ROWS, WEIGHTS_BY_HAND
from distlint.rehearsal.sums import is_extreme
from distlint.rehearsal.unknowns import UNKNOWN, Opaque
from distlint.rehearsal.values import Given, Items, Made, Table, Tensor, Thing, combined

GATHERING = ("gather", "gather_for_metrics", "all_gather")
MODEL_MAKERS = ("from_pretrained()", "from_config()")
_EVENED = Dealing()


def data_parallel(player: Any, model: Any, span: Span, given: Given | None = None, *, sharded: bool = False) -> Wrapped:
    """A model behind a wrapper that sums up gradients, as libraries make it.

    ``given`` is what they hand on to the wrapper, ``sharded`` says that each process may hold a part of the model instead.
    """
    wrapper = Wrapped(DATA_PARALLEL, None, given or Given([], {}), model, player.stage.everyone)
    wrapper.span = span
    wrapper.sharded = sharded
    wrapper.made = len(player.stage.events)
    parts = list(parts_of_model(model))
    if not sharded:
        changes.wrapped(player, wrapper)
        passes.wrapped(player, wrapper, parts)
        thawed.wrapped(player, wrapper, parts)
        copies.sent(player, parts, span)
        plain.wrapped(player, wrapper)
    copies.evened(player, parts)
    freezing.thawed(player, parts)
    for position, part in enumerate(parts):
        part.sign, part.source = hash(("sent", span, position)), None
        part.synced = True
    return wrapper


class Unsynced(Excusing):
    """A library's context in which the gradients of a model that it wrapped stay on their rank."""

    __slots__ = ("inner",)

    def __init__(self, name: str, model: Any) -> None:
        super().__init__(name)
        self.inner = NoSync(model) if isinstance(model, Wrapped) else None

    def entered(self, player: Any, span: Span) -> Any:
        """Passes meet nobody, and leave their gradients where they are."""
        if self.inner is not None:
            self.inner.entered(player, span)
        return super().entered(player, span)

    def left(self, player: Any, span: Span) -> None:
        """They do again."""
        if self.inner is not None:
            self.inner.left(player, span)
        super().left(player, span)


def passed_back(player: Any, loss: Any, call: ir.Call, scope: Any) -> None:
    """A library makes the backward pass of a loss; its description has noted that the processes meet in it."""
    if isinstance(loss, Tensor):
        backward(player, loss, call, scope, noted=True)
    else:
        kept = player.stage.kept
        kept["backward"] = kept.get("backward", 0) + 1


def gathers_gradients(player: Any, value: Any) -> None:
    """Something is brought together by a library: gradients, where it is not known to be something else."""
    values = player.items_of(value) if isinstance(value, Items | tuple) else [value]
    if any(isinstance(one, Tensor) and isinstance(one.whole, Weight) for one in values or ()):
        player.stage.kept[WEIGHTS_BY_HAND] = bool(player.stage.kept.get("backward"))
    if values is None or any(isinstance(one, Gradient) or type(one) is Opaque for one in values):
        player.stage.kept[GRADIENTS_BY_HAND] = True


def prepared(
    player: Any,
    value: Any,
    span: Span,
    why: str,
    given: Given | None = None,
    *,
    sharded: bool = False,
    dealing: Dealing = _EVENED,
) -> Any:
    """What a library gives back for a thing that it is to make ready.

    ``why`` says what a loader's batches are then, and ``dealing`` how many; ``given`` and ``sharded`` are as ``data_parallel`` has them.
    """
    if isinstance(value, Loader):
        return value if isinstance(value, Dealt) else Dealt(value, span, why, dealing)
    if isinstance(value, Optimizer | Scheduler | Wrapped):
        return value
    is_made = isinstance(value, Made) and value.name.endswith(MODEL_MAKERS)
    if is_module(player, value) or is_made or isinstance(value, Thing):
        wrapper = data_parallel(player, value, span, given, sharded=sharded)
        wrapper.prepared = True
        if not sharded:
            waits.watch(player, wrapper)
            beside.wrapped(player, wrapper)
        return wrapper
    if isinstance(value, Opaque):
        beside.unknown(player)
    return Opaque(None) if isinstance(value, Opaque) else value


def rows_seen(player: Any, value: Any, call: ir.Call) -> None:
    """Remembers how wide the rows are that processes bring together by a library, where that is each batch's own.

    How many rows there are is left out: libraries see to it that it is the same number for all.
    """
    events = player.stage.events
    if not events or events[-1].call is not call:
        return
    for tensor in _tensors_in(value):
        own = [size for size in (tensor.shape or ())[1:] if isinstance(size, Opaque) and size.source is not None]
        if own:
            # nothing tells a width that no other process can know, but that it differs is known
            wide = next((size for size in own if size.sign is None), None)
            events[-1].seen[ROWS] = {**look(tensor), "shape": (tensor.shape or ())[1:], "ragged": wide}
            return
        if tensor.shape is None and is_extreme(player.stage, tensor.ragged):
            events[-1].seen[ROWS] = look(tensor)
            return


def _tensors_in(value: Any, depth: int = 0) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif depth < 2:
        inner = value if type(value) is tuple else value.items or () if isinstance(value, Items | Table) else ()
        for one in inner.values() if isinstance(inner, dict) else inner:
            yield from _tensors_in(one, depth + 1)


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
