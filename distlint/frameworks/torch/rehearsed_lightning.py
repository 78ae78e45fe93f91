"""Lightning's trainer and Fabric in the rehearsal of a program: the hooks that every process calls.

Sources: lightning 2.6, ``pytorch/loops``, ``fabric/fabric.py``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from distlint.frameworks.torch import rehearsed_beside as beside
from distlint.frameworks.torch.rehearsed_data import SHARE
from distlint.frameworks.torch.rehearsed_fit import batches_of, step_ended
from distlint.frameworks.torch.rehearsed_metrics import SINGLE
from distlint.frameworks.torch.rehearsed_modules import LIGHTNING
from distlint.frameworks.torch.rehearsed_outputs import note
from distlint.frameworks.torch.rehearsed_prepared import (
    Unsynced,
    data_parallel,
    gathers_gradients,
    met,
    passed_back,
    prepared,
)
from distlint.frameworks.torch.rehearsed_recording import Recording
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.driven import driven, told_to_stop
from distlint.rehearsal.libraries import together
from distlint.rehearsal.unknowns import UNKNOWN, Opaque
from distlint.rehearsal.values import Given, Made, Table, Tensor, Thing

PACKAGES = ("lightning.", "pytorch_lightning.", "lightning_fabric.")
_HOOK = "hook of a trainer"
_AROUND = "tests around a hook of a trainer"
_OF_EPOCH = "what steps logged for their epoch"
_DRIVING = f"{PACKAGES[0]}LightningModule().trainer"


_EVALUATING = ("validation", "test", "predict")


def _evaluation(word: str) -> tuple[str, ...]:
    """The hooks of one pass over the data that is no training."""
    before, behind = ("start", "epoch_start", "batch_start"), ("batch_end", "epoch_end", "end")
    return (
        *(f"on_{word}_{one}" for one in before),
        f"{word}_step",
        *(f"on_{word}_{one}" for one in behind),
    )


_BEFORE = ("configure_model", "setup", "configure_optimizers", "on_fit_start", "on_train_start", "on_train_epoch_start")
_TURN = (
    *("on_train_batch_start", "training_step", "on_before_backward", "on_after_backward"),
    *("on_before_optimizer_step", "on_before_zero_grad", "on_train_batch_end"),
)
"""The hooks of each turn of the loop over the batches to train with."""
_ENDS = ("on_train_epoch_end", *(f"on_{word}_epoch_end" for word in _EVALUATING))
_STEPS = {
    "fit": (
        *_BEFORE,
        *_TURN,
        *_evaluation("validation"),
        *("on_train_epoch_end", "on_train_end", "on_fit_end", "teardown"),
    ),
    "validate": ("setup", *_evaluation("validation"), "teardown"),
    "test": ("setup", *_evaluation("test"), "teardown"),
    "predict": ("setup", *_evaluation("predict"), "teardown"),
}


def _handed_to(hook: str, batch: Any, outputs: Any) -> list[Any]:
    """What a hook gets, besides the trainer and the module that those of a callback get first."""
    turn = Opaque(("turn", hook))
    if hook.endswith(("_step", "batch_start")):
        return [batch, turn]
    if hook.endswith("batch_end"):
        return [outputs, batch, turn]
    return [UNKNOWN] if hook.startswith("on_before_") else []


def _outputs(found: Any) -> Any:
    """What a callback gets of what a step gives: a loss by its name.

    Source: lightning 2.6, ``pytorch/loops/optimization/automatic.py``, ``ClosureResult.asdict``.
    """
    return Table({"loss": found}) if isinstance(found, Tensor) or type(found) is Opaque else found


class Parts(NamedTuple):
    """What a trainer drives: a module, perhaps a data module, and callbacks."""

    module: Thing
    data: Any
    callbacks: list[Any]


class Trainer(Made):
    """A trainer: what it runs calls the hooks of a module and of callbacks, on every process."""

    __slots__ = ()

    def method(self, player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
        """Training and its kin."""
        if name not in _STEPS:
            return NotImplemented
        module = given.get("model", 0, UNKNOWN)
        loader = given.get("train_dataloaders" if name == "fit" else "dataloaders", 1, None)
        data = given.get("datamodule", 3 if name == "fit" else None, None)
        if isinstance(loader, Thing) and data is None:
            loader, data = None, loader
        callbacks = self.arguments.get("callbacks", None, None) if self.arguments is not None else None
        listed = player.items_of(callbacks) if callbacks is not None else []
        if isinstance(module, Thing):
            self._run(player, name, Parts(module, data, listed or []), loader, call, scope)
        return Opaque(together(player, call, scope))

    def _run(self, player: Any, name: str, parts: Parts, loader: Any, call: ir.Call, scope: Any) -> None:
        span = ir.unpack(call.at, scope.file)
        trainer = Made(_DRIVING)
        for one in (parts.module, parts.data):
            if isinstance(one, Thing):
                one.attributes.setdefault("trainer", trainer)

        def hooked(hook: str, batch: Any, outputs: Any = UNKNOWN) -> Any:
            given_on = _handed_to(hook, batch, outputs)
            if any(word in hook for word in _EVALUATING):
                # `Trainer(inference_mode=...)` and the hooks themselves say whether gradients are recorded there
                recording = Recording("inference_mode()", wanted=None)
                recording.entered(player, span)
                try:
                    return called(hook, given_on)
                finally:
                    recording.left(player, span)
            return called(hook, given_on)

        def called(hook: str, given_on: list[Any]) -> Any:
            if hook == "teardown":
                _hooked(player, parts.data, hook, given_on, call, scope)
            found = _hooked(player, parts.module, hook, given_on, call, scope) if hook != "setup" else None
            for one in parts.callbacks:
                _hooked(player, one, hook, [trainer, parts.module, *given_on], call, scope)
            if hook in _ENDS:
                _brought_together(player)
            return found

        self._prepared(player, name, parts, call, scope)
        if name != "fit":
            batch = batches_of(player, self, loader, span).batch
            for hook in _STEPS[name]:
                hooked(hook, batch)
            return
        for hook in _BEFORE:
            hooked(hook, UNKNOWN)
        if loader is None:
            asked = parts.data if isinstance(parts.data, Thing) else parts.module
            loader = _hooked(player, asked, "train_dataloader", [], call, scope)
        batches = batches_of(player, self, loader, span)

        def turn() -> None:
            outputs: Any = UNKNOWN
            for hook in _TURN:
                found = hooked(hook, batches.batch, outputs)
                if hook == "training_step":
                    outputs = _outputs(found)
                    step_ended(player, parts.module, found, batches, call, scope)

        driven(player, batches.span, batches.count, turn, any_turn=True)
        for hook in _STEPS[name][len(_BEFORE) + len(_TURN) :]:
            hooked(hook, batches.batch)

    def _prepared(self, player: Any, name: str, parts: Parts, call: ir.Call, scope: Any) -> None:
        """What comes before anything else: data are prepared on one process of each node, and all set up, with barriers around that.

        Source: lightning 2.6, ``trainer.py``, ``_run``; ``call.py``, ``_call_setup_hook``.
        """
        stage = player.stage
        methods = stage.project.modules.method
        owners = [one for one in (parts.data, parts.module) if isinstance(one, Thing)]
        if not any(methods(one.cls, hook) is not None for one in owners for hook in ("prepare_data", "setup")):
            return
        if stage.rank % stage.per_node == 0:
            for one in owners:
                _hooked(player, one, "prepare_data", [], call, scope)
        note(player, "barrier", call, scope)
        for one in owners:
            _hooked(player, one, "setup", [name], call, scope)
        note(player, "barrier", call, scope)


class Fabric(Made):
    """``Fabric``: it wraps models and loaders, and processes communicate through it."""

    __slots__ = ()

    def method(self, player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
        """What the object does."""
        span = ir.unpack(call.at, scope.file)
        first = given.positional[0] if given.positional else next(iter(given.values()), UNKNOWN)
        if name in ("setup", "setup_module"):
            model = data_parallel(player, first, span)
            beside.wrapped(player, model)
            return model if len(given.positional) == 1 else (model, *given.positional[1:])
        if name in ("setup_dataloaders", "setup_optimizers"):
            found = [prepared(player, value, span, SHARE) for value in given.positional]
            return found[0] if len(found) == 1 else tuple(found)
        if name == "backward":
            return passed_back(player, first, call, scope)
        if name in ("all_gather", "all_reduce", "broadcast"):
            gathers_gradients(player, first)
            return met(player, name, first, together(player, call, scope), span)
        if name == "no_backward_sync":
            enabled = given.get("enabled", 1, True)
            # where it is not known whether it is on, processes meet in some of the passes: in which ones shows where all turns are followed
            return Unsynced("no_backward_sync()", first) if enabled is True else Made("no_backward_sync()")
        if name == "clip_gradients":
            return Tensor((), "float32", span, hash(("norm", player.stage.kept.get("backward"))))
        return None if name in ("launch", "print", "log", "barrier") else NotImplemented


def stored(player: Any, base: Any, name: str, value: Any, span: Span) -> None:
    """``trainer.should_stop = ...``: each process goes by what it has set itself.

    Source: lightning 2.6, ``pytorch/loops/fit_loop.py``, ``done``, and ``training_epoch_loop.py``.
    """
    if name == "should_stop" and isinstance(base, Made) and base.name == _DRIVING:
        told_to_stop(player, value, span)


def is_lightning(player: Any, thing: Any) -> bool:
    """Whether an object is a module of Lightning's."""
    return isinstance(thing, Thing) and bool(player.stage.project.modules.external_bases(thing.cls) & LIGHTNING)


