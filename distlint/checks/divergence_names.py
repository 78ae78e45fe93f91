"""What a name, or a place inside the object behind it, is over the ranks: walked back to what bound and changed it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from distlint.checks import (
    divergence_effects,
    divergence_failures,
    divergence_filled,
    divergence_keys,
    divergence_objects,
    divergence_outside,
    divergence_presence,
    divergence_yields,
)
from distlint.checks.divergence_state import (
    EVEN,
    EVENED,
    NONE,
    THE_SAME,
    UNKNOWN,
    Divergence,
    one_of,
    together,
)
from distlint.link.flow import BINDS, CHANGES, HANDS, INSIDE, Assume, Bind, Env, Join, Store
from distlint.link.walking import access_path, below, calls_in
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.checks.divergence_trace import Ground, Tracer

MAX_WALK = 2_000
"""Steps of one body that are walked back for one name."""

_VIEWS = frozenset({"detach", "view", "reshape", "flatten", "squeeze", "unsqueeze", "data", "contiguous", "view_as"})
"""Methods and attributes of tensors that give the same memory."""

Path = tuple[Any, ...]


_ANY = ".*"
"""An attribute of which the name is not known (``setattr(x, name, value)``)."""


def path_of(expr: ir.Expr) -> tuple[str, Path] | None:
    """The root name of ``a.b["c"]`` and the steps from it; ``None`` where an index is not written as a constant."""
    root, steps = access_path(expr)
    if not root:
        return None
    path: list[Any] = []
    for step in steps:
        if isinstance(step, str):
            path.append(step)
        elif type(step) is ir.Constant:
            path.append(("item", step.value))
        else:
            return None
    return root, tuple(path)


def alike(one: ir.Expr, other: ir.Expr) -> bool:
    """Whether two expressions are written to mean the same."""
    if type(one) is ir.Constant and type(other) is ir.Constant:
        return type(one.value) is type(other.value) and bool(one.value == other.value)
    if type(one) is ir.Attribute and type(other) is ir.Attribute:
        return one.name == other.name and alike(one.base, other.base)
    if type(one) is ir.Call and type(other) is ir.Call:
        given = len(one.args) == len(other.args) and not one.keywords and not other.keywords
        return given and all(alike(a, b) for a, b in zip((one.func, *one.args), (other.func, *other.args), strict=True))
    if type(one) is ir.Operation and type(other) is ir.Operation:
        operands = len(one.operands) == len(other.operands) and one.operators == other.operators
        return operands and all(alike(a, b) for a, b in zip(one.operands, other.operands, strict=True))
    if type(one) is ir.Formatted and type(other) is ir.Formatted:
        parts = len(one.parts) == len(other.parts)
        return parts and all(alike(a, b) for a, b in zip(one.parts, other.parts, strict=True))
    return type(one) is ir.Name and type(other) is ir.Name and one.id == other.id


def identity(tracer: Tracer, operand: ir.Expr, ground: Ground, state: Env) -> Divergence:
    """A test for ``None``: it differs where the ranks come to the value by different ways."""
    found = tracer.of(operand, ground, state)
    if found.differs and found.control:
        return divergence_presence.of(tracer, operand, ground, state)
    return found if found.is_same else UNKNOWN


# The chain of a body --------------------------------------------------------------------------------------------------


def name(tracer: Tracer, wanted: str, path: Path, ground: Ground, state: Env) -> Divergence:
    """A name, or what stands at a path below it, in a state of a function."""
    if wanted in ground.local:
        return ground.local[wanted]
    key = ("name", wanted, path, id(ground), id(state))
    tracer.keep((ground, state))
    return tracer.guarded(key, lambda: _walked(tracer, wanted, path, ground, state))


def _walked(tracer: Tracer, wanted: str, path: Path, ground: Ground, state: Env) -> Divergence:
    changes: list[Divergence] = []
    place: Env | None = state
    base: Divergence | None = None
    listed = (wanted, path) if all(isinstance(step, str) for step in path) else ("", ())
    for _ in range(MAX_WALK):
        if place is None:
            base = divergence_outside.outside(tracer, wanted, path, ground)
            break
        if isinstance(place, Store):
            if place.name == wanted and divergence_filled.fills(tracer, place, listed, ground):
                break
            stops, change = _change(tracer, place, wanted, path, ground)
            if stops:
                base = change
                break
            if change is not None:
                changes.append(change)
        elif isinstance(place, Bind) and place.name == wanted:
            base = _bound(tracer, place, path, ground)
            break
        elif isinstance(place, Join):
            if _evened_in_loop(tracer, place, wanted, ground):
                base = EVENED
                break
            if wanted in place.touched and f"{wanted}{_ANY}" in place.touched.how:
                break
            if _is_touched(place, wanted, path):
                if divergence_filled.fills(tracer, place, listed, ground):
                    break
                base = _joined(tracer, wanted, path, place, ground)
                break
        elif isinstance(place, Assume) and _is_asked_of_all(tracer, place, (wanted, path), ground):
            break
        place = place.prev
    if base is None:
        return UNKNOWN
    parts = [base, *changes]
    return one_of(parts) if any(part.why == EVEN for part in parts) else together(parts)


def _is_asked_of_all(tracer: Tracer, assumed: Assume, place: tuple[str, Path], ground: Ground) -> bool:
    """Whether a test behind which something is used has asked all processes about it (``if on_all(rows is not None): return rows``)."""
    wanted, path = place
    # an attribute has to be named itself, of what has items any mention counts
    known = {path[:length] for length in range(1, len(path) + 1)} if path and isinstance(path[0], str) else {()}
    named = (access_path(part) for part in below(assumed.test) if type(part) in (ir.Name, ir.Attribute))
    if assumed.prev is None or not any(root == wanted and steps in known for root, steps in named):
        return False
    return tracer.of(assumed.test, ground, assumed.prev).why == EVEN


def _is_touched(join: Join, wanted: str, path: Path) -> bool:
    if wanted not in join.touched:
        return False
    how = join.touched.how
    if path == (divergence_presence.PRESENCE,):
        return wanted + BINDS in how
    if wanted + BINDS in how or wanted + HANDS in how:
        return True
    if path and isinstance(path[0], str):
        return f"{wanted}{path[0]}" in how
    if wanted + INSIDE in how and path != (divergence_keys.KEYS,):
        return True
    return wanted + CHANGES in how or any(one.startswith(f"{wanted}.") for one in how)


def _change(tracer: Tracer, store: Store, wanted: str, path: Path, ground: Ground) -> tuple[bool, Divergence | None]:
    """What a step does to a place: whether it replaces all that was there, and what comes in."""
    if store.action == "alias" or path == (divergence_presence.PRESENCE,):
        return False, None
    if store.name != wanted:
        if store.action == "call" and _is_view_of(tracer, store, wanted, ground):
            return True, EVENED
        return False, None
    steps = _steps(store)
    if store.action == "set" and steps is not None and steps[-1:] == (_ANY,) and steps[:-1] == path[: len(steps) - 1]:
        return True, UNKNOWN  # it may be any attribute that is set
    if path[-1:] == (divergence_keys.KEYS,) and store.action != "call":
        into = len(store.path) >= len(path) - 1 and (
            len(path) == 1 or steps is None or steps[: len(path) - 1] == path[:-1]
        )
        if into and (store.action != "set" or len(store.path) >= len(path)):
            return False, divergence_keys.change(tracer, store, path, ground)
    inside = steps is None or path == steps[: len(path)]
    covers = steps is not None and steps == path[: len(steps)]
    if not (inside or covers):
        return False, None
    if store.action == "call":
        return _after_call(tracer, store, covers, path[len(steps or ()) :] if covers else (), ground)
    if store.action == "set":
        if covers and steps is not None:
            return True, divergence_objects.member(tracer, store.expr, path[len(steps) :], ground, store.at)
        return False, tracer.of(store.expr, ground, store.at)
    if len(path) > len(steps or ()) and isinstance(path[len(steps or ())], str):
        # an object with attributes is no list or mapping: its class says what the method does
        return False, None
    if store.action == "clear":
        return covers, THE_SAME if covers else None
    rest = path[len(steps or ()) + 1 :]
    if store.action == "append" and rest and isinstance(store.expr, ir.Call) and len(store.expr.args) == 1:
        return False, divergence_objects.member(tracer, store.expr.args[0], rest, ground, store.at)
    if isinstance(store.expr, ir.Call):
        return False, together([tracer.of(argument, ground, store.at) for argument in store.expr.args])
    return False, UNKNOWN if store.action == "unknown" else None


def _steps(store: Store) -> Path | None:
    found: list[Any] = []
    for step in store.path:
        if isinstance(step, str):
            found.append(step)
        elif type(step) is ir.Constant:
            found.append(("item", step.value))
        else:
            return None
    return tuple(found)


def _after_call(
    tracer: Tracer, store: Store, covers: bool, rest: Path, ground: Ground
) -> tuple[bool, Divergence | None]:
    call = store.expr
    if not isinstance(call, ir.Call):
        return False, None
    effect = divergence_effects.effect(tracer, call, store, rest, ground)
    if effect is None:
        return False, None
    replaces, found = effect
    return (replaces and covers), found


def _is_view_of(tracer: Tracer, store: Store, wanted: str, ground: Ground) -> bool:
    """Whether a collective evens another name of the same memory (``total = loss.detach()``)."""
    call = store.expr
    if not isinstance(call, ir.Call) or not tracer.sources.evens(call, ground.file):
        return False
    place: Env | None = store.prev
    for _ in range(MAX_WALK):
        if place is None or (isinstance(place, Bind) and place.name == wanted):
            return False
        if isinstance(place, Bind) and place.name == store.name:
            return (
                not place.part
                and isinstance(place.expr, ir.Name | ir.Attribute | ir.Call)
                and (_root_of_view(place.expr) == wanted)
            )
        place = place.prev
    return False


def _root_of_view(expr: ir.Expr) -> str:
    while True:
        if type(expr) is ir.Call and type(expr.func) is ir.Attribute and expr.func.name in _VIEWS:
            expr = expr.func.base
        elif type(expr) is ir.Attribute and expr.name in _VIEWS:
            expr = expr.base
        else:
            return expr.id if type(expr) is ir.Name else ""


def _evened_in_loop(tracer: Tracer, join: Join, wanted: str, ground: Ground) -> bool:
    """Whether a loop over things that the name is one of, or holds, evens each of them."""
    loop = join.by
    if not isinstance(loop, ir.For) or type(loop.target) not in (ir.Name, ir.ListDisplay):
        return False
    items = loop.iterable.items if type(loop.iterable) is ir.ListDisplay else (loop.iterable,)
    if type(loop.iterable) is ir.Call:
        items = (*loop.iterable.args, loop.iterable.func)
    if not any(access_path(item)[0] == wanted for item in items):
        return False
    targets = loop.target.items if type(loop.target) is ir.ListDisplay else (loop.target,)
    names = {target.id for target in targets if type(target) is ir.Name}
    for call in calls_in(loop.body):
        if call.args and access_path(call.args[0])[0] in names and tracer.sources.evens(call, ground.file):
            return True
    return False


# Where ways meet ------------------------------------------------------------------------------------------------------


def _joined(tracer: Tracer, wanted: str, path: Path, join: Join, ground: Ground) -> Divergence:
    branches = join.branches
    if join.anywhere:
        branches = [branches[0], *(b for b in branches[1:] if isinstance(b, Bind | Store) and b.name == wanted)]
    elif join.test is not None and len(branches) == 2 and join.prev is not None:
        decided = tracer.decided(join.test, ground, join.prev)
        if decided is not None:
            branches = [branches[0] if decided else branches[1]]
    ways = [name(tracer, wanted, path, ground, branch) for branch in branches]
    if len(branches) > 1 and not _all_alike(tracer, join, wanted, path, branches, ground):
        choice = _choice(tracer, join, ground)
        if choice.differs:
            return choice._replace(control=True)
    return one_of(ways)


def _all_alike(tracer: Tracer, join: Join, wanted: str, path: Path, branches: list[Env], ground: Ground) -> bool:
    """Whether all ways leave the same in a name: none changes it, or all set it to the same."""
    found = {_mark(tracer, join, wanted, path, branch, ground) for branch in branches}
    return len(found) == 1


def _mark(tracer: Tracer, join: Join, wanted: str, path: Path, branch: Env, ground: Ground) -> Any:
    """What a way leaves in a name, to be compared with what another one leaves."""
    place: Env | None = branch
    for _ in range(MAX_WALK):
        if place is None or place is join or place is join.prev:
            return "before"
        if isinstance(place, Bind) and place.name == wanted:
            if divergence_presence.is_there(place, path):
                return divergence_presence.THERE
            if isinstance(place.expr, ir.Constant) and not place.part:
                return ("constant", type(place.expr.value), repr(place.expr.value))
            return ("step", id(place))
        if isinstance(place, Store) and place.name == wanted and place.action not in ("call", "alias"):
            if isinstance(place.expr, ir.Constant) and place.action == "set" and _steps(place) == path:
                return ("constant", type(place.expr.value), repr(place.expr.value))
            return ("step", id(place))
        if isinstance(place, Join) and _is_touched(place, wanted, path) and place.by is not join.by:
            if not (place.anywhere and _is_only_handed(tracer, place, wanted, path, ground)):
                return ("step", id(place))
        place = place.prev
    return ("step", id(place))


def _leaves_alone(tracer: Tracer, store: Store, ground: Ground) -> bool:
    call = store.expr
    return not isinstance(call, ir.Call) or divergence_effects.leaves_alone(tracer, call, store, ground)


def _is_only_handed(tracer: Tracer, join: Join, wanted: str, path: Path, ground: Ground) -> bool:
    """Whether what a ``try`` guards does no more with a name than to hand it to calls that leave it as it is."""
    return all(
        isinstance(step, Store) and step.action in ("call", "alias") and _leaves_alone(tracer, step, ground)
        for step in join.branches[1:]
        if isinstance(step, Bind | Store) and step.name == wanted
    )


def _choice(tracer: Tracer, join: Join, ground: Ground) -> Divergence:
    """What chooses between the ways that meet: the test, the number of rounds, an exception."""
    if join.test is not None and join.prev is not None:
        found = divergence_presence.of_test(tracer, join.test, ground, join.prev)
        return found.through(ir.unpack(join.test.at, ground.file)) if found.differs else found
    if isinstance(join.by, ir.Try):
        return divergence_failures.of_try(tracer, join.by, ground)
    parts = [_deciding(tracer, branch, join, ground) for branch in join.branches]
    if isinstance(join.by, ir.For) and join.prev is not None:
        parts.append(tracer.of(join.by.iterable, ground, join.prev, size=True))
    return next((part for part in parts if part.differs), UNKNOWN)


def _deciding(tracer: Tracer, branch: Env, join: Join, ground: Ground) -> Divergence:
    """The first differing test on the way from where the ways part."""
    place: Env | None = branch
    for _ in range(MAX_WALK):
        if place is None or place is join or place is join.prev:
            break
        if isinstance(place, Join) and place.by is not None and place.by is join.by:
            break
        if isinstance(place, Assume) and place.prev is not None:
            found = tracer.of(place.test, ground, place.prev)
            if found.differs:
                return found.through(ir.unpack(place.test.at, ground.file))
        place = place.prev
    return THE_SAME


# Bindings -------------------------------------------------------------------------------------------------------------


def _bound(tracer: Tracer, bind: Bind, path: Path, ground: Ground) -> Divergence:
    expr = bind.expr
    if expr is None:
        return UNKNOWN
    if isinstance(expr, ir.Define):
        return THE_SAME
    if isinstance(expr, ir.AugAssign):
        if divergence_filled.fills(tracer, bind, access_path(expr.target), ground):
            return UNKNOWN
        before = tracer.of(expr.target, ground, bind.prev or bind)
        return together([before, tracer.of(expr.value, ground, bind.prev or bind)])
    if not isinstance(expr, ir.Expr):
        return UNKNOWN
    if bind.part and bind.part[0] == "*":
        return element(tracer, expr, bind.part[1:], ground, bind.at)
    if bind.part and bind.part[0] == "enter":
        return UNKNOWN
    if bind.part:
        return divergence_objects.member(tracer, expr, (*_items(bind.part), *path), ground, bind.at)
    return divergence_objects.member(tracer, expr, path, ground, bind.at)


def _items(part: tuple[int | str, ...]) -> Iterator[Any]:
    for step in part:
        yield ("item", step)


def element(tracer: Tracer, iterable: ir.Expr, part: tuple[Any, ...], ground: Ground, state: Env) -> Divergence:
    """An item that a loop takes out of an iterable, or a part of the item."""
    if type(iterable) is ir.Call and not any(type(one) is ir.Starred for one in iterable.args):
        args, func = iterable.args, iterable.func
        plain = func.id if type(func) is ir.Name else ""
        if plain == "enumerate" and args and part:
            return THE_SAME if part[0] == 0 else element(tracer, args[0], part[1:], ground, state)
        if plain == "zip" and part and isinstance(part[0], int) and 0 <= part[0] < len(args):
            return element(tracer, args[part[0]], part[1:], ground, state)
        if plain == "range" and args:
            # rounds are counted alike, however many there are
            starts = (args[0], *args[2:]) if len(args) > 1 else ()
            return together([tracer.of(one, ground, state) for one in starts])
        if plain in ("list", "iter", "reversed", "sorted", "tuple") and args:
            return element(tracer, args[0], part, ground, state)
        yielded = divergence_yields.taken(tracer, iterable, tuple(_items(part)), ground, state) if part else None
        if yielded is not None:
            return yielded
        keys = divergence_keys.taken(tracer, iterable, part, ground, state)
        if keys is not None:
            return keys
        place = tracer.sources.as_long_as(iterable, ground.file)
        if place is not None and place < len(args):
            return element(tracer, args[place], part, ground, state)
    found = tracer.of(iterable, ground, state)
    return found if part else divergence_keys.gone_over(tracer, iterable, found, ground, state)


def targets(tracer: Tracer, target: ir.Expr, iterable: ir.Expr, ground: Ground, state: Env) -> dict[str, Divergence]:
    """The variables of a comprehension."""
    found: dict[str, Divergence] = {}

    def bind(one: ir.Expr, part: tuple[Any, ...]) -> None:
        if type(one) is ir.Name:
            found[one.id] = element(tracer, iterable, part, ground, state)
        elif type(one) is ir.ListDisplay:
            for place, inner in enumerate(one.items):
                bind(inner, (*part, place))

    bind(target, ())
    return found


__all__ = ["NONE", "alike", "element", "identity", "name", "path_of", "targets"]
