"""Attributes and items over the ranks: what methods store into objects, what containers hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from distlint.checks import (
    divergence_callers,
    divergence_calls,
    divergence_keys,
    divergence_names,
    divergence_outside,
    divergence_presence,
    divergence_sizes,
)
from distlint.checks.divergence_state import DIFFERS, EVEN, EVENED, THE_SAME, UNKNOWN, Divergence, one_of, together
from distlint.checks.rank_names import is_property
from distlint.checks.ranks import RANK_NAMES
from distlint.link.abstract import Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.calls import is_static
from distlint.link.flow import Env
from distlint.link.modules import ClassRef, External, FunctionRef, GlobalRef
from distlint.link.objects import fields_of
from distlint.link.receivers import own_object
from distlint.link.stores import MUTATORS
from distlint.link.walking import access_path, guards_of, statements
from distlint.link.walking import calls_in as calls_below
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.checks.divergence_names import Path
    from distlint.checks.divergence_trace import Ground, Tracer

MAX_STORES = 10

_FACTS = frozenset(
    {"dtype", "device", "ndim", "requires_grad", "is_leaf", "layout", "is_cuda", "__name__", "__class__"}
)
"""Attributes of tensors that do not depend on what they hold."""

_SETTINGS = frozenset(
    {"args", "opt", "opts", "options", "cfg", "config", "conf", "params", "hparams", "flags", "FLAGS"}
)


class Kept(NamedTuple):
    """A statement of a class that stores into an attribute of its objects, or evens what is there."""

    method: FunctionRef
    statement: ir.Stmt | None
    value: ir.Expr | None
    part: tuple[int | str, ...]
    even: bool = False


def is_own(definition: ir.Function, position: int) -> bool:
    """Whether a parameter is the object (or class) that a method belongs to."""
    return definition.owner >= 0 and position == 0 and not is_static(definition)


def member(tracer: Tracer, expr: ir.Expr, path: Path, ground: Ground, state: Env) -> Divergence:
    """What stands at a path below what an expression gives."""
    if not path:
        return tracer.of(expr, ground, state)
    step, rest = path[0], path[1:]
    inner = divergence_names.path_of(expr)
    if inner is not None:
        if inner[0] in ground.local:
            return ground.local[inner[0]]
        return attribute_path(tracer, expr, path, ground, state)
    if step == divergence_presence.PRESENCE:
        return _presence(tracer, expr, ground, state)
    if step == divergence_keys.KEYS:
        keys = divergence_keys.written(tracer, expr, ground, state)
        if keys is not None:
            return keys
    elif isinstance(step, tuple):
        if type(expr) is ir.ListDisplay and isinstance(step[1], int) and -len(expr.items) <= step[1] < len(expr.items):
            if not any(type(item) is ir.Starred for item in expr.items):
                return member(tracer, expr.items[step[1]], rest, ground, state)
        if type(expr) is ir.DictDisplay:
            for key, value in zip(expr.keys, expr.values, strict=True):
                if type(key) is ir.Constant and key.value == step[1]:
                    return member(tracer, value, rest, ground, state)
        if type(expr) is ir.Call:
            given = _under_key(tracer, expr, step[1], ground)
            if given is not None:
                return member(tracer, given, rest, ground, state)
    if isinstance(step, tuple) and type(expr) is ir.Call:
        return divergence_calls.part_of_call(tracer, expr, path, ground, state)
    if isinstance(step, str) and step.startswith("."):
        return divergence_keys.of_whole(path, _of_value(tracer, expr, step[1:], ground, state))
    return divergence_keys.of_whole(path, tracer.of(expr, ground, state))


def _presence(tracer: Tracer, expr: ir.Expr, ground: Ground, state: Env) -> Divergence:
    """Whether there is something: of what the program's own function returns the ways to its ends decide."""
    if divergence_presence.is_something(expr):
        return THE_SAME
    if type(expr) is ir.Call:
        found = divergence_calls.part_of_result(tracer, expr, (divergence_presence.PRESENCE,), ground, state)
        if found is not None:
            return found
    return tracer.of(expr, ground, state)


def _under_key(tracer: Tracer, expr: ir.Call, key: Any, ground: Ground) -> ir.Expr | None:
    """What stands under a key of ``dict(key=value)``."""
    func = expr.func
    if type(func) is not ir.Name or func.id != "dict" or expr.args:
        return None
    if divergence_callers.is_local(tracer, func, ground) or tracer.project.modules.resolve(func, ground.file):
        return None
    return next((keyword.value for keyword in expr.keywords if keyword.name == key), None)


