"""Over which processes the parameters of a model are spread, and who gathers one of them again, in the rehearsal of a program.

Sources: torch 2.13, ``distributed/tensor/parallel/api.py`` (``parallelize_module``) and ``style.py``, ``distributed/tensor/_api.py``
(``full_tensor``), ``distributed/fsdp/_fully_shard``.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from distlint.frameworks.torch import rehearsed_members as members
from distlint.frameworks.torch import rehearsed_mesh as meshes
from distlint.frameworks.torch import rehearsed_modules as modules
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.entities import Group
from distlint.rehearsal.unknowns import UNKNOWN
from distlint.rehearsal.values import Given, Made, Table, Tensor

_PARALLELIZE = (
    "torch.distributed.tensor.parallel.parallelize_module",
    "torch.distributed.tensor.parallel.api.parallelize_module",
)
_DISTRIBUTE = ("torch.distributed.tensor.distribute_module", "torch.distributed._tensor.distribute_module")
_COLUMNS, _ROWS = "ColwiseParallel()", "RowwiseParallel()"
_KEEPING = ("PrepareModuleInput()", "PrepareModuleOutput()", "PrepareModuleInputOutput()")
"""Styles that leave the parameters as they are."""
_SPLIT_KINDS = ("Linear", "Embedding")
_DISTRIBUTING = (
    "torch.distributed.tensor.distribute_tensor",
    "torch.distributed._tensor.distribute_tensor",
    "torch.distributed.tensor.DTensor.from_local",
    "torch.distributed._tensor.DTensor.from_local",
)
"""Functions that give a tensor in parts, those first that part it themselves."""
_SPREAD = "groups that parts of models are spread over"
_SOME = Group(None)
"""Processes of which nobody knows which they are."""


class _Spread(NamedTuple):
    """A part of a model, and the groups that its parameters are parted between; those in ``rows`` have all of its bias each."""

    part: Any
    groups: tuple[Group, ...] = ()
    rows: tuple[Group, ...] = ()


def spread(player: Any, module: Any, group: Group | None, *, by_rows: bool = False) -> None:
    """The parameters of a module are parted between the processes of a group, ``None`` where that is not known."""
    kept = player.stage.kept.setdefault(_SPREAD, {})
    among = (group if group is not None else _SOME,)
    for part in modules.parts_of_model(module):
        part.sharded = True
        _, groups, rows = kept.get(id(part), _Spread(part))
        if any(one.key == among[0].key for one in groups):
            continue  # a part of what is parted as a whole was parted by itself before
        kept[id(part)] = _Spread(part, (*groups, *among), (*rows, *among) if by_rows else rows)


def distributed(player: Any, name: str, given: Given, span: Span) -> Any:
    """A tensor that the processes of a mesh hold parts of; ``NotImplemented`` for other functions."""
    if name not in _DISTRIBUTING:
        return NotImplemented
    first = given.get("tensor", 0) if name in _DISTRIBUTING[:2] else given.get("local_tensor", 0)
    whole = isinstance(first, Tensor) and name in _DISTRIBUTING[:2]
    made = Tensor(first.shape if whole else None, first.dtype if isinstance(first, Tensor) else "", span)
    made.sharded = True
    group = meshes.group_over(player, given.get("device_mesh", 1, None))
    if group is not player.stage.everyone:
        player.stage.kept.setdefault(_SPREAD, {})[id(made)] = _Spread(made, (group if group is not None else _SOME,))
    return made


def over(player: Any, mesh: Any) -> Group | None:
    """Who holds the parts of one parameter where ``fully_shard`` is given a mesh: of two dimensions the second parts them."""
    if isinstance(mesh, meshes.Mesh) and len(mesh.sizes) == 2:
        mesh = mesh.along([1]) or UNKNOWN
    return meshes.group_over(player, mesh)


def gathering(player: Any, tensor: Tensor) -> list[Group]:
    """The groups in which processes meet to have a whole parameter, one after the other."""
    kept = player.stage.kept.get(_SPREAD, {})
    whole = tensor.whole
    parts = [kept[id(one)] for one in (whole, *getattr(whole, "owners", ())) if id(one) in kept]
    if not parts:
        return [player.stage.everyone]
    rows = [_groups_of(whole, one) for one in parts]
    alike = len({tuple(group.key for group in row) for row in rows}) == 1 and _SOME not in rows[0]
    return rows[0] if alike else [_SOME]


def _groups_of(tensor: Tensor, spread_part: _Spread) -> list[Group]:
    part = spread_part.part
    is_bias = isinstance(part, modules.Layer) and tensor.sign is not None and tensor.sign == part.weight("bias").sign
    return [group for group in spread_part.groups if not (is_bias and group in spread_part.rows)]


def parallelized(player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
    """What a function gives that spreads the parameters of a module; ``NotImplemented`` for others."""
    if name in _DISTRIBUTE:
        spread(player, given.get("module", 0, UNKNOWN), None)
        return given.get("module", 0, UNKNOWN)
    if name not in _PARALLELIZE:
        return NotImplemented
    module, plan = given.get("module", 0, UNKNOWN), given.get("parallelize_plan", 2, None)
    mesh = given.get("device_mesh", 1, UNKNOWN)
    group = meshes.group_over(player, mesh) if mesh is not None else None
    for part, style in _planned(module, plan):
        _apply(player, part, style, group)
    return module


def _planned(module: Any, plan: Any) -> Iterator[tuple[Any, Any]]:
    """The modules that a plan is about, with what it says of each; a part of the plan that is not known may be about all."""
    if plan is None:
        return
    if not isinstance(plan, Table):
        yield module, plan
        return
    for path, style in plan.items.items():
        found = _matched(module, path.split(".") if path else []) if isinstance(path, str) else None
        for part in [module] if found is None else found:
            yield part, style if found is not None else UNKNOWN
    if plan.open:
        yield module, UNKNOWN


def _matched(module: Any, path: list[str]) -> list[Any] | None:
    """The modules in a module that a path with wildcards names; ``None`` where they are not known."""
    if not path:
        return [module]
    inner = members.parts(module)
    if inner is None:
        return None
    found: list[Any] = []
    for name, part in inner:
        if fnmatchcase(name, path[0]):
            more = _matched(part, path[1:])
            if more is None:
                return None
            found += more
    return found


def _apply(player: Any, part: Any, style: Any, group: Group | None) -> None:
    kind = style.name.rpartition(".")[2] if isinstance(style, Made) else ""
    if kind in _KEEPING:
        return
    known = isinstance(part, modules.Layer) and part.kind in _SPLIT_KINDS and kind in (_COLUMNS, _ROWS)
    # each process has all of what a layer adds to sums over the rows of its matrix
    spread(player, part, group if known else None, by_rows=known and kind == _ROWS)
