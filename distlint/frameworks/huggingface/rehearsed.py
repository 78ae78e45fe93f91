"""What Accelerate and the Trainer do in the rehearsal of a program.

Sources: accelerate 1.15.0, ``accelerator.py``, ``data_loader.py``, ``utils/operations.py``; transformers 5.23.0, ``trainer.py``.
"""

from __future__ import annotations

from typing import Any

from distlint.frameworks.huggingface import rehearsed_models as models
from distlint.frameworks.huggingface.dealing import Joining, dealing_of
from distlint.frameworks.huggingface.parted_models import may_part
from distlint.frameworks.huggingface.rehearsed_arguments import CLASSES, is_of_arguments, made, parsed
from distlint.frameworks.huggingface.rehearsed_callbacks import Control, added
from distlint.frameworks.huggingface.rehearsed_evaluation import TAKEN, own_method
from distlint.frameworks.huggingface.rehearsed_trainer import TRAINERS, Trainer, trained
from distlint.frameworks.torch.rehearsed_beside import unknown as wraps_unknown
from distlint.frameworks.torch.rehearsed_outputs import note
from distlint.frameworks.torch.rehearsed_prepared import (
    GATHERING,
    Unsynced,
    gathers_gradients,
    met,
    passed_back,
    prepared,
    rows_seen,
)
from distlint.frameworks.torch.rehearsed_wrappers import Wrapped
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.libraries import together
from distlint.rehearsal.models import Models
from distlint.rehearsal.randomness import seeded
from distlint.rehearsal.unknowns import UNKNOWN, Opaque, Source
from distlint.rehearsal.values import Given, Items, Made, Tensor, Thing, combined

_DEALT = "the batches that `prepare` gives each rank"
_SPLIT = "the part that each rank gets"
_SEEDS = ("accelerate.utils.set_seed",)
_WRAPPER_HANDLER = "DistributedDataParallelKwargs()"


class Accelerator(Made):
    """``accelerate.Accelerator()``, or a state that knows the place of the process."""

    __slots__ = ()
    written_by_first = frozenset({"save"})

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
            handed = self._handed(player)
            parts = may_part(player.stage.project, player.stage.entry)
            dealing = dealing_of(self, parts=parts)
            found = [
                prepared(player, value, span, _DEALT, handed, sharded=parts, dealing=dealing)
                for value in given.positional
            ]
            if given.open:
                wraps_unknown(player)
            return UNKNOWN if given.open else found[0] if len(found) == 1 else tuple(found)
        if name == "backward":
            return passed_back(player, first, call, scope)
        if name in GATHERING or name in ("reduce", "pad_across_processes"):
            gathers_gradients(player, first)
            if name in GATHERING:
                rows_seen(player, first, call)
            return met(player, name, first, together(player, call, scope), span)
        if name == "no_sync":
            return Unsynced("no_sync()", first)
        if name == "unwrap_model":
            return first.inner if isinstance(first, Wrapped) else first
        if name == "clip_grad_norm_":
            return Tensor((), "float32", span, hash(("norm", player.stage.kept.get("backward"))))
        if name == "split_between_processes":
            return Split(first, span)
        if name == "save_state" and _numbers_folders(self):
            note(player, "save_state (accelerate)", call, scope)  # it waits for all before it saves
            return Opaque(together(player, call, scope))
        if name == "check_trigger":
            return Opaque(together(player, call, scope))
        if name == "join_uneven_inputs":
            return Joining(f"accelerate.{name}()", given.get("even_batches", 1, None))
        if name in ("accumulate", "autocast", "profile"):
            return Made(f"accelerate.{name}()", call, given)
        return (
            None
            if name in ("print", "log", "wait_for_everyone", "set_trigger", "free_memory", "end_training")
            else NotImplemented
        )

    def _handed(self, player: Any) -> Given:
        """What the wrapper of a model is made with; nothing is known of it where the object, or one of its handlers, is not.

        Source: accelerate 1.15.0, ``utils/dataclasses.py``, ``DistributedDataParallelKwargs``.
        """
        if self.arguments is None or self.arguments.open:
            return Given([], {}, is_open=True)
        handlers = self.arguments.get("kwargs_handlers", None, None)
        rows = [] if handlers is None else player.items_of(handlers)
        if rows is None or not all(isinstance(one, Made) and one.arguments is not None for one in rows):
            return Given([], {}, is_open=True)
        return next((one.arguments for one in rows if one.name.endswith(_WRAPPER_HANDLER)), Given([], {}))


