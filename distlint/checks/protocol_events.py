"""Which events of a protocol the steps of a program are, for one object that is followed."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from distlint.checks.protocol_blocks import Condition, choices, entered_later, is_left_in_time, stacked
from distlint.checks.protocol_helpers import stays_inside
from distlint.checks.protocol_model import Pattern, Protocol, Role
from distlint.checks.protocol_parts import ANY_OBJECT, Parts
from distlint.checks.protocol_records import is_record
from distlint.checks.protocol_sources import Use
from distlint.checks.protocol_things import Mention, Thing, Things
from distlint.link.abstract import Frame, Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.calls import keywords_in
from distlint.link.flow import Env
from distlint.link.walking import below
from distlint.model import python as ir
from distlint.model.document import Leaf
from distlint.model.value import Confidence

if TYPE_CHECKING:
    from distlint.link.program import Program, Step

NO, MAYBE, YES = 0, 1, 2

LOST = "lost"
"""The event that the object goes where we can't follow it."""

_PLAIN_NAMES = """
print len isinstance type id str repr zip enumerate list tuple dict set getattr hasattr callable super iter sum filter map sorted next
range min max any all vars format setattr float int bool
"""

_PLAIN = frozenset(_PLAIN_NAMES.split())


class Met(NamedTuple):
    """An event at a step. ``source`` is the call by which the value of it was computed, where the event is about that.

    ``guard`` are tests that decide whether the event happens, with the results that it needs.
    """

    event: str
    certain: bool
    source: Use | None = None
    guard: tuple[Condition, ...] = ()
    own: bool = True
    """Whether it can only happen to the object once that is made."""


MAX_ASKED = 5
"""Assignments, one behind the other, through which a test may come to ask for a state."""


