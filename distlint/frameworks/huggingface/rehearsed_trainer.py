"""The Trainer of transformers in the rehearsal of a program: it calls what it is given, on every process.

Source: transformers 5.23.0, ``trainer.py`` (``_inner_training_loop``, ``_run_epoch``), ``trainer_callback.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from distlint.frameworks.huggingface.rehearsed_arguments import TrainingArguments
from distlint.frameworks.huggingface.rehearsed_callbacks import Control, added, callbacks_of
from distlint.frameworks.huggingface.rehearsed_evaluation import TAKEN, evaluated, evaluates, loader_of
from distlint.frameworks.huggingface.rehearsed_steps import Course, course_of
from distlint.frameworks.torch.rehearsed_modes import times_asked
from distlint.model import python as ir
from distlint.rehearsal.driven import driven, turned
from distlint.rehearsal.entities import FunctionValue
from distlint.rehearsal.libraries import together
from distlint.rehearsal.stage import Event
from distlint.rehearsal.unknowns import UNKNOWN, Opaque
from distlint.rehearsal.values import Given, Made, Table, Thing

TRAINERS = frozenset({"transformers.Trainer", "transformers.Seq2SeqTrainer", "trl.SFTTrainer", "trl.DPOTrainer"})
_HOOKS = {"evaluate": ("on_prediction_step", "on_evaluate"), "predict": ("on_prediction_step", "on_predict")}
_STEP = ("on_step_end", "on_log", "on_evaluate", "on_save")
"""What is called behind each step of training; before it ``on_step_begin`` is."""
_DATA = ("eval_dataset", "test_dataset")
"""What ``evaluate`` and ``predict`` are given to go through, each rank its part of it."""
_MAKER = "model_init"


class Trainer(Made):
    """A trainer of the library.

    Sources: transformers 5.23, ``trainer.py``: ``save_model`` writes where ``args.should_save`` holds, on the main process (all that
    hold a sharded model write their parts, into a folder that they make); ``trainer_pt_utils.py``: ``save_metrics`` and ``save_state`` do
    nothing on other processes than the first.
    """

    __slots__ = ()
    written_by_first = frozenset({"save_model", "save_metrics", "save_state"})

    def attribute(self, player: Any, name: str, expr: ir.Expr, scope: Any) -> Any:
        """What it was given."""
        return self._parts().get(name, NotImplemented) if name in (*TAKEN, "control") else NotImplemented

    def method(self, player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
        """Training and its kin call the hooks, and give the same everywhere."""
        if name == "add_callback":
            return added(player, self.stored, given)
        if name in ("train", *_HOOKS) and self.arguments is not None:
            return trained(player, self._parts(), self, name, call, scope)
        return NotImplemented

    def _parts(self) -> dict[str, Any]:
        given = self.arguments if self.arguments is not None else Given([], {}, is_open=True)
        return {**dict(zip(TAKEN, given.positional, strict=False)), **given.keywords, **self.stored}


def trained(player: Any, parts: dict[str, Any], owner: Thing | Trainer, name: str, call: ir.Call, scope: Any) -> Any:
    """``train``, ``evaluate`` or ``predict``: what the program hands in, or overrides, is executed by every process."""
    thing = owner if isinstance(owner, Thing) else None
    parts = {**parts, "model": _model(player, parts, call, scope)}
    control = Control(player, call, scope)
    hooked = _hooks(player, parts, thing, control, call, scope)
    if name == "train":
        hooked("on_init_end")
    parts["loader"] = loader_of(player, thing, parts, "train" if name == "train" else "eval", call, scope)
    course = course_of(player, owner, parts, thing, call, scope, anew=name == "train" and _MAKER in parts)
    parts["optimizer"] = course.optimizer
    if thing is not None:
        thing.attributes["is_in_train"] = name == "train"
    if name == "train":
        _epochs(player, course, control, hooked)
        if thing is not None:
            evaluated(player, parts, thing, call, scope)
    else:
        for hook in _HOOKS[name]:
            hooked(hook)
        course.evaluated()
        _measured(player, course)
    if name != "train" and (call.args or any(one.name in _DATA for one in call.keywords)):
        event = Event(name, call, scope.file, scope.function, {})
        event.chain = player.stage.chain
        player.stage.ordered(event)
    sign = together(player, call, scope)
    return Table({}, is_open=True) if name == "evaluate" else Opaque(sign)


def _epochs(player: Any, course: Course, control: Control, hooked: Callable[[str], None]) -> None:
    """The loop over the batches, of which one turn stands for all: in any epoch, and behind others."""
    asked = times_asked(player)

    def turn() -> None:
        hooked("on_step_begin")
        course.step()
        hooked("on_pre_optimizer_step")
        course.stepped()
        hooked("on_optimizer_step")
        for hook in _STEP:
            hooked(hook)
        control.compared(player)

    def between() -> None:
        hooked("on_epoch_end")
        hooked("on_epoch_begin")

    hooked("on_train_begin")
    hooked("on_epoch_begin")
    turned(player, course.span, between)
    driven(player, course.span, _steps(course), turn, any_turn=True)
    hooked("on_epoch_end")
    if evaluates(course.parts.get("args")):
        if times_asked(player) > asked:
            driven(player, course.span, Opaque(("steps of the evaluation", course.span)), course.evaluated)
        _measured(player, course)
    hooked("on_train_end")
    control.compared(player)


def _measured(player: Any, course: Course) -> None:
    """The program's own function works out figures of what the trainer has brought together from all processes."""
    metrics = course.parts.get("compute_metrics")
    if metrics is not None:
        found = Opaque(together(player, course.call, course.scope))
        player.apply(metrics, Given([found], {}), course.call, course.scope)


def _model(player: Any, parts: dict[str, Any], call: ir.Call, scope: Any) -> Any:
    """The model that a trainer is given, or that it has a function of the program make."""
    model = parts.get("model")
    if model is None and parts.get(_MAKER) is not None:
        return player.apply(parts[_MAKER], Given([], {}, is_open=True), call, scope)
    return UNKNOWN if model is None else model


def _hooks(
    player: Any, parts: dict[str, Any], thing: Thing | None, control: Control, call: ir.Call, scope: Any
) -> Callable[[str], None]:
    """What calls a hook of all callbacks."""
    owner = next(iter(sorted(TRAINERS)))
    given = parts.get("args")
    arguments = given if isinstance(given, TrainingArguments | Thing) else Made(f"{owner}().args")
    state = Made(f"{owner}().state")
    if thing is not None:
        thing.attributes.update(control=control, state=state, model=parts["model"])
    callbacks = callbacks_of(player, parts, call, scope)
    control.belongs(player, [thing, *callbacks])

    def hooked(hook: str) -> None:
        more: dict[str, Any] = {one: parts[one] for one in ("model", "optimizer") if one in parts}
        for callback in callbacks:
            _hooked(player, callback, hook, [arguments, state, control], call, scope, more)

    return hooked


def _steps(course: Course) -> Any:
    """How many steps the trainer makes: as many on each process, unless the program gives it a loader of its own."""
    own = course.own("get_train_dataloader") is not None
    return UNKNOWN if own else Opaque(("steps of the trainer", course.span))


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
