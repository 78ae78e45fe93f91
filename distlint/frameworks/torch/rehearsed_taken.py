"""Gradients that a program takes past ``.grad``, and changes weights with, in the rehearsal of a program.

Source: torch 2.13, ``nn/parallel/distributed.py``: "This module doesn't work with :func:`torch.autograd.grad` (i.e. it will only work if
gradients are to be accumulated in ``.grad`` attributes of parameters)": what ``torch.autograd.grad`` gives is each process's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from distlint.frameworks.torch.rehearsed_beside import modules_held
from distlint.frameworks.torch.rehearsed_modules import Parameters, with_parts
from distlint.frameworks.torch.rehearsed_passes import WRAPPERS
from distlint.frameworks.torch.rehearsed_shapes import fresh
from distlint.frameworks.torch.rehearsed_stale import all_made
from distlint.frameworks.torch.rehearsed_weights import Gradient, Weight
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.amounts import is_small
from distlint.rehearsal.held import held_in
from distlint.rehearsal.notes import TAKEN, TAKEN_BROUGHT, TAKEN_PASSED, TAKEN_REPLACED
from distlint.rehearsal.stage import Event, Fault
from distlint.rehearsal.unknowns import UNKNOWN, Opaque
from distlint.rehearsal.values import Given, Items, Tensor, combined

NAME = "torch.autograd.grad"
_STORED = "gradients that the program has put into parameters itself"
_BEGAN = "operations before the first gradients were taken"
_REPLACING = ("copy_", "set_")
_HOW = ("group", "op", "async_op", "src", "dst", "tag", "timeout")
_MOST = 64


class Taken:
    """Gradients of a wrapped model that ``torch.autograd.grad`` gave, among what a tensor came out of (``Tensor.through``)."""

    __slots__ = ("event", "group", "wrapper")

    def __init__(self, wrapper: Any, event: Event) -> None:
        self.wrapper = wrapper
        self.event = event
        self.group = None
        """Nobody meets here."""


def taken(player: Any, given: Given, call: ir.Call, scope: Any) -> Any:
    """``torch.autograd.grad(loss, inputs)``: a tensor for each input."""
    span = ir.unpack(call.at, scope.file)
    losses = given.get("outputs", 0, UNKNOWN)
    loss = next((one for one in held_in([losses]) if isinstance(one, Tensor)), None)
    if loss is None or given.open:
        return NotImplemented
    player.stage.use(loss, span)
    inputs = given.get("inputs", 1, UNKNOWN)
    recorded = given.get("create_graph", 3, False)
    event = Event("grad", call, scope.file, scope.function, {})
    event.chain = player.stage.chain

    def one_of(weight: Any) -> Any:
        return _gradient(player, loss, weight, event, recorded)

    if isinstance(inputs, Tensor):
        return (one_of(inputs),)
    rows = player.items_of(inputs) if isinstance(inputs, Items | Parameters | tuple) else None
    if rows:
        return tuple(map(one_of, rows))
    if rows is not None or not isinstance(inputs, Items | Parameters):
        return NotImplemented
    found = Items(None, player.length(inputs))
    found.sample = one_of(player.item_of(inputs))
    return found


def _gradient(player: Any, loss: Tensor, of: Any, event: Event, recorded: Any) -> Any:
    """The gradient with regard to one input."""
    stage = player.stage
    if not isinstance(of, Tensor):
        return UNKNOWN
    sign = combined("gradient", [loss, of])
    if not isinstance(of, Weight):
        found = fresh("gradient", of.shape, of.dtype, [loss, of], event.span)
        found.through = found.through if recorded is not False else ()
        return found
    found = Gradient(of.shape, of.dtype, event.span, sign, loss.source)
    found.owners = [*of.owners, of]
    found.gradient = recorded if isinstance(recorded, bool) else None
    marks: list[Any] = list(loss.through) if recorded is not False else []
    for one in loss.through if loss.source is not None else ():
        if _is_watched(stage, one) and _is_of(one, of):
            stage.kept.setdefault(_BEGAN, len(stage.events))
            marks.append(Taken(one, event))
    found.through = tuple(marks)
    return found


def _is_watched(stage: Any, one: Any) -> bool:
    """Whether a pass came out of a wrapper that averages the gradients of all processes in their backward passes."""
    known = any(one is wrapper for wrapper in stage.kept.get(WRAPPERS, ()))
    return known and not one.sharded and one.group is stage.everyone and stage.world > 1


def _is_of(wrapper: Any, weight: Weight) -> bool:
    """Whether a parameter is one of the model inside a wrapper."""
    own = {id(part) for part in with_parts(wrapper.inner)}
    return any(id(one) in own for one in (weight, *weight.owners))


def changed(player: Any, tensor: Tensor, how: str, others: Iterable[Any], span: Span | None) -> None:
    """A tensor was changed in place: weights with gradients that were taken, a sum of them, or weights that get back what they were."""
    marks = list(_marks(others))
    whole = tensor.whole
    if isinstance(whole, Weight):
        if marks:
            _written(player, whole, marks, span)
        elif how in _REPLACING:
            replaced(player, [whole, *whole.owners])
    elif isinstance(whole, Gradient) and not any(isinstance(one, Taken) for one in whole.through):
        _put(player, whole, marks)
    else:
        for one in {id(one): one for one in (tensor, whole)}.values():
            one.through = (*one.through, *(mark for mark in marks if mark not in one.through))


def stored(player: Any, base: Any, name: str, value: Any, span: Span) -> None:
    """A parameter is given other numbers, or a gradient."""
    if not isinstance(base, Weight) or name not in ("data", "grad"):
        return
    marks = list(_marks([value]))
    if name == "grad":
        _put(player, base, marks)
    else:
        _set(player, base, marks, span)


def filled(player: Any, given: Given, span: Span) -> None:
    """``vector_to_parameters(vec, parameters)``."""
    weights = given.get("parameters", 1, UNKNOWN)
    rows = player.items_of(weights) if isinstance(weights, Items | Parameters | tuple) else None
    weight = rows[0] if rows else player.item_of(weights) if isinstance(weights, Items | Parameters) else None
    if isinstance(weight, Weight):
        _set(player, weight, list(_marks([given.get("vec", 0, UNKNOWN)])), span)


def _marks(values: Iterable[Any]) -> Iterator[Taken]:
    for one in held_in(values):
        tensors = (one, one.sample) if isinstance(one, Items) else (one,)
        for tensor in tensors:
            yield from (
                mark for mark in (tensor.through if isinstance(tensor, Tensor) else ()) if isinstance(mark, Taken)
            )


def _set(player: Any, weight: Weight, marks: list[Taken], span: Span) -> None:
    """A parameter gets other numbers: made of gradients that were taken, or not."""
    if marks:
        _written(player, weight, marks, span)
    else:
        replaced(player, [weight, *weight.owners])


def _written(player: Any, weight: Weight, marks: list[Taken], span: Span | None) -> None:
    """A parameter takes up gradients that were taken of the model that it is of."""
    for mark in marks:
        if _is_of(mark.wrapper, weight):
            _noted(player, mark, span or mark.event.span, weight)
            return


def _put(player: Any, weight: Tensor, marks: list[Taken]) -> None:
    """A parameter's ``.grad`` is filled: with a gradient that was taken, or with something else."""
    stored = player.stage.kept.setdefault(_STORED, {})
    if marks and not player.stage.unsure and len(stored) < _MOST:
        stored[id(weight)] = (weight, marks)
    elif not marks:
        stored.pop(id(weight), None)


