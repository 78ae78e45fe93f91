"""What libraries do in a rehearsal: the frameworks' own models, and what their descriptions say.

A description (``FrameworkSpec``) names the operations that processes make together, what is the same everywhere behind a
call, what is random, and what each process has for itself. That is enough for most of what programs use; where a framework
has more to say (``FrameworkSpec.rehearsed``), its models are asked first.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any

from distlint.model import python as ir
from distlint.model.framework import DRAWN, CollectiveSpec
from distlint.model.span import Span
from distlint.rehearsal.entities import MethodOf
from distlint.rehearsal.randomness import Randomness
from distlint.rehearsal.stage import Event
from distlint.rehearsal.unknowns import UNKNOWN, Opaque, Source
from distlint.rehearsal.values import Given, Items, Made, Table, Tensor, Thing, derived, escape, is_known

if TYPE_CHECKING:
    from distlint.link.project import Project

GRADIENTS_KEPT = "gradients kept"
"""Under this name a process counts the contexts that it is in in which backward passes meet nobody."""

LOADED = "rows of loaders"
"""Under this name a process keeps how many rows the loaders without a sampler have, by where they are made, and how many are a batch."""

PADDED = "padded shares"
"""Under this name a process keeps where data were parted so that some of it is given twice, and how much there is of it."""

_ROLES = ("collective", "first", "local-first")


class Arguments(dict[str, Any]):
    """The arguments of an operation by parameter; those that its description does not name are not known."""

    def __missing__(self, name: str) -> Any:
        return UNKNOWN


class First(Made):
    """A context that the main process passes first, while the others wait for it in front."""

    __slots__ = ("event", "main")

    def __init__(self, name: str, event: Event, *, main: bool) -> None:
        super().__init__(name)
        self.event = event
        self.main = main

    def entered(self, player: Any, span: Span) -> Any:
        """The others wait."""
        if not self.main:
            player.stage.record(self.event)
        return UNKNOWN

    def left(self, player: Any, span: Span) -> None:
        """The main process comes to them."""
        if self.main:
            player.stage.record(self.event)


_SHADOWED = ("forward", "backward", "sharded step")
"""Kinds of operations in which those that are through with their data take part on their own, where a context sees to that
(torch 2.13, ``distributed/algorithms/join.py``; run: ranks with 24 and 36 steps end together)."""


class Excusing(Made):
    """A context in which a pass misses nobody: gradients are kept, or who has fewer passes keeps up with the others."""

    __slots__ = ()

    def entered(self, player: Any, span: Span) -> Any:
        """Passes meet nobody that is missed."""
        kept = player.stage.kept
        kept[GRADIENTS_KEPT] = kept.get(GRADIENTS_KEPT, 0) + 1
        return UNKNOWN

    def left(self, player: Any, span: Span) -> None:
        """They do again."""
        player.stage.kept[GRADIENTS_KEPT] -= 1


class Around(Made):
    """What hands on the items of something else (a progress bar)."""

    __slots__ = ("counter", "inner", "silent")

    def __init__(self, name: str, call: ir.Call, given: Given, inner: Any) -> None:
        super().__init__(name, call, given)
        self.inner = inner
        self.counter = ""
        self.silent: Any = False

    def counts(self, player: Any, attribute: str, switch: str, call: ir.Call, scope: Any) -> None:
        """An attribute counts, unless an argument switches that off: the reason why it is other numbers on other processes."""
        self.counter = attribute
        self.silent = self.arguments.get(switch, None, False) if self.arguments is not None else UNKNOWN
        if player.stage.differs(call, scope.file, self.silent):
            why = f"`{attribute}` counts only where `{switch}` is not set"
            self.source = Source(why, ir.unpack(call.at, scope.file))

    def attribute(self, player: Any, name: str, expr: ir.Expr, scope: Any) -> Any:
        """What counts the items."""
        if name != self.counter:
            return NotImplemented
        return 0 if self.silent is True and self.source is None else Opaque(None, self.source)

    def begins(self, player: Any, span: Span) -> None:
        """The other is gone through."""
        player.begins(self.inner, span)

    def items(self, player: Any) -> list[Any] | None:
        """Those of the other."""
        found: list[Any] | None = player.items_of(self.inner)
        return found

    def item(self, player: Any) -> Any:
        """One of the other."""
        return player.item_of(self.inner)

    def length(self, player: Any) -> Any:
        """That of the other."""
        return player.length(self.inner)

    def entered(self, player: Any, span: Span) -> Any:
        """Itself."""
        return self


class Libraries:
    """What library functions and objects do, of all frameworks together."""

    def __init__(self, project: Project, parts: list[Any]) -> None:
        self._parts = parts
        first = next(one for one in parts if hasattr(one, "elementwise"))
        self.elementwise = first.elementwise
        self.indexed = first.indexed
        self.tensor_attribute = first.tensor_attribute
        self.row_attribute = first.row_attribute
        self.follows_rows = any(part.follows_rows(project) for part in parts)
        """Whether the program may put rows together that stand in different orders."""
        self._canonical = project.modules.canonical
        specs = project.specs
        self._collectives = {one.name: one for one in project.collectives if one.role in _ROLES}
        named = [*self._collectives, *(name for spec in specs for name, _ in spec.rank_sources)]
        self._owners = {name.rpartition(".")[0] for name in named if "()." in name}
        self._uneven = {name for spec in specs for name in spec.uneven}
        self._counters = [one for spec in specs for one in spec.rank_counters]
        self._evened = {name: given for spec in specs for name, given in spec.evened}
        self._varying = {name: why for spec in specs for name, why in spec.varying}
        self._plain = tuple(name for spec in specs for name in spec.plain)
        self._around = {name for spec in specs for name, kind in spec.lengths if kind == "like:0"}
        self._random = Randomness([one for spec in specs for one in spec.generators])

    # What the rehearsal asks -------------------------------------------------------------------------------------

    def call(self, player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
        """What a library function gives; ``NotImplemented`` where that is not known."""
        if name in self._uneven:
            return Excusing(f"{name}()", call, given)
        for part in self._parts:
            if part.owns(name):
                return part.call(player, name, given, call, scope)
        context = self._met(player, name, None, given, call, scope)
        if context is not None:
            return context
        for part in self._parts:
            found = part.call(player, name, given, call, scope)
            if found is not NotImplemented:
                return found
        return self._described(player, name, given, call, scope)

    def method(self, player: Any, receiver: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
        """What a method of an object gives that does not know it itself; ``NotImplemented`` where that is not known."""
        met = False
        if isinstance(receiver, Thing):
            for dotted in self._names(player, receiver, name):
                if dotted in self._collectives:
                    met = True
                    context = self._met(player, dotted, None, given, call, scope)
                    if context is not None:
                        return context
        for part in self._parts:
            found = part.method(player, receiver, name, given, call, scope)
            if found is not NotImplemented:
                return found
        if met:
            return Opaque(together(player, call, scope))
        if isinstance(receiver, Made):
            dotted = self._canonical(f"{receiver.name}.{name}")
            found = self._described(player, dotted, given, call, scope)
            if found is not NotImplemented:
                return found
        return NotImplemented

    def called_object(self, player: Any, callee: Any, given: Given, call: ir.Call, scope: Any) -> Any:
        """What calling an object gives."""
        if isinstance(callee, bool | int) and not given.positional:
            return callee  # a method that tells the place of the process
        for part in self._parts:
            found = part.called_object(player, callee, given, call, scope)
            if found is not NotImplemented:
                return found
        known = isinstance(callee, Opaque | Made | MethodOf)
        return derived("call", [callee, *given.values()]) if known else UNKNOWN

    def meets(self, player: Any, made: Made, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
        """Notes the operation that a method of an object is (``""``: its call); a context manager where it is one."""
        dotted = f"{made.name}.{name}" if name else f"{made.name}()"
        if dotted in self._uneven:
            own = made.method(player, name, given, call, scope)
            return own if isinstance(own, Excusing) else Excusing(dotted, call, given)
        return self._met(player, self._canonical(dotted), made, given, call, scope)

    def inherited(self, player: Any, thing: Any, name: str) -> Any:
        """What an object of a class of the project has from a library's class; ``NotImplemented`` where that is not known."""
        for part in self._parts:
            found = part.inherited(player, thing, name)
            if found is not NotImplemented:
                return found
        for dotted in self._names(player, thing, name):
            kind = player.stage.sources.get(dotted)
            if kind is not None:
                return player.stage.source(kind)
            if dotted in self._collectives:
                return MethodOf(thing, name)
            if dotted in self._owners:
                return Made(dotted)
        return NotImplemented

    def told(self, player: Any, name: str, call: ir.Call, scope: Any) -> Any:
        """A function is called that tells a process its place; ``NotImplemented`` where that is all."""
        for part in self._parts:
            found = part.told(player, name, call, scope)
            if found is not NotImplemented:
                return found
        return NotImplemented

    def drawn(self, name: str, given: Given, value: Any, span: Span) -> Any:
        """What a library's generator of random numbers gives, told more closely where a framework can."""
        for part in self._parts:
            found = part.drawn(name, given, value, span)
            if found is not NotImplemented:
                return found
        return value

    def constant(self, player: Any, name: str) -> Any:
        """What a library's name stands for where that is a plain value; ``NotImplemented`` for others."""
        found = (part.constant(player, name) for part in self._parts)
        return next((one for one in found if one is not NotImplemented), NotImplemented)

    def encloses(self, name: str) -> bool:
        """Whether a library's decorator executes a function inside the context that calling the decorator makes."""
        return any(part.encloses(name) for part in self._parts)

    def harmless(self, name: str) -> bool:
        """Whether a library's function that is not followed certainly does nothing to what processes have together."""
        return any(part.harmless(name) for part in self._parts)

    def built(self, player: Any, thing: Any, given: Given) -> None:
        """An object of the project is made by the constructor of a library's class."""
        for part in self._parts:
            part.built(player, thing, given)

    def owner(self, made: Made, name: str) -> Made | None:
        """An attribute of a library's object of which descriptions name methods or attributes."""
        dotted = self._canonical(f"{made.name}.{name}")
        return Made(dotted) if dotted in self._owners else None

    def _names(self, player: Any, thing: Any, name: str) -> list[str]:
        """What descriptions may call something that an object of the project has from a library's class."""
        bases = player.stage.project.modules.external_bases(thing.cls)
        return [self._canonical(f"{base}().{name}") for base in sorted(bases)]

    def handed(self, player: Any, values: Iterable[Any]) -> None:
        """Values go where nobody sees what is done with them."""
        for part in self._parts:
            part.handed(player, values)

    def unfollowed(self, player: Any, items: Iterable[Any]) -> None:
        """The turns of a loop that goes through these items are not followed."""
        for part in self._parts:
            part.unfollowed(player, items)

    def missed(self, player: Any, callee: Any) -> None:
        """Something is called that nobody sees."""
        for part in self._parts:
            part.missed(player, callee)

    def stored(self, player: Any, base: Any, name: str, value: Any, span: Span) -> None:
        """A value becomes an attribute of an object."""
        for part in self._parts:
            part.stored(player, base, name, value, span)

    def changed(self, player: Any, tensor: Tensor, how: str, others: list[Any], span: Span | None = None) -> None:
        """A tensor was changed in place."""
        for part in self._parts:
            part.changed(player, tensor, how, others, span)

    def rows(self, player: Any, callee: Any, given: Given, found: Any, span: Span) -> None:
        """Says in which order the rows of what a library gives stand."""
        for part in self._parts:
            part.rows(player, callee, given, found, span)

    def attribute_rows(self, player: Any, base: Any, name: str) -> Any:
        """In which order the rows of an attribute stand; ``None`` where that is not known."""
        found = (part.attribute_rows(player, base, name) for part in self._parts)
        return next((one for one in found if one is not None), None)

    def is_data(self, value: Any) -> bool:
        """Whether something is a data set of a library."""
        return any(part.is_data(value) for part in self._parts)

    def is_table(self, value: Any) -> bool:
        """Whether something is a table of a library."""
        return any(part.is_table(value) for part in self._parts)

    def entered(self, player: Any, manager: Any, span: Span) -> Any:
        """What a context manager gives when it is entered."""
        for part in self._parts:
            part.entered(player, manager, span)
        escape(manager)
        return manager if isinstance(manager, Made) else UNKNOWN

    def left(self, player: Any, manager: Any, span: Span) -> None:
        """A context manager is left."""
        for part in self._parts:
            part.left(player, manager, span)

    # What descriptions say ---------------------------------------------------------------------------------------

    def _met(self, player: Any, name: str, made: Made | None, given: Given, call: ir.Call, scope: Any) -> Any:
        """Notes an operation that a description names; gives the context manager that some of them are."""
        spec = self._collectives.get(name)
        if spec is None or spec.configured or _alone(spec, made, given):
            return None
        if spec.kind in _SHADOWED and player.stage.kept.get(GRADIENTS_KEPT):
            player.stage.excused.add((scope.file, call.at))
            return None
        event = Event(spec.kind, call, scope.file, scope.function, _arguments(spec, given))
        over = event.values.get(spec.group[0]) if spec.group[0] else None
        event.group = over.processes(player) if isinstance(over, Made) else player.stage.group_of(over)
        event.seen["what"] = name.rpartition(".")[2]
        if spec.role != "collective":
            return First(name, event, main=player.stage.rank == 0)
        if spec.buffers and not (made is not None and player.models.holds_buffers(made)):
            player.stage.excused.add((scope.file, call.at))
            return None
        player.stage.record(event)
        name, position = spec.tensor
        if name and isinstance(given.get(name, position, None), Tensor | Opaque | Items):
            player.stage.ordered(event)  # its arguments are not among those of the event
        return None

    def called_thing(self, player: Any, thing: Any, method: Any, given: Given, call: ir.Call, scope: Any) -> Any:
        """What calling an object of the project gives, by the method of its class that does it."""
        for part in self._parts:
            found = part.called_thing(player, thing, method, given, call, scope)
            if found is not NotImplemented:
                return found
        return player.call_function(method, given, call, scope)

    def holds_buffers(self, made: Made) -> bool:
        """Whether the module that an object wraps certainly holds buffers."""
        return any(part.holds_buffers(made) for part in self._parts)

    def _described(self, player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
        span = ir.unpack(call.at, scope.file)
        random = self._random.call(player, name, given, call, scope)
        if random is not NotImplemented:
            return random
        if name in self._evened:
            return self._same_again(player, self._evened[name], given, call, scope)
        if name in self._varying:
            source = Source(self._varying[name], span, drawn=self._varying[name] == DRAWN)
            return Opaque(("own", player.stage.rank, name, player.stage.steps), source)
        if name in self._around and given.positional:
            return self._around_of(player, name, given, call, scope)
        self._random.forget(player, name)
        if name.startswith(self._plain) and not given.open and not _has_unplain(given):
            return derived(name, given.values())
        return NotImplemented

    def _around_of(self, player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Around:
        found = Around(f"{name}()", call, given, given.positional[0])
        for attribute, switch in self._counters:
            if attribute.startswith(f"{name}()."):
                found.counts(player, attribute.rpartition(".")[2], switch, call, scope)
        return found

    def _same_again(self, player: Any, given_for: str, given: Given, call: ir.Call, scope: Any) -> Any:
        sign = together(player, call, scope)
        if not given_for:
            return Opaque(sign)
        name, _, position = given_for.partition(":")
        value = given.get(name, int(position), UNKNOWN)
        if isinstance(value, Items) and value.items is not None:
            value.items = [Opaque(hash((sign, index))) for index in range(len(value.items))]
        elif isinstance(value, Tensor):
            value.whole.sign, value.whole.source = sign, None
            value.whole.level, value.whole.placed = False, None
            value.sign, value.source = sign, None
        return Opaque(sign)


def together(player: Any, call: ir.Call, scope: Any) -> Hashable:
    """The signature of what a call gives that has the same result on all processes."""
    stage = player.stage
    count = stage.kept.setdefault("together", {})
    place = (scope.file, call.at, stage.chain)
    count[place] = count.get(place, 0) + 1
    return None if stage.parted else hash(("together", place, count[place]))


def _arguments(spec: CollectiveSpec, given: Given) -> Arguments:
    # only who meets, and at whom: what is sent may be more than tensors, and has rules of its own
    pairs = (spec.group, spec.async_flag, spec.root)
    return Arguments({name: given.get(name, position, None) for name, position in pairs if name})


def _alone(spec: CollectiveSpec, made: Made | None, given: Given) -> bool:
    """Whether an argument makes the call no collective, or may."""
    name, value = spec.lone_argument
    if not name:
        return False
    source = made.arguments if made is not None and name not in given.keywords else given
    found = source.get(name, None, None) if source is not None else UNKNOWN
    return found is not None and (not is_known(found) or found == value)


def _has_unplain(given: Given) -> bool:
    return any(
        not (is_known(value) or isinstance(value, Opaque | Tensor | Items | Table | tuple)) for value in given.values()
    )