def _numbers_folders(accelerator: Made) -> bool:
    """Whether folders of checkpoints are numbered by the library."""
    if accelerator.arguments is None:
        return False
    project = accelerator.arguments.get("project_config", None, None)
    given = project.arguments if isinstance(project, Made) else None
    return given is not None and given.get("automatic_checkpoint_naming", 2, False) is True


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


_TRAINERS_SEED = Opaque(("seed", "of the trainer"))
"""What its arguments say, the same on all processes."""


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
            *GATHERING,
            "reduce",
            "broadcast",
            "pad_across_processes",
        ):
            value = given.positional[0] if given.positional else UNKNOWN
            gathers_gradients(player, value)
            if last in GATHERING:
                rows_seen(player, value, call)
            return met(player, last, value, together(player, call, scope), span)
        if name in CLASSES:
            return made(player, f"{name}()", given, call, scope)
        if name not in TRAINERS:
            return models.made(player, name, given, call, scope)
        _seed_all(player.stage, _TRAINERS_SEED)
        return Trainer(f"{name}()", call, given)

    def built(self, player: Any, thing: Any, given: Given) -> None:
        """A trainer of the project's own keeps what it is given, and so do its arguments."""
        if is_of_arguments(player, thing):
            player.stage.initialized = True
            for name, value in given.keywords.items():
                thing.attributes.setdefault(name, value)
            thing.open = thing.open or given.open
        if player.stage.project.modules.external_bases(thing.cls) & TRAINERS:
            _seed_all(player.stage, _TRAINERS_SEED)
            for name, value in (*zip(TAKEN, given.positional, strict=False), *given.keywords.items()):
                thing.attributes.setdefault(name, value)

    def method(self, player: Any, receiver: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
        """What a method gives: parts of data sets, and trainers of the project's own."""
        found = parsed(player, receiver, name, given, call, scope)
        if found is not NotImplemented:
            return found
        if isinstance(receiver, Made | Opaque) and name == "shard" and "num_shards" in given.keywords:
            return Opaque(combined(name, [receiver, *given.values()]), Source(_SPLIT, ir.unpack(call.at, scope.file)))
        if not isinstance(receiver, Thing) or not player.stage.project.modules.external_bases(receiver.cls) & TRAINERS:
            return NotImplemented
        if name in ("train", "evaluate", "predict"):
            return trained(player, receiver.attributes, receiver, name, call, scope)
        if name == "add_callback":
            return added(player, receiver.attributes, given)
        return own_method(player, receiver, name, given, call, scope)

    def stored(self, player: Any, base: Any, name: str, value: Any, span: Span) -> None:
        """A flag by which the trainer's loop is told what to do."""
        if isinstance(base, Control):
            base.told(player, name, value, span)

    def inherited(self, player: Any, thing: Any, name: str) -> Any:
        """The accelerator of a trainer of the project's own."""
        bases = player.stage.project.modules.external_bases(thing.cls) if name == "accelerator" else frozenset()
        trainer = next(iter(sorted(bases & TRAINERS)), "")
        return Accelerator(f"{trainer}().accelerator", None, Given([], {}, is_open=True)) if trainer else NotImplemented


def _seed(player: Any, given: Given, call: ir.Call, scope: Any) -> Any:
    stage = player.stage
    seed = seeded(player, given.get("seed", 0, UNKNOWN), call, scope)
    if given.get("device_specific", 1, False) is True:
        seed = Opaque(("seed", stage.rank, seed), Source("each rank's own seed", ir.unpack(call.at, scope.file)))
    _seed_all(stage, seed)
    return UNKNOWN


def _seed_all(stage: Any, seed: Any) -> None:
    """Seeds the generators of torch, numpy and Python: ``set_seed``, which a trainer calls, too, when it is made.

    Source: transformers 5.23, ``Trainer.__init__``.
    """
    stage.seed, stage.random = seed, 0
    for generator in ("numpy", "python"):
        stage.kept[f"seed of {generator}"] = [seed, 0]


MODELS = HuggingFace()
