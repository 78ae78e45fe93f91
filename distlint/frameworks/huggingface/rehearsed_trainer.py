"""The Trainer of transformers in the rehearsal of a program: it calls what it is given, on every process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from distlint.frameworks.huggingface.rehearsed_callbacks import Control, added, callbacks_of
from distlint.frameworks.huggingface.rehearsed_evaluation import TAKEN, evaluated
from distlint.frameworks.torch import rehearsed_passes as passes
from distlint.frameworks.torch import rehearsed_some_ways as some_ways
from distlint.frameworks.torch import rehearsed_waits as waits
from distlint.frameworks.torch.rehearsed_prepared import data_parallel
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.driven import driven
from distlint.rehearsal.entities import FunctionValue
from distlint.rehearsal.libraries import together
from distlint.rehearsal.stage import Event
from distlint.rehearsal.unknowns import UNKNOWN, Opaque, Source
from distlint.rehearsal.values import Given, Made, Table, Tensor, Thing

TRAINERS = frozenset({"transformers.Trainer", "transformers.Seq2SeqTrainer", "trl.SFTTrainer", "trl.DPOTrainer"})
_HOOKS = {"evaluate": ("on_prediction_step", "on_evaluate"), "predict": ("on_prediction_step", "on_predict")}
_BEGIN = ("on_train_begin", "on_epoch_begin")
_STEP = ("on_step_end", "on_log", "on_evaluate", "on_save")
"""What is called behind each step of training; before it ``on_step_begin`` is."""
_END = ("on_epoch_end", "on_train_end")
_DATA = ("eval_dataset", "test_dataset")
"""What ``evaluate`` and ``predict`` are given to go through, each rank its part of it."""
_SWITCH = "ddp_find_unused_parameters"
_OTHERS = ("deepspeed", "fsdp", "fsdp_config", "ddp_static_graph")
"""Arguments by which the trainer wraps the model in another way, or has the wrapper find out in the first pass."""
_BATCH = "the batch that each rank gets"


class Trainer(Made):
    """A trainer of the library."""

    __slots__ = ()

    def method(self, player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
        """Training and its kin call the hooks, and give the same everywhere."""
        if name == "add_callback":
            return added(player, self.stored, given)
        if name in ("train", *_HOOKS) and self.arguments is not None:
            placed = dict(zip(TAKEN, self.arguments.positional, strict=False))
            return trained(player, {**self.stored, **placed, **self.arguments.keywords}, None, name, call, scope)
        return NotImplemented


def trained(player: Any, parts: dict[str, Any], thing: Thing | None, name: str, call: ir.Call, scope: Any) -> Any:
    """``train``, ``evaluate`` or ``predict``: what the program hands in, or overrides, is executed by every process."""
    model = parts.get("model", UNKNOWN)
    span = ir.unpack(call.at, scope.file)
    batch = _batch(span)
    wrapped = data_parallel(player, model, span)
    if name == "train" and _waits_for_all(player, wrapped, parts.get("args")):
        _first_step(player, wrapped, thing, batch, call, scope)
    control = Control(player, call, scope)
    hooked = _hooks(player, parts, thing, control, call, scope)
    if name == "train":

        def turn() -> None:
            hooked("on_step_begin")
            if thing is not None:
                _trained_on(player, thing, wrapped, batch, call, scope)
            for hook in _STEP:
                hooked(hook)
            control.compared(player)

        for hook in _BEGIN:
            hooked(hook)
        driven(player, span, _steps(player, thing, span), turn, any_turn=True)
        for hook in _END:
            hooked(hook)
        control.compared(player)
        if thing is not None:
            evaluated(player, parts, thing, call, scope)
    else:
        for hook in _HOOKS[name]:
            hooked(hook)
        if thing is not None:
            _hooked(player, thing, "prediction_step", [wrapped, batch], call, scope)
    metrics = parts.get("compute_metrics")
    if metrics is not None and name != "train":
        player.apply(metrics, Given([Opaque(together(player, call, scope))], {}), call, scope)
    if name != "train" and (call.args or any(one.name in _DATA for one in call.keywords)):
        event = Event(name, call, scope.file, scope.function, {})
        event.chain = player.stage.chain
        player.stage.ordered(event)
    sign = together(player, call, scope)
    return Table({}, is_open=True) if name == "evaluate" else Opaque(sign)


def _hooks(
    player: Any, parts: dict[str, Any], thing: Thing | None, control: Control, call: ir.Call, scope: Any
) -> Callable[[str], None]:
    """What calls a hook of all callbacks."""
    owner = next(iter(sorted(TRAINERS)))
    arguments, state = Made(f"{owner}().args"), Made(f"{owner}().state")
    if thing is not None:
        thing.attributes.update(control=control, state=state)
    callbacks = callbacks_of(player, parts, call, scope)
    control.belongs(player, [thing, *callbacks])
    more = {"model": parts["model"]} if "model" in parts else {}

    def hooked(hook: str) -> None:
        for callback in callbacks:
            _hooked(player, callback, hook, [arguments, state, control], call, scope, more)

    return hooked


def _batch(span: Span) -> Table:
    """A batch as it is handed to methods: tensors by names, which are as large on all ranks, and called the same."""
    made = Table(is_open=True)
    made.whole = Opaque(None, Source(_BATCH, span))
    made.sample = Tensor(None, "", span)
    return made


def _steps(player: Any, thing: Thing | None, span: Span) -> Any:
    """How many steps the trainer makes: as many on each process, unless the program gives it a loader of its own."""
    own = thing is not None and player.stage.project.modules.method(thing.cls, "get_train_dataloader") is not None
    return UNKNOWN if own else Opaque(("steps of the trainer", span))


def _trained_on(player: Any, thing: Thing, wrapped: Any, batch: Any, call: ir.Call, scope: Any) -> None:
    """What a class of the project makes of a batch: the loss, of which the trainer makes the backward pass, or the whole step.

    Source: transformers 5.23, ``Trainer.training_step`` (``num_items_in_batch`` since 4.46).
    """
    project = player.stage.project
    given = Given([wrapped, batch, UNKNOWN], {})
    step = project.modules.method(thing.cls, "training_step")
    loss = project.modules.method(thing.cls, "compute_loss")
    if loss is not None:
        handed = Given([wrapped, batch], {"num_items_in_batch": UNKNOWN})
        found = player.call_function(FunctionValue(loss, None, thing), handed, call, scope)
        if step is None:
            some_ways.passed_back(player, found, call, scope)
    if step is not None:
        player.call_function(FunctionValue(step, None, thing), given, call, scope)


def _waits_for_all(player: Any, wrapped: Any, arguments: Any) -> bool:
    """Whether the wrapper is told not to look for parameters without gradients, which the trainer does by itself otherwise.

    Source: transformers 5.23, ``Trainer._build_accelerator_args``.
    """
    given = arguments.arguments if isinstance(arguments, Made) else None
    if given is None or given.open:
        return False
    if arguments.stored.get(_SWITCH, given.get(_SWITCH, None, None)) is not False:
        return False
    if given.get("max_steps", None, -1) == 1 or any(given.get(one, None, None) is not None for one in _OTHERS):
        return False
    if arguments.call is not None and arguments.file:
        word = next((one for one in arguments.call.keywords if one.name == _SWITCH), arguments.call)
        wrapped.span = ir.unpack(word.at, arguments.file)
    wrapped.arguments = Given([], {"find_unused_parameters": False})
    return waits.watch(player, wrapped)


def _first_step(player: Any, wrapped: Any, thing: Thing | None, batch: Any, call: ir.Call, scope: Any) -> None:
    """A step as the trainer makes it: which layers of the model get a gradient."""
    project = player.stage.project
    if thing is not None and project.modules.method(thing.cls, "training_step") is not None:
        return
    method = project.modules.method(thing.cls, "compute_loss") if thing is not None else None
    if method is None:
        loss = Tensor((), "float32")
        loss.through = passes.begun(player, wrapped, wrapped.span)
        player.apply(wrapped.inner, Given([], {}, is_open=True), call, scope)
        passes.ended(player, loss.through)
    else:
        named = {one.name for one in project.function(method).parameters}
        more = {"num_items_in_batch": UNKNOWN} if "num_items_in_batch" in named else {}
        loss = player.call_function(FunctionValue(method, None, thing), Given([wrapped, batch], more), call, scope)
    if isinstance(loss, Tensor):
        player.stage.repeating += 1
        waits.reached(player, loss, call, scope)
        player.stage.repeating -= 1


def _hooked(
    player: Any,
    thing: Any,
    name: str,
    values: list[Any],
    call: ir.Call,
    scope: Any,
    more: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Calls a method of an object of the project, where its class has it."""
    if not isinstance(thing, Thing):
        return
    method = player.stage.project.modules.method(thing.cls, name)
    if method is not None:
        player.call_function(FunctionValue(method, None, thing), Given(values, dict(more), is_open=True), call, scope)
