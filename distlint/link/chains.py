"""What a name is at a place of a body: its chain walked back to what bound it, with what was stored into it on the way.

Attributes are asked for by path (``names``): then only the steps count that may concern that path. Most names are
bound to objects whose insides do not matter for the name itself, so the steps that could only change a mapping or
list are left out at first, and applied when the name turns out to be one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from distlint.link.abstract import NOTHING, Abstract, Frame, Instance, Reference, node_of, options_of, separate, several
from distlint.link.calls import given_arguments, may_change_argument
from distlint.link.changes import after_store
from distlint.link.flow import BINDS, CHANGES, HANDS, INSIDE, Bind, Env, Join, Rounds, Store
from distlint.link.handing import attribute_after_call
from distlint.link.items import elements
from distlint.link.modules import ClassRef, FunctionRef
from distlint.link.objects import attribute_of, attributes, concerns, is_described
from distlint.link.walking import ALL
from distlint.model import python as ir
from distlint.model.document import Leaf, Mapping, Sequence, node_value
from distlint.model.span import Span
from distlint.model.value import Value, unknown

if TYPE_CHECKING:
    from distlint.link.evaluate import Evaluator

Names = tuple[str, ...]


def in_chain(evaluator: Evaluator, name: str, frame: Frame, state: Env, span: Span, names: Names = ()) -> Abstract:
    """What a name, or an attribute of it, is in a state of a body."""
    if names:
        return _walk(evaluator, name, frame, state, span, names, whole=True)
    bound = _walk(evaluator, name, frame, state, span, (), whole=False)
    if not any(isinstance(option, Mapping | Sequence) for option in options_of(bound)):
        return bound
    return _walk(evaluator, name, frame, state, span, (), whole=True)


def _walk(
    evaluator: Evaluator, name: str, frame: Frame, state: Env, span: Span, names: Names, *, whole: bool
) -> Abstract:
    pending: list[Store] = []
    place = state
    while True:
        if isinstance(place, Store):
            if place.name == name and whole and _matters(evaluator, place, names):
                if place.action == "setattr" and _sets_another(evaluator, place, frame, names):
                    place = place.at
                    continue
                inside = _of_dictionary(evaluator, place, frame, span, names)
                if inside is NOTHING:
                    place = place.prev or place.at
                    continue
                if inside is not None:
                    base = inside
                    break
                if _replaces(place, names):
                    base = _replaced(evaluator, place, frame, span, names)
                    break
                pending.append(place)
        elif (isinstance(place, Bind) and place.name == name) or (
            isinstance(place, Join) and _differs(evaluator, place, name, names, whole=whole)
        ):
            if (
                isinstance(place, Join)
                and place.in_rounds
                and (branch := _decided(evaluator, place, frame)) is not None
            ):
                # One after the other, since a round inside the other would be as deep as there are rounds.
                place = branch
                continue
            base = _at(evaluator, name, frame, place, span, names, whole=whole)
            break
        elif isinstance(place, Rounds) and _differs(evaluator, place, name, names, whole=whole):
            place = _behind(evaluator, place, frame)
            continue
        if place.prev is None:
            base = evaluator.entry(name, frame, span, names)
            break
        place = place.prev
    if not pending:
        return base
    key = (name, names, id(frame), id(pending[0]))
    evaluator.keep((frame, pending[0]))
    return evaluator.guarded(key, lambda: _changed(evaluator, pending, base, frame, span, names))


def _matters(evaluator: Evaluator, store: Store, names: Names) -> bool:
    if not names:
        return True
    if not concerns(store, names):
        return False
    if len(store.path) < len(names):
        if store.action == "call":
            return evaluator.project.is_stored(names[len(store.path)]) or may_change_argument(store.expr)
        return store.action != "alias" or ".*" in store.path
    return True


def _behind(evaluator: Evaluator, loop: Rounds, frame: Frame) -> Env:
    """The state behind a loop: after the rounds that it has, or after any number of them where that can't be told."""
    items = elements(evaluator.evaluate(loop.iterable, frame, loop.before))
    end = loop.after(len(items)) if items is not None else None
    return end or loop.head


def _written_name(evaluator: Evaluator, store: Store, frame: Frame) -> Value:
    """The name that a ``setattr`` sets."""
    assert isinstance(store.expr, ir.Call)  # noqa: S101 - that is what such a step holds
    name = store.expr.args[1]
    span = ir.unpack(name.at, frame.file)
    return node_value(node_of(evaluator.evaluate(name, frame, store.at), span))


def _sets_another(evaluator: Evaluator, store: Store, frame: Frame, names: Names) -> bool:
    """Whether a ``setattr`` with a name that is worked out surely sets another attribute than the one that is asked for."""
    if len(store.path) > len(names):
        return False
    written = _written_name(evaluator, store, frame)
    return bool(written.options) and names[len(store.path) - 1] not in written.options


