"""What Accelerate and the Trainer do in the rehearsal of a program.

Sources: accelerate 1.15.0, ``accelerator.py``, ``data_loader.py``, ``utils/operations.py``; transformers 5.23.0, ``trainer.py``.
"""

from __future__ import annotations

from typing import Any

from distlint.frameworks.huggingface.rehearsed_trainer import TRAINERS, Trainer, trained
from distlint.frameworks.torch.rehearsed_data import Loader
from distlint.frameworks.torch.rehearsed_modules import is_module, parts_of_model
from distlint.frameworks.torch.rehearsed_optimizers import Optimizer, Scheduler
from distlint.frameworks.torch.rehearsed_wrappers import DATA_PARALLEL, Wrapped
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.libraries import GRADIENTS_KEPT, together
from distlint.rehearsal.models import Models
from distlint.rehearsal.randomness import seeded
from distlint.rehearsal.values import (
    UNKNOWN,
    Given,
    Items,
    Made,
    Opaque,
    Source,
    Table,
    Tensor,
    Thing,
    combined,
    derived,
)

_DEALT = "the batches that `prepare` gives each rank"
_SPLIT = "the part that each rank gets"
_GATHERING = ("gather", "gather_for_metrics")
_MODEL_MAKERS = ("from_pretrained()", "from_config()")
_SEEDS = ("accelerate.utils.set_seed",)


