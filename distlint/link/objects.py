"""Attributes: of classes and their objects, of dataclasses and enumerations, of what library calls gave.

An attribute is what was stored into it last. Its value is looked for along the chain of the name in front of it, so
that ``args.config = ...`` is seen by a later ``args.config``, also where the object went through a parameter or a
return in between.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from distlint.link.abstract import (
    NOTHING,
    Abstract,
    Frame,
    Instance,
    Reference,
    leaf,
    lifted,
    node_of,
    options_of,
    several,
)
from distlint.link.calls import bound_parameters, decorated, given_arguments, inner_frame, returned, returns_of, taken
from distlint.link.flow import Env, Store
from distlint.link.modules import ClassRef, External, FunctionRef
from distlint.link.paths import PathText
from distlint.link.stores import OutsideStore
from distlint.model import python as ir
from distlint.model.document import Entry, Leaf, Mapping, Sequence, node_value
from distlint.model.span import Span
from distlint.model.value import State, Value, known, unknown

if TYPE_CHECKING:
    from distlint.link.evaluate import Evaluator

MAX_STORES = 8
"""An attribute that is set in more methods than this is not followed."""
MAX_DERIVED = 8
"""Classes derived from one that are asked for an attribute of their own; of what more of them have nothing is known."""

_ENUMERATIONS = frozenset({"enum.Enum", "enum.IntEnum", "enum.StrEnum", "enum.Flag", "enum.IntFlag"})
_RECORDS = frozenset({"typing.NamedTuple", "pydantic.BaseModel"})
NAMESPACES = frozenset(
    {"types.SimpleNamespace", "argparse.Namespace", "easydict.EasyDict", "addict.Dict", "dataclasses.replace"}
)
"""What makes an object of its arguments."""
_OF_DICTIONARIES = frozenset(dir(dict))
MEMBER = "member"
"""The first part of an object that is a member of an enumeration."""


class Field(NamedTuple):
    """A field of a dataclass or named tuple, with the class that declares it."""

    name: str
    default: ir.Expr | None
    owner: ClassRef
    annotation: ir.Expr | None = None


# By expression --------------------------------------------------------------------------------------------------------


def attribute_of(
    evaluator: Evaluator, base: ir.Expr, names: tuple[str, ...], frame: Frame, state: Env, span: Span
) -> Abstract:
    """What ``base.name`` (or a longer path of attributes) is in a state, with what was stored into it before."""
    if not names:
        return evaluator.evaluate(base, frame, state)
    while isinstance(base, ir.Attribute):
        names = (base.name, *names)
        base = base.base
    if type(base) is ir.Name:
        return evaluator.name(base.id, frame, state, span, names)
    if type(base) is ir.Conditional:
        test = evaluator.truth(base.test, frame, state)
        parts = [base.body if test else base.orelse] if test is not None else [base.body, base.orelse]
        return several([attribute_of(evaluator, part, names, frame, state, span) for part in parts], span)
    if type(base) is ir.Call:
        return _attribute_of_result(evaluator, base, names, frame, state, span)
    return attributes(evaluator, evaluator.evaluate(base, frame, state), names, span)


def _attribute_of_result(
    evaluator: Evaluator, call: ir.Call, names: tuple[str, ...], frame: Frame, state: Env, span: Span
) -> Abstract:
    """An attribute of what a function of the project returns, as the function left it."""
    results: list[Abstract] = []
    for callee in options_of(evaluator.evaluate(call.func, frame, state)):
        inner = None
        if isinstance(callee, Reference) and isinstance(callee.target, FunctionRef) and frame.depth < 6:
            function = evaluator.project.function(callee.target)
            shift = taken(callee, function)
            given = given_arguments(evaluator, call, frame, state)
            bindings = bound_parameters(evaluator, function.parameters[shift:], given, span)
            inner = inner_frame(evaluator, callee, bindings, frame.depth + 1)
        if inner is None:
            return attributes(evaluator, evaluator.evaluate(call, frame, state), names, span)
        for value, end in returns_of(evaluator, inner):
            if value is not None:
                results.append(attribute_of(evaluator, value, names, inner, end, span))
    return several(results, span)


def attributes(evaluator: Evaluator, value: Abstract, names: tuple[str, ...], span: Span) -> Abstract:
    """A path of attributes of something."""
    for name in names:
        value = several([attribute(evaluator, option, name, span) for option in options_of(value)], span)
    return value


# By value -------------------------------------------------------------------------------------------------------------


def attribute(evaluator: Evaluator, base: Abstract, name: str, span: Span) -> Abstract:
    """An attribute of something."""
    if isinstance(base, Reference):
        return _of_reference(evaluator, base, name, span)
    if isinstance(base, Instance):
        return _of_instance(evaluator, base, name, span)
    if isinstance(base, Mapping) and name == "__dict__":
        return base
    if isinstance(base, Mapping) and name not in _OF_DICTIONARIES:
        # a plain dictionary has no such attribute, so it is one of the objects that loaders make of them
        entry = base.entry(name)
        return lifted(entry.node) if entry is not None and entry.certain else Leaf(unknown(f"attribute `{name}`"), span)
    if isinstance(base, Leaf) and isinstance(base.value.only, PathText):
        text = base.value.only
        if name == "parent":
            return leaf(base.value.map(lambda path: path.parent), span)
        if name == "parents":
            above = [text.parent]
            while above[-1] and above[-1] != above[-1].parent:
                above.append(above[-1].parent)
            return Sequence(tuple(Leaf(known(one, *base.value.spans), span) for one in above), span)
        last = text.rpartition("/")[2]
        if name in ("name", "stem", "suffix"):
            dot = last.rfind(".")
            stem, suffix = (last[:dot], last[dot:]) if dot > 0 else (last, "")
            return leaf(known({"name": last, "stem": stem, "suffix": suffix}[name]), span)
    if isinstance(base, Leaf) and name == "__class__" and base.value.is_known:
        kind = type(base.value.only)
        if kind in (bool, int, float, str):
            return Reference(External(f"builtins.{kind.__name__}"), span)
    if isinstance(base, Leaf) and name == "value" and base.value.state in (State.KNOWN, State.ONE_OF):
        # A member of an enumeration that is a string or number as well.
        return base
    return Leaf(unknown(f"attribute `{name}` of something unknown", span), span)


def _of_reference(evaluator: Evaluator, base: Reference, name: str, span: Span) -> Abstract:
    inner = evaluator.modules.attribute(base.target, name)
    if isinstance(inner, FunctionRef) and isinstance(base.target, ClassRef):
        function = evaluator.project.function(inner)
        receiver = base if decorated(function.decorators, "classmethod") else None
        return Reference(inner, span, receiver)
    if inner is not None:
        return evaluator.target(inner, span)
    if isinstance(base.target, ClassRef):
        fields = declared_fields(evaluator, base.target, span) if name == "__dataclass_fields__" else None
        found = fields or class_attribute(evaluator, base.target, name, span)
        if found is not None:
            return found
    if name == "__name__" and isinstance(base.target, ClassRef | FunctionRef):
        project = evaluator.project
        named = project.class_(base.target) if isinstance(base.target, ClassRef) else project.function(base.target)
        return Leaf(known(named.name, span), span)
    return Leaf(unknown(f"attribute `{name}`", span), span)


def class_attribute(evaluator: Evaluator, owner: ClassRef, name: str, span: Span) -> Abstract | None:
    """What the body of a class, or of one of its bases in the project, binds a name to.

    Members of an enumeration are objects.
    """
    for one in evaluator.modules.ancestry(owner):
        expr = _in_body(evaluator.project.class_(one), name)
        if expr is None:
            continue
        bases = evaluator.modules.external_bases(one)
        if (
            bases & _ENUMERATIONS
            and not bases & {"enum.StrEnum", "enum.IntEnum"}
            and not evaluator.modules.derives_from_builtin(one)
        ):
            call = ir.Call(expr, (), (), expr.at)
            outer = evaluator.frame(one.file, -1)
            return Instance(one, call, outer, evaluator.state(outer, expr.at), (MEMBER, name))
        return _body_value(evaluator, one, expr)
    return None


def _in_body(definition: ir.Class, name: str) -> ir.Expr | None:
    found = None
    for statement in definition.body:
        if type(statement) is ir.Assign and statement.value is not None:
            if any(type(target) is ir.Name and target.id == name for target in statement.targets):
                found = statement.value
    return found


def _body_value(evaluator: Evaluator, owner: ClassRef, expr: ir.Expr) -> Abstract:
    frame = evaluator.frame(owner.file, evaluator.project.class_(owner).parent)
    return evaluator.evaluate(expr, frame, evaluator.state(frame, expr.at))


def _of_instance(evaluator: Evaluator, instance: Instance, name: str, span: Span) -> Abstract:
    if name == "__dict__" and instance.part[-1:] != ("__dict__",):
        return Instance(instance.callee, instance.call, instance.frame, instance.state, (*instance.part, "__dict__"))
    if evaluator.options is not None:
        found = evaluator.options.attribute(evaluator, instance, name, span)
        if found is not None:
            return found  # type: ignore[no-any-return]
    if isinstance(instance.callee, ClassRef):
        if instance.part[:1] == (MEMBER,) and len(instance.part) == 2:
            if name == "value":
                return _body_value(evaluator, instance.callee, instance.call.func)
            if name == "name":
                return Leaf(known(instance.part[1], span), span)
        elif instance.part in ((), ("self",)):
            found = _of_object(evaluator, instance, instance.callee, name, span)
            if found is not None:
                return found if instance.part == () else _or_of_others(evaluator, instance, found, name, span)
    elif isinstance(instance.callee, External) and instance.callee.name in NAMESPACES and not instance.part:
        found = _of_namespace(evaluator, instance, name, span)
        if found is not None:
            stored = _set_outside(evaluator, instance, None, name, span)
            return found if stored is None else several([found, stored], span)
    elif isinstance(instance.callee, External) and not instance.part:
        made_of = evaluator.modules.canonical(instance.callee.name)
        found = _of_record(evaluator, instance, made_of, name) or _share(evaluator, instance, made_of, name, span)
        if found is not None:
            return found
    return evaluator.part_of(instance, "." + name)


def _of_record(evaluator: Evaluator, instance: Instance, made_of: str, name: str) -> Abstract | None:
    """An argument of a library class that keeps it, unless some code may set the attribute later."""
    if not any(made_of in spec.records for spec in evaluator.project.specs) or evaluator.project.is_stored(name):
        return None
    given = given_arguments(evaluator, instance.call, instance.frame, instance.state).keywords
    found = evaluator.force(given[name]) if name in given else None
    # nothing is often a request to work the value out
    is_nothing = isinstance(found, Leaf) and found.value.is_known and found.value.only is None
    return None if is_nothing else found


def _share(evaluator: Evaluator, instance: Instance, made_of: str, name: str, span: Span) -> Abstract | None:
    """An attribute that a library works out as a share of the processes (``plugin.dp_size``); ``None`` for another, or where it is open."""
    shares = [one for spec in evaluator.project.specs for one in spec.shares if one[:2] == (made_of, name)]
    if not shares or evaluator.options is None or evaluator.options.world_size is None:
        return None
    _, _, divisors, others = shares[0]
    call, frame, state = instance.call, instance.frame, instance.state
    if any(evaluator.argument(call, other, None, frame, state) is not None for other in others):
        return None
    count: Value = evaluator.options.world_size
    total, spans = count.only, list(count.spans)
    for position, divisor in enumerate(divisors):
        given = evaluator.argument(call, divisor, position, frame, state)
        size = node_value(node_of(given, span)) if given is not None else unknown("not given")
        if type(size.only) is not int or size.only <= 0:
            return None
        total //= size.only
        spans += size.spans
    return Leaf(known(total, *dict.fromkeys(spans), confidence=count.confidence), span)


def is_described(evaluator: Evaluator, value: Abstract, name: str) -> bool:
    """Whether a class of the project says itself what an attribute of its objects is (a descriptor with ``__set__``)."""
    if not evaluator.project.defines("__set__") or not isinstance(value, Instance):
        return False
    if not isinstance(value.callee, ClassRef) or value.part not in ((), ("self",)):
        return False
    held = class_attribute(evaluator, value.callee, name, value.span())
    is_own = isinstance(held, Instance) and isinstance(held.callee, ClassRef) and not held.part
    return is_own and evaluator.modules.method(held.callee, "__set__") is not None  # type: ignore[union-attr,arg-type]


def _of_object(evaluator: Evaluator, instance: Instance, owner: ClassRef, name: str, span: Span) -> Abstract | None:
    if is_described(evaluator, instance, name):
        return Leaf(unknown(f"a descriptor says what `{name}` is", span), span)
    method = evaluator.modules.method(owner, name)
    if method is not None:
        if decorated(evaluator.project.function(method).decorators, "property", "cached_property"):
            return returned(evaluator, Reference(method, span, instance), {}, span, instance.frame.depth + 1)
        return Reference(method, span, instance)
    found = _set_in_methods(evaluator, instance, owner, name, span)
    outside = _set_outside(evaluator, instance, owner, name, span)
    if outside is not None and found is not NOTHING:
        inside = found if found is not None else class_attribute(evaluator, owner, name, span)
        found = outside if inside is None else several([inside, outside], span)
    fields = fields_of(evaluator, owner)
    field = next((one for one in fields if one.name == name), None)
    if field is not None and found is not NOTHING:
        is_one = instance.part == ()
        value = (
            _field_value(evaluator, instance, fields, field, span)
            if is_one
            else _field_of_any(evaluator, owner, fields, field, span)
        )
        if value is not None and _is_set_by_name(evaluator, owner, span):
            found = Leaf(unknown(f"some code may set `{name}` by its name"), span)
        if value is not None:
            return value if found is None else several([value, found], span)
    return found if found is not None else class_attribute(evaluator, owner, name, span)


def _or_of_others(evaluator: Evaluator, instance: Instance, found: Abstract, name: str, span: Span) -> Abstract:
    """An attribute of an object of a class or of one derived from it, which may say something else."""
    assert isinstance(instance.callee, ClassRef)  # noqa: S101 - tested by the caller
    modules = evaluator.modules
    before = set(modules.ancestry(instance.callee))
    others = [
        one
        for one in evaluator.project.derived_from(instance.callee)
        if any(_says(evaluator, base, name) for base in modules.ancestry(one) if base not in before)
    ]
    if not others:
        return found
    if len(others) > MAX_DERIVED:
        return Leaf(unknown(f"each of several classes has its own `{name}`", span), span)
    every = [found]
    for one in others:
        like = Instance(one, instance.call, instance.frame, instance.state, instance.part)
        evaluator.keep(like)
        own = _of_object(evaluator, like, one, name, span)
        every.append(own if own is not None else Leaf(unknown(f"attribute `{name}`", span), span))
    return several(every, span)


def _says(evaluator: Evaluator, owner: ClassRef, name: str) -> bool:
    """Whether the body of a class binds a name to something, or defines a property of that name."""
    index = evaluator.modules.own_methods(owner).get(name)
    if index is None:
        return _in_body(evaluator.project.class_(owner), name) is not None
    decorators = evaluator.project.function(FunctionRef(owner.file, index)).decorators
    return decorated(decorators, "property", "cached_property")


def _of_namespace(evaluator: Evaluator, instance: Instance, name: str, span: Span) -> Abstract | None:
    """An attribute of an object that is made of its arguments."""
    given = given_arguments(evaluator, instance.call, instance.frame, instance.state)
    if name in given.keywords:
        return evaluator.force(given.keywords[name])
    assert isinstance(instance.callee, External)  # noqa: S101 - tested by the caller
    if instance.callee.name == "dataclasses.replace" and given.positional and not given.open_keywords:
        return attributes(evaluator, evaluator.force(given.positional[0]), (name,), span)
    if given.positional:
        first = evaluator.force(given.positional[0])
        entry = first.entry(name) if isinstance(first, Mapping) else None
        return lifted(entry.node) if entry is not None and entry.certain else None
    return None


# Fields ---------------------------------------------------------------------------------------------------------------


def fields_of(evaluator: Evaluator, owner: ClassRef) -> tuple[Field, ...]:
    """The fields of a dataclass or named tuple in the order of its constructor; empty for any other class."""
    ancestry = evaluator.modules.ancestry(owner)
    definition = evaluator.project.class_(owner)
    if not decorated(definition.decorators, "dataclass") and not evaluator.modules.external_bases(owner) & _RECORDS:
        return ()
    if evaluator.modules.method(owner, "__init__") is not None:
        return ()
    found: dict[str, Field] = {}
    for one in reversed(ancestry):
        for statement in evaluator.project.class_(one).body:
            if type(statement) is ir.Assign and statement.annotation is not None:
                target = statement.targets[0]
                if type(target) is ir.Name:
                    found[target.id] = Field(target.id, statement.value, one, statement.annotation)
    return tuple(found.values())


def _field_value(
    evaluator: Evaluator, instance: Instance, fields: tuple[Field, ...], field: Field, span: Span
) -> Abstract:
    given = given_arguments(evaluator, instance.call, instance.frame, instance.state)
    position = fields.index(field)
    if position < len(given.positional):
        return evaluator.force(given.positional[position])
    if field.name in given.keywords:
        return evaluator.force(given.keywords[field.name])
    if given.open_keywords or given.open_positional:
        return Leaf(unknown("behind * or ** in the call", span), span)
    return field_default(evaluator, field, span)


def _field_of_any(
    evaluator: Evaluator, owner: ClassRef, fields: tuple[Field, ...], field: Field, span: Span
) -> Abstract | None:
    """A field of an object of a class that may be any of those that the project makes; ``None`` where it is not seen to make one."""
    project = evaluator.project
    made = [
        found
        for found in project.sites(project.class_(owner).name)
        if project.modules.resolve(found.site.call.func, found.file) == owner
    ]
    if not made or len(made) > MAX_STORES:
        return None
    values: list[Abstract] = []
    for found in made:
        frame = evaluator.frame(found.file, found.site.function)
        one = Instance(owner, found.site.call, frame, evaluator.state(frame, found.site.call.at))
        values.append(_field_value(evaluator, one, fields, field, span))
    return several(values, span)


def _is_set_by_name(evaluator: Evaluator, owner: ClassRef, span: Span) -> bool:
    """Whether some ``setattr`` works out the name of an attribute that it sets in an object of the class."""
    found = evaluator.guarded(("set by name", owner), lambda: Leaf(known(_has_setter(evaluator, owner)), span))
    return isinstance(found, Leaf) and found.value.only is True


def _has_setter(evaluator: Evaluator, owner: ClassRef) -> bool:
    ancestry = evaluator.modules.ancestry(owner)
    for found in evaluator.project.sites("setattr"):
        given = found.site.call.args
        if len(given) != 3 or type(found.site.call.func) is not ir.Name or type(given[1]) is ir.Constant:
            continue
        frame = evaluator.frame(found.file, found.site.function)
        for option in options_of(evaluator.evaluate(given[0], frame, evaluator.state(frame, found.site.call.at))):
            if isinstance(option, Instance) and option.part in ((), ("self",)) and option.callee in ancestry:
                return True
    return False


def field_default(evaluator: Evaluator, field: Field, span: Span) -> Abstract:
    """The default of a field: the value itself, or what ``field(default=..., default_factory=...)`` says."""
    default = field.default
    if default is None:
        return Leaf(unknown(f"field `{field.name}` is not given", span), span)
    if type(default) is not ir.Call:
        return _body_value(evaluator, field.owner, default)
    name = (
        default.func.name
        if type(default.func) is ir.Attribute
        else default.func.id
        if type(default.func) is ir.Name
        else ""
    )
    if name not in ("field", "HfArg", "Field"):
        return _body_value(evaluator, field.owner, default)
    for keyword in default.keywords:
        if keyword.name == "default":
            return _body_value(evaluator, field.owner, keyword.value)
        if keyword.name in ("default_factory", "factory"):
            return _body_value(evaluator, field.owner, evaluator.called(keyword.value))
    return Leaf(unknown("made by a factory", span), span)


def declared_fields(evaluator: Evaluator, owner: ClassRef, span: Span) -> Mapping | None:
    """What ``__dataclass_fields__`` holds: by name, of each field the name, the default and the type; ``None`` for no dataclass."""
    entries = []
    for field in fields_of(evaluator, owner):
        at = ir.unpack(field.default.at, field.owner.file) if field.default is not None else span
        parts = [Entry("name", at, Leaf(known(field.name, at), at))]
        parts.append(Entry("default", at, node_of(field_default(evaluator, field, at), at)))
        if field.annotation is not None:
            parts.append(Entry("type", at, node_of(_body_value(evaluator, field.owner, field.annotation), at)))
        entries.append(Entry(field.name, at, Mapping(tuple(parts), at)))
    return Mapping(tuple(entries), span) if entries else None


def as_mapping(evaluator: Evaluator, instance: Instance, span: Span) -> Mapping | None:
    """The fields of a dataclass's object by name (``asdict``)."""
    if not isinstance(instance.callee, ClassRef) or instance.part not in ((), ("self",)):
        return None
    fields = fields_of(evaluator, instance.callee)
    entries = []
    for field in fields:
        value = attribute(evaluator, instance, field.name, span)
        inner = as_mapping(evaluator, value, span) if isinstance(value, Instance) else None
        # where it stands is where it was given, or where the default is
        places = value.value.spans if isinstance(value, Leaf) else ()
        if isinstance(value, Mapping | Sequence):
            places = (value.span,)
        entries.append(Entry(field.name, places[0] if places else span, inner or node_of(value, span)))
    return Mapping(tuple(entries), span) if fields else None


