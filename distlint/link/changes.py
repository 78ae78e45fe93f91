"""What a change does to the object behind a name: stores, mutating methods, functions that it is handed to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from distlint.link.abstract import Abstract, Delayed, Frame, Instance, Reference, node_of, options_of, several
from distlint.link.calls import MAX_CALL_DEPTH, bound_parameters, changes_argument, given_arguments, taken
from distlint.link.flow import Env, Store
from distlint.link.modules import ClassRef, External, FunctionRef
from distlint.link.trees import merged, removed, stored
from distlint.link.walking import access_path
from distlint.model import python as ir
from distlint.model.document import Entry, Leaf, Mapping, Node, Sequence, find, node_value
from distlint.model.span import Span
from distlint.model.value import Value, known, unknown

if TYPE_CHECKING:
    from distlint.link.evaluate import Evaluator

Path = tuple["ir.Expr | str", ...]


def after_store(evaluator: Evaluator, store: Store, path: Path, before: Abstract, frame: Frame, span: Span) -> Abstract:
    """What an object is after a step that changes something at ``path`` inside it (or may)."""
    if not isinstance(before, Mapping | Sequence):
        return before
    if store.action == "call":
        return _after_call(evaluator, store, path, before, frame, span)
    if store.action == "alias":
        return before if _leaves_alone(evaluator, store, frame) else in_doubt(before, path, span)
    keys = _keys(evaluator, store, path, frame)
    if isinstance(before, Sequence):
        return _after_list_method(evaluator, store, keys, before, frame, span)
    if keys is None:
        return in_doubt(before, (), span)
    if keys and isinstance(_inside(before, keys), Sequence) and store.action in _LIST_METHODS:
        inner = _after_list_method(evaluator, store, (), _inside(before, keys), frame, span)
        return stored(before, keys, Entry(keys[-1], span, node_of(inner, span)))
    return _after_mapping_change(evaluator, store, keys, before, frame, span)


def _after_mapping_change(
    evaluator: Evaluator, store: Store, keys: tuple[Any, ...], before: Mapping, frame: Frame, span: Span
) -> Abstract:
    if store.action == "set":
        return _set(evaluator, store, keys, before, frame)
    call = store.expr
    if store.action == "delete":
        return removed(before, keys, None)
    if isinstance(call, ir.Call) and store.prev is not None:
        where = ir.unpack(call.at, frame.file)
        if store.action == "pop":
            return removed(before, keys, _first_argument(evaluator, call, frame, store.prev, where))
        if store.action == "clear":
            return (
                removed(before, keys, None)
                if not keys
                else stored(before, keys, Entry(keys[-1], where, Mapping((), where)))
            )
        if store.action == "setdefault":
            return _set_default(evaluator, call, keys, before, frame, store.prev, where)
        if store.action == "update":
            return _updated(evaluator, call, keys, before, frame, store.prev, where)
    return merged(before, keys, None, span)


def _keys(evaluator: Evaluator, store: Store, path: Path, frame: Frame) -> tuple[Any, ...] | None:
    """The keys from the object to the changed place; ``None`` if one of them is not known."""
    keys: list[Any] = []
    assert store.prev is not None  # noqa: S101 - a store always has a predecessor
    for step in path:
        if isinstance(step, str):
            if step == ".*":
                return None
            keys.append(step[1:])
            continue
        key = node_value(node_of(evaluator.evaluate(step, frame, store.prev), ir.unpack(step.at, frame.file)))
        if not key.is_known or not isinstance(key.only, str | int | float | bool | None):
            return None
        keys.append(key.only)
    return tuple(keys)


def _inside(root: Node, keys: tuple[Any, ...]) -> Any:
    entry, _ = find(root, keys)
    return entry.node if entry is not None else None


def in_doubt(before: Abstract, path: Path, span: Span) -> Abstract:
    """An object that some unknown change was made to, no higher than at ``path``."""
    first = path[0] if path else None
    if isinstance(before, Mapping) and type(first) is ir.Constant:
        entry = before.entry(first.value)
        if entry is not None:
            inner = in_doubt(entry.node, path[1:], span)
            return stored(before, (first.value,), Entry(entry.key, entry.key_span, node_of(inner, span), entry.certain))
        return before
    if isinstance(before, Mapping):
        return merged(before, (), None, span)
    if isinstance(before, Sequence):
        return Sequence((), before.span, open=True)
    return before


def _set(evaluator: Evaluator, store: Store, keys: tuple[Any, ...], before: Mapping, frame: Frame) -> Abstract:
    assert store.prev is not None  # noqa: S101 - a store always has a predecessor
    where = ir.unpack(store.expr.at, frame.file)
    node = node_of(evaluator.evaluate(store.expr, frame, store.at), where)
    last = store.path[-1] if store.path else ""
    key_span = where if isinstance(last, str) else ir.unpack(last.at, frame.file)
    if not keys:
        return before
    if type(last) is ir.Name and store.prev is not None:
        key_span = _beside(evaluator, last, node, frame, store.prev) or key_span
    return stored(before, keys, Entry(keys[-1], key_span, placed(node, store.expr, frame)))


def _beside(evaluator: Evaluator, key: ir.Name, node: Node, frame: Frame, state: Env) -> Span | None:
    """Where a key stands in the configuration file that it and its value come from (``for key, value in overlay.items()``)."""
    found = node_value(node_of(evaluator.evaluate(key, frame, state), node.span))
    places = [one for one in found.spans if one.file == node.span.file and not one.file.endswith(".py")]
    return next((one for one in places if (one.line, one.column) <= (node.span.line, node.span.column)), None)


def _first_argument(evaluator: Evaluator, call: ir.Call, frame: Frame, state: Env, where: Span) -> Value:
    if not call.args:
        return unknown("not followed")
    return node_value(node_of(evaluator.evaluate(call.args[0], frame, state), where))


def _set_default(
    evaluator: Evaluator, call: ir.Call, keys: tuple[Any, ...], before: Mapping, frame: Frame, state: Env, where: Span
) -> Abstract:
    key = _first_argument(evaluator, call, frame, state, where)
    if not key.is_known or not isinstance(key.only, str | int | float | bool | None) or not call.args:
        return merged(before, keys, None, where)
    entry, sure = find(before, (*keys, key.only))
    if entry is not None and entry.certain:
        return before
    default: Node = Leaf(known(None, where), where)
    if len(call.args) > 1:
        default = node_of(evaluator.evaluate(call.args[1], frame, state), where)
    if entry is not None:
        default = node_of(several([entry.node, default], where), where)
    elif not sure:
        default = Leaf(unknown("may be set where we can't see", where), where)
    return stored(before, (*keys, key.only), Entry(key.only, ir.unpack(call.args[0].at, frame.file), default))


def _updated(
    evaluator: Evaluator, call: ir.Call, keys: tuple[Any, ...], before: Mapping, frame: Frame, state: Env, where: Span
) -> Abstract:
    for argument in call.args:
        node = node_of(evaluator.evaluate(argument, frame, state), where)
        before = merged(before, keys, node if isinstance(node, Mapping) and not node.open else None, where)
        if isinstance(node, Mapping) and node.open:
            before = merged(before, keys, node, where)
    update = evaluator.keyword_mapping(call, frame, state, where)
    if update.open:
        before = merged(before, keys, None, where)
    return merged(before, keys, update, where) if update.entries or update.open else before


# Lists ----------------------------------------------------------------------------------------------------------------

_LIST_METHODS = frozenset({"append", "extend", "insert", "remove", "sort", "reverse", "add", "discard", "pop", "clear"})


def _after_list_method(
    evaluator: Evaluator, store: Store, keys: tuple[Any, ...] | None, before: Sequence, frame: Frame, span: Span
) -> Abstract:
    call = store.expr
    if keys == () and isinstance(call, ir.Call) and store.prev is not None and len(call.args) == 1:
        given = evaluator.evaluate(call.args[0], frame, store.prev)
        if store.action == "append":
            return Sequence((*before.items, node_of(given, span)), before.span, before.open)
        if store.action == "extend" and isinstance(given, Sequence):
            return Sequence((*before.items, *given.items), before.span, before.open or given.open)
    if (
        keys
        and len(keys) == 1
        and store.action == "set"
        and isinstance(keys[0], int)
        and not before.open
        and store.prev is not None
    ):
        items = list(before.items)
        if -len(items) <= keys[0] < len(items):
            items[keys[0]] = node_of(evaluator.evaluate(store.expr, frame, store.at), span)
            return Sequence(tuple(items), before.span)
    return Sequence((), before.span, open=True)


# Functions ------------------------------------------------------------------------------------------------------------


def _after_call(
    evaluator: Evaluator, store: Store, path: Path, before: Mapping | Sequence, frame: Frame, span: Span
) -> Abstract:
    """An object that was handed to a function is what the function leaves behind; library functions leave it alone.

    A method that we can't resolve may be the project's own if the project has one of that name.
    """
    call = store.expr
    if not isinstance(call, ir.Call) or store.prev is None:
        return before
    keys = _keys(evaluator, store, path, frame)
    inner = before if keys == () else _inside(before, keys) if keys and isinstance(before, Mapping) else None
    if not isinstance(inner, Mapping | Sequence):
        return before
    callees = options_of(evaluator.evaluate(call.func, frame, store.at))
    results = [_left_behind(evaluator, callee, call, store, inner, frame, span) for callee in callees]
    after = results[0] if len(results) == 1 else several(results, span)
    if after is inner:
        return before
    if keys and isinstance(before, Mapping):
        return stored(before, keys, Entry(keys[-1], span, node_of(after, span)))
    return after


def _left_behind(
    evaluator: Evaluator,
    callee: Abstract,
    call: ir.Call,
    store: Store,
    before: Mapping | Sequence,
    frame: Frame,
    span: Span,
) -> Abstract:
    if isinstance(callee, Reference) and isinstance(callee.target, ClassRef):
        method = evaluator.modules.method(callee.target, "__init__")
        if method is None:
            return before
        return _after_entering(evaluator, method, 1, call, store, before, frame, span)
    if isinstance(callee, Reference) and isinstance(callee.target, FunctionRef):
        function = evaluator.project.function(callee.target)
        shift = taken(callee, function)
        return _after_entering(evaluator, callee.target, shift, call, store, before, frame, span)
    if changes_argument(callee):
        return in_doubt(before, (), span)
    if isinstance(callee, Leaf) and _may_be_ours(evaluator, call):
        return in_doubt(before, (), span)
    return before


def _after_entering(
    evaluator: Evaluator,
    target: FunctionRef,
    shift: int,
    call: ir.Call,
    store: Store,
    before: Mapping | Sequence,
    frame: Frame,
    span: Span,
) -> Abstract:
    function = evaluator.project.function(target)
    flow = evaluator.project.flow(target.file, target.index)
    parameter = _parameter_of(function, shift, call, store)
    if parameter is None:
        return before
    if parameter.kind.startswith("var"):
        return before
    if _is_kept_and_changed(evaluator, target, parameter.name):
        return in_doubt(before, (), span)
    if parameter.name not in flow.assigned:
        return before
    if frame.depth >= MAX_CALL_DEPTH:
        evaluator.cut()
        return in_doubt(before, (), span)
    given = given_arguments(evaluator, call, frame, store.at)
    bindings = bound_parameters(evaluator, function.parameters[shift:], given, span)
    bindings[parameter.name] = Delayed(value=before)
    inner = Frame(target.file, target.index, bindings, frame.depth + 1, bound=True)
    evaluator.keep(inner)
    ends = flow.ends()
    return several([evaluator.in_chain(parameter.name, inner, end, span) for end in ends], span) if ends else before


def _is_kept_and_changed(evaluator: Evaluator, target: FunctionRef, name: str) -> bool:
    """Whether a method keeps an argument as an attribute that some method of the class changes in place."""
    function = evaluator.project.function(target)
    if function.owner < 0:
        return False
    owner = ClassRef(target.file, function.owner)
    changes = evaluator.project.attribute_changes(owner)
    return any(
        attribute in changes
        and any(method == target and type(expr) is ir.Name and expr.id == name for method, expr, _ in stores)
        for attribute, stores in evaluator.project.attribute_stores(owner).items()
    )


def _parameter_of(function: ir.Function, shift: int, call: ir.Call, store: Store) -> ir.Parameter | None:
    """The parameter that gets the object of a ``call`` step."""

    def is_it(argument: ir.Expr) -> bool:
        root, path = access_path(argument)
        return root == store.name and path == store.path

    parameters = function.parameters[shift:]
    for keyword in call.keywords:
        if is_it(keyword.value):
            return next((p for p in parameters if p.name == keyword.name), None)
    for position, argument in enumerate(call.args):
        if type(argument) is ir.Starred:
            return None
        if is_it(argument):
            return parameters[position] if position < len(parameters) else None
    return None


def _may_be_ours(evaluator: Evaluator, call: ir.Call) -> bool:
    func = call.func
    if type(func) is ir.Attribute:
        return func.name in evaluator.project.function_names
    return type(func) is ir.Name


_GIVING_PARTS = frozenset(
    {
        *(f"builtins.{one}" for one in ("dict", "list", "next", "iter", "getattr", "vars", "min", "max")),
        *("copy.copy", "collections.OrderedDict", "functools.reduce", "operator.getitem", "typing.cast"),
    }
)
"""Functions of the library that may give what they get, or what stands in it."""


def _leaves_alone(evaluator: Evaluator, store: Store, frame: Frame) -> bool:
    """Whether the object that another name was made from is surely another one: what a library function gave."""
    origin = store.expr
    if type(origin) is not ir.Call or store.prev is None:
        return False
    callees = options_of(evaluator.evaluate(origin.func, frame, store.prev))
    for callee in callees:
        name = callee.target.name if isinstance(callee, Reference) and isinstance(callee.target, External) else ""
        if name in _GIVING_PARTS:
            return False
        if (
            isinstance(callee, Leaf)
            and type(origin.func) is ir.Attribute
            and origin.func.name in ("copy", "get", "setdefault", "pop", "items", "values")
        ):
            return False
        if not name and not isinstance(callee, Instance):
            return not _may_be_ours(evaluator, origin)
    return True


def placed(node: Node, expr: ir.Expr, frame: Frame) -> Node:
    """A leaf shown at the expression that gives it, resting also on where its value comes from."""
    if isinstance(node, Leaf) and type(node) is Leaf:
        span = ir.unpack(expr.at, frame.file)
        return Leaf(node.value.at(span), span)
    return node