def logged(player: Any, given: Given, call: ir.Call, scope: Any) -> None:
    """``self.log(..., sync_dist=True)``: at once where it is asked for step by step, as it is in training.

    What a step logs for its epoch is brought together behind the hook that ends it, of each name that a process has logged
    (lightning 2.6: ``trainer/connectors/logger_connector/result.py``, ``loops/evaluation_loop.py``, ``on_run_end``): what a test lets it
    log of which nothing is known may come in any other step.
    """
    stage = player.stage
    on_step, hook = given.get("on_step", None, None), stage.kept.get(_HOOK, "")
    is_step = hook.endswith("_step")
    if on_step is None:
        on_step = hook == "training_step" or not is_step
    if given.get("sync_dist", None, False) is not True or given.get("rank_zero_only", None, False) is not False:
        return
    if on_step is True:
        note(player, "log with sync_dist", call, scope)
    on_epoch = given.get("on_epoch", None, None)
    if on_epoch is True or (on_epoch is None and is_step and hook != "training_step"):
        if is_step and len(stage.reasons) == stage.kept.get(_AROUND):
            stage.kept.setdefault(_OF_EPOCH, {})[scope.file, call.at] = (call, scope)


def _brought_together(player: Any) -> None:
    """What the steps of an epoch have logged for it is brought together, in the order in which it came up."""
    for call, scope in player.stage.kept.pop(_OF_EPOCH, {}).values():
        note(player, "log with sync_dist", call, scope)


def made(player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
    """What a class gives; ``NotImplemented`` for others."""
    last = name.rpartition(".")[2]
    if last not in ("Trainer", "Fabric"):
        return NotImplemented
    player.stage.initialized = True
    if given.get("devices", None, None) in (1, "1") and given.get("num_nodes", None, 1) == 1:
        player.stage.kept[SINGLE] = True
    return (Trainer if last == "Trainer" else Fabric)(f"{name}()", call, given)


def _hooked(player: Any, thing: Any, name: str, values: list[Any], call: ir.Call, scope: Any) -> Any:
    """Calls a method of an object of the project, where its class has it; gives what that gives."""
    method = player.stage.project.modules.method(thing.cls, name) if isinstance(thing, Thing) else None
    if method is None:
        return UNKNOWN
    player.stage.kept[_HOOK], player.stage.kept[_AROUND] = name, len(player.stage.reasons)
    parameters = player.stage.project.function(method).parameters[1:]
    plain = [one for one in parameters if one.kind not in ("var-positional", "var-keyword")]
    found = player.bound(player.class_attribute(thing.cls, name), thing)  # with what its decorators make of it
    return player.apply(found, Given(values[: len(plain)], {}, is_open=True), call, scope)