# Methods that set attributes ------------------------------------------------------------------------------------------


def _set_in_methods(
    evaluator: Evaluator, instance: Instance, owner: ClassRef, name: str, span: Span
) -> Abstract | None:
    """What an object's methods leave in ``self.name``; ``None`` if none of them sets it."""
    stores = evaluator.project.attribute_stores(owner).get(name, ())
    methods = list(dict.fromkeys(method for method, _, _ in stores if method.index >= 0))
    if not methods:
        return None
    if len(methods) > MAX_STORES:
        return Leaf(unknown(f"attribute `{name}` is set in too many places", span), span)
    key = ("attribute", *instance.identity, owner, name)
    return evaluator.guarded(key, lambda: _after_methods(evaluator, instance, owner, name, methods, key, span))


def _set_outside(
    evaluator: Evaluator, instance: Instance, owner: ClassRef | None, name: str, span: Span
) -> Abstract | None:
    """What other code stores into the attribute of objects of the class, or of this object of no class of the project.

    ``None`` if nobody is seen to.
    """
    stores = evaluator.project.outside_stores(name)
    if not stores or len(stores) > MAX_STORES * 2:
        return None
    key = ("outside", owner, name) if owner is not None else ("outside", *instance.identity, name)
    found = evaluator.guarded(key, lambda: _from_outside(evaluator, instance, owner, stores, span))
    return None if found is NOTHING else found


