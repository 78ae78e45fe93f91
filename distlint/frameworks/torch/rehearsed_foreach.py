"""Norms, and functions that work on several tensors at once, in the rehearsal of a program.

Source: torch 2.13, ``nn/utils/clip_grad.py``: ``get_total_norm`` takes the norm of the norms of all tensors, ``clip_grads_with_norm_``
scales gradients by a norm that it is given; ``torch/linalg``.
"""

from __future__ import annotations

from typing import Any

from distlint.frameworks.torch import rehearsed_pieces as pieces
from distlint.frameworks.torch.rehearsed_gradients import gradient_of
from distlint.frameworks.torch.rehearsed_modules import Parameters
from distlint.frameworks.torch.rehearsed_shapes import fresh
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.unknowns import UNKNOWN
from distlint.rehearsal.values import Given, Items, Tensor, combined

_NORMS = ("torch.linalg.vector_norm", "torch.linalg.norm", "torch.linalg.matrix_norm")
_TOTAL = ("torch.nn.utils.get_total_norm", "torch.nn.utils.clip_grad.get_total_norm")
_SCALE = ("torch.nn.utils.clip_grads_with_norm_", "torch.nn.utils.clip_grad.clip_grads_with_norm_")
_UNFLATTENED = ("torch._utils._unflatten_dense_tensors", "torch._C._nn.unflatten_dense_tensors")
_EACH = "torch._foreach_"


def made(player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
    """What such a function gives; ``NotImplemented`` for others, and where its tensors are not known."""
    span = ir.unpack(call.at, scope.file)
    if name in _NORMS:
        first = given.get("A" if name != _NORMS[0] else "x", 0, UNKNOWN)
        return _norm([first], span) if isinstance(first, Tensor) else NotImplemented
    if name in _TOTAL:
        tensors = _tensors(player, given.get("tensors", 0, UNKNOWN))
        return _norm(tensors, span) if tensors else NotImplemented
    if name in _SCALE:
        gradients = [gradient_of(player, one) for one in _tensors(player, given.get("parameters", 0, UNKNOWN))]
        for one in gradients:
            player.changed(one, "mul_", [given.get("total_norm", 2, UNKNOWN)])
        return None if gradients else NotImplemented
    if name in _UNFLATTENED:
        return _unflattened(player, name, given, span)
    if not name.startswith(_EACH):
        return NotImplemented
    tensors = _tensors(player, given.get("self", 0, UNKNOWN))
    how = name.removeprefix(_EACH)
    if not tensors:
        return NotImplemented
    if how.endswith("_"):
        for one in tensors:
            player.stage.overwrite(one, span)
            pieces.joined(player, one, how, given.positional[1:], call, scope)
            player.changed(one, how, [*given.positional[1:], *given.keywords.values()], span)
        return None
    shape = () if how == "norm" else None
    return Items([fresh(how, shape, one.dtype, [one, *given.positional[1:]], span) for one in tensors])


def _unflattened(player: Any, name: str, given: Given, span: Span) -> Any:
    """Parts of a flat tensor, each of the form of one of the tensors that it was made of."""
    tensors = _tensors(player, given.get("tensors", 1, UNKNOWN))
    flat = given.get("flat", 0, UNKNOWN)
    if not tensors:
        return NotImplemented
    made = [fresh(name, one.shape, one.dtype, [flat], span) for one in tensors]
    size = player.length(given.get("tensors", 1, UNKNOWN))
    if size == len(made):
        return Items(made)
    found = Items(None, size)
    found.sample = made[0]
    return found


def _norm(tensors: list[Tensor], span: Span) -> Tensor:
    found = fresh("norm", None, tensors[0].dtype, list(tensors), span)
    found.gradient = False
    return found


def _tensors(player: Any, value: Any) -> list[Tensor]:
    """The tensors of a list, or one that stands for them; none where they are not known."""
    if isinstance(value, Tensor):
        return [value]
    items = (
        value.items if isinstance(value, Items) else player.items_of(value) if isinstance(value, Parameters) else None
    )
    if items is None and isinstance(value, Items | Parameters):
        items = [player.item_of(value)]
    return list(items) if items and all(isinstance(one, Tensor) for one in items) else []


def clipped(player: Any, given: Given, span: Span) -> Tensor:
    """``clip_grad_norm_``: the norm of the gradients."""
    parameters = given.get("parameters", 0, UNKNOWN)
    if isinstance(parameters, Items):
        parameters = parameters.items[0] if parameters.items else UNKNOWN
    first = player.item_of(parameters) if isinstance(parameters, Parameters) else parameters
    first = first[1] if type(first) is tuple else first
    gradient = gradient_of(player, first) if isinstance(first, Tensor) else Tensor(None, "")
    norm = Tensor((), "float32", span, combined("norm", [gradient]), gradient.source)
    norm.gradient = False
    return norm
