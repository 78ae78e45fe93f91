"""How many items the things have that library calls make, on one process: tensors, datasets, samplers, loaders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from distlint.checks.rank_names import unpacked
from distlint.checks.rank_scope import Made, Scope
from distlint.checks.rank_values import UNKNOWN, Many, Sized, items_of, truth_of
from distlint.link.arguments import find_argument
from distlint.link.flow import Env
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.checks.ranks import RankView

MAX_ROUNDS = 2_000
"""Statements of a generator that are gone through."""


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


def yielded(view: RankView, made: Made) -> int | None:
    """How many items an object gives whose ``__iter__`` is a generator with loops and tests that are known."""
    method = view.project.modules.method(made.owner, "__iter__")
    if method is None or not view.project.flow(method.file, method.index).has_yield:
        return None
    scope = Scope(method.file, method.index, {}, own=made, depth=made.scope.depth + 1)
    counted = _count(view, view.project.function(method).body, scope, [MAX_ROUNDS])
    return None if counted is None else counted[0]


def _count(view: RankView, body: tuple[ir.Stmt, ...], scope: Scope, left: list[int]) -> tuple[int, str] | None:
    """The ``yield`` statements that a body comes to and how it ends (``""``, ``continue``, ``break`` or ``return``).

    ``None`` where that is not known.
    """
    flow = view.project.flow(scope.file, scope.function)
    total = 0
    for statement in body:
        left[0] -= 1
        if left[0] < 0:
            return None
        if isinstance(statement, ir.Evaluate) and isinstance(statement.value, ir.Wrapped):
            if statement.value.kind != "yield":
                return None
            total += 1
        elif isinstance(statement, ir.If):
            holds = truth_of(view.value(statement.test, scope, flow.before(statement.test.at)))
            if holds is None:
                return None
            inner = _count(view, statement.body if holds else statement.orelse, scope, left)
            if inner is None:
                return None
            total += inner[0]
            if inner[1]:
                return total, inner[1]
        elif isinstance(statement, ir.For):
            items = items_of(view.value(statement.iterable, scope, flow.before(statement.iterable.at)))
            for item in items or ():
                inner = _count(view, statement.body, scope.with_local(unpacked(statement.target, item)), left)
                if inner is None:
                    return None
                total += inner[0]
                if inner[1] == "return":
                    return total, "return"
                if inner[1] == "break":
                    break
            if items is None:
                return None
        elif isinstance(statement, ir.Jump) and statement.kind in ("continue", "break"):
            return total, statement.kind
        elif isinstance(statement, ir.Return):
            return total, "return"
        elif isinstance(statement, ir.While | ir.Try | ir.With | ir.Match):
            return None
    return total, ""