def stepped(player: Any, optimizer: Any, call: ir.Call, scope: Any) -> None:
    """An optimizer takes the gradients that the program has put into parameters."""
    stored = player.stage.kept.pop(_STORED, None)
    if not stored or optimizer.hooks:
        return
    held = {id(part) for module in modules_held(player, optimizer) for part in with_parts(module)}
    alone = len(all_made(player.stage)) == 1
    for weight, marks in stored.values():
        owners = getattr(weight, "owners", [])
        if any(id(one) in held for one in (weight, *owners)) if held else alone:
            _noted(player, marks[0], ir.unpack(call.at, scope.file))
            return


def dropped(stage: Any) -> None:
    """Gradients are cleared, or a backward pass brings them together with all that ``.grad`` holds."""
    stage.kept.pop(_STORED, None)


def passed_back(player: Any, loss: Tensor) -> None:
    """A backward pass: the wrappers that it goes through average all that ``.grad`` holds."""
    dropped(player.stage)
    kept = player.stage.kept.setdefault(TAKEN_PASSED, {})
    for one in loss.through:
        if hasattr(one, "inner"):
            kept[id(one)] = one


def replaced(player: Any, parts: Iterable[Any]) -> None:
    """Weights get numbers that no gradient made: those from before, perhaps, where steps were taken, or turn by turn."""
    stage = player.stage
    if _BEGAN not in stage.kept and not stage.loops:
        return
    ids = {id(one) for one in parts}
    kept = stage.kept.setdefault(TAKEN_REPLACED, {})
    for wrapper in stage.kept.get(WRAPPERS, ()):
        if any(id(one) in ids for one in with_parts(wrapper.inner)):
            kept[id(wrapper)] = wrapper


