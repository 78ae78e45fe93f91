"""Who looks for overflows in the gradients of a sharded model, in the rehearsal of a program.

Sources: torch 2.13, ``distributed/fsdp/fully_sharded_data_parallel.py`` (the signature), ``amp/autocast_mode.py`` (which type a context has
that names none), ``amp/grad_scaler.py``, ``_unscale_grads_``: each process looks at the gradients that it holds;
``distributed/fsdp/sharded_grad_scaler.py``, ``unscale_``: what it finds is added up over the ranks;
``distributed/tensor/_dispatch.py``, ``found_inf_reduce_handler``: for the parameters of ``fully_shard`` every scaler does that.
"""

from __future__ import annotations

from typing import Any

from distlint.frameworks.torch.rehearsed_scaling import Scaling, is_on
from distlint.frameworks.torch.rehearsed_shapes import dtype_of
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.entities import Library
from distlint.rehearsal.notes import OWN_OVERFLOWS
from distlint.rehearsal.stage import Event, Fault
from distlint.rehearsal.values import Given, Made, Tensor

CONTEXTS = {
    "torch.autocast": 1,
    "torch.amp.autocast": 1,
    "torch.amp.autocast_mode.autocast": 1,
    "torch.cuda.amp.autocast": 1,
    "torch.cuda.amp.autocast_mode.autocast": 1,
}
"""Contexts in which layers compute in a smaller type, with the position of that type."""
_SHARDED = "torch.distributed.fsdp.FullyShardedDataParallel()"
_STRATEGIES = ("FULL_SHARD", "SHARD_GRAD_OP", "HYBRID_SHARD", "_HYBRID_SHARD_ZERO2")
_HALF = "float16"
_TYPES = "types of the contexts that layers compute in"
_LOSS = "scaled loss of the last backward pass"
_PASSES = frozenset({"forward", "backward", "clip_grad_norm_"})
_INSIDE = ("_per_optimizer_states", "_found_inf_per_device", "_check_inf_per_device")


_SURE_TYPES = "types that layers certainly compute in"
_CASTING = ("Linear", "Conv")


class Autocast(Made):
    """A context in which layers compute in a smaller type."""

    __slots__ = ("dtype",)

    def __init__(self, name: str, call: ir.Call, given: Given) -> None:
        super().__init__(f"{name}()", call, given)
        self.dtype = _type_of_context(name, given)

    def entered(self, player: Any, span: Span) -> Any:
        """Layers compute in that type from here on."""
        player.stage.kept.setdefault(_TYPES, []).append(self.dtype)
        given = self.arguments
        enabled = True if given is None else given.get("enabled", 0 if ".cuda." in self.name else 2, True)
        known = given is not None and not given.open and isinstance(enabled, bool)
        player.stage.kept.setdefault(_SURE_TYPES, []).append(
            self.dtype if known and enabled else "float32" if known else ""
        )
        return self

    def left(self, player: Any, span: Span) -> None:
        """They compute in that of the context around it again."""
        for kept in (_TYPES, _SURE_TYPES):
            types = player.stage.kept.get(kept)
            if types:
                types.pop()


def typed(player: Any, kind: str, made: Tensor) -> None:
    """What a layer computed has the type of the context around it, where it is one of those that compute in that type.

    Source: a run of torch 2.13 on the CPU: linear layers and convolutions, transposed ones too, give the smaller type; ``Bilinear``,
    ``Embedding`` and ``LayerNorm`` do not.
    """
    types = player.stage.kept.get(_SURE_TYPES)
    if types and kind.startswith(_CASTING):
        made.dtype = types[-1]


def _type_of_context(name: str, given: Given) -> str:
    """The type that layers compute in; ``""`` where it is not known."""
    if given.open or given.get("enabled", 0 if ".cuda." in name else 2, True) is False:
        return ""
    asked = dtype_of(given.get("dtype", CONTEXTS[name], None))
    if asked is not None:
        return asked
    device = "cuda" if ".cuda." in name else given.get("device_type", 0, None)
    return {"cuda": _HALF, "cpu": "bfloat16"}.get(device, "") if isinstance(device, str) else ""


def is_half(player: Any, wrapper: Any) -> bool:
    """Whether a forward pass of a sharded model computes in a type whose largest number gradients may exceed."""
    given = wrapper.arguments
    if wrapper.name != _SHARDED or given is None or given.open:
        return False
    mixed = given.get("mixed_precision", 6, None)
    asked = None
    if mixed is not None:
        flags = mixed.arguments if isinstance(mixed, Made) else None
        if flags is None or flags.open:
            return False
        asked = dtype_of(flags.get("param_dtype", 0, None))
        if dtype_of(flags.get("reduce_dtype", 1, None)) == _HALF:
            return True
    types = player.stage.kept.get(_TYPES)
    return asked == _HALF or (asked in (None, "float32") and bool(types) and types[-1] == _HALF)


def passed_back(player: Any, loss: Tensor) -> None:
    """A backward pass: whether its gradients are scaled, and in parts."""
    stage = player.stage
    scalers = [one for one in loss.through if isinstance(one, Scaling)]
    wrappers = [one for one in loss.through if hasattr(one, "inner")]
    stage.kept[_LOSS] = None
    if len(scalers) == 1 and wrappers and not stage.unsure and not stage.alone and all(map(_is_in_parts, wrappers)):
        stage.kept[_LOSS] = (scalers[0].scaler, wrappers, len(stage.events))


def _is_in_parts(wrapper: Any) -> bool:
    """Whether each process certainly holds a part of the gradients of a model, and these may overflow."""
    ranks = wrapper.group.ranks if wrapper.group is not None else None
    if not wrapper.half or (ranks is not None and len(ranks) == 1):
        return False
    strategy = wrapper.arguments.get("sharding_strategy", 2, None)
    if isinstance(strategy, Library):
        return strategy.name.rpartition(".")[2] in _STRATEGIES
    return strategy is None


def looked_into(player: Any, name: str) -> None:
    """What a scaler has found is taken from it by hand: it may be brought together."""
    if name in _INSIDE:
        player.stage.kept[_LOSS] = None


def stepped(player: Any, scaler: Any, optimizer: Any, call: ir.Call, scope: Any) -> None:
    """A scaler steps an optimizer, unless this process has found an overflow."""
    stage = player.stage
    found = stage.kept.get(_LOSS)
    if not found or found[0] is not scaler or any(stage.attempts) or not is_on(scaler):
        return
    if stage.unsure and any(event.name not in _PASSES for event in stage.events[found[2] :]):
        return  # the processes may have told each other what they found, and go on if there is nothing
    given = getattr(optimizer, "arguments", None)
    module = getattr(given.get("params", 0, None), "module", None) if given is not None else None
    if scaler.call is None or (module is not None and not any(module in (one, one.inner) for one in found[1])):
        return
    event = Event("step", call, scope.file, scope.function, {})
    event.chain = stage.chain
    words = {"wrapper": found[1][-1].span, "step": event.span}
    stage.faults.append(Fault(OWN_OVERFLOWS, ir.unpack(scaler.call.at, scaler.file), event, words))
    stage.kept[_LOSS] = None
