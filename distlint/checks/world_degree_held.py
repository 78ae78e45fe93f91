"""How often the number of processes is a factor of what an object holds under a name: ``args.lr``, ``config["lr"]``.

The object is followed through variables, results of functions, functions that change what they are handed, constructors,
data classes and properties.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from distlint.link.abstract import Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.calls import decorated
from distlint.link.flow import Bind, Env, Join, Store
from distlint.link.modules import ClassRef, FunctionRef
from distlint.link.walking import access_path
from distlint.model import python as ir
from distlint.model.span import Span

if TYPE_CHECKING:
    from distlint.checks.ranks import RankView
    from distlint.link.project import Project

MAX_CALLERS = 4
MAX_KEYS = 6
"""Names that are followed from an object to what it holds."""
MAX_VISITS = 1_000
"""Variables that are followed for one question: chains of functions that are handed the same object are gone through many times over."""
_PLAIN = frozenset({"dict", "SimpleNamespace", "Namespace", "EasyDict", "DotDict", "replace", "MappingProxyType"})
"""Calls whose keywords are what the result holds."""
_COPIES = frozenset({"copy", "deepcopy", "vars", "dict", "replace", "asdict", "MappingProxyType"})
"""Calls whose result holds what their first argument does."""
_EMPTYING = frozenset({"clear", "pop", "popitem", "delete", "unknown"})
"""What may take a number out of a mapping, so that nobody knows what it holds then."""


class Degree(NamedTuple):
    """The degree, and where the factors stand."""

    power: int
    places: tuple[Span, ...] = ()

    def times(self, other: Degree, sign: int = 1) -> Degree:
        """The degree of a product, or of a quotient."""
        return Degree(self.power + sign * other.power, tuple(dict.fromkeys((*self.places, *other.places))))


GOING_ROUND = Degree(0)
"""What a variable has at the head of a loop that is being followed: whatever it had before, so it adds nothing."""


class Unseen:
    """Nothing is known to be put under a name."""


UNSEEN = Unseen()
Key = tuple[str, ...]
"""The names that lead from an object to what it holds: ``("train", "batch_size")`` of ``config["train"]["batch_size"]``."""
Held = Degree | Unseen | None
"""What is held under a name; ``None`` where ways disagree, or it is too much to follow."""


def agreed(found: list[Degree | None]) -> Degree | None:
    """The degree that all ways have; a way that is being gone round adds nothing."""
    if found and all(one is GOING_ROUND for one in found):
        return GOING_ROUND
    known = [one for one in found if one is not None and one is not GOING_ROUND]
    if not known or None in found or any(one.power != known[0].power for one in known):
        return None
    return known[0]


def scaled(before: Degree | None, factor: Degree | None, operator: str) -> Degree | None:
    """The degree of ``before`` after an augmented assignment."""
    if before is None or factor is None:
        return None
    if operator in ("*", "/", "//"):
        if before is GOING_ROUND:
            return None if factor.power else before
        return before.times(factor, 1 if operator == "*" else -1)
    return before


class HeldDegrees:
    """The part of the degrees of a project that concerns what objects hold."""

    _project: Project
    _view: RankView
    _active: set[tuple[object, ...]]
    _makers: frozenset[str]
    _visits: int

    def _of(self, expr: ir.Expr, file: str, function: int, state: Env) -> Degree | None:
        raise NotImplementedError

    def _chosen(self, join: Join, file: str, function: int) -> list[Env]:
        """The branches that a job of several processes may have come by."""
        if join.test is not None and len(join.branches) == 2:
            known = self._view.ask(join.test, file, function)
            if type(known) is bool:
                return [join.branches[0 if known else 1]]
        return join.branches

    def _held(self, base: ir.Expr, key: Key, file: str, function: int, state: Env) -> Held:
        """The degree of what the object of an expression holds under a name."""
        if type(base) is ir.Name:
            return self._behind(base.id, key, file, function, state)
        if type(base) is ir.DictDisplay:
            for name, item in zip(base.keys, base.values, strict=True):
                if type(name) is ir.Constant and name.value == key[0]:
                    return self._within(item, key[1:], file, function, state)
            return UNSEEN
        if type(base) is ir.Call:
            return self._of_result(base, key, file, function, state)
        if type(base) is ir.Attribute and type(base.base) is ir.Name and base.base.id == "self" and function >= 0:
            owner = self._project.module(file).functions[function].owner
            stores = self._project.attribute_stores(ClassRef(file, owner)).get(base.name, ()) if owner >= 0 else ()
            where, value, part = stores[0] if len(stores) == 1 else (None, None, ())
            if where is not None and value is not None and not part:
                before = self._project.flow(where.file, where.index).before(value.at)
                return self._held(value, key, where.file, where.index, before)
        if len(key) < MAX_KEYS:
            if type(base) is ir.Subscript and type(base.index) is ir.Constant and type(base.index.value) is str:
                return self._held(base.base, (base.index.value, *key), file, function, state)
            if type(base) is ir.Attribute:
                return self._held(base.base, (base.name, *key), file, function, state)
        return UNSEEN

    def _within(self, expr: ir.Expr, rest: Key, file: str, function: int, state: Env) -> Held:
        """The degree of what stands under a name, or is held under further ones by what stands there."""
        return self._held(expr, rest, file, function, state) if rest else self._of(expr, file, function, state)

    def _behind(
        self,
        name: str,
        key: Key,
        file: str,
        function: int,
        state: Env,
        outside: Callable[[], Held] | None = None,
    ) -> Held:
        """What is held by the object behind a variable; ``outside`` says it where the function did nothing to it."""
        self._visits += 1
        if self._visits > MAX_VISITS:
            return None
        place: Env | None = state
        while place is not None:
            if isinstance(place, Join) and name in place.touched:
                return self._joined(name, key, file, function, place, outside)
            if isinstance(place, Store) and place.name == name:
                found = self._stored(place, key, file, function, outside)
                if not isinstance(found, Unseen):
                    return found
            if isinstance(place, Bind) and place.name == name:
                if place.part or place.prev is None or not isinstance(place.expr, ir.Expr):
                    return UNSEEN
                return self._held(place.expr, key, file, function, place.prev)
            place = place.prev
        return outside() if outside is not None else self._from_callers(name, key, file, function)

    def _joined(
        self, name: str, key: Key, file: str, function: int, join: Join, outside: Callable[[], Held] | None
    ) -> Held:
        active = ("held", name, key, id(join))
        if active in self._active:
            return None
        self._active.add(active)
        try:
            found = [
                self._behind(name, key, file, function, branch, outside)
                for branch in self._chosen(join, file, function)
            ]
        finally:
            self._active.discard(active)
        seen = [one for one in found if not isinstance(one, Unseen)]
        if len(seen) == len(found):
            return agreed(seen)
        return UNSEEN if not seen else None

    def _stored(self, store: Store, key: Key, file: str, function: int, outside: Callable[[], Held] | None) -> Held:
        """What a change of an object puts under a name."""
        before = store.prev
        if before is None:
            return UNSEEN
        steps = len(store.path)
        if 0 < steps <= len(key) and all(_names(step, name) for step, name in zip(store.path, key, strict=False)):
            if store.action == "set":
                return self._within(store.expr, key[steps:], file, function, before)
            if steps == len(key):
                earlier = self._behind(store.name, key, file, function, before, outside)
                if isinstance(earlier, Unseen):
                    earlier = Degree(0)
                return scaled(earlier, self._of(store.expr, file, function, before), store.action.removesuffix("="))
        if steps < len(key) and all(_names(step, name) for step, name in zip(store.path, key, strict=False)):
            if type(store.expr) is ir.Call and store.action == "call":
                return self._changed_by(store, store.expr, key, file, function, outside)
            if type(store.expr) is ir.Call and store.action == "update":
                return self._updated_by(store.expr, key[steps:], file, function, before)
            if store.action in _EMPTYING:
                return None
        return UNSEEN

    def _updated_by(self, call: ir.Call, key: Key, file: str, function: int, before: Env) -> Held:
        """What ``update`` puts under a name; ``None`` where it may be any number."""
        for word in call.keywords:
            if word.name == key[0]:
                return self._within(word.value, key[1:], file, function, before)
        given = (*call.args, *(word.value for word in call.keywords if word.name is None))
        found = [self._held(one, key, file, function, before) for one in given]
        seen = [one for one in found if not isinstance(one, Unseen)]
        if seen:
            return seen[-1]
        return UNSEEN if all(type(one) is ir.DictDisplay and None not in one.keys for one in given) else None

    def _changed_by(
        self, store: Store, call: ir.Call, key: Key, file: str, function: int, outside: Callable[[], Held] | None
    ) -> Held:
        """What an object holds behind a call of a project function that it was handed to."""
        edges = self._project.call_graph.targets(file, function, call)
        before = store.prev
        if len(edges) != 1 or not edges[0].certain or before is None:
            return UNSEEN
        target = edges[0].target
        shift = edges[0].shift - (1 if self._project.function(target).owner >= 0 else 0)
        for position, parameter in enumerate(self._project.function(target).parameters):
            given, _ = find_argument(call, parameter.name, position + shift)
            if given is not None and _is_place(given, store):
                flow = self._project.flow(target.file, target.index)
                found = [
                    self._behind(
                        parameter.name,
                        key[len(store.path) :],
                        target.file,
                        target.index,
                        end,
                        lambda: self._behind(store.name, key, file, function, before, outside),
                    )
                    for end in flow.ends()
                ]
                seen = [one for one in found if not isinstance(one, Unseen)]
                return UNSEEN if not seen else agreed(seen) if len(seen) == len(found) else None
        return UNSEEN

    def _from_callers(self, name: str, key: Key, file: str, function: int) -> Held:
        """What the object that a parameter is given holds."""
        if function < 0:
            return UNSEEN
        definition = self._project.function(FunctionRef(file, function))
        position = next((i for i, one in enumerate(definition.parameters) if one.name == name), None)
        if position is None or (position == 0 and definition.owner >= 0):
            return UNSEEN
        callers = self._project.callers(FunctionRef(file, function))
        if not 0 < len(callers) <= MAX_CALLERS:
            return UNSEEN
        offset = 1 if definition.owner >= 0 else 0
        found: list[Held] = []
        for caller in callers:
            given, _ = find_argument(caller.site.call, name, position - offset + caller.shift)
            if given is None:
                return UNSEEN
            state = self._project.flow(caller.file, caller.site.function).before(given.at)
            found.append(self._held(given, key, caller.file, caller.site.function, state))
        seen = [one for one in found if not isinstance(one, Unseen)]
        return agreed(seen) if len(seen) == len(found) else UNSEEN

    def _of_result(self, call: ir.Call, key: Key, file: str, function: int, state: Env) -> Held:
        """What the result of a call holds under a name."""
        made = [
            one.callee
            for one in options_of(self._project.evaluator(None).ask(call, file, function))
            if isinstance(one, Instance) and isinstance(one.callee, ClassRef) and one.call.at == call.at
        ]
        if len(made) == 1:
            return self._of_object(made[0], key[0], call, file, function) if len(key) == 1 else UNSEEN
        edges = self._project.call_graph.targets(file, function, call)
        if len(edges) == 1 and edges[0].certain:
            ref = edges[0].target
            found = [
                self._held(one.value, key, ref.file, ref.index, at)
                for one, at in self._project.flow(ref.file, ref.index).returns
                if one.value is not None
            ]
            seen = [one for one in found if not isinstance(one, Unseen)]
            return agreed(seen) if seen and len(seen) == len(found) else UNSEEN
        func = call.func
        name = func.name if type(func) is ir.Attribute else func.id if type(func) is ir.Name else ""
        if name in _PLAIN or (self._makers and self._project.modules.dotted(func, file) in self._makers):
            for keyword in call.keywords:
                if keyword.name == key[0]:
                    return self._within(keyword.value, key[1:], file, function, state)
            spread = [self._held(one.value, key, file, function, state) for one in call.keywords if one.name is None]
            if len(spread) == 1:
                return spread[0]
        if name in _COPIES and call.args:
            return self._held(call.args[0], key, file, function, state)
        if name in _COPIES and type(func) is ir.Attribute:
            return self._held(func.base, key, file, function, state)
        return UNSEEN

    def _of_object(self, owner: ClassRef, key: str, call: ir.Call | None, file: str, function: int) -> Held:
        """What an object of a class of the project holds, as its construction leaves it; or its property."""
        given = self._of_property(owner, key)
        if not isinstance(given, Unseen) or self._project.modules.method(owner, key) is not None:
            return given
        stores = self._project.attribute_stores(owner).get(key, ())
        makers = [
            method
            for name in ("__post_init__", "__init__")
            if (method := self._project.modules.method(owner, name)) is not None
        ]
        if any(where.index >= 0 and where not in makers for where, _, _ in stores):
            return UNSEEN
        maker = next(iter(makers), None)
        if maker is None:
            return self._field(owner, key, call, file, function)
        own = self._project.function(maker).parameters[0].name
        ends = self._project.flow(maker.file, maker.index).ends()
        found = [
            self._behind(
                own, (key,), maker.file, maker.index, end, lambda: self._field(owner, key, call, file, function)
            )
            for end in ends
        ]
        seen = [one for one in found if not isinstance(one, Unseen)]
        return agreed(seen) if seen and len(seen) == len(found) else UNSEEN

    def _of_property(self, owner: ClassRef, key: str) -> Held:
        """What a property of a class gives; nothing is seen of what is no property."""
        ref = self._project.modules.method(owner, key)
        if ref is None or not decorated(self._project.function(ref).decorators, "property", "cached_property"):
            return UNSEEN
        returns = self._project.flow(ref.file, ref.index).returns
        return agreed([self._of(one.value, ref.file, ref.index, at) for one, at in returns if one.value is not None])

    def _field(self, owner: ClassRef, key: str, call: ir.Call | None, file: str, function: int) -> Held:
        """What the field of a data class is given where an object is made."""
        definition = self._project.class_(owner)
        if call is None or not decorated(definition.decorators, "dataclass"):
            return UNSEEN
        fields = [
            one
            for one in definition.body
            if type(one) is ir.Assign and one.annotation is not None and type(one.targets[0]) is ir.Name
        ]
        names = [one.targets[0].id if type(one.targets[0]) is ir.Name else "" for one in fields]
        if key not in names:
            return UNSEEN
        given, _ = find_argument(call, key, names.index(key))
        if given is not None:
            return self._of(given, file, function, self._project.flow(file, function).before(given.at))
        default = fields[names.index(key)].value
        return (
            UNSEEN if default is None else self._of(default, owner.file, -1, self._project.flow(owner.file, -1).entry)
        )


def _is_place(given: ir.Expr, store: Store) -> bool:
    """Whether an argument is the object that a call changes: a variable, or what it holds under some names."""
    root, steps = access_path(given)
    return (
        root == store.name
        and len(steps) == len(store.path)
        and all(
            one is other or one == other or (type(one) is ir.Constant and _names(other, one.value))
            for one, other in zip(steps, store.path, strict=True)
        )
    )


def _names(step: ir.Expr | str, key: str) -> bool:
    if isinstance(step, str):
        return step == "." + key
    return type(step) is ir.Constant and step.value == key
