"""Whole numbers that were added up over the processes and are divided in place, in the rehearsal of a program.

A run of torch 2.13: `/=` and `div_` of a tensor of int64, whatever it is divided by, raise a RuntimeError (`result type Float can't be
cast to the desired output type Long`); with a `rounding_mode`, and by `//=`, they do not.
"""

from __future__ import annotations

from typing import Any

from distlint.model.span import Span
from distlint.rehearsal.notes import WHOLE_DIVIDED
from distlint.rehearsal.stage import Fault
from distlint.rehearsal.values import Tensor

_WHOLE = frozenset({"int64", "int32", "int16", "int8", "uint8", "bool"})
_DIVIDING = frozenset({"/", "div_", "divide_", "true_divide_"})


def changed(player: Any, tensor: Tensor, how: str, others: list[Any], span: Span | None) -> None:
    """A tensor was changed in place: noted where it holds sums of whole numbers and is divided."""
    event = tensor.whole.summed
    if how not in _DIVIDING or event is None or span is None or player.stage.unsure:
        return
    certain = tensor.dtype in _WHOLE and tensor.typed is None
    if certain and not any(isinstance(one, str) for one in others):
        player.stage.faults.append(Fault(WHOLE_DIVIDED, span, event, {"dtype": tensor.dtype}))
