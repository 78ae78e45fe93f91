"""New objects that a choice makes on either of its ways, with the same in them, in the rehearsal of a program."""

from __future__ import annotations

from typing import Any

from distlint.model import python as ir
from distlint.rehearsal.merging import alike
from distlint.rehearsal.values import Items, Made, Table, Tensor, Thing

MAX_DEPTH = 5
"""Objects, one in the other, that are compared."""
MAX_PARTS = 100
"""Attributes or items of one object that are compared."""


def one_of_two(one: Any, other: Any, expr: ir.Conditional, file: str) -> Thing | None:
    """``Net().cuda() if has_devices else Net()``: the first of two new objects of one class with the same in them.

    ``None`` where they are others, or were there before: which of the two it is would matter then.
    """
    if not isinstance(one, Thing) or not isinstance(other, Thing):
        return None
    if not _is_made_in(one, expr.body, file) or not _is_made_in(other, expr.orelse, file):
        return None
    return one if _is_like(one, other, 0) else None


def _is_made_in(thing: Thing, expr: ir.Expr, file: str) -> bool:
    return thing.born is not None and ir.unpack(expr.at, file).contains(thing.born)


def _is_like(one: Any, other: Any, depth: int) -> bool:
    if alike(one, other):
        return True
    if depth > MAX_DEPTH or type(one) is not type(other):
        return False
    if isinstance(one, Thing):
        return one.cls == other.cls and _are_like(one.attributes, other.attributes, depth)
    if isinstance(one, Made):
        return one.name == other.name and _have_like_arguments(one, other, depth)
    if isinstance(one, Tensor):
        return one.dtype == other.dtype and _is_like(one.shape, other.shape, depth + 1)
    if isinstance(one, Table):
        return not one.open and not other.open and _are_like(one.items, other.items, depth)
    if isinstance(one, Items):
        one, other = one.items, other.items
    if isinstance(one, tuple | list) and isinstance(other, tuple | list) and len(one) == len(other) <= MAX_PARTS:
        return all(_is_like(first, second, depth + 1) for first, second in zip(one, other, strict=True))
    return False


def _are_like(one: dict[Any, Any], other: dict[Any, Any], depth: int) -> bool:
    if one.keys() != other.keys() or len(one) > MAX_PARTS:
        return False
    return all(_is_like(value, other[key], depth + 1) for key, value in one.items())


def _have_like_arguments(one: Made, other: Made, depth: int) -> bool:
    first, second = one.arguments, other.arguments
    if first is None or second is None:
        return first is second
    if first.open or second.open or not _is_like(list(first.positional), list(second.positional), depth + 1):
        return False
    return _are_like(first.keywords, second.keywords, depth)