def _differs(evaluator: Evaluator, join: Join | Rounds, name: str, names: Names, *, whole: bool) -> bool:
    """Whether what is asked for may differ between the ways that meet."""
    if name not in join.touched:
        return False
    touched = join.touched.how
    if name + BINDS in touched:
        return True
    if not names:
        return whole and any(name + how in touched for how in (CHANGES, INSIDE, HANDS))
    if any(f"{name}.{one}" in touched for one in (names[0], "*", "__dict__")):
        return True
    return name + HANDS in touched and evaluator.project.is_stored(names[0])


def _of_dictionary(evaluator: Evaluator, store: Store, frame: Frame, span: Span, names: Names) -> Abstract | None:
    """What ``vars(object)["name"] = value`` and ``vars(object).update(settings)`` make of an attribute.

    ``NOTHING`` where they surely leave it as it is, ``None`` for other changes, and where it is not known what they set.
    """
    depth = next((place for place, step in enumerate(store.path) if step == f".{ALL}"), len(names))
    if depth >= len(names) or store.action not in ("set", "update") or store.prev is None:
        return None
    name, rest, inside = names[depth], names[depth + 1 :], store.path[depth + 1 :]
    if store.action == "set" and len(inside) == 1 and not isinstance(inside[0], str):
        key = node_value(node_of(evaluator.evaluate(inside[0], frame, store.at), span))
        if not key.is_known:
            return Leaf(unknown("changed in a way that is not followed", span), span)
        return attribute_of(evaluator, store.expr, rest, frame, store.at, span) if key.only == name else NOTHING
    if store.action != "update" or inside or not isinstance(store.expr, ir.Call):
        return None
    given = given_arguments(evaluator, store.expr, frame, store.prev)
    if given.open_keywords or given.open_positional or len(given.positional) > 1:
        return None
    if name in given.keywords:
        return attributes(evaluator, evaluator.force(given.keywords[name]), rest, span)
    settings = evaluator.force(given.positional[0]) if given.positional else Mapping((), span)
    if not isinstance(settings, Mapping) or settings.open:
        return None
    entry = settings.entry(name)
    if entry is None:
        return NOTHING
    return attributes(evaluator, entry.node, rest, span) if entry.certain else None


def _replaces(store: Store, names: Names) -> bool:
    """Whether a step leaves nothing of what was there before."""
    return bool(names) and len(store.path) <= len(names) and store.action not in ("call", "alias")


def _replaced(evaluator: Evaluator, store: Store, frame: Frame, span: Span, names: Names) -> Abstract:
    if store.action not in ("set", "setattr", "delete", "unknown") and store.prev is not None:
        # ``meter.update(loss)``: a method of the project that is only named like one of lists and mappings
        path = tuple(str(step)[1:] for step in store.path)
        found = _of_owners(evaluator, store, frame, span, path, store.action, names[len(path) :])
        if found is not None:
            return found
    if store.path[-1:] == (".*",) and store.prev is not None:
        # ``setattr(settings, name, value)`` is about fields, not about methods
        path = tuple(str(step)[1:] for step in store.path[:-1])
        found = _of_owners(evaluator, store, frame, span, path, names[len(path)], names[len(path) :])
        if found is not None:
            return found
    if (
        store.prev is not None
        and store.path
        and isinstance(store.path[-1], str)
        and evaluator.project.defines("__set__")
    ):
        path = tuple(str(step)[1:] for step in store.path[:-1])
        owners = options_of(evaluator.in_chain(store.name, frame, store.prev, span, path))
        if any(is_described(evaluator, one, str(store.path[-1])[1:]) for one in owners):
            return Leaf(unknown("a descriptor says what it is", span), span)
    if store.action == "setattr" and isinstance(store.expr, ir.Call):
        written = _written_name(evaluator, store, frame)
        if written.is_known and written.only == names[len(store.path) - 1]:
            return attribute_of(evaluator, store.expr.args[2], names[len(store.path) :], frame, store.at, span)
    if store.action != "set" or ".*" in store.path:
        return Leaf(unknown("changed in a way that is not followed", span), span)
    return attribute_of(evaluator, store.expr, names[len(store.path) :], frame, store.at, span)


def _of_owners(
    evaluator: Evaluator, store: Store, frame: Frame, span: Span, path: Names, method: str, names: Names
) -> Abstract | None:
    """Attributes of what stands at a path before a step, where its class in the project has a method of a name; else ``None``."""
    assert store.prev is not None  # noqa: S101 - asked by the callers
    owners = options_of(evaluator.in_chain(store.name, frame, store.prev, span, path))
    if not owners or not all(_has_own(evaluator, one, method) for one in owners):
        return None
    return several([attributes(evaluator, one, names, span) for one in owners], span)