def _from_outside(
    evaluator: Evaluator,
    instance: Instance,
    owner: ClassRef | None,
    stores: tuple[tuple[str, OutsideStore], ...],
    span: Span,
) -> Abstract:
    results: list[Abstract] = []
    ancestry = evaluator.modules.ancestry(owner) if owner is not None else ()
    for file, store in stores:
        frame = evaluator.frame(file, store.function)
        state = evaluator.state(frame, store.at)
        for option in options_of(evaluator.evaluate(store.base, frame, state)):
            if not isinstance(option, Instance) or option.part not in ((), ("self",)):
                continue
            if option.callee in ancestry or (owner is None and option.identity == instance.identity):
                given = store.value if store.value is not None else store.whole
                value = None if given is None else evaluator.evaluate(given, frame, state)
                if value is not None and store.value is None:
                    value = evaluator.take(value, store.place, span)
                results.append(value if value is not None else Leaf(unknown("not followed", span), span))
    return several(results, span) if results else NOTHING


def _after_methods(
    evaluator: Evaluator,
    instance: Instance,
    owner: ClassRef,
    name: str,
    methods: list[FunctionRef],
    key: tuple[object, ...],
    span: Span,
) -> Abstract:
    value = several([_left_by(evaluator, method, instance, owner, name, span) for method in methods], span)
    changing = [m for m in evaluator.project.attribute_changes(owner).get(name, ()) if m not in methods]
    if not isinstance(value, Mapping | Sequence) or not changing:
        return value
    # Other methods may have changed the object in place before.
    with evaluator.standing(key, value):
        changed = [_left_by(evaluator, method, instance, owner, name, span) for method in changing[:MAX_STORES]]
    return several([value, *changed], span)


