"""How the ranks of a job are shared out between the kinds of parallelism.

Ranks are numbered like the digits of a number: the first axis changes fastest, so that ranks that differ only there are
neighbours, and the last one slowest.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import NamedTuple

from distlint.model.record import dataclass
from distlint.model.value import Value, absent

TENSOR, CONTEXT, SEQUENCE, DATA, PIPELINE = "TP", "CP", "SP", "DP", "PP"
EXPERT, EXPERT_TENSOR, EXPERT_DATA, SHARD = "EP", "ETP", "EDP", "FSDP"

TITLES = {
    TENSOR: "tensor parallel",
    CONTEXT: "context parallel",
    SEQUENCE: "sequence parallel",
    DATA: "data parallel",
    SHARD: "sharded data parallel",
    PIPELINE: "pipeline parallel",
    EXPERT: "expert parallel",
    EXPERT_TENSOR: "tensor parallel of the experts",
    EXPERT_DATA: "data parallel of the experts",
}
"""The short names of axes and what they mean."""

MAX_WORLD = 1 << 20
"""A job with more ranks than this is not laid out."""


class Axis(NamedTuple):
    """One kind of parallelism: its short name and how many ranks it spreads over."""

    name: str
    size: Value


@dataclass(frozen=True, slots=True)
class Layout:
    """The axes of a job from the fastest to the slowest, and those by which the layers with experts are laid out.

    ``virtual_stages`` is the number of model chunks that each pipeline rank holds. ``order`` says in words where the
    order of the axes is from.
    """

    axes: tuple[Axis, ...]
    expert_axes: tuple[Axis, ...] = ()
    virtual_stages: Value = absent()
    order: str = ""

    def size(self, name: str) -> Value:
        """The size of an axis; absent where the layout has none of that name."""
        return next((axis.size for axis in (*self.axes, *self.expert_axes) if axis.name == name), absent())

    def ranks(self, *names: str) -> int | None:
        """The product of some axes, those that the layout lacks counting 1; ``None`` where one is not known."""
        sizes = [_plain(size) for name in names if not (size := self.size(name)).is_absent]
        return None if None in sizes else prod(size for size in sizes if size is not None)

    def grid(self) -> Grid | None:
        """The axes with their sizes, where all are known."""
        return _grid(self.axes)

    def expert_grid(self) -> Grid | None:
        """The same for the layers with experts."""
        return _grid(self.expert_axes)


def _plain(size: Value) -> int | None:
    only = size.only
    return only if type(only) is int and only > 0 else None


def _grid(axes: tuple[Axis, ...]) -> Grid | None:
    sizes = [_plain(axis.size) for axis in axes]
    if not axes or None in sizes:
        return None
    grid = Grid(tuple(axis.name for axis in axes), tuple(size for size in sizes if size is not None))
    return grid if grid.world <= MAX_WORLD else None


class Grid(NamedTuple):
    """Axes with known sizes, the fastest first."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]

    @property
    def world(self) -> int:
        """How many ranks there are."""
        return prod(self.sizes)

    def coordinates(self, rank: int) -> dict[str, int]:
        """Where a rank stands on each axis."""
        found = {}
        for name, size in zip(self.names, self.sizes, strict=True):
            rank, found[name] = divmod(rank, size)
        return found

    def at(self, name: str, rank: int) -> int:
        """Where a rank stands on one axis; 0 for an axis that there is not."""
        if name not in self.names:
            return 0
        index = self.names.index(name)
        return rank // prod(self.sizes[:index]) % self.sizes[index]

    def groups(self, *names: str) -> Iterator[list[int]]:
        """The groups of ranks that differ on these axes only, each in rising order, by their first ranks."""
        inside = [index for index, name in enumerate(self.names) if name in names]
        outside = [index for index in range(len(self.names)) if index not in inside]
        offsets = sorted(self._numbers(inside))
        for first in sorted(self._numbers(outside)):
            yield [first + offset for offset in offsets]

    def _numbers(self, indexes: list[int]) -> list[int]:
        numbers = [0]
        for index in indexes:
            stride = prod(self.sizes[:index])
            numbers = [number + stride * step for step in range(self.sizes[index]) for number in numbers]
        return numbers

    def split_groups(self, name: str, per_node: int) -> int:
        """How many groups of an axis have ranks on more than one node of ``per_node`` ranks."""
        return sum(group[0] // per_node != group[-1] // per_node for group in self.groups(name))