def _has_own(evaluator: Evaluator, value: Abstract, method: str) -> bool:
    """Whether something is an object of a class of the project that defines a method of the name itself."""
    if not isinstance(value, Instance) or not isinstance(value.callee, ClassRef):
        return False
    return evaluator.modules.method(value.callee, method) is not None


def _changed(
    evaluator: Evaluator, pending: list[Store], base: Abstract, frame: Frame, span: Span, names: Names
) -> Abstract:
    value = base
    for store in reversed(pending):
        path = store.path[len(names) :]
        if len(store.path) < len(names):
            value = attribute_after_call(evaluator, value, frame, store, span, names)
            continue
        options = options_of(value)
        after = [after_store(evaluator, store, path, option, frame, span) for option in options]
        if any(one is not other for one, other in zip(after, options, strict=True)):
            value = after[0] if len(after) == 1 else separate(after, span)
    return value


def _at(
    evaluator: Evaluator, name: str, frame: Frame, place: Bind | Join, span: Span, names: Names, *, whole: bool
) -> Abstract:
    key = (name, names, whole, id(frame), id(place))
    evaluator.keep((frame, place))
    if isinstance(place, Bind):
        return evaluator.guarded(key, lambda: _bound_once(evaluator, place, frame, span, names, key))
    return evaluator.guarded(key, lambda: _joined(evaluator, name, frame, place, span, names, key, whole=whole))


def _joined(
    evaluator: Evaluator, name: str, frame: Frame, join: Join, span: Span, names: Names, key: Any, *, whole: bool
) -> Abstract:
    branches = join.branches
    if join.anywhere:
        branches = [branches[0], *(b for b in branches[1:] if isinstance(b, Bind | Store) and b.name == name)]
    elif (decided := _decided(evaluator, join, frame)) is not None:
        branches = [decided]
    first = _walk(evaluator, name, frame, branches[0], span, names, whole=whole)
    # Around a loop: a mapping is what it was before, to be changed further; of anything else nothing is known yet.
    before = first if isinstance(first, Mapping | Instance | Sequence) else NOTHING
    with evaluator.standing(key, before):
        others = [_walk(evaluator, name, frame, branch, span, names, whole=whole) for branch in branches[1:]]
    if first is NOTHING and all(one is NOTHING for one in others):
        return NOTHING  # ways inside of a loop that all come round to its head say nothing of their own
    return several([first, *others], span)


def _decided(evaluator: Evaluator, join: Join, frame: Frame) -> Env | None:
    """The branch that a test chooses; ``None`` where that can't be told."""
    if join.test is None or len(join.branches) != 2 or join.prev is None or join.anywhere:
        return None
    holds = evaluator.truth(join.test, frame, join.prev)
    return None if holds is None else join.branches[0] if holds else join.branches[1]


def _bound_once(evaluator: Evaluator, bind: Bind, frame: Frame, span: Span, names: Names, key: Any) -> Abstract:
    """What a step binds; of a plain value that is worked out from what the same step bound a turn before, only that it changes."""
    found = _bound(evaluator, bind, frame, span, names)
    if type(found) is not Leaf or found is NOTHING or not evaluator.came_back_to(key) or _hands_on(bind.expr):
        return found
    return Leaf(unknown("changes from turn to turn", span), span)


def _hands_on(expr: ir.Expr | ir.Stmt | None) -> bool:
    """Whether an expression gives one of the things that it names as it is."""
    if type(expr) is ir.Conditional:
        return _hands_on(expr.body) and _hands_on(expr.orelse)
    return type(expr) in (ir.Name, ir.Attribute, ir.Constant)


def _bound(evaluator: Evaluator, bind: Bind, frame: Frame, span: Span, names: Names) -> Abstract:
    expr = bind.expr
    if expr is None:
        return Leaf(unknown("not followed", span), span)
    if isinstance(expr, ir.Define):
        made = FunctionRef if expr.kind == "function" else ClassRef
        scope = frame if frame.function >= 0 else None
        return attributes(evaluator, Reference(made(frame.file, expr.index), span, scope=scope), names, span)
    if isinstance(expr, ir.AugAssign):
        return attributes(evaluator, evaluator.evaluate(evaluator.operation(expr), frame, bind.at), names, span)
    if not bind.part:
        return attribute_of(evaluator, expr, names, frame, bind.at, span)  # type: ignore[arg-type]
    value = evaluator.evaluate(expr, frame, bind.at)  # type: ignore[arg-type]
    for part in bind.part:
        value = evaluator.take(value, part, span)
    return attributes(evaluator, value, names, span)
