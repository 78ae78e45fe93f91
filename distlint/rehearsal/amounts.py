"""Whether processes meet over a few figures, as for a report, or over more, which may be gradients or weights."""

from __future__ import annotations

from distlint.rehearsal.stage import Event
from distlint.rehearsal.unknowns import Opaque
from distlint.rehearsal.values import Items, Tensor

MOST_FIGURES = 16
"""Numbers that are brought together for a report; more may be weights."""

_HOW = ("group", "op", "async_op", "src", "dst")
_WITHOUT_VALUES = ("backward", "forward", "barrier", "monitored_barrier")


def is_small(value: object) -> bool:
    """Whether a tensor, or all of a list, are known to hold a few figures only."""
    if isinstance(value, Items):
        return value.items is not None and all(not isinstance(one, Tensor) or is_small(one) for one in value.items)
    shape = value.shape if isinstance(value, Tensor) else None
    if shape is None or len(shape) > 1:
        return False
    return not shape or (isinstance(shape[0], int) and shape[0] <= MOST_FIGURES)


def brings_much(event: Event, *, unknown: bool = False) -> bool:
    """Whether processes meet over more than a few figures; with ``unknown`` also where it is not known what they bring."""
    if event.name in _WITHOUT_VALUES:
        return False
    if unknown and "object" in event.name:
        return True
    brought = [value for name, value in event.values.items() if name not in _HOW]
    if unknown and any(type(value) is Opaque for value in brought):
        return True
    return any(isinstance(value, Tensor | Items) and not is_small(value) for value in brought)
