"""Modules that are trained beside wrapped ones, in the rehearsal of a program: nobody averages their gradients.

Source: torch 2.13, ``nn/parallel/distributed.py``: a wrapper sends the parameters of its own module at the start, and reduces their
gradients; what else an optimizer holds is each process's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from distlint.frameworks.torch import rehearsed_passes as passes
from distlint.frameworks.torch.rehearsed_modules import Layer, Parameters, with_parts
from distlint.frameworks.torch.rehearsed_needs import FROZEN
from distlint.frameworks.torch.rehearsed_passes import COMPUTED, WRAPPERS
from distlint.frameworks.torch.rehearsed_weights import Weight
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.notes import BESIDE, GRADIENTS_BY_HAND, WEIGHTS_EVENED
from distlint.rehearsal.stage import Event, Fault
from distlint.rehearsal.values import Items, Made, Table, Thing

_TRAINED = "parts that a backward pass reached"
_MET = "operations before the last backward pass"
_UNKNOWN = "modules are wrapped, perhaps, that are not known"
_MAX_DEPTH = 3
_EXCHANGES = ("all_to_all", "isend", "irecv", "send", "recv", "batch_isend")


def wrapped(player: Any, wrapper: Any) -> None:
    """A model is wrapped."""
    player.stage.kept.setdefault(WRAPPERS, []).append(wrapper)


def unknown(player: Any) -> None:
    """Something is wrapped, perhaps, that is not known: it may be any module."""
    player.stage.kept[_UNKNOWN] = True


def may_be_wrapped(player: Any) -> bool:
    """Whether something is wrapped, perhaps, that is not known."""
    return bool(player.stage.kept.get(_UNKNOWN))


def used_alone(player: Any, values: Iterable[Any], span: Span | None = None) -> None:
    """Something is worked out of values: of parameters, perhaps, that no layer has. Where that is may not be known."""
    own = [one for one in values if isinstance(one, Weight) and not one.owners]
    for one in own:
        passes.computed(player, [one], span or one.at)


def passed_back(player: Any) -> None:
    """A backward pass is made."""
    kept = player.stage.kept
    kept.setdefault(_TRAINED, {}).update(kept.pop(COMPUTED, {}))
    kept[_MET] = len(player.stage.events)


def stepped(player: Any, optimizer: Any, call: ir.Call, scope: Any) -> None:
    """An optimizer steps its parameters: those too that no wrapper cares for."""
    stage = player.stage
    kept = stage.kept
    wrappers = kept.get(WRAPPERS, ())
    if (
        stage.unsure
        or stage.world < 2
        or not wrappers
        or not kept.get(_TRAINED)
        or optimizer.hooks
        or kept.get(_UNKNOWN)
    ):
        return
    if any(not _is_known(one.inner) or one.group is None for one in wrappers):
        return
    if not any(one.group is stage.everyone for one in wrappers) or others_met(stage, kept[_MET]):
        return
    cared = {id(part) for one in wrappers for part in (one.inner, *with_parts(one.inner))}
    frozen, evened = kept.get(FROZEN, {}), kept.get(WEIGHTS_EVENED, set())
    for module in modules_held(player, optimizer):
        parts = list(with_parts(module))
        partly = any(id(part) in cared for part in parts)
        settled = [part for part in parts if id(part) in frozen or getattr(part, "place", None) in evened]
        if settled and not partly:
            continue
        own = [part for part in parts if has_weights(part) and id(part) not in cared and part not in settled]
        left = next((part for part in own if id(part) in kept[_TRAINED]), None)
        if left is not None and kept.get(GRADIENTS_BY_HAND) is None:
            event = Event("step", call, scope.file, scope.function, {})
            event.chain = stage.chain
            made = _made_at(left if partly else module) or (
                ir.unpack(optimizer.call.at, optimizer.file) if optimizer.call else event.span
            )
            wrapper = _last_in(wrappers, parts) if partly else _of_all(stage, wrappers)
            words = {
                "wrapper": wrapper.span,
                "forward": kept[_TRAINED][id(left)][1],
                "step": event.span,
                "partly": partly,
                "prepared": wrapper.prepared,
                "what": "layer" if partly else "parameter" if isinstance(module, Weight) else "module",
            }
            stage.faults.append(Fault(BESIDE, made, event, words))


def _is_known(module: Any) -> bool:
    """Whether it is known which modules a wrapper has."""
    if isinstance(module, Items):
        return module.items is not None and all(isinstance(one, Layer | Thing) for one in module.items)
    return isinstance(module, Layer | Thing)


def has_weights(part: Any) -> bool:
    """Whether something certainly has parameters of its own, which no other module shares."""
    return isinstance(part, Weight) or (
        isinstance(part, Layer) and part.has_parameters and not part.stored and part.own_weights() != []
    )


def _of_all(stage: Any, wrappers: Any) -> Any:
    """A wrapper that all processes have."""
    return next(one for one in wrappers if one.group is stage.everyone)


def _last_in(wrappers: Any, parts: list[Any]) -> Any:
    """The last wrapper of a part of a module."""
    held = {id(part) for part in parts}
    return next(one for one in reversed(wrappers) if any(id(part) in held for part in with_parts(one.inner)))


def others_met(stage: Any, since: int) -> bool:
    """Whether the processes brought something together since the last backward pass: gradients, perhaps, in some form.

    Or ever exchanged rows: each may hold a part of the model then, as an expert.
    """
    since_then = any(event.name not in ("barrier", "backward") for event in stage.events[since:])
    return since_then or any(event.name.startswith(_EXCHANGES) for event in stage.events)


def modules_held(player: Any, optimizer: Any) -> Iterator[Any]:
    """The modules whose parameters an optimizer certainly holds, from the start or since a group was added."""
    if optimizer.arguments is None:
        return
    given = optimizer.held if optimizer.held is not None else optimizer.arguments.get("params", 0)
    for one in (given, *optimizer.added):
        yield from modules_of(player, one)


def modules_of(player: Any, given: Any, depth: int = 0, *, sampled: bool = False, apart: bool = False) -> Iterator[Any]:
    """The modules whose parameters an optimizer certainly holds; ``sampled`` takes lists to hold what one of their items is like.

    ``apart`` gives parameters that stand in lists themselves, also where the layer that they are of is known.
    """
    if isinstance(given, Parameters):
        if given.what == "parameters":
            yield given.module
    elif isinstance(given, Weight):
        yield from given.owners if len(given.owners) == 1 and not apart else (given,)
    elif isinstance(given, Table) and not given.open and depth < _MAX_DEPTH:
        yield from modules_of(player, given.items.get("params"), depth + 1, sampled=sampled, apart=apart)
    elif isinstance(given, Items | tuple) and depth < _MAX_DEPTH:
        rows = given.items if isinstance(given, Items) else given
        if rows is None and sampled and isinstance(given, Items):
            rows = (given.sample,)
        for row in rows or ():
            yield from modules_of(player, row, depth + 1, sampled=sampled, apart=apart)


def _made_at(module: Any) -> Span | None:
    """Where a module is made."""
    if isinstance(module, Thing):
        return module.born
    if isinstance(module, Weight):
        return module.at
    if isinstance(module, Made) and module.call is not None and module.file:
        return ir.unpack(module.call.at, module.file)
    return None
