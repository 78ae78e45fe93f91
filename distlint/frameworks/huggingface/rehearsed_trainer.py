"""The Trainer of transformers in the rehearsal of a program: it calls what it is given, on every process."""

from __future__ import annotations

from typing import Any

from distlint.frameworks.torch.rehearsed_prepared import data_parallel
from distlint.model import python as ir
from distlint.rehearsal.entities import FunctionValue
from distlint.rehearsal.libraries import together
from distlint.rehearsal.values import UNKNOWN, Given, Made, Opaque, Source, Table, Thing

TRAINERS = frozenset({"transformers.Trainer", "transformers.Seq2SeqTrainer", "trl.SFTTrainer", "trl.DPOTrainer"})
_STEPS = ("on_train_begin", "on_epoch_begin", "on_step_begin", "on_step_end", "on_log", "on_epoch_end", "on_evaluate")
_HOOKS = {
    "train": (*_STEPS, "on_save", "on_train_end"),
    "evaluate": ("on_prediction_step", "on_evaluate"),
    "predict": ("on_prediction_step", "on_predict"),
}
_BATCH = "the batch that each rank gets"


class Trainer(Made):
    """A trainer of the library."""

    __slots__ = ()

    def method(self, player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
        """Training and its kin call the hooks, and give the same everywhere."""
        if name in _HOOKS and self.arguments is not None:
            keywords = dict(self.arguments.keywords)
            return trained(player, keywords, None, name, call, scope)
        return NotImplemented


def trained(player: Any, parts: dict[str, Any], thing: Thing | None, name: str, call: ir.Call, scope: Any) -> Any:
    """``train``, ``evaluate`` or ``predict``: what the program hands in, or overrides, is executed by every process."""
    owner = next(iter(sorted(TRAINERS)))
    for callback in player.items_of(parts.get("callbacks", ())) or ():
        for hook in _HOOKS[name]:
            _hooked(player, callback, hook, [Made(f"{owner}().args"), Made(f"{owner}().state"), UNKNOWN], call, scope)
    batch = Opaque(None, Source(_BATCH, ir.unpack(call.at, scope.file)))
    model = parts.get("model", UNKNOWN)
    wrapped = data_parallel(player, model, ir.unpack(call.at, scope.file))
    if thing is not None:
        for hook in ("compute_loss", "training_step") if name == "train" else ("prediction_step",):
            _hooked(player, thing, hook, [wrapped, batch], call, scope)
    metrics = parts.get("compute_metrics")
    if metrics is not None and name != "train":
        player.apply(metrics, Given([Opaque(together(player, call, scope))], {}), call, scope)
    sign = together(player, call, scope)
    return Table({}, is_open=True) if name == "evaluate" else Opaque(sign)


def _hooked(player: Any, thing: Any, name: str, values: list[Any], call: ir.Call, scope: Any) -> None:
    """Calls a method of an object of the project, where its class has it."""
    if not isinstance(thing, Thing):
        return
    method = player.stage.project.modules.method(thing.cls, name)
    if method is not None:
        player.call_function(FunctionValue(method, None, thing), Given(values, {}, is_open=True), call, scope)