class Events:
    """The events in the life of one object (``None``: of the program itself)."""

    def __init__(self, protocol: Protocol, things: Things, program: Program, tracked: Instance | None) -> None:
        self._protocol = protocol
        self._things = things
        self._program = program
        self._tracked = tracked
        self.project = things.project
        self._thing: Thing | None = tracked.identity if tracked is not None else None
        self._roles: dict[str, Mention] = {}
        self._sources: dict[tuple[int, int], dict[Thing, Use]] = {}
        self._methods = {name for every in protocol.events.values() for one in every for name in one.methods}
        patterns = [one for every in protocol.events.values() for one in every]
        self._asks_for_objects = any(one.object or any(name.endswith("*") for name in one.calls) for one in patterns)
        self._lasts = self._methods | {name.rpartition(".")[2] for one in patterns for name in one.calls}
        self._acting = {name for one in patterns if not one.block for name in one.methods} | {
            name.rpartition(".")[2] for one in patterns if not one.block for name in one.calls
        }
        self._parts = Parts(things, program, self._is_role)
        self._stores = {name for every in protocol.events.values() for one in every for name in one.stores}

    def at(self, step: Step) -> list[Met]:
        """The events that a step is, in the order in which the protocol names them."""
        point = step.point
        if point.kind == "call" and isinstance(point.expr, ir.Call):
            if self._thing is not None and not self._protocol.given_to and self._is_maker(point.expr, step.frame):
                return [Met("made", certain=True)]
            if step.opaque or (self._tracked is None and self._is_foreign(point.expr, step.frame)):
                return [Met(LOST, certain=True)]
            if step.process and self._tracked is None:
                return [Met("made", certain=True)]
            func = point.expr.func
            later = stacked(self._things, point.expr, step.frame)
            if later is not None:
                met = list(self._of_block(later, step.frame, "enter"))
                if met and not is_left_in_time(self._things, point.expr, step.frame):
                    return [Met(LOST, certain=True)]  # the stack may be left anywhere
                return met
            may_be = self._asks_for_objects or not isinstance(func, ir.Attribute) or func.name in self._lasts
            found = list(self._of_call(point.expr, step.frame, None, "")) if may_be else []
            if not found and self._thing is not None:
                taken = any(self._is_method(one, step.frame) for one in point.expr.args)
                if taken or self._is_handed_away(point.expr, step):
                    found.append(Met(LOST, certain=True))
            return found
        if step.process and self._tracked is None:
            return [Met(LOST, certain=True)]
        if point.kind in ("enter", "leave") and point.expr is not None:
            if self._is_gone_into(step):
                return []  # what it does are the steps that follow
            contexts = [point.expr]
            if point.kind == "leave":
                contexts += entered_later(self._things, point.expr, step.frame)
            return [met for one in contexts for met in self._of_block(one, step.frame, point.kind)]
        if (
            point.kind == "bind"
            and isinstance(point.statement, ir.Assign)
            and self._is_method(point.statement.value, step.frame)
        ):
            return [Met(LOST, certain=True)]
        if point.kind == "bind" and self._stores:
            if isinstance(point.statement, ir.Assign):
                return list(self._of_store(point.statement.targets, step.frame, point.statement.value))
            if isinstance(point.statement, ir.Jump):
                return list(self._of_store(point.statement.values, step.frame, None))
        return []

    def _is_maker(self, call: ir.Call, frame: Frame) -> bool:
        assert self._thing is not None  # noqa: S101 - tested by the caller
        return (frame.file, call.at) == self._thing[:2]

    def _is_foreign(self, call: ir.Call, frame: Frame) -> bool:
        """Whether a library is called that may do what the events of the process do."""
        name = self._things.evaluator.modules.dotted(call.func, frame.file)
        if not name or name.startswith(self._protocol.harmless):
            return False
        return name.partition(".")[0] not in sys.stdlib_module_names

    # Calls -----------------------------------------------------------------------------------------------------------

    def _of_call(self, call: ir.Call, frame: Frame, state: Env | None, block: str) -> Iterator[Met]:
        for event, patterns in self._protocol.events.items():
            best, use, own = NO, None, False
            guard: tuple[Condition, ...] = ()
            for pattern in patterns:
                if pattern.block != block or pattern.stores:
                    continue
                result, source = self._match(pattern, call, frame, state)
                if result > best:
                    best, use, own = result, source, _is_own(pattern)
                    guard = self._of_argument(pattern, call, frame, state) if result == MAYBE and not block else ()
            if best:
                yield Met(event, best == YES, use, guard, own)
                if self._protocol.first_only and best == YES:
                    return

    def _of_argument(self, pattern: Pattern, call: ir.Call, frame: Frame, state: Env | None) -> tuple[Condition, ...]:
        """The test that an argument gives the result of, where nothing else decides whether a call is an event."""
        if not pattern.is_told:
            return ()
        name, position, wanted = pattern.words[0]
        expr, _ = find_argument(call, name, position)
        sure = self._match(pattern._replace(words=()), call, frame, state)[0] == YES
        return ((expr, frame, wanted),) if expr is not None and sure else ()

    def _match(self, pattern: Pattern, call: ir.Call, frame: Frame, state: Env | None) -> tuple[int, Use | None]:
        result = self._callee(pattern, call, frame, state)
        if not result:
            return NO, None
        for name, position, value in pattern.words:
            result = min(result, self._argument_is(call, name, position, value, frame, state))
        for name, position in pattern.passes:
            result = min(result, self._passes(call, name, position, frame, state))
        if pattern.without:
            names = keywords_in(self._things.evaluator, call, frame, state)
            if names is None or names & pattern.without:
                return NO, None
        if pattern.some_ranks and not self._parts.is_on_some_ranks(call, frame):
            return NO, None
        if not pattern.given[0] <= len(call.args) + len(call.keywords) <= pattern.given[1]:
            return NO, None
        if pattern.takes:
            result = min(result, self._takes(pattern.takes, call, frame, state))
        if pattern.takes_parameters:
            result = min(result, self._takes_parameters(pattern.takes_parameters, call, frame, state))
        if result and pattern.takes_made_by:
            result = min(result, self._takes_made_by(pattern, call, frame, state))
        if result and pattern.takes_holder:
            asked = [self._things.evaluator.ask_in(one, frame, state) for one in _arguments(call)]
            result = NO if asked and all(is_record(self.project, one) for one in asked) else result
        source = None
        if result and _asks_for_source(pattern):
            came, source = self._came_from(pattern, call, frame, state)
            result = min(result, came)
        return result, source

    def _callee(self, pattern: Pattern, call: ir.Call, frame: Frame, state: Env | None) -> int:
        func = call.func
        if pattern.calls:
            name = self._things.evaluator.modules.dotted(func, frame.file)
            return YES if name and fits_any(name, pattern.calls) else NO
        if pattern.object:
            return self._is_called(pattern.object, call, frame, state)
        if not isinstance(func, ir.Attribute) or func.name not in pattern.methods:
            return NO
        if pattern.of == "any":
            return NO if self._things.evaluator.modules.dotted(func, frame.file) else YES
        if pattern.reach:
            return self._parts.reached(pattern.reach, pattern.of, func.base, frame, state)
        mention = self._things.mention(func.base, frame, state)
        if pattern.makers:
            made = [one for one in mention.options if self._is_made_by(pattern, one)]
            return (YES if mention.certain else MAYBE) if made else NO
        return self._is_role(pattern.of, mention)

    def _is_made_by(self, pattern: Pattern, instance: Instance) -> bool:
        name = self._things.made_by(instance)
        if instance.part or not fits_any(name, pattern.makers) or self._is_idle(instance):
            return False
        if not pattern.made_with:
            return True
        return any(
            self._is_role(pattern.made_with, self._things.mention(part, instance.frame, instance.state)) == YES
            for part in _arguments(instance.call)
        )

    def _is_idle(self, instance: Instance) -> bool:
        """Whether an object is made with an argument that switches it off; an option is there to switch it on."""
        for name, value in self._protocol.idle.items():
            given = self._things.evaluator.argument(instance.call, name, None, instance.frame, instance.state)
            if not isinstance(given, Leaf) or not given.value.is_known:
                continue
            if given.value.options == (value,) and given.value.confidence is Confidence.CERTAIN:
                return True
        return False

    def _is_called(self, role: str, call: ir.Call, frame: Frame, state: Env | None) -> int:
        func = call.func
        if self._things.evaluator.modules.dotted(func, frame.file):
            return NO
        if isinstance(func, ir.Attribute) and func.name == "forward":
            func = func.base
        if not isinstance(func, ir.Name | ir.Attribute | ir.Subscript):
            return NO
        return self._is_role(role, self._things.mention(func, frame, state))

    def _argument_is(
        self, call: ir.Call, name: str, position: int | None, value: object, frame: Frame, state: Env | None
    ) -> int:
        expr, certain = find_argument(call, name, position)
        if expr is None:
            return MAYBE if not certain else NO
        given = self._things.evaluator.ask_in(expr, frame, state)
        if isinstance(given, Leaf) and given.value.is_known:
            return YES if given.value.only == value and type(given.value.only) is type(value) else NO
        return MAYBE

    def _passes(self, call: ir.Call, name: str, position: int | None, frame: Frame, state: Env | None) -> int:
        """Whether an argument is given something else than ``None``."""
        expr, certain = find_argument(call, name, position)
        if expr is None and certain:
            return NO
        evaluator = self._things.evaluator
        at = state if state is not None else evaluator.state(frame, call.at)
        found = (
            evaluator.ask_in(expr, frame, at)
            if expr is not None
            else evaluator.argument(call, name, position, frame, at)
        )
        if found is None:
            return NO
        options = options_of(found)
        empty = [isinstance(one, Leaf) and None in one.value.options for one in options]
        known = [not isinstance(one, Leaf) or one.value.is_known for one in options]
        if not options or not all(known):
            return YES if isinstance(expr, ir.ListDisplay) else MAYBE
        return NO if all(empty) else MAYBE if any(empty) else YES

    def _takes(self, role: str, call: ir.Call, frame: Frame, state: Env | None) -> int:
        best = NO
        for part in _arguments(call):
            if isinstance(part, ir.Name | ir.Attribute | ir.Call | ir.Subscript):
                best = max(best, self._is_role(role, self._things.mention(part, frame, state)))
        return best

    def _takes_made_by(self, pattern: Pattern, call: ir.Call, frame: Frame, state: Env | None) -> int:
        for part in _arguments(call):
            options = options_of(self._things.evaluator.ask_in(part, frame, state))
            made = [
                isinstance(one, Instance)
                and not one.part
                and fits_any(self._things.made_by(one), pattern.takes_made_by)
                for one in options
            ]
            if any(made):
                return YES if all(made) else MAYBE
        return NO

    def _takes_parameters(self, role: str, call: ir.Call, frame: Frame, state: Env | None) -> int:
        best = NO
        for part in _arguments(call):
            best = max(best, self._is_role(role, self._things.owners(part, frame, state)))
        return best

    def _came_from(self, pattern: Pattern, call: ir.Call, frame: Frame, state: Env | None) -> tuple[int, Use | None]:
        """Whether what a method is called of (or a function's first argument) was computed as a pattern wants it."""
        func = call.func
        value = call.args[0] if pattern.calls and call.args else func.base if isinstance(func, ir.Attribute) else None
        if value is None:
            return NO, None
        sources = self.sources(value, frame, state)
        use: Use | None = None
        if pattern.source:
            use = self._use(pattern.source, sources, YES)
            if use is None:
                return NO, None
        if pattern.not_source and self._use(pattern.not_source, sources, MAYBE) is not None:
            return NO, None
        made = {
            f"{self._things.made_by(one.instance)}().{one.method}": one
            for one in sources.values()
            if not self._is_idle(one.instance)
        }
        if pattern.source_calls:
            use = next((one for name, one in made.items() if name in pattern.source_calls), None)
            if use is None:
                return NO, None
        if pattern.not_source_calls & made.keys():
            return NO, None
        if pattern.source_made_by:
            use = next((one for one in sources.values() if self._is_source_made(pattern, one)), None)
            if use is None:
                return NO, None
        return YES, use

    def _is_source_made(self, pattern: Pattern, use: Use) -> bool:
        instance = use.instance
        return not instance.part and fits_any(self._things.made_by(instance), pattern.source_made_by)

    def sources(self, expr: ir.Expr, frame: Frame, state: Env | None) -> dict[Thing, Use]:
        """The objects by whose calls a value was computed."""
        key = (id(expr), id(frame))
        if key not in self._sources:
            self._sources[key] = self._things.sources(expr, frame, state)
        return self._sources[key]

    def _use(self, role: str, sources: dict[Thing, Use], least: int) -> Use | None:
        for use in sources.values():
            if self._is_role(role, Mention((use.instance,), certain=True)) >= least:
                return use
            if least == MAYBE and self._is_family(role) and self._belongs(role, use.instance):
                return use
        return None

    def _belongs(self, role: str, instance: Instance) -> bool:
        """Whether an object may hold the one in a role, or be a part of it."""
        wanted = self.role(role).options
        known = {self._key(one, family=True) for one in wanted}
        if self._things.holds(instance, known, 3):
            return True
        mine = {self._key(instance, family=True)}
        inner = any(self._things.is_inner(one) for one in (instance, *wanted))
        return inner or any(self._things.holds(one, mine, 3) for one in wanted)

    # Tests -----------------------------------------------------------------------------------------------------------

    def asked(self, expr: ir.Expr, frame: Frame) -> str:
        """The function by which a test asks for the state; ``""`` if it does not, ``"?"`` if it may do so in another way."""
        if isinstance(expr, ir.Call):
            name = self._things.evaluator.modules.dotted(expr.func, frame.file)
            if name in self._protocol.tells:
                return name
        return "?" if self._may_ask(expr, frame, self._things.evaluator.state(frame, expr.at)) else ""

    def _may_ask(self, expr: ir.Expr, frame: Frame, state: Env) -> bool:
        """Whether a test, or what its variables were made from, comes to one of the functions; each is looked at once."""
        lasts = {name.rpartition(".")[2] for name in self._protocol.tells}
        level = [(expr, state, frame)]
        seen: dict[tuple[str, int, int], tuple[Env, Frame]] = {}
        for _ in range(MAX_ASKED):
            names: list[tuple[str, Env, Frame]] = []
            for one, at, inside in level:
                for part in below(one):
                    if isinstance(part, ir.Call) and self._leads_to(part, lasts):
                        return True
                    if isinstance(part, ir.Name) and (part.id, id(at), id(inside)) not in seen:
                        seen[part.id, id(at), id(inside)] = (at, inside)
                        names.append((part.id, at, inside))
            level = [one for name, at, inside in names for one in self._things.definitions(name, inside, at)]
        return False

    def _leads_to(self, call: ir.Call, lasts: set[str]) -> bool:
        name = call.func.name if isinstance(call.func, ir.Attribute) else ""
        name = call.func.id if isinstance(call.func, ir.Name) else name
        return name in lasts or name in self._things.leading_to(frozenset(lasts))

    # Roles -----------------------------------------------------------------------------------------------------------

    def _is_role(self, role: str, mention: Mention) -> int:
        """Whether what is mentioned is the object in a role."""
        family = self._is_family(role)
        wanted = self.role(role)
        if not wanted.options:
            return NO
        known = {self._key(one, family=family) for one in wanted.options}
        fitting = [one for one in mention.options if self._key(one, family=family) in known]
        if not fitting:
            return NO
        return YES if mention.certain and wanted.certain and len(fitting) == len(mention.options) else MAYBE

    def _is_family(self, role: str) -> bool:
        return role in self._protocol.roles and self._protocol.roles[role].family

    def _key(self, instance: Instance, *, family: bool) -> Thing:
        return self._things.root(instance).identity if family else instance.identity

    def role(self, name: str) -> Mention:
        """The object in a role."""
        if name not in self._roles:
            self._roles[name] = Mention((), certain=False)
            self._roles[name] = self._in_role(name)
        return self._roles[name]

    def _in_role(self, name: str) -> Mention:
        if self._tracked is None:
            return Mention((), certain=False)
        if name == "self":
            return Mention((self._tracked,), certain=True)
        role: Role = self._protocol.roles[name]
        given, _ = find_argument(self._tracked.call, role.argument, role.position)
        if given is None:
            return Mention((), certain=False)
        if role.parameters:
            return self._things.owners(given, self._tracked.frame, self._tracked.state)
        return self._things.mention(given, self._tracked.frame, self._tracked.state)

    # Blocks and stores -----------------------------------------------------------------------------------------------

    def _of_block(self, context: ir.Expr, frame: Frame, kind: str) -> Iterator[Met]:
        ways = list(choices(self._things, context, frame))
        for made, guard in ways:
            for met in self._of_call(made.call, made.frame, made.state, kind):
                certain = met.certain and (len(ways) == 1 or bool(guard))
                # whoever leaves a block has entered it, so that the state says whether it was this one
                if kind == "leave":
                    yield met._replace(certain=True)
                else:
                    yield met._replace(certain=certain, guard=guard)

    def _of_store(self, targets: tuple[ir.Expr, ...], frame: Frame, value: ir.Expr | None) -> Iterator[Met]:
        for target in targets:
            if not isinstance(target, ir.Attribute | ir.Subscript):
                continue
            name = target.name if isinstance(target, ir.Attribute) else ""
            if name not in self._stores and "*" not in self._stores:
                continue
            for event, patterns in self._protocol.events.items():
                best, own = NO, False
                guard: tuple[Condition, ...] = ()
                for pattern in patterns:
                    if name in pattern.stores or "*" in pattern.stores:
                        result = min(self._is_stored_to(pattern, target, frame), self._is_stored(pattern, value, frame))
                        if result > best:
                            best, own = result, _is_own(pattern)
                            chosen = value is not None and isinstance(pattern.value, bool) and result == MAYBE
                            guard = ((value, frame, pattern.value),) if chosen and value is not None else ()
                if best:
                    yield Met(event, best == YES, own=own, guard=guard)
                    if self._protocol.first_only and best == YES:
                        break

    def _is_stored_to(self, pattern: Pattern, target: ir.Attribute | ir.Subscript, frame: Frame) -> int:
        if pattern.of == "any":
            return YES
        if pattern.reach:
            return self._parts.reached(pattern.reach, pattern.of, target.base, frame, None)
        return self._is_role(pattern.of, self._things.mention(target.base, frame))

    def _is_stored(self, pattern: Pattern, value: ir.Expr | None, frame: Frame) -> int:
        """Whether what is assigned is what the pattern asks for."""
        if pattern.value is not None:
            if value is None:
                return NO
            found = self._things.evaluator.ask_in(value, frame)
            if isinstance(found, Leaf) and found.value.is_known:
                return YES if found.value.only == pattern.value else NO
            return MAYBE
        if ANY_OBJECT in pattern.value_made_by:
            given = self._things.evaluator.ask_in(value, frame) if value is not None else None
            return NO if isinstance(given, Leaf) and given.value.is_known else YES
        if pattern.value_made_by:
            options = options_of(self._things.evaluator.ask_in(value, frame)) if value is not None else ()
            made = [
                isinstance(one, Instance)
                and not one.part
                and fits_any(self._things.made_by(one), pattern.value_made_by)
                for one in options
            ]
            return (YES if all(made) else MAYBE) if any(made) else NO
        return YES

    @property
    def is_known(self) -> bool:
        """Whether the objects are known in all roles that the protocol wants to know."""
        return all(self.role(name).only is not None for name in self._protocol.known)

    # Where the object goes -------------------------------------------------------------------------------------------

    def _is_handed_away(self, call: ir.Call, step: Step) -> bool:
        """Whether a call that we do not look into gets the object."""
        func = call.func
        name = self._things.evaluator.modules.dotted(func, step.frame.file)
        if name and name.startswith(self._protocol.harmless):
            return False
        if isinstance(func, ir.Name) and func.id in _PLAIN:
            return False
        if self._is_gone_into(step) and not step.opaque:
            return False
        given = (inner for part in _arguments(call) for inner in _held(part))
        if not any(self._is_thing(inner, step.frame) for inner in given):
            return False
        if isinstance(func, ir.Attribute) and not name:
            for option in options_of(self._things.evaluator.ask_in(func.base, step.frame)):
                if isinstance(option, Instance):
                    made = self._things.made_by(option)
                    if made.startswith(self._protocol.harmless) or f"{made}().{func.name}" in self._things.handing:
                        return False
        return step.opaque or not stays_inside(self._things, call, step.frame, self._protocol.harmless, self._acting)

    def _is_gone_into(self, step: Step) -> bool:
        """Whether the program has the steps of what is called, or of the context that is entered or left."""
        return bool(step.next) and self._program.steps[step.next[0][0]].frame is not step.frame

    def _is_method(self, expr: ir.Expr | None, frame: Frame) -> bool:
        """Whether an event's method is taken of the object and kept or handed on: nobody follows when it is called."""
        if not isinstance(expr, ir.Attribute) or expr.name not in self._methods or self._thing is None:
            return False
        return self._is_thing(expr.base, frame)

    def _is_thing(self, expr: ir.Expr, frame: Frame) -> bool:
        """Whether an expression may be the object that is followed."""
        return any(one.identity == self._thing for one in self._things.mention(expr, frame).options)