def _left_by(
    evaluator: Evaluator, method: FunctionRef, instance: Instance, owner: ClassRef, name: str, span: Span
) -> Abstract:
    """What a method leaves in ``self.name`` when it ends."""
    inner = frame_of_method(evaluator, method, instance, owner)
    function = evaluator.project.function(method)
    own = function.parameters[0].name if function.parameters else "self"
    flow = evaluator.project.flow(method.file, method.index)
    ends = flow.ends() or [flow.entry]
    return several([evaluator.in_chain(own, inner, end, span, (name,)) for end in ends], span)


def frame_of_method(evaluator: Evaluator, method: FunctionRef, instance: Instance, owner: ClassRef) -> Frame:
    """A frame for a method of an object.

    The constructor's arguments are known, those of other methods come from their callers.
    """
    function = evaluator.project.function(method)
    key = ("frame", method, *instance.identity)
    found = evaluator.frames.get(key)
    if found is None:
        is_constructor = (
            function.name == "__init__"
            and instance.part == ()
            and evaluator.modules.method(owner, "__init__") == method
        )
        if is_constructor:
            given = given_arguments(evaluator, instance.call, instance.frame, instance.state)
            bindings = bound_parameters(evaluator, function.parameters[1:], given, instance.span())
            found = Frame(method.file, method.index, bindings, instance.frame.depth + 1, instance, bound=True)
        elif instance.part == ():
            found = Frame(method.file, method.index, {}, instance.frame.depth + 1, instance)
        else:
            found = evaluator.frame(method.file, method.index)
        evaluator.frames[key] = found
    return found


def concerns(store: Store, names: tuple[str, ...]) -> bool:
    """Whether a change may concern an attribute path of the name that it changes."""
    for step, name in zip(store.path, names, strict=False):
        if not isinstance(step, str):
            return False
        if step in (".*", ".__dict__"):
            return True
        if step != "." + name:
            return False
    return True