def attribute(tracer: Tracer, expr: ir.Attribute, ground: Ground, state: Env) -> Divergence:
    """``base.name`` in a state of a function."""
    if expr.name in _FACTS:
        return THE_SAME
    if expr.name == "shape":
        return divergence_sizes.size_of(tracer, expr.base, ground, state)
    target = tracer.project.modules.resolve(expr, ground.file)
    if isinstance(target, External):
        return THE_SAME if tracer.sources.is_known(target.name) else UNKNOWN
    if isinstance(target, FunctionRef | ClassRef):
        return THE_SAME
    if isinstance(target, GlobalRef):
        return divergence_outside.module_variable(tracer, target, ())
    found = divergence_names.path_of(expr)
    if found is not None and found[0] not in ground.local:
        return divergence_names.name(tracer, found[0], found[1], ground, state)
    return _of_value(tracer, expr.base, expr.name, ground, state)


def attribute_path(tracer: Tracer, expr: ir.Expr, path: Path, ground: Ground, state: Env) -> Divergence:
    """A path below another name (``b = a`` and then ``b.x``)."""
    inner = divergence_names.path_of(expr)
    assert inner is not None  # noqa: S101 - tested by the caller
    if type(expr) is ir.Name or not isinstance(path[0], str):
        return divergence_names.name(tracer, inner[0], (*inner[1], *path), ground, state)
    return divergence_keys.of_whole(path, _of_value(tracer, expr, path[0][1:], ground, state))


def _of_value(tracer: Tracer, base: ir.Expr, name: str, ground: Ground, state: Env) -> Divergence:
    """An attribute by what the object in front of it is."""
    if name in _FACTS:
        return THE_SAME
    span = ir.unpack(base.at, ground.file)
    ways = []
    for option in objects(tracer, base, ground):
        # on the way back to where it is made all was seen that its function sets before
        seen = (ground.file, ground.function) if type(base) is ir.Call and base.at == option.call.at else None
        found = of_object(tracer, option, name, span, seen)
        if found is None:
            break
        ways.append(found)
    else:
        if ways:
            return one_of(ways)
    if type(base) is ir.Name and base.id in _SETTINGS:
        return option_of_program(tracer, name, span)
    if not ways and name in tracer.views[0].attributes:
        return Divergence(DIFFERS, "the rank", (span,))
    if type(base) is ir.Call:
        part = divergence_calls.part_of_result(tracer, base, (f".{name}",), ground, state)
        if part is not None:
            return part
        if isinstance(tracer.project.modules.resolve(base.func, ground.file), GlobalRef):
            return UNKNOWN  # a class that a function made, most often: each field has a value of its own
    return tracer.of(base, ground, state)


def option_of_program(tracer: Tracer, name: str, span: Any, seen: tuple[str, int] | None = None) -> Divergence:
    """An option of a program: what it sets it to itself (but in a function ``seen``), else what the command line gives to all."""
    stores = tuple(
        (file, store) for file, store in tracer.project.outside_stores(name) if (file, store.function) != seen
    )
    if len(stores) > MAX_STORES:
        return UNKNOWN
    key = ("option", name, seen)
    found = tracer.guarded(key, lambda: _options_set(tracer, stores))
    if found.differs:
        return found
    if name in RANK_NAMES:
        return Divergence(DIFFERS, "the rank", (span,))
    return found if stores else THE_SAME


def _options_set(tracer: Tracer, stores: tuple[tuple[str, Any], ...]) -> Divergence:
    ways = []
    for file, store in stores:
        if type(store.base) is ir.Name and store.base.id in _SETTINGS:
            ground = tracer.ground(file, store.function)
            state = tracer.project.flow(file, store.function).before(store.at)
            ways.append(UNKNOWN if store.value is None else tracer.of(store.value, ground, state))
    return one_of(ways) if ways else THE_SAME


def objects(tracer: Tracer, base: ir.Expr, ground: Ground) -> list[Instance]:
    """The objects that an expression can be; empty where it can be something else as well."""
    if type(base) is ir.Name and ground.own is not None and ground.function >= 0:
        definition = tracer.project.function(FunctionRef(ground.file, ground.function))
        if definition.parameters and definition.parameters[0].name == base.id and is_own(definition, 0):
            return [ground.own]
    options = options_of(tracer.evaluator.ask(base, ground.file, ground.function))
    found = [option for option in options if isinstance(option, Instance)]
    return found if len(found) == len(options) else []


