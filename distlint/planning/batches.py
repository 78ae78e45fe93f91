"""The batch equation: micro batch × data-parallel size × accumulation steps = global batch."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from distlint.model.value import State, Value, computed


class Batch(NamedTuple):
    """The four sizes, those that follow from the others worked out; ``fits`` says whether they agree, where all are known."""

    micro: Value
    replicas: Value
    accumulation: Value
    whole: Value
    derived: tuple[str, ...] = ()

    @property
    def fits(self) -> bool | None:
        """Whether the equation holds; ``None`` where a size is not known."""
        sizes = [value.only for value in (self.micro, self.replicas, self.accumulation, self.whole)]
        if not all(type(size) is int for size in sizes):
            return None
        return bool(sizes[0] * sizes[1] * sizes[2] == sizes[3])


def solve_batch(micro: Value, replicas: Value, accumulation: Value, whole: Value) -> Batch:
    """The equation with the one size that is missing, where three are known.

    Where neither the number of accumulation steps nor the whole is given, one step is taken: so all frameworks do.
    """
    derived: list[str] = []
    if whole.is_absent and accumulation.is_absent and not micro.is_absent:
        whole, accumulation = computed([micro, replicas], prod), Value(State.KNOWN, (1,))
        derived += ["accumulation", "whole"]
    elif _missing(whole) and not _missing(accumulation):
        whole = computed([micro, replicas, accumulation], prod)
        derived.append("whole")
    elif _missing(accumulation) and not _missing(whole):
        accumulation = computed([whole, micro, replicas], _shared_out)
        derived.append("accumulation")
    elif _missing(micro):
        micro = computed([whole, accumulation, replicas], _shared_out)
        derived.append("micro")
    return Batch(micro, replicas, accumulation, whole, tuple(derived))


def _missing(value: Value) -> bool:
    return value.is_absent or value.is_unknown


def _shared_out(sizes: list[int]) -> int:
    whole, first, second = sizes
    if not first * second or whole % (first * second):
        raise ValueError(f"{whole} does not divide by {first} × {second}")
    return whole // (first * second)
