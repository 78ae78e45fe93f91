"""Calls on one process: of library functions that tell the rank, of the project's own, of built-in functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from distlint.checks import rank_names, rank_objects
from distlint.checks.derivations import holders
from distlint.checks.rank_lengths import made_by_library, yielded
from distlint.checks.rank_scope import Closure, Made, Record, Scope
from distlint.checks.rank_values import (
    MAX_ITEMS,
    UNKNOWN,
    Sized,
    agrees,
    converted,
    is_complete,
    item_at,
    items_of,
    length_of,
    names_group,
    same,
    sliced,
    truth_of,
)
from distlint.link.calls import is_static
from distlint.link.flow import Env
from distlint.link.modules import ClassRef, External, FunctionRef
from distlint.link.walking import guards_of, statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.checks.ranks import RankView

MAX_ENTERED = 12
"""Calls of project functions that are entered one inside the other."""

_SAME_LENGTH = frozenset({"list", "tuple", "sorted", "reversed", "enumerate", "iter"})
_KEEPING = frozenset({"to", "cuda", "cpu", "contiguous", "clone", "detach", "float", "half", "bfloat16", "int", "long"})
"""Methods of tensors that leave the sizes alone."""

_MATH: dict[str, Callable[..., Any]] = {
    "math.ceil": math.ceil,
    "math.floor": math.floor,
    "math.sqrt": math.sqrt,
    "math.log2": math.log2,
}
_NAMESPACES = frozenset({"types.SimpleNamespace", "argparse.Namespace", "easydict.EasyDict"})
_TEXT = frozenset({"strip", "lower", "upper", "startswith", "endswith", "isdigit", "isdecimal", "split", "replace"})


def call(view: RankView, expr: ir.Call, scope: Scope, state: Env) -> Any:
    """What a call gives on this process."""
    func = expr.func
    target = None if _is_local(view, func, scope) else view.project.modules.resolve(func, scope.file)
    if isinstance(target, External):
        return _library(view, target.name, expr, scope, state)
    if isinstance(target, FunctionRef):
        definition = view.project.function(target)
        if definition.owner >= 0 and not is_static(definition):
            return UNKNOWN
        return returned(view, target, bound(view, target, expr, 0, scope, state), None, scope.depth)
    if isinstance(target, ClassRef):
        return Made(target, expr, scope, state)
    if type(func) is ir.Name and target is None:
        known = view.value(func, scope, state)
        if known is UNKNOWN:
            return _built_in(view, func.id, expr, scope, state)
        return called(view, known, expr, scope=scope, state=state)
    if type(func) is ir.Attribute:
        return _method(view, expr, func, scope, state)
    return called(view, view.value(func, scope, state), expr, scope=scope, state=state)


def _is_local(view: RankView, func: ir.Expr, scope: Scope) -> bool:
    """Whether a called name is a variable of the function, which hides what the module binds."""
    if type(func) is not ir.Name or scope.function < 0:
        return False
    if func.id in scope.local or func.id in view.project.flow(scope.file, scope.function).bound:
        return True
    function = view.project.function(FunctionRef(scope.file, scope.function))
    return any(parameter.name == func.id for parameter in function.parameters)


# Library --------------------------------------------------------------------------------------------------------------


def _library(view: RankView, name: str, expr: ir.Call, scope: Scope, state: Env) -> Any:
    arguments = expr.args
    if name in ("os.environ.get", "os.getenv") and arguments:
        return view.variable(view.value(arguments[0], scope, state))
    if name in view.sources:
        return view.source(view.sources[name]) if not names_group(expr) else UNKNOWN
    if name in _MATH:
        value = view.value(arguments[0], scope, state) if len(arguments) == 1 else UNKNOWN
        try:
            return _MATH[name](value) if isinstance(value, int | float) else UNKNOWN
        except (OverflowError, ValueError):
            return UNKNOWN
    if name in _NAMESPACES:
        return Record({str(k.name): view.value(k.value, scope, state) for k in expr.keywords if k.name is not None})
    if name == "functools.partial" and arguments:
        known = view.value(arguments[0], scope, state)
        whole = isinstance(known, Closure) and known.call is None
        return Closure(known.target, scope, state, known.own, expr) if whole else UNKNOWN
    if name == "itertools.islice" and len(arguments) > 2:
        items, *bounds = (view.value(argument, scope, state) for argument in arguments)
        return sliced(items, (bounds[0], bounds[1], bounds[2] if len(bounds) > 2 else None))
    if name == "itertools.islice" and len(arguments) == 2:
        items, count = (view.value(argument, scope, state) for argument in arguments)
        size = length_of(items)
        return Sized(min(size, count)) if size is not None and isinstance(count, int) and count >= 0 else UNKNOWN
    return made_by_library(view, name, expr, scope, state)


# The project's own functions ------------------------------------------------------------------------------------------


def bound(
    view: RankView, target: FunctionRef, expr: ir.Call, skipped: int, scope: Scope, state: Env
) -> dict[str, Any] | None:
    """What the parameters of a function get from a call; ``None`` where ``*`` or ``**`` hide it."""
    parameters = view.project.function(target).parameters[skipped:]
    found: dict[str, Any] = {}
    if any(type(argument) is ir.Starred for argument in expr.args) or any(k.name is None for k in expr.keywords):
        return None
    for parameter, argument in zip(parameters, expr.args, strict=False):
        if parameter.kind == "var-positional":
            break
        found[parameter.name] = view.value(argument, scope, state)
    for keyword in expr.keywords:
        found[str(keyword.name)] = view.value(keyword.value, scope, state)
    for place, parameter in enumerate(parameters):
        if parameter.kind == "var-positional":
            found[parameter.name] = tuple(view.value(one, scope, state) for one in expr.args[place:])
        elif parameter.kind.startswith("var"):
            found[parameter.name] = UNKNOWN
    return found


def returned(
    view: RankView, target: FunctionRef, given: dict[str, Any] | None, own: Made | None = None, depth: int = 0
) -> Any:
    """What a function of the project returns on this process."""
    definition = view.project.function(target)
    flow = view.project.flow(target.file, target.index)
    if definition.is_async or flow.has_yield or depth > MAX_ENTERED:
        return UNKNOWN
    view.keep(own)
    key = ("return", target, id(own), repr(given), depth)
    return view.guarded(key, lambda: _returned(view, target, given, own, depth))


def _returned(view: RankView, target: FunctionRef, given: dict[str, Any] | None, own: Made | None, depth: int) -> Any:
    definition = view.project.function(target)
    flow = view.project.flow(target.file, target.index)
    scope = Scope(target.file, target.index, given, own=own, depth=depth + 1)
    found: list[Any] = []
    for statement, state in flow.returns:
        for turn, is_made in _turns(view, definition.body, statement.at, scope):
            reached = _reached(view, definition.body, statement.at, turn, in_turn=is_made)
            if reached is False:
                continue
            value = view.value(statement.value, turn, state) if statement.value is not None else None
            if reached:
                return same([*found, value])
            found.append(value)
    return same([*found, None] if flow.exit is not None else found)


def _turns(view: RankView, body: tuple[ir.Stmt, ...], at: ir.Position, scope: Scope) -> Iterator[tuple[Scope, bool]]:
    """The place of a statement in each turn of the loop around it, if that goes over a few things that are known; as it is otherwise.

    With it whether it is known that the turn is made.
    """
    loops = [one for one in holders(body, at) if type(one) is ir.For or type(one) is ir.While]
    loop = loops[0] if len(loops) == 1 else None
    if type(loop) is not ir.For or type(loop.target) is not ir.Name or _may_stop(loop):
        yield scope, False
        return
    flow = view.project.flow(scope.file, scope.function)
    items = items_of(view.value(loop.iterable, scope, flow.before(loop.iterable.at)))
    if items is None or len(items) > MAX_ITEMS:
        yield scope, False
        return
    for item in items:
        yield scope.with_local({loop.target.id: item}), True


def _may_stop(loop: ir.For) -> bool:
    return any(type(one) is ir.Jump and one.kind == "break" for one in statements(loop.body))


def _reached(
    view: RankView, body: tuple[ir.Stmt, ...], at: ir.Position, scope: Scope, *, in_turn: bool = False
) -> bool | None:
    flow = view.project.flow(scope.file, scope.function)
    decided = [
        True
        if in_turn and guard.kind == "for"
        else None
        if guard.test is None or guard.kind in ("for", "while")
        else agrees(truth_of(view.value(guard.test, scope, flow.before(guard.test.at))), guard.holds)
        for guard in guards_of(body, at) or []
    ]
    return False if False in decided else None if None in decided else True


def called(
    view: RankView,
    known: Any,
    expr: ir.Call | tuple[()],
    more: dict[str, Any] | None = None,
    *,
    scope: Scope | None = None,
    state: Env | None = None,
) -> Any:
    """What calling a value gives: a function, a lambda, or one of them with some arguments given before."""
    if not isinstance(known, Closure):
        return UNKNOWN
    outer = scope or known.scope
    if isinstance(known.target, External):
        plain = isinstance(expr, ir.Call) and state is not None and known.call is None
        return _library(view, known.target.name, expr, outer, state) if plain else UNKNOWN  # type: ignore[arg-type]
    arguments: list[Any] = []
    keywords: dict[str, Any] = dict(more or {})
    parts = [(known.call, known.scope, known.state, 1)] if known.call is not None else []
    if isinstance(expr, ir.Call) and state is not None:
        parts.append((expr, outer, state, 0))
    for part, where, when, start in parts:
        if any(type(one) is ir.Starred for one in part.args) or any(k.name is None for k in part.keywords):
            return UNKNOWN
        arguments += [view.value(one, where, when) for one in part.args[start:]]
        keywords |= {str(k.name): view.value(k.value, where, when) for k in part.keywords}
    if isinstance(known.target, FunctionRef):
        definition = view.project.function(known.target)
        skipped = 1 if definition.owner >= 0 and not is_static(definition) else 0
        names = [p.name for p in definition.parameters[skipped:] if p.kind in ("normal", "positional")]
        return returned(
            view, known.target, {**dict(zip(names, arguments, strict=False)), **keywords}, known.own, outer.depth
        )
    names = [p.name for p in known.target.parameters]
    given = {**dict(zip(names, arguments, strict=False)), **keywords}
    for parameter in known.target.parameters:
        if parameter.name not in given:
            default = parameter.default
            given[parameter.name] = UNKNOWN if default is None else view.value(default, known.scope, known.state)
    flow = view.project.flow(known.scope.file, known.scope.function)
    return view.value(known.target.body, known.scope.with_local(given), flow.exit or known.state)


# Methods --------------------------------------------------------------------------------------------------------------


def _method(view: RankView, expr: ir.Call, func: ir.Attribute, scope: Scope, state: Env) -> Any:
    base = view.value(func.base, scope, state)
    name = func.name
    if isinstance(base, Made):
        method = view.project.modules.method(base.owner, name)
        if method is None:
            return rank_objects.library_method(view, expr, func, scope)
        shift = 0 if is_static(view.project.function(method)) else 1
        return returned(view, method, bound(view, method, expr, shift, scope, state), base, scope.depth)
    if isinstance(base, Sized):
        if name in ("size", "__len__") and len(expr.args) <= 1:
            place = view.value(expr.args[0], scope, state) if expr.args else None
            return (base.length, *base.rest) if place is None else item_at((base.length, *base.rest), place)
        if name in ("view", "reshape") and expr.args:
            sizes = tuple(view.value(one, scope, state) for one in expr.args)
            return Sized(sizes[0], sizes[1:]) if isinstance(sizes[0], int) and sizes[0] >= 0 else UNKNOWN
        if name == "unsqueeze" and len(expr.args) == 1:
            return Sized(base.length) if view.value(expr.args[0], scope, state) in (1, -1, 2) else UNKNOWN
        return base if name in _KEEPING else UNKNOWN
    arguments = [view.value(one, scope, state) for one in expr.args]
    if isinstance(base, dict) and name == "get" and arguments:
        default = arguments[1] if len(arguments) > 1 else None
        return base[arguments[0]] if isinstance(arguments[0], str | int) and arguments[0] in base else default
    if isinstance(base, dict) and name in ("items", "keys", "values") and not arguments:
        return tuple(getattr(base, name)())
    if isinstance(base, str) and name in _TEXT and all(isinstance(one, str) for one in arguments):
        try:
            found = getattr(base, name)(*arguments)
        except (TypeError, ValueError):
            return UNKNOWN
        return tuple(found) if isinstance(found, list) else found if length_of(found) != -1 else UNKNOWN
    if isinstance(base, tuple | range) and name in ("index", "count") and len(arguments) == 1 and is_complete(base):
        return base.index(arguments[0]) if name == "index" and arguments[0] in base else UNKNOWN
    return rank_objects.library_method(view, expr, func, scope)


# Built-in functions ---------------------------------------------------------------------------------------------------


def _built_in(view: RankView, name: str, expr: ir.Call, scope: Scope, state: Env) -> Any:
    if any(type(one) is ir.Starred for one in expr.args):
        return UNKNOWN
    if name == "getattr" and len(expr.args) >= 2 and type(expr.args[1]) is ir.Constant:
        wanted = ir.Attribute(expr.args[0], str(expr.args[1].value), expr.at)
        return view.value(wanted, scope, state)
    if name == "dict" and not expr.args and all(k.name is not None for k in expr.keywords):
        return {str(k.name): view.value(k.value, scope, state) for k in expr.keywords}
    values = [view.value(one, scope, state) for one in expr.args]
    if name in ("int", "str", "bool", "float") and len(values) == 1:
        return converted(name, values[0])
    if name == "len" and len(values) == 1:
        return _length(view, values[0])
    if name == "range" and 1 <= len(values) <= 3 and all(isinstance(one, int) for one in values):
        return range(*values) if values[2:] != [0] else UNKNOWN
    if name in ("zip", "enumerate"):
        return _pairs(name, values)
    if name in _SAME_LENGTH and len(values) == 1:
        items = values[0]
        if isinstance(items, Made):
            size = _length(view, items)
            return Sized(size) if isinstance(size, int) else UNKNOWN
        if name == "sorted" and isinstance(items, tuple | range | dict):
            try:
                return tuple(sorted(items)) if is_complete(items) and not expr.keywords else UNKNOWN
            except TypeError:
                return UNKNOWN
        if name == "reversed" and isinstance(items, tuple | range):
            return items[::-1]
        return tuple(items) if isinstance(items, dict) else items
    if name == "divmod" and len(values) == 2 and all(isinstance(one, int) for one in values) and values[1]:
        return (values[0] // values[1], values[0] % values[1])
    return _folded(name, values) if not expr.keywords else UNKNOWN


def _pairs(name: str, values: list[Any]) -> Any:
    lists = [items_of(one) for one in (values if name == "zip" else values[:1])]
    if not lists or any(one is None for one in lists):
        return UNKNOWN
    known = [one for one in lists if one is not None]
    return tuple(zip(*known, strict=False)) if name == "zip" else tuple(enumerate(known[0]))


def _folded(name: str, values: list[Any]) -> Any:
    """``min``, ``max``, ``sum``, ``any``, ``all``, ``abs`` and ``round`` of what is known."""
    if name in ("any", "all") and len(values) == 1:
        items = items_of(values[0])
        decided = [truth_of(one) for one in items] if items is not None else [None]
        stops = name == "any"
        return stops if stops in decided else UNKNOWN if None in decided else not stops
    if name not in ("min", "max", "sum", "abs", "round") or not values or not all(is_complete(one) for one in values):
        return UNKNOWN
    try:
        if any(isinstance(one, range) and len(one) > MAX_ITEMS for one in values):
            return UNKNOWN
        return {"min": min, "max": max, "sum": sum, "abs": abs, "round": round}[name](*values)  # type: ignore[operator]
    except (TypeError, ValueError):
        return UNKNOWN


def _length(view: RankView, value: Any) -> Any:
    if isinstance(value, Made):
        method = view.project.modules.method(value.owner, "__len__")
        if method is not None:
            return returned(view, method, {}, value, value.scope.depth)
        count = yielded(view, value)
        return UNKNOWN if count is None else count
    size = length_of(value)
    return UNKNOWN if size is None else size


def length_of_value(view: RankView, value: Any) -> int | None:
    """How many items something has, objects of the project included."""
    found = _length(view, value)
    return found if isinstance(found, int) else None


__all__ = ["bound", "call", "called", "length_of_value", "rank_names", "returned"]