def of_object(
    tracer: Tracer, option: Instance, name: str, span: Any, seen: tuple[str, int] | None = None
) -> Divergence | None:
    """An attribute of an object, but what a function ``seen`` sets it to; ``None`` where the object itself says what it is."""
    dotted = tracer.project.modules.canonical(f"{tracer.evaluator.instance_name(option)}.{name}")
    told = tracer.sources.told(dotted, span)
    if told is not None:
        return told
    if isinstance(option.callee, ClassRef) and option.part in ((), ("self",)):
        return own_attribute(tracer, option, option.callee, name)
    func = option.call.func
    if type(func) is ir.Attribute and func.name.startswith("parse_"):
        return option_of_program(tracer, name, span, seen)
    return None


def of_own(tracer: Tracer, ref: FunctionRef, path: Path, ground: Ground) -> Divergence:
    """``self`` itself, or a path below it, as it is when a method is entered."""
    if not path or not isinstance(path[0], str):
        return UNKNOWN
    owner = ClassRef(ref.file, tracer.project.function(ref).owner)
    own = ground.own
    if own is None:
        made = own_object(
            tracer.evaluator,
            tracer.project.function(ref),
            tracer.evaluator.frame(ref.file, ref.index),
            ir.unpack(0, ref.file),
        )
        if not isinstance(made, Instance):
            found = own_attribute(tracer, None, owner, path[0][1:])
            return found if found is not None else UNKNOWN
        own = made
    name = path[0][1:]
    told = tracer.sources.told(
        tracer.project.modules.canonical(f"{tracer.evaluator.instance_name(own)}{''.join(map(str, path))}"),
        ir.unpack(tracer.project.function(ref).name_at, ref.file),
    )
    if told is not None:
        return told
    kept = own.callee if isinstance(own.callee, ClassRef) else owner
    found = own_attribute(tracer, own, kept, name)
    if found is not None and len(path) == 1:
        return found
    if len(path) > 1 and isinstance(path[1], str):
        deeper = _deeper(tracer, own, path)
        if deeper is not None:
            return deeper
    if found is not None and found.differs and isinstance(path[1], tuple) and path[1] != divergence_keys.KEYS:
        inside = _inside_kept(tracer, own, kept, path)
        if inside is not None:
            return inside
    return divergence_keys.of_whole(path, found) if found is not None else UNKNOWN


def _inside_kept(tracer: Tracer, own: Instance, owner: ClassRef, path: Path) -> Divergence | None:
    """What stands under a key of what an attribute is set to; ``None`` where something is put into that by the class itself."""
    name = path[0][1:]
    stores = kept_by(tracer, owner).get(name, ())
    if not 0 < len(stores) <= MAX_STORES or any(one.name == name for one in fields_of(tracer.evaluator, owner)):
        return None
    for store in stores:
        targets = store.statement.targets if isinstance(store.statement, ir.Assign) else ()
        if store.part or store.method.index < 0 or len(targets) != 1 or len(access_path(targets[0])[1]) != 1:
            return None

    def followed() -> Divergence:
        return one_of(
            [
                _stored(tracer, store, tracer.ground(store.method.file, store.method.index, own), owner, path[1:])
                for store in stores
            ]
        )

    return tracer.guarded(("inside", owner, path, own.identity), followed)


def _deeper(tracer: Tracer, own: Instance, path: Path) -> Divergence | None:
    """An attribute of an object that an attribute holds."""
    base = tracer.evaluator.attribute(own, path[0][1:], own.span())
    options = options_of(base)
    ways = []
    for option in options:
        found = of_object(tracer, option, path[1][1:], own.span()) if isinstance(option, Instance) else None
        if found is None:
            return None
        ways.append(found)
    return one_of(ways)


# What a class keeps ---------------------------------------------------------------------------------------------------


def own_attribute(tracer: Tracer, own: Instance | None, owner: ClassRef, name: str) -> Divergence | None:
    """An attribute of the objects of a project class; ``None`` where nothing of the project sets it."""
    method = tracer.project.modules.method(owner, name)
    if method is not None:
        if not is_property(tracer.project.function(method)):
            return THE_SAME
        return divergence_calls.returned(tracer, method, tracer.ground(method.file, method.index, own))
    key = ("attribute", owner, name, own.identity if own is not None else None)
    stores = kept_by(tracer, owner).get(name, ())
    fields = fields_of(tracer.evaluator, owner)
    field = next((place for place, one in enumerate(fields) if one.name == name), None)
    if not stores and field is None:
        return None
    if len(stores) > MAX_STORES:
        return UNKNOWN
    return tracer.guarded(key, lambda: _kept(tracer, own, owner, name, stores, field))


