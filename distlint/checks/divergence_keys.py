"""The keys of a mapping over the ranks: they are the same where only what stands under them differs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from distlint.checks import divergence_callers, divergence_objects
from distlint.checks.divergence_state import THE_SAME, UNKNOWN, Divergence, together
from distlint.link.flow import Env, Store
from distlint.link.modules import External
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.checks.divergence_names import Path
    from distlint.checks.divergence_trace import Ground, Tracer

KEYS = ("keys", None)
"""The step from a mapping to its keys, in a path that is walked back."""

ORDERING = frozenset({"sorted", "list", "tuple", "reversed", "iter", "set"})
"""Built-in functions that go over the keys of a mapping."""

_EMPTY = {"collections.defaultdict": 1, "collections.OrderedDict": 0}
"""Mappings that are made without an item, by how many arguments they take then at most."""


def keys_of(tracer: Tracer, expr: ir.Expr, ground: Ground, state: Env) -> Divergence:
    """What is known of the keys of a mapping, however its values may differ."""
    whole = tracer.of(expr, ground, state)
    return written_keys(tracer, expr, ground, state) if whole.differs else whole


def written_keys(tracer: Tracer, expr: ir.Expr, ground: Ground, state: Env) -> Divergence:
    """The keys of something that is seen to be a mapping, made by the program itself; unknown for other things."""
    return divergence_objects.member(tracer, expr, (KEYS,), ground, state)


def taken(tracer: Tracer, iterable: ir.Call, part: tuple[Any, ...], ground: Ground, state: Env) -> Divergence | None:
    """A key that ``.keys()``, or ``.items()`` as the first of two, gives; ``None`` for all else."""
    func = iterable.func
    if type(func) is not ir.Attribute or iterable.args:
        return None
    if (func.name == "keys" and not part) or (func.name == "items" and part == (0,)):
        return keys_of(tracer, func.base, ground, state)
    return None


def gone_over(tracer: Tracer, expr: ir.Expr, found: Divergence, ground: Ground, state: Env) -> Divergence:
    """What is taken in turn from something that is ``found`` to differ as a whole: of a mapping it is a key."""
    if not found.differs:
        return found
    keys = written_keys(tracer, expr, ground, state)
    return keys if keys.is_same else found


def written(tracer: Tracer, expr: ir.Expr, ground: Ground, state: Env) -> Divergence | None:
    """The keys of a mapping that is written out here; ``None`` for other expressions."""
    if type(expr) is ir.DictDisplay:
        return together(
            keys_of(tracer, value, ground, state) if key is None else tracer.of(key, ground, state)
            for key, value in zip(expr.keys, expr.values, strict=True)
        )
    if type(expr) is ir.Comprehension:
        pair = expr.element if expr.kind == "dict" else None
        return tracer.comprehension(expr, pair.items[0], ground, state) if type(pair) is ir.ListDisplay else None
    if type(expr) is not ir.Call or divergence_callers.is_local(tracer, expr.func, ground):
        return None
    target = tracer.project.modules.resolve(expr.func, ground.file)
    if isinstance(target, External) and len(expr.args) <= _EMPTY.get(target.name, -1) and not expr.keywords:
        return THE_SAME
    if target is not None or type(expr.func) is not ir.Name:
        return None
    if expr.func.id == "dict":
        spread = [keyword.value for keyword in expr.keywords if keyword.name is None]
        return together(keys_of(tracer, one, ground, state) for one in (*expr.args, *spread))
    return written_keys(tracer, expr.args[0], ground, state) if expr.func.id in ORDERING and expr.args else None


def of_whole(path: Path, found: Divergence) -> Divergence:
    """What follows for a path from what is known of the whole: of keys nothing, it may be no mapping, or have the same keys."""
    return UNKNOWN if path[-1:] == (KEYS,) else found


def change(tracer: Tracer, store: Store, path: Path, ground: Ground) -> Divergence | None:
    """What a step inside a mapping, the place before the last of a path, adds to its keys; ``None`` for nothing."""
    if len(store.path) >= len(path):
        # an item is set, or something in it: some mappings make it then
        step = store.path[len(path) - 1]
        return UNKNOWN if isinstance(step, str) else tracer.of(step, ground, store.at)
    call = store.expr
    if store.action in ("update", "|="):
        given: tuple[Any, ...] = call.args if type(call) is ir.Call else (call,)
        return together(keys_of(tracer, one, ground, store.at) for one in given)
    if store.action in ("setdefault", "pop") and type(call) is ir.Call and call.args:
        return tracer.of(call.args[0], ground, store.at)
    return None if store.action == "clear" else UNKNOWN


__all__ = ["KEYS", "ORDERING", "change", "gone_over", "keys_of", "of_whole", "taken", "written", "written_keys"]
