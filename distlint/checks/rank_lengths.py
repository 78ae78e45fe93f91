"""How many items the things have that library calls make, on one process: tensors, datasets, samplers, loaders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from distlint.checks.rank_scope import Scope
from distlint.checks.rank_values import UNKNOWN, Many, Sized
from distlint.link.arguments import find_argument
from distlint.link.flow import Env
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.checks.ranks import RankView


def made_by_library(view: RankView, name: str, expr: ir.Call, scope: Scope, state: Env) -> Any:
    """What a library call makes, where its length is known."""
    kind, _, place = view.lengths.get(name, "").partition(":")
    if not kind or any(type(argument) is ir.Starred for argument in expr.args):
        return UNKNOWN

    def given(wanted: str, position: int | None) -> Any:
        argument, _ = find_argument(expr, wanted, position)
        return None if argument is None else view.value(argument, scope, state)

    if kind == "like":
        return _sized(_length(view, given("", int(place))))
    if kind == "sizes":
        first = given("size", 0)
        sizes = first if isinstance(first, tuple) else tuple(view.value(one, scope, state) for one in expr.args)
        return _shaped(sizes)
    if kind == "size":
        sizes = given("size", int(place))
        return _shaped(sizes) if isinstance(sizes, tuple) else UNKNOWN
    if kind == "range":
        bounds = [view.value(one, scope, state) for one in expr.args]
        plain = bounds and all(isinstance(one, int | float) and one == one // 1 for one in bounds)
        return Sized(len(range(*map(int, bounds)))) if plain and 0 not in bounds[2:] else UNKNOWN
    if kind == "shares":
        return _share(view, given)
    return _batches(view, given) if kind == "batches" else UNKNOWN


def _length(view: RankView, value: Any) -> int | None:
    from distlint.checks.rank_calls import length_of_value

    return length_of_value(view, value)


def _sized(length: int | None) -> Any:
    return UNKNOWN if length is None else Sized(length)


def _shaped(sizes: tuple[Any, ...]) -> Any:
    if not sizes or not isinstance(sizes[0], int) or sizes[0] < 0:
        return UNKNOWN
    return Sized(sizes[0], sizes[1:])


def _share(view: RankView, given: Any) -> Any:
    """A sampler gives each process the same number of indexes: it repeats some, or drops the rest."""
    count, world = _length(view, given("dataset", 0)), given("num_replicas", 1)
    if world is None:
        world = view.source("world")
    if count is None or isinstance(world, Many) or not isinstance(world, int) or world < 1:
        return UNKNOWN
    drops = given("drop_last", 5)
    if drops not in (None, True, False):
        return UNKNOWN
    return Sized(count // world if drops else -(-count // world))


def _batches(view: RankView, given: Any) -> Any:
    batches = given("batch_sampler", 4)
    if batches is not None:
        return _sized(_length(view, batches))
    sampler, size, drops = given("sampler", 3), given("batch_size", 1), given("drop_last", 8)
    count = _length(view, sampler if sampler is not None else given("dataset", 0))
    size = 1 if size is None else size
    if count is None or not isinstance(size, int) or size < 1 or drops not in (None, True, False):
        return UNKNOWN
    return Sized(count // size if drops else -(-count // size))
