"""The steps that the Trainer of transformers makes, in the rehearsal of a program: loss, backward pass, optimizer.

Source: transformers 5.23.0, ``trainer.py``: ``_prepare_for_training`` (the optimizer is made before the model is wrapped, and both once),
``_build_accelerator_args``, ``training_step``, ``compute_loss``, ``prediction_step``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from distlint.frameworks.huggingface.parted_models import may_part
from distlint.frameworks.huggingface.rehearsed_arguments import said
from distlint.frameworks.huggingface.rehearsed_optimizer import optimizer_of, stepped
from distlint.frameworks.torch import rehearsed_modes as modes
from distlint.frameworks.torch import rehearsed_waits as waits
from distlint.frameworks.torch.rehearsed_data import Loader
from distlint.frameworks.torch.rehearsed_members import with_modules
from distlint.frameworks.torch.rehearsed_outputs import Output, came_out
from distlint.frameworks.torch.rehearsed_prepared import data_parallel
from distlint.frameworks.torch.rehearsed_wrappers import Wrapped, backward
from distlint.link.mentions import mentions
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.entities import FunctionValue
from distlint.rehearsal.unknowns import UNKNOWN, Opaque, Source
from distlint.rehearsal.values import Given, Items, Made, Table, Tensor, Thing

_SWITCH = "ddp_find_unused_parameters"
_STATIC = "ddp_static_graph"
_CHECKPOINTS = ("gradient_checkpointing", "activation_checkpointing")
_PARTING = ("deepspeed", "fsdp", "fsdp_config", "parallelism_config")
"""Arguments by which the trainer wraps the model in another way."""
_BATCH = "the batch that each rank gets"
_COURSES = "what trainers have wrapped"
_ITEMS = "num_items_in_batch"


class Course:
    """What a trainer trains: a model behind a wrapper, with an optimizer. Both stay what they are when it trains once more."""

    def __init__(self, player: Any, parts: dict[str, Any], thing: Thing | None, call: ir.Call, scope: Any) -> None:
        self.player = player
        self.parts = parts
        self.thing = thing
        self.call = call
        self.scope = scope
        self.span: Span = ir.unpack(call.at, scope.file)
        self.model: Any = parts.get("model", UNKNOWN)
        self.optimizer: Any = optimizer_of(player, parts, thing, call, scope)
        self.wrapped = self._wrapped()
        if thing is not None:
            thing.attributes["model_wrapped"] = self.wrapped

    def own(self, name: str) -> FunctionValue | None:
        """A method that the program's class has of its own."""
        if self.thing is None:
            return None
        method = self.player.stage.project.modules.method(self.thing.cls, name)
        return None if method is None else FunctionValue(method, None, self.thing)

    # The wrapper -------------------------------------------------------------------------------------------------

    def _wrapped(self) -> Wrapped:
        player, arguments = self.player, self.parts.get("args")
        stage = player.stage
        parts = may_part(stage.project, stage.entry) or any(_is_said(arguments, one) for one in _PARTING)
        wrapper = data_parallel(player, self.model, self.span, self._handed(arguments), sharded=parts)
        one_step = said(arguments, "max_steps", -1) == 1
        if not parts and not one_step and said(arguments, _STATIC) is None and said(arguments, _SWITCH) is False:
            # with more steps than one the second one finds what the first left open
            if isinstance(arguments, Made) and arguments.call is not None and arguments.file:
                word = next((one for one in arguments.call.keywords if one.name == _SWITCH), arguments.call)
                wrapper.span = ir.unpack(word.at, arguments.file)
            waits.watch(player, wrapper)
        return wrapper

    def _handed(self, arguments: Any) -> Given:
        """What the wrapper is made with: it looks for parameters without gradients unless it is told not to, or checkpoints are used."""
        found, static = said(arguments, _SWITCH), said(arguments, _STATIC, None)
        if found is None:
            found = UNKNOWN if mentions(self.player.stage.project, self.player.stage.entry, _CHECKPOINTS) else True
        if not isinstance(found, bool) or static is UNKNOWN:
            return Given([], {}, is_open=True)
        return Given([], {"find_unused_parameters": found, "static_graph": static is True})

    # Batches -----------------------------------------------------------------------------------------------------

    def batch(self) -> Table:
        """A batch as it is handed to methods: what the program puts together, where that is known.

        Of others it is known that they are tensors by names, which are as large on all ranks, and called the same.
        """
        loader = self.parts.get("loader")
        found = loader.item(self.player) if isinstance(loader, Loader) else None
        if isinstance(found, Table) and (not found.open or found.perhaps is not None):
            return found
        made = Table(is_open=True)
        made.whole = Opaque(None, Source(_BATCH, self.span))
        made.sample = Tensor(None, "", self.span)
        return made

    # Steps -------------------------------------------------------------------------------------------------------

    def step(self) -> None:
        """One step of the training: a class of the program may make the loss, or all of it."""
        with self._mode(training=True):
            step = self.own("training_step")
            if step is None:
                self.passed_back(self.loss(self.batch()))
            else:
                self._call(step, [self.wrapped, self.batch(), UNKNOWN])

    def loss(self, batch: Any, **more: Any) -> Any:
        """``compute_loss``."""
        method = self.own("compute_loss")
        if method is None:
            return self.loss_of_model(self.wrapped, batch)
        return self._call(method, [self.wrapped, batch], {**more, _ITEMS: UNKNOWN})

    def loss_of_model(self, model: Any, batch: Any, *, whole: bool = False) -> Any:
        """The loss that the model itself gives, or (``whole``) all that it gives besides."""
        given, player = _as_arguments(batch), self.player
        if isinstance(model, Wrapped):
            outputs, through = model.forwarded(player, given, self.call, self.scope)
        else:
            outputs, through = player.apply(model, given, self.call, self.scope), ()
        loss = came_out(player, self._loss_in(outputs, batch), through, given, self.span)
        if not isinstance(loss, Tensor):
            loss = Tensor((), "float32", self.span)
            loss.through = through
        return (loss, came_out(player, outputs, through, given, self.span)) if whole else loss

    def _loss_in(self, outputs: Any, batch: Any) -> Any:
        own = self.parts.get("compute_loss_func")
        if own is not None:
            labels = batch.items.get("labels", UNKNOWN) if isinstance(batch, Table) else UNKNOWN
            return self.player.apply(own, Given([outputs, labels], {_ITEMS: UNKNOWN}), self.call, self.scope)
        if isinstance(outputs, Output):
            return outputs.part(self.player, "loss", self.span)
        if isinstance(outputs, Table):
            return outputs.items.get("loss", UNKNOWN)
        if isinstance(outputs, Thing):
            return outputs.attributes.get("loss", UNKNOWN)
        if isinstance(outputs, Made) and outputs.arguments is not None:
            return outputs.arguments.get("loss", 0, UNKNOWN)
        rows = outputs.items if isinstance(outputs, Items) else outputs
        return rows[0] if isinstance(rows, tuple | list) and rows else UNKNOWN

    def passed_back(self, loss: Any) -> None:
        """The backward pass: what it leaves open shows in the next step, of which there are more."""
        stage = self.player.stage
        if not isinstance(loss, Tensor):
            return
        stage.repeating += 1
        backward(self.player, loss, self.call, self.scope, noted=True)
        stage.repeating -= 1

    def stepped(self) -> None:
        """The optimizer takes the gradients."""
        optimizer = self.thing.attributes.get("optimizer") if self.thing is not None else self.optimizer
        stepped(self.player, optimizer, self.call, self.scope)

    def evaluated(self) -> None:
        """A batch of an evaluation: the loss is worked out where there are labels."""
        batch = self.batch()
        with self._mode(training=False):
            step = self.own("prediction_step")
            if step is not None:
                self._call(step, [self.wrapped, batch])
            elif self.own("compute_loss") is not None:
                labels = Opaque(("batches have labels", self.span))
                branch = self.player.parting(labels, self.call, self.scope)
                self.player.perhaps(lambda: self.loss(batch, return_outputs=True), branch.arms[0], labels)
                self.player.stage.mark(branch)

    @contextmanager
    def _mode(self, *, training: bool) -> Iterator[None]:
        """The trainer sets the mode of the model before each step; a module that does so by itself may do more, or less."""
        modules = self.player.stage.project.modules
        inner = list(with_modules(self.model))
        own = any(isinstance(one, Thing) and modules.method(one.cls, "train") is not None for one in inner)
        with modes.in_mode(self.player, [self.wrapped] if own else [self.wrapped, *inner], training=training):
            yield

    def _call(self, method: FunctionValue, values: list[Any], more: dict[str, Any] | None = None) -> Any:
        return self.player.call_function(method, Given(values, more or {}), self.call, self.scope)


