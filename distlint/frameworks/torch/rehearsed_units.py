"""Parameters that a sharded model puts into one flat parameter although only some of them are trained, in the rehearsal of a program.

Sources: torch 2.13, ``distributed/fsdp/_flat_param.py``, ``_validate_tensors_to_flatten`` (all parameters of a unit need a gradient, or
none, unless ``use_orig_params``), ``distributed/fsdp/wrap.py``, ``ModuleWrapPolicy`` and ``transformer_auto_wrap_policy`` (each module of
one of the classes is a unit of its own, the rest of the parameters belongs to the module around it).
"""

from __future__ import annotations

from typing import Any

from distlint.frameworks.torch.rehearsed_modules import Layer, named_weights
from distlint.frameworks.torch.rehearsed_needs import needs_gradient, was_told_in_part
from distlint.link.modules import ClassRef
from distlint.model import python as ir
from distlint.rehearsal.notes import PARTLY_FROZEN
from distlint.rehearsal.stage import Event, Fault
from distlint.rehearsal.values import Given, Made, Thing

_BY_CLASS = "torch.distributed.fsdp.wrap.ModuleWrapPolicy()"
_DEEP = 6


def wrapped(player: Any, module: Any, given: Given, call: ir.Call, scope: Any) -> None:
    """A module is wrapped with one flat parameter for each of its units."""
    stage = player.stage
    if stage.unsure or any(stage.attempts) or given.open or was_told_in_part(player):
        return
    if any(
        given.get(name, None, None) is not None for name in ("ignored_modules", "ignored_states", "ignored_parameters")
    ):
        return
    policy = given.get("auto_wrap_policy", 3, None)
    classes = () if policy is None else _classes(player, policy)
    if classes is None or named_weights(player, module) is None:
        return
    for unit in _units(module, classes):
        weights = _of_unit(player, unit, classes)
        told = {needs_gradient(player, one): name for name, one in weights} if weights is not None else {}
        if True in told and False in told:
            event = Event("FullyShardedDataParallel", call, scope.file, scope.function, {})
            event.chain = stage.chain
            stage.faults.append(Fault(PARTLY_FROZEN, event.span, event, {"trained": told[True], "frozen": told[False]}))
            return


def _classes(player: Any, policy: Any) -> tuple[ClassRef, ...] | None:
    """The classes whose modules a policy wraps on their own; ``None`` where they are not known to be classes of the project."""
    if not isinstance(policy, Made) or policy.name != _BY_CLASS or policy.call is None or len(policy.call.args) != 1:
        return None
    listed = policy.call.args[0]
    if type(listed) is not ir.ListDisplay:
        return None
    found = [player.stage.project.modules.resolve(one, policy.file) for one in listed.items]
    return tuple(found) if all(isinstance(one, ClassRef) for one in found) else None


def _units(module: Any, classes: tuple[ClassRef, ...]) -> list[Any]:
    return [module, *(one for one in _below(module, 0) if _is_unit(one, classes))]


def _is_unit(module: Any, classes: tuple[ClassRef, ...]) -> bool:
    return isinstance(module, Thing) and module.cls in classes


def _below(module: Any, depth: int) -> list[Any]:
    inner = _children(module)
    return [*inner, *(one for child in inner for one in _below(child, depth + 1))] if depth < _DEEP else inner


def _children(module: Any) -> list[Any]:
    values = module.children or () if isinstance(module, Layer) else getattr(module, "attributes", {}).values()
    return [one for one in values if isinstance(one, Layer | Thing)]


def _of_unit(player: Any, unit: Any, classes: tuple[ClassRef, ...]) -> list[tuple[str, Any]] | None:
    """The parameters of a unit, but for those of the units in it."""
    every = named_weights(player, unit)
    inner: set[int] = set()
    for one in _below(unit, 0):
        if _is_unit(one, classes):
            inner.update(
                id(layer) for _, weight in named_weights(player, one) or () for layer in weight.owners or (weight,)
            )
    if every is None:
        return None
    return [(name, one) for name, one in every if not any(id(owner) in inner for owner in one.owners or (one,))]
