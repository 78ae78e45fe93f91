"""Gradients that an operation is still working on, in the rehearsal of a program, and who reads them meanwhile.

Sources: torch 2.13, ``distributed/distributed_c10d.py``: an asynchronous operation works on the tensor itself; ``nn/utils/clip_grad.py``:
clipping takes the norms of the gradients and scales them where they lie; ``amp/grad_scaler.py``: ``unscale_`` divides the gradients of
an optimizer, and ``step`` does where nobody did before; ``optim/optimizer.py``, ``zero_grad``: new ones are made in the next backward pass.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from distlint.frameworks.torch.rehearsed_modules import Parameters, named_weights, parts_of_model, with_parts
from distlint.frameworks.torch.rehearsed_weights import Gradient, Weight
from distlint.model.span import Span
from distlint.rehearsal.entities import Work
from distlint.rehearsal.stage import Fault
from distlint.rehearsal.values import Items, Tensor

_UNDER_WAY = "gradients under way"
_MOST = 4_000
_MAX_DEPTH = 3


class _Begun(NamedTuple):
    """An operation on a gradient, and how far the process was (``Stage.steps``) when it began."""

    work: Work
    gradient: Gradient
    began: int


def begun(stage: Any, work: Work, tensors: Iterable[Tensor]) -> None:
    """An operation begins to work on tensors."""
    gradients = [tensor.whole for tensor in tensors if isinstance(tensor.whole, Gradient)]
    kept = stage.kept.setdefault(_UNDER_WAY, [])
    if len(kept) < _MOST:
        kept.extend(_Begun(work, one, stage.steps) for one in gradients)


def dropped(stage: Any) -> None:
    """The gradients are cleared: the next ones are others."""
    stage.kept.pop(_UNDER_WAY, None)


def on_gradient(player: Any, weight: Weight) -> Work | None:
    """The operation that works on the gradient of a parameter now, where there certainly is one.

    One that stands for all of a module is each of them in turn: all are under way if what is was begun before the first turn.
    """
    for one in reversed(_current(player.stage)):
        is_each = not weight.name and weight.began > one.began
        if _is_among(one.gradient, {_key(weight), *(map(id, weight.owners) if is_each else ())}):
            return one.work
    return None


def read(player: Any, parameters: Any, span: Span) -> None:
    """The gradients of some parameters are read, or changed; nothing is said where it is not known which they are."""
    keys = _keys(_weights(player, parameters))
    if keys:
        _read(player.stage, keys, span)


def read_by(player: Any, modules: list[Any], span: Span) -> None:
    """An optimizer takes the gradients of the modules that it is known to hold: of all where none is."""
    keys = _keys([part for module in modules for part in (*with_parts(module), *_named(player, module))])
    _read(player.stage, keys if modules else None, span)


def _read(stage: Any, keys: set[Any] | None, span: Span) -> None:
    for one in _current(stage):
        if not one.work.loose and (keys is None or _is_among(one.gradient, keys)):
            stage.faults.append(Fault("early", span, one.work.event, {}))
            one.work.loose = True


def _current(stage: Any) -> list[_Begun]:
    """What certainly is under way here."""
    kept: list[_Begun] = stage.kept.get(_UNDER_WAY, [])
    kept[:] = [one for one in kept if not (one.work.done or one.work.loose)]
    return [one for one in kept if one.work.way == stage.way]


def _is_among(gradient: Gradient, keys: set[Any]) -> bool:
    """Whether a gradient, or one of those that it stands for, certainly belongs to a parameter among some."""
    if not gradient.owners:
        return False
    *layers, weight = gradient.owners
    return _key(weight) in keys or (bool(layers) and all(id(one) in keys for one in layers))


def _key(weight: Any) -> Any:
    """What tells a parameter: the layer that has it, and its name there."""
    named = isinstance(weight, Weight) and weight.name and len(weight.owners) == 1
    return (id(weight.owners[0]), weight.name) if named else id(weight)


def _keys(parts: Iterable[Any]) -> set[Any]:
    """What tells layers and parameters; one that stands for all of some layers is told by these."""
    found = set()
    for one in parts:
        found.add(_key(one))
        if isinstance(one, Weight) and not one.name:
            found.update(map(id, one.owners))
    return found


def _named(player: Any, module: Any) -> list[Weight]:
    """The parameters of a module, where they are known one by one."""
    return [one for _, one in named_weights(player, module) or ()]


def _weights(player: Any, value: Any, depth: int = 0) -> list[Any]:
    """The parameters of a list, or of a module, with its layers."""
    if isinstance(value, Weight):
        return [value]
    if isinstance(value, Parameters):
        return [*parts_of_model(value.module), *_named(player, value.module)] if value.what == "parameters" else []
    rows: Any = value.items if isinstance(value, Items) else value if type(value) is tuple else None
    if isinstance(value, Items) and rows is None:
        rows = [value.sample]
    if rows is None or depth > _MAX_DEPTH:
        return []
    return [one for row in rows for one in _weights(player, row, depth + 1)]