def asked(player: Any, module: Any, name: str) -> None:
    """A method of a module is called."""
    if name == "load_state_dict":
        replaced(player, with_parts(module))


def handed(player: Any, value: Any) -> None:
    """Gradients go where nobody sees what is done with them: they are averaged, perhaps."""
    value = value.sample if isinstance(value, Items) else value
    if isinstance(value, Tensor) and value.shape != () and any(isinstance(one, Taken) for one in value.through):
        player.stage.kept[TAKEN_BROUGHT] = True


def met(player: Any, values: dict[str, Any]) -> None:
    """The processes meet: over gradients or weights, perhaps, once some were taken."""
    stage = player.stage
    brought = [value for name, value in values.items() if name not in _HOW]
    if _BEGAN in stage.kept and any(map(_may_be_weights, held_in(brought))):
        stage.kept[TAKEN_BROUGHT] = True


def _may_be_weights(value: Any) -> bool:
    """Whether something that processes bring together may be made of gradients, or of weights: a few figures of each one's own are not."""
    if isinstance(value, Items):
        return value.items is None and (value.sample is None or _may_be_weights(value.sample))
    if not isinstance(value, Tensor):
        return type(value) is Opaque
    if isinstance(value.whole, Weight | Gradient) or any(isinstance(one, Taken) for one in value.through):
        return True
    return not is_small(value) or (value.shape != () and value.source is None and not value.whole.level)


def _noted(player: Any, mark: Taken, span: Span, weight: Weight | None = None) -> None:
    """Weights are changed by gradients that were taken: by hand where it is said which, or by an optimizer."""
    stage = player.stage
    if stage.unsure or stage.alone:
        return
    if weight is not None and any(
        one.kind == TAKEN and one.words["update"] != span and _may_be_same(one.words["by hand"], weight)
        for one in stage.faults
    ):
        replaced(player, [weight, *weight.owners])  # there and back again
    words = {"wrapper": mark.wrapper, "update": span, "by hand": weight}
    stage.faults.append(Fault(TAKEN, mark.event.span, mark.event, words))


def _may_be_same(one: Weight | None, other: Weight) -> bool:
    """Whether two values may stand for the same parameter."""
    if one is None or (one.name and other.name and one.name != other.name):
        return False
    owners = {id(part) for part in (one, *one.owners)}
    return any(id(part) in owners for part in (other, *other.owners))
