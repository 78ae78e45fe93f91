"""Whole weights that are computed with parts of others, in the rehearsal of a program: a moving average beside a sharded model.

Sources: torch 2.13, ``distributed/fsdp/_flat_param.py``: outside of its passes, and of ``summon_full_params``, the parameters of a sharded
model are one-dimensional parts, some of them empty; ``distributed/fsdp/_fully_shard``: they are distributed tensors, which no operation
takes together with plain ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from distlint.frameworks.torch.rehearsed_weights import Stated, Weight
from distlint.link.walking import statements
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.notes import PARTS_TAKEN
from distlint.rehearsal.stage import Event, Fault
from distlint.rehearsal.values import Items, Tensor

_PARTED = "layers of models that are sharded behind a wrapper"
_WHOLE = "NO_SHARD"
_HARMLESS = ("torch.no_grad", "torch.inference_mode", "torch.autocast", "torch.amp.autocast", "torch.enable_grad")
_JOINING = frozenset({"add_", "sub_", "mul_", "div_", "lerp_", "copy_", "addcmul_", "addcdiv_"})
_MOST = 4_000


def sharded(player: Any, wrapper: Any, parts: Any) -> None:
    """A model was sharded behind a wrapper: by which strategy has to be known."""
    given = wrapper.arguments
    if (
        player.stage.unsure
        or given is None
        or given.open
        or not _parts_weights(given.get("sharding_strategy", 2, None))
    ):
        return
    kept = player.stage.kept.setdefault(_PARTED, {})
    for part in parts:
        if len(kept) < _MOST:
            kept[id(part)] = (part, wrapper)


def _parts_weights(strategy: Any) -> bool:
    name = getattr(strategy, "name", "")
    return strategy is None or (isinstance(name, str) and "ShardingStrategy." in name and not name.endswith(_WHOLE))


def joined(player: Any, tensor: Tensor, how: str, others: Iterable[Any], call: ir.Call, scope: Any) -> None:
    """A tensor is changed in place by others: whole weights by weights of which each process holds a part."""
    stage = player.stage
    if stage.unsure or stage.alone or how not in _JOINING or not _is_whole(tensor):
        return
    wrapper = next((found for one in others if (found := _sharded_by(player, one)) is not None), None)
    if wrapper is None or any(_may_gather(stage, one) for one in (*stage.chain, ir.unpack(call.at, scope.file))):
        return
    event = Event(how, call, scope.file, scope.function, {})
    event.chain = stage.chain
    stage.faults.append(Fault(PARTS_TAKEN, event.span, event, {"wrapper": wrapper.span}))


def _is_whole(tensor: Tensor) -> bool:
    owners = tensor.whole.owners if isinstance(tensor.whole, Weight) else []
    return bool(owners) and not tensor.whole.sharded and not any(one.sharded for one in owners)


def _sharded_by(player: Any, value: Any) -> Any:
    """The wrapper that has parted a weight among the processes, where it certainly lies in parts now."""
    if isinstance(value, Items):
        value = (value.items or [value.sample])[0]
    whole = value.whole if isinstance(value, Tensor) else None
    if not isinstance(whole, Weight) or isinstance(whole, Stated):
        return None
    found = None
    for one in whole.owners:
        manager = getattr(one, "manager", None)
        _, wrapper = player.stage.kept.get(_PARTED, {}).get(id(one), (None, manager))
        in_place = wrapper is not None and wrapper is manager
        if wrapper is None or wrapper.inside or wrapper.calls or (in_place and wrapper.whole):
            return None
        found = wrapper
    return found


def _may_gather(stage: Any, span: Span) -> bool:
    """Whether a call stands in a context in which the parts may be brought together."""
    project = stage.project
    for statement in _around(project, span):
        for context, _ in statement.items:
            made = context.func if type(context) is ir.Call else context
            if project.modules.dotted(made, span.file) not in _HARMLESS:
                return True
    return False


def _around(project: Any, span: Span) -> Iterator[ir.With]:
    module = project.module(span.file)
    for body in (module.body, *(one.body for one in module.functions)):
        for statement in statements(body):
            if type(statement) is ir.With:
                whole = ir.unpack(statement.at, span.file)
                if (whole.line, whole.column) <= (span.line, span.column) and span.end_line <= whole.end_line:
                    yield statement