def _is_own(pattern: Pattern) -> bool:
    """Whether a pattern is one of the object itself, which has to be there first."""
    return pattern.of == "self" if pattern.methods or pattern.stores else pattern.object == "self"


def _asks_for_source(pattern: Pattern) -> bool:
    return bool(
        pattern.source
        or pattern.not_source
        or pattern.source_calls
        or pattern.not_source_calls
        or pattern.source_made_by
    )


def _held(expr: ir.Expr) -> Iterator[ir.Expr]:
    """The names and attributes that an argument hands over, also inside displays."""
    if isinstance(expr, ir.Name | ir.Attribute):
        yield expr
    elif isinstance(expr, ir.ListDisplay):
        for item in expr.items:
            yield from _held(item)
    elif isinstance(expr, ir.DictDisplay):
        for item in expr.values:
            yield from _held(item)
    elif isinstance(expr, ir.Starred):
        yield from _held(expr.value)


def _arguments(call: ir.Call) -> Iterator[ir.Expr]:
    yield from call.args
    for keyword in call.keywords:
        yield keyword.value


def fits_any(name: str, wanted: Iterable[str]) -> bool:
    """Whether a dotted name is one of some names; ``pkg.*`` stands for all below, ``!pkg.*`` for none of these."""
    found = False
    for one in wanted:
        excluding = one.startswith("!")
        pattern = one[1:] if excluding else one
        if name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern:
            if excluding:
                return False
            found = True
    return found