def course_of(
    player: Any, owner: Any, parts: dict[str, Any], thing: Thing | None, call: ir.Call, scope: Any, *, anew: bool
) -> Course:
    """What a trainer trains, as it was when it trained last; ``anew`` where it starts with another model."""
    kept = player.stage.kept.setdefault(_COURSES, {})
    _, found = kept.get(id(owner), (None, None))
    if found is None or anew:
        found = Course(player, parts, thing, call, scope)
        kept[id(owner)] = owner, found
    found.call, found.scope = call, scope
    return found  # type: ignore[no-any-return]


def is_under_way(player: Any, thing: Any) -> Course | None:
    """What the trainer of a class of the program trains with, once it has begun."""
    _, found = player.stage.kept.get(_COURSES, {}).get(id(thing), (None, None))
    return found  # type: ignore[no-any-return]


def _is_said(arguments: Any, name: str) -> bool:
    """Whether an argument is written, so that it may be something else than nothing."""
    if isinstance(arguments, Thing):
        value = arguments.attributes.get(name)
    elif isinstance(arguments, Made) and arguments.arguments is not None:
        value = arguments.stored.get(name, arguments.arguments.keywords.get(name))
    else:
        return False
    return value is not None and value != ""


def _as_arguments(batch: Any) -> Given:
    """``**batch``."""
    if not isinstance(batch, Table):
        return Given([], {}, is_open=True)
    named = {**(batch.perhaps or {}), **batch.items}
    given = Given([], {str(name): value for name, value in named.items()}, is_open=batch.open and batch.perhaps is None)
    given.rest = [batch] if given.open else []
    return given