class Accelerator(Made):
    """``accelerate.Accelerator()``, or a state that knows the place of the process."""

    __slots__ = ()

    def attribute(self, player: Any, name: str, expr: ir.Expr, scope: Any) -> Any:
        """What is the same on all processes at any time."""
        if name in (
            "sync_gradients",
            "gradient_accumulation_steps",
            "mixed_precision",
            "distributed_type",
            "optimizer_step_was_skipped",
        ):
            return Opaque(("accelerator", name, player.stage.kept.get("backward", 0)))
        return NotImplemented

    def method(self, player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
        """What the object does."""
        span = ir.unpack(call.at, scope.file)
        first = given.positional[0] if given.positional else next(iter(given.keywords.values()), UNKNOWN)
        if name.startswith("prepare"):
            found = [prepared(player, value, call, given, span) for value in given.positional]
            return UNKNOWN if given.open else found[0] if len(found) == 1 else tuple(found)
        if name == "backward":
            kept = player.stage.kept
            kept["backward"] = kept.get("backward", 0) + 1
            return None
        if name in _GATHERING or name in ("reduce", "pad_across_processes"):
            return met(player, name, first, together(player, call, scope), span)
        if name == "no_sync":
            return Kept("no_sync()")
        if name == "unwrap_model":
            return first.inner if isinstance(first, Wrapped) else first
        if name == "clip_grad_norm_":
            return Tensor((), "float32", span, hash(("norm", player.stage.kept.get("backward"))))
        if name == "split_between_processes":
            return Split(first, span)
        if name == "check_trigger":
            return Opaque(together(player, call, scope))
        if name in ("accumulate", "autocast", "join_uneven_inputs", "profile"):
            return Made(f"accelerate.{name}()", call, given)
        return (
            None
            if name in ("print", "log", "wait_for_everyone", "set_trigger", "free_memory", "end_training")
            else NotImplemented
        )


class Kept(Made):
    """A context in which gradients are kept, not summed up."""

    __slots__ = ()

    def entered(self, player: Any, span: Span) -> Any:
        """Backward passes meet nobody."""
        kept = player.stage.kept
        kept[GRADIENTS_KEPT] = kept.get(GRADIENTS_KEPT, 0) + 1
        return UNKNOWN

    def left(self, player: Any, span: Span) -> None:
        """They do again."""
        player.stage.kept[GRADIENTS_KEPT] -= 1


class Split(Made):
    """``split_between_processes``: a context that gives each process its part."""

    __slots__ = ("span", "whole")

    def __init__(self, whole: Any, span: Span) -> None:
        super().__init__("split_between_processes()")
        self.whole = whole
        self.span = span

    def entered(self, player: Any, span: Span) -> Any:
        """The part: the first processes get one more where the parts are not even."""
        items = player.items_of(self.whole) if isinstance(self.whole, Items | tuple) else None
        stage = player.stage
        if items is None:
            return Opaque(combined("split", [self.whole, stage.rank]), Source(_SPLIT, self.span))
        size, more = divmod(len(items), stage.world)
        start = stage.rank * size + min(stage.rank, more)
        return Items(items[start : start + size + (1 if stage.rank < more else 0)])


class Dealt(Loader):
    """A loader whose batches are dealt out to the processes."""

    __slots__ = ("inner",)

    def __init__(self, inner: Loader, span: Span) -> None:
        super().__init__(inner.call or _no_call(), inner.arguments or Given([], {}), span)
        self.inner = inner
        self.source = Source(_DEALT, span)

    def length(self, player: Any) -> Any:
        """As many for each process: batches are repeated where they do not come out even."""
        whole = self.inner.length(player)
        return -(-whole // player.stage.world) if isinstance(whole, int) else derived("dealt", [whole])


def _no_call() -> Any:
    return None


def prepared(player: Any, value: Any, call: ir.Call, given: Given, span: Span) -> Any:
    """What ``prepare`` gives back for one of the things that it is given."""
    if isinstance(value, Loader):
        return value if isinstance(value, Dealt) else Dealt(value, span)
    if isinstance(value, Optimizer | Scheduler | Wrapped):
        return value
    is_made = isinstance(value, Made) and value.name.endswith(_MODEL_MAKERS)
    if is_module(player, value) or is_made or isinstance(value, Thing):
        wrapper = Wrapped(DATA_PARALLEL, None, Given([], {}), value, player.stage.everyone)
        for position, part in enumerate(parts_of_model(value)):
            part.sign, part.source = hash(("sent", span, position)), None
            part.synced = True
        return wrapper
    return Opaque(None) if isinstance(value, Opaque) else value


def met(player: Any, name: str, value: Any, sign: Any, span: Span, depth: int = 0) -> Any:
    """What processes have after they brought together what each of them has."""
    world = player.stage.world
    if isinstance(value, Tensor):
        shape = value.shape
        if name in _GATHERING and shape is not None:
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


class HuggingFace(Models):
    """The functions of Accelerate and Transformers."""

    def owns(self, name: str) -> bool:
        """Seeds that may be each process' own."""
        return name in _SEEDS

    def call(self, player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
        """What a function or class gives."""
        last = name.rpartition(".")[2]
        span = ir.unpack(call.at, scope.file)
        if name in _SEEDS:
            return _seed(player, given, call, scope)
        if name.startswith("accelerate.") and last in ("Accelerator", "PartialState", "AcceleratorState"):
            player.stage.initialized = True
            return Accelerator(f"{name}()", call, given)
        if name.startswith("accelerate.utils.") and last in (
            *_GATHERING,
            "reduce",
            "broadcast",
            "pad_across_processes",
        ):
            value = given.positional[0] if given.positional else UNKNOWN
            return met(player, last, value, together(player, call, scope), span)
        return Trainer(f"{name}()", call, given) if name in TRAINERS else NotImplemented

    def method(self, player: Any, receiver: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
        """What a method gives: parts of data sets, and trainers of the project's own."""
        if isinstance(receiver, Made | Opaque) and name == "shard" and "num_shards" in given.keywords:
            return Opaque(combined(name, [receiver, *given.values()]), Source(_SPLIT, ir.unpack(call.at, scope.file)))
        if isinstance(receiver, Thing) and name in ("train", "evaluate", "predict"):
            bases = player.stage.project.modules.external_bases(receiver.cls)
            if bases & TRAINERS:
                return trained(player, receiver.attributes, receiver, name, call, scope)
        return NotImplemented


def _seed(player: Any, given: Given, call: ir.Call, scope: Any) -> Any:
    stage = player.stage
    seed = seeded(player, given.get("seed", 0, UNKNOWN), call, scope)
    if given.get("device_specific", 1, False) is True:
        seed = Opaque(("seed", stage.rank, seed), Source("each rank's own seed", ir.unpack(call.at, scope.file)))
    stage.seed, stage.random = seed, 0
    for generator in ("numpy", "python"):
        stage.kept[f"seed of {generator}"] = [seed, 0]
    return UNKNOWN


MODELS = HuggingFace()
