"""Meshes of processes in the rehearsal of a program, and the groups that are parts of all processes.

Sources: torch 2.13, ``distributed/device_mesh.py``, ``distributed/distributed_c10d.py``.
"""

from __future__ import annotations

import math
from typing import Any

from distlint.frameworks.torch import rehearsed_lives as lives
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.entities import Group
from distlint.rehearsal.unknowns import UNKNOWN, Opaque
from distlint.rehearsal.values import Given, Items, Made, Tensor, combined

_MODULES = (
    "torch.distributed",
    "torch.distributed.device_mesh",
    "torch.distributed.tensor",
    "torch.distributed._tensor",
)
_MESHES = tuple(f"{module}.init_device_mesh" for module in _MODULES)
_CLASSES = tuple(f"{module}.DeviceMesh" for module in _MODULES)
_SUBGROUPS = "torch.distributed.new_subgroups"
MAX_SIZE = 4096


class Mesh(Made):
    """Ranks in a grid: ``sizes`` and ``names`` of its dimensions, its ``ranks`` row by row, and the one whose place is asked for."""

    __slots__ = ("names", "rank", "ranks", "sizes")

    def __init__(self, sizes: tuple[int, ...], names: tuple[Any, ...], ranks: tuple[int, ...], rank: int) -> None:
        super().__init__("mesh of processes")
        self.sizes = sizes
        self.names = names
        self.ranks = ranks
        self.rank = rank
        self.sign = ("mesh", sizes, ranks)

    def place(self) -> tuple[int, ...] | None:
        """The coordinates of this process; ``None`` where it is not in the mesh."""
        if self.rank not in self.ranks:
            return None
        position = self.ranks.index(self.rank)
        found = []
        for size in reversed(self.sizes):
            found.append(position % size)
            position //= size
        return tuple(reversed(found))

    def dimension(self, asked: Any) -> int | None:
        """The number of a dimension that is asked for by name or number; the only one where none is named."""
        if asked is None:
            return 0 if len(self.sizes) == 1 else None
        if isinstance(asked, int) and -len(self.sizes) <= asked < len(self.sizes):
            return asked % len(self.sizes)
        return self.names.index(asked) if isinstance(asked, str) and asked in self.names else None

    def along(self, dimensions: list[int]) -> Mesh | None:
        """The part of the mesh with this process' place in all other dimensions."""
        place = self.place()
        if place is None:
            return None
        kept = []
        for number, rank in enumerate(self.ranks):
            other = Mesh(self.sizes, self.names, tuple(range(len(self.ranks))), number).place() or ()
            if all(other[one] == place[one] for one in range(len(place)) if one not in dimensions):
                kept.append(rank)
        sizes, names = tuple(self.sizes[one] for one in dimensions), tuple(self.names[one] for one in dimensions)
        return Mesh(sizes, names, tuple(kept), self.rank)

    def processes(self, player: Any) -> Group | None:
        """The group of the processes along its only dimension, or of all there are."""
        found = group_over(player, self)
        return found if len(self.sizes) == 1 or found is player.stage.everyone else None

    def attribute(self, player: Any, name: str, expr: ir.Expr, scope: Any) -> Any:
        """What is known of the grid."""
        if name == "mesh":
            return self._numbers()
        known = {"ndim": len(self.sizes), "shape": self.sizes, "mesh_dim_names": self.names or None}
        return known.get(name, NotImplemented)

    def _numbers(self) -> Tensor:
        """``mesh.mesh``: the ranks as a tensor."""
        made = Tensor(self.sizes, "int32", None, combined("ranks of a mesh", [*self.sizes, *self.ranks]))
        if len(self.sizes) == 1:
            made.holds(self.ranks)
        return made

    def part(self, player: Any, index: Any, span: Span) -> Any:
        """``mesh["name"]``."""
        asked = list(index) if type(index) is tuple else [index]
        found = [self.dimension(one) for one in asked if isinstance(one, str)]
        if len(found) != len(asked) or None in found:
            return UNKNOWN
        return self.along([one for one in found if one is not None]) or UNKNOWN

    def method(self, player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
        """Places and groups."""
        place = self.place()
        if name in ("get_group", "get_local_rank"):
            which = self.dimension(given.get("mesh_dim", 0))
            if which is None or place is None:
                return UNKNOWN
            inner = self.along([which])
            group = group_over(player, inner) if inner is not None else None
            return place[which] if name == "get_local_rank" else group or UNKNOWN
        if name == "size":
            which = self.dimension(given.get("mesh_dim", 0))
            return math.prod(self.sizes) if which is None else self.sizes[which]
        if name == "get_coordinate":
            return Items(list(place)) if place is not None else None
        if name == "_flatten":
            return Mesh((len(self.ranks),), ("flat",), self.ranks, self.rank)
        if name == "get_all_groups":
            return Items(
                [self.method(player, "get_group", Given([one], {}), call, scope) for one in range(len(self.sizes))]
            )
        return self.rank if name == "get_rank" else NotImplemented


def group_over(player: Any, mesh: Any) -> Group | None:
    """The processes of a mesh as a group: all of them where none is given, ``None`` where they are not known."""
    stage = player.stage
    if mesh is None:
        everyone: Group = stage.everyone
        return everyone
    if not isinstance(mesh, Mesh):
        return None
    if mesh.ranks == stage.everyone.ranks:
        return stage.everyone  # type: ignore[no-any-return]
    groups: dict[Any, Group] = stage.kept.setdefault("groups of meshes", {})
    found = groups.setdefault((mesh.ranks, mesh.names), Group(mesh.ranks))
    found.along = mesh.names
    return found


def made(player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
    """What functions give that make meshes or share all processes out to groups; ``NotImplemented`` for others."""
    if name in (*_MESHES, *_CLASSES):
        lives.started(player.stage)
    if name in _MESHES:
        return _grid(player, given)
    if name in _CLASSES:
        return _arranged(player, given)
    if name.startswith(_SUBGROUPS):
        return _subgroups(player, name, given, ir.unpack(call.at, scope.file))
    return NotImplemented


def _grid(player: Any, given: Given) -> Any:
    stage = player.stage
    sizes = player.items_of(given.get("mesh_shape", 1, UNKNOWN))
    names = given.get("mesh_dim_names", 2, None)
    named = player.items_of(names) if names is not None else []
    if not stage.unsure:
        stage.initialized = True
    if sizes is None or not all(isinstance(size, int) and size > 0 for size in sizes) or named is None:
        return Opaque(("mesh",))
    count = math.prod(sizes)
    if count > MAX_SIZE:
        return UNKNOWN
    if count > 1 and count != stage.world:
        stage.declared = count
    labels = tuple(named) if len(named) == len(sizes) else (None,) * len(sizes)
    return Mesh(tuple(sizes), labels, tuple(range(count)), stage.rank)


def _arranged(player: Any, given: Given) -> Any:
    """``DeviceMesh("cuda", [[0, 1], [2, 3]])``: a grid of ranks that are written out, or counted."""
    stage = player.stage
    names = given.get("mesh_dim_names", None, None)
    named = player.items_of(names) if names is not None else []
    grid = _rows(player, given.get("mesh", 1, UNKNOWN))
    if grid is None or named is None:
        return UNKNOWN
    sizes, ranks = grid
    if len(ranks) > MAX_SIZE or len(set(ranks)) < len(ranks):
        return UNKNOWN
    if len(ranks) > stage.world:
        stage.declared = len(ranks)  # there are at least so many
    if not all(0 <= rank < stage.world for rank in ranks):
        return UNKNOWN
    labels = tuple(named) if len(named) == len(sizes) else (None,) * len(sizes)
    return Mesh(sizes, labels, ranks, stage.rank)


def _rows(player: Any, value: Any) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """The sizes and the ranks of a grid: of lists in each other, or of a tensor that is a row of known numbers in some shape."""
    if isinstance(value, Tensor):
        shape, numbers = value.shape, value.whole.numbers
        known = numbers is not None and shape is not None and all(type(size) is int for size in shape)
        if not known or value.packed is not True or math.prod(shape or ()) != len(numbers or ()):
            return None
        return tuple(shape or ()), tuple(numbers or ())
    items = player.items_of(value)
    if not items:
        return None
    if all(type(item) is int for item in items):
        return (len(items),), tuple(items)
    inner = [_rows(player, item) if not isinstance(item, Tensor) else None for item in items]
    rows = [row for row in inner if row is not None]
    if len(rows) < len(items) or len({sizes for sizes, _ in rows}) != 1:
        return None
    return (len(rows), *rows[0][0]), tuple(rank for _, ranks in rows for rank in ranks)


def _subgroups(player: Any, name: str, given: Given, span: Span) -> Any:
    """``new_subgroups`` and ``new_subgroups_by_enumeration``: this process' group, and all of them."""
    stage = player.stage
    rows: list[Any] | None
    if name.endswith("by_enumeration"):
        lists = player.items_of(given.get("ranks_per_subgroup_list", 0, UNKNOWN))
        rows = None if lists is None else [player.items_of(one) for one in lists]
    else:
        size = given.get("group_size", 0, None)
        fits = isinstance(size, int) and size > 0 and stage.world % size == 0
        rows = [list(range(start, start + size)) for start in range(0, stage.world, size)] if fits else None
    if rows is None or not all(row is not None and all(isinstance(rank, int) for rank in row) for row in rows):
        return UNKNOWN
    groups = [Group(tuple(row), span) for row in rows]
    own = next((group for group in groups if group.ranks is not None and stage.rank in group.ranks), None)
    return (own, Items(list(groups)))