def _kept(
    tracer: Tracer, own: Instance | None, owner: ClassRef, name: str, stores: tuple[Kept, ...], field: int | None
) -> Divergence:
    ways = []
    if field is not None and own is not None and own.part == ():
        given, _ = find_argument(own.call, name, field)
        if given is not None:
            outer = tracer.ground(own.frame.file, own.frame.function)
            ways.append(tracer.of(given, outer, own.state))
            stores = tuple(store for store in stores if store.method.index >= 0)
    several = len(stores) + len(ways) > 1
    for store in stores:
        ground = tracer.ground(store.method.file, store.method.index, own)
        if store.even:
            ways.append(EVENED)
            continue
        ways.append(_stored(tracer, store, ground, owner))
        choice = guarded_by(tracer, store, ground) if several else THE_SAME
        if choice.differs:
            ways.append(choice._replace(control=True))
    return one_of(ways)


def _stored(tracer: Tracer, store: Kept, ground: Ground, owner: ClassRef, path: Path = ()) -> Divergence:
    """What a statement stores, or what stands at a path below that where it is one plain value."""
    if store.value is None:
        return UNKNOWN
    if store.method.index < 0:
        definition = tracer.project.class_(owner)
        ground = tracer.ground(store.method.file, definition.parent)
        return tracer.of(store.value, ground, tracer.project.flow(ground.file, ground.function).entry)
    state = tracer.project.flow(ground.file, ground.function).before(store.value.at)
    if isinstance(store.statement, ir.AugAssign):
        return tracer.of(store.value, ground, state)
    if store.part and store.part[0] == "*":
        return divergence_names.element(tracer, store.value, store.part[1:], ground, state)
    return member(tracer, store.value, (*(("item", step) for step in store.part), *path), ground, state)


def guarded_by(tracer: Tracer, store: Kept, ground: Ground) -> Divergence:
    """The test by which only some ranks come to a statement."""
    if store.method.index < 0 or store.statement is None:
        return THE_SAME
    body = tracer.project.function(store.method).body
    flow = tracer.project.flow(ground.file, ground.function)
    for guard in guards_of(body, store.statement.at) or ():
        if guard.test is None or guard.kind == "for":
            continue
        found = tracer.of(guard.test, ground, flow.before(guard.test.at))
        if found.differs:
            return found.through(ir.unpack(guard.test.at, ground.file))
    return THE_SAME


def kept_by(tracer: Tracer, owner: ClassRef) -> dict[str, tuple[Kept, ...]]:
    """By attribute, the statements of a class and its bases in the project that store into it."""
    known = tracer.kept.get(owner)
    if known is None:
        found: dict[str, list[Kept]] = {}
        for one in tracer.project.modules.ancestry(owner):
            for statement in tracer.project.class_(one).body:
                if isinstance(statement, ir.Assign) and statement.value is not None:
                    for target in statement.targets:
                        if type(target) is ir.Name:
                            ref = FunctionRef(one.file, -1)
                            found.setdefault(target.id, []).append(Kept(ref, statement, statement.value, ()))
            for index, function in enumerate(tracer.project.module(one.file).functions):
                if function.owner == one.index and function.parameters:
                    _collect(tracer, function, FunctionRef(one.file, index), found)
        known = tracer.kept[owner] = {name: tuple(stores) for name, stores in found.items()}
    return known


def _collect(tracer: Tracer, function: ir.Function, ref: FunctionRef, found: dict[str, list[Kept]]) -> None:
    own = function.parameters[0].name

    def keep(target: ir.Expr, statement: ir.Stmt, value: ir.Expr | None, part: tuple[int | str, ...]) -> None:
        if type(target) is ir.ListDisplay:
            for place, item in enumerate(target.items):
                keep(item, statement, value, (*part, place))
            return
        root, path = access_path(target)
        if root == own and path and isinstance(path[0], str):
            found.setdefault(path[0][1:], []).append(Kept(ref, statement, value, part if len(path) == 1 else ()))

    for statement in statements(function.body):
        if isinstance(statement, ir.Assign) and statement.value is not None:
            for target in statement.targets:
                keep(target, statement, statement.value, ())
        elif isinstance(statement, ir.AugAssign):
            keep(statement.target, statement, statement.value, ())
        elif isinstance(statement, ir.For):
            keep(statement.target, statement, statement.iterable, ("*",))
    for call in calls_below(function.body):
        even = call.args and tracer.sources.evens(call, ref.file)
        changed: ir.Expr | None = call.args[0] if even else None
        func = call.func
        if type(func) is ir.Attribute and func.name in MUTATORS and call.args:
            changed = func.base
        root, path = access_path(changed) if changed is not None else ("", ())
        if root == own and path and isinstance(path[0], str):
            at = ir.Evaluate(call, call.at)
            found.setdefault(path[0][1:], []).append(Kept(ref, at, call.args[0], (), bool(even)))


__all__ = ["EVEN", "attribute", "member", "of_own", "own_attribute", "together"]
