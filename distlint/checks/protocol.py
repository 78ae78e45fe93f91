"""Objects that are used in another order than their makers ask for, or not as they ask for: protocols that rule files declare.

The parameters say which calls make the object that is followed, what else belongs to it, which events there are in its life, how they
change its state, and which of them must not come in which state; ``docs/protocols.md`` describes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from distlint.checks.called_places import joining_calls
from distlint.checks.programs import Programs
from distlint.checks.protocol_blocks import tests_of_choices
from distlint.checks.protocol_entering import names_entered
from distlint.checks.protocol_events import Events, fits_any
from distlint.checks.protocol_followed import is_followed
from distlint.checks.protocol_model import Protocol, protocol_of
from distlint.checks.protocol_parameters import PARAMETERS
from distlint.checks.protocol_parts import names_storing
from distlint.checks.protocol_sources import Use
from distlint.checks.protocol_tests import Tests
from distlint.checks.protocol_things import Thing, Things
from distlint.checks.protocol_walk import Hit, Walk
from distlint.checks.registry import CheckContext, check
from distlint.link.abstract import Frame, Instance, PartialValue, Reference, options_of
from distlint.link.arguments import find_argument
from distlint.link.calls import keywords_given
from distlint.link.mentions import mentions
from distlint.link.modules import ClassRef, FunctionRef
from distlint.link.program import Program, Step, program_of
from distlint.link.project import CallSite, Project
from distlint.link.walking import asks_for_main, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related
from distlint.model.span import Span

MAX_TOGETHER = 80_000
"""Steps of all programs of a project together; the programs beyond are left out."""

MAX_STARTS = 200
"""Starts of programs that are looked at for one rule."""


@check("protocol")
def protocol(context: CheckContext) -> Iterator[Finding]:
    """A finding for each event that certainly comes in a state in which it must not."""
    project: Project = context.project
    declared = protocol_of(context.parameters)
    makers = _makers(project, declared)
    if not makers:
        return
    if declared.needs and not any(_occurs(project, name) for name in sorted(declared.needs)):
        return
    programs = _Programs.of(context)
    reported: set[tuple[Span, str]] = set()
    starts = programs.starts(makers, whole=declared.program)
    for start in starts + (_called_often(project, makers, starts) if declared.often else []):
        if declared.program and (_is_made_by_import(project, start, makers) or _is_only_imported(project, start)):
            continue
        program = programs.program(start)
        if not program.steps or (declared.program and not is_followed(project, declared, program)):
            continue
        things = programs.things(start, context.parameters)
        for tracked in _tracked(declared, program, things):
            events = Events(declared, things, program, tracked)
            if not events.is_known:
                continue
            walk = Walk(declared, program, events, programs.tests(things, start, declared))
            for hit in walk.hits():
                if _is_done_elsewhere(project, program, hit):
                    continue
                finding = _finding(context, declared, program, walk, hit, tracked)
                if (finding.span, finding.message) not in reported:
                    reported.add((finding.span, finding.message))
                    yield finding


def _is_done_elsewhere(project: Project, program: Program, hit: Hit) -> bool:
    """Whether the program has another call that may do what a fault leaves undone."""
    if any(project.sites(name) for name in hit.fault.unless_called):
        return True
    name = _last_name(program.steps[hit.step])
    return hit.fault.alone and any(step.index != hit.step and _last_name(step) == name for step in program.steps)


def _last_name(step: Step) -> str:
    call = step.point.expr if step.point.kind == "call" else None
    return call.func.name if isinstance(call, ir.Call) and isinstance(call.func, ir.Attribute) else ""


def _occurs(project: Project, name: str) -> bool:
    """Whether something of this last name is called, or stored to, in a project."""
    return bool(project.sites(name)) or any(name in project.module(file).attributes for file in project.python_files)


def _called_often(project: Project, makers: list[CallSite], starts: list[FunctionRef]) -> list[FunctionRef]:
    """The functions that make objects and are called at several places: each call has its own, so they are followed by themselves."""
    found = dict.fromkeys(FunctionRef(one.file, one.site.function) for one in makers if one.site.function >= 0)
    often = [one for one in found if one not in starts and len(project.callers(one)) > 1]
    return sorted(often, key=_place)[:MAX_STARTS]


def _is_made_by_import(project: Project, start: FunctionRef, makers: list[CallSite]) -> bool:
    """Whether a module that a program imports does at once what the protocol is about."""
    closure = project.closure(start.file)
    return any(one.site.function < 0 and one.file != start.file and one.file in closure for one in makers)


def _is_only_imported(project: Project, start: FunctionRef) -> bool:
    """Whether a module is no program of its own: another one imports it, maybe late, and nothing launches it or tests for main."""
    if not Programs.of_project(project).importers.get(start.file):
        return False
    if any(run.script_file == start.file for run in project.runs_reaching(start.file)):
        return False
    return not any(type(one) is ir.If and asks_for_main(one.test) for one in project.module(start.file).body)


def _makers(project: Project, declared: Protocol) -> list[CallSite]:
    """The calls that make an object of the protocol; for one of the whole program, the calls of its events."""
    if declared.given_to:
        return list(project.calls_to(set(declared.given_to)))
    names = {name for name in declared.makers if not name.endswith("*") and name[0] != "!"}
    found = list(project.calls_to(names)) if names else []
    if declared.program:
        calls = {name for every in declared.events.values() for one in every for name in one.calls}
        found += list(project.calls_to(calls & declared.needs_any if declared.needs_any else calls))
    for prefix in (name[:-1] for name in declared.makers if name.endswith("*") and name[0] != "!"):
        for file in project.python_files:
            module = project.module(file)
            if not any(item.module.startswith(prefix.split(".")[0]) for item in module.imports):
                continue
            for name, sites in module.calls.items():
                if name[:1].isupper():
                    found += [
                        CallSite(file, site, dotted)
                        for site in sites
                        if fits_any(dotted := project.modules.dotted(site.call.func, file), declared.makers)
                    ]
    if not found and any(role.parameters for role in declared.roles.values()):
        # what makes the object stands in a table, or is chosen by a variable
        found += [site for name in sorted(PARAMETERS) for site in project.sites(name)]
    return found


def _made_names(project: Project, declared: Protocol) -> set[str]:
    """The last names of the calls that make what a protocol declares as all classes of a package (``pkg.*``)."""
    called = {name for every in declared.events.values() for one in every for name in one.calls}
    wanted = {*declared.makers, *called}
    prefixes = {name.rstrip("*").split(".")[0] for name in wanted if name.endswith("*")}
    found: set[str] = set()
    for file in project.python_files if prefixes else ():
        module = project.module(file)
        if any(item.module.split(".")[0] in prefixes for item in module.imports):
            for name, sites in module.calls.items():
                if name[:1].isupper() and name not in found:
                    if any(fits_any(project.modules.dotted(site.call.func, file), wanted) for site in sites):
                        found.add(name)
    return found


def _tracked(declared: Protocol, program: Program, things: Things) -> Iterator[Instance | None]:
    """The objects that are followed in a program: one for each call that makes one, if that makes no second beside it."""
    if declared.program:
        yield None
        return
    if declared.given_to:
        yield from _given(declared, program, things)
        return
    seen: set[tuple[str, int]] = set()
    for step in program.steps:
        call = step.point.expr
        if step.point.kind != "call" or not isinstance(call, ir.Call):
            continue
        if (step.frame.file, call.at) in seen or not _may_make(declared, things, call, step.frame):
            continue
        seen.add((step.frame.file, call.at))
        for option in options_of(things.evaluator.ask_in(call, step.frame)):
            if isinstance(option, Instance) and option.call.at == call.at and option.frame.file == step.frame.file:
                made = Instance(option.callee, option.call, option.frame, option.state, declared.part)
                if not things.is_repeated(made):
                    yield made


def _may_make(declared: Protocol, things: Things, call: ir.Call, frame: Frame) -> bool:
    """Whether a call makes an object of the protocol, by its name or by what a table or a variable names (``KINDS[kind](...)``)."""
    if _makes(declared, things, call, frame):
        return True
    target = things.evaluator.modules.resolve(call.func, frame.file)
    named = isinstance(target, FunctionRef | ClassRef) or bool(things.evaluator.modules.dotted(call.func, frame.file))
    if isinstance(call.func, ir.Attribute) or named or not any(role.parameters for role in declared.roles.values()):
        return False
    # what a name stands for is worked out for much else; what calling it gives may be the work of the whole program
    called = options_of(things.evaluator.ask_in(call.func, frame))
    if not all(isinstance(one, Reference | PartialValue) for one in called):
        return False
    if any(isinstance(one, Reference) and isinstance(one.target, FunctionRef) for one in called):
        return False
    options = options_of(things.evaluator.ask_in(call, frame))
    return len(options) == 1 and all(
        isinstance(one, Instance)
        and one.call.at == call.at
        and fits_any(things.made_by(one), declared.makers)
        and not _is_excepted(declared, things, one.call, one.frame)
        for one in options
    )


def _is_inside_block(things: Things, made: Instance) -> bool:
    """Whether an object is made under a ``with`` of its function, which may have a say in how."""
    project, frame = things.project, made.frame
    module = project.module(frame.file)
    body = module.body if frame.function < 0 else module.functions[frame.function].body
    return any(type(one) is ir.With and ir.encloses(one.at, made.call.at) for one in statements(body))


def _given(declared: Protocol, program: Program, things: Things) -> Iterator[Instance]:
    """The objects that are followed where they are known by the calls that get them."""
    seen: set[Thing] = set()
    for step in program.steps:
        call = step.point.expr
        if step.point.kind != "call" or not isinstance(call, ir.Call):
            continue
        if not fits_any(things.evaluator.modules.dotted(call.func, step.frame.file), declared.given_to):
            continue
        expr, _ = find_argument(call, *declared.argument)
        mention = things.mention(expr, step.frame) if expr is not None and type(expr) is not ir.Starred else None
        if mention is None or mention.only is None or mention.only in seen:
            continue
        seen.add(mention.only)
        made = mention.options[0]
        if not made.part and not _is_inside_block(things, made) and _makes(declared, things, made.call, made.frame):
            yield made


def _makes(declared: Protocol, things: Things, call: ir.Call, frame: Frame) -> bool:
    modules = things.evaluator.modules
    target = modules.resolve(call.func, frame.file)
    if isinstance(target, ClassRef):
        names = set(modules.external_bases(target))
    else:
        names = {modules.dotted(call.func, frame.file)}
        if not any(names):
            names = _method_names(things, call, frame) if any("()" in name for name in declared.makers) else set()
    if not any(name and fits_any(name, declared.makers) for name in names):
        return False
    return not _is_excepted(declared, things, call, frame)


def _is_excepted(declared: Protocol, things: Things, call: ir.Call, frame: Frame) -> bool:
    """Whether an object that is made by a call is left alone because of an argument."""
    if any(word.name is not None and _excepts(declared, word) for word in call.keywords):
        return True
    if all(word.name is not None for word in call.keywords):
        return False
    names = keywords_given(things.evaluator, call, frame.file, frame.function)
    written = {word.name for word in call.keywords}
    return names is None or any(one.partition("=")[0] in names - written for one in declared.except_given)


def _excepts(declared: Protocol, word: ir.Keyword) -> bool:
    """Whether an object that is made with this argument is left alone; ``name=value`` leaves it alone for one value only."""
    if word.name in declared.except_given:
        return True
    values = {one.partition("=")[2] for one in declared.except_given if one.partition("=")[0] == word.name}
    if not values:
        return False
    if isinstance(word.value, ir.Attribute):
        return word.value.name in values
    return not isinstance(word.value, ir.Constant) or str(word.value.value) in values


def _method_names(things: Things, call: ir.Call, frame: Frame) -> set[str]:
    func = call.func
    if not isinstance(func, ir.Attribute):
        return set()
    return {
        f"{things.evaluator.instance_name(option)}.{func.name}"
        for option in options_of(things.evaluator.ask_in(func.base, frame))
        if isinstance(option, Instance)
    }


class _Programs:
    """The programs of a project, for all rules together."""

    def __init__(self, context: CheckContext) -> None:
        self._project: Project = context.project
        names: set[str] = set()
        attributes: set[str] = set()
        stored: set[str] = set()
        calling = False
        for rule in context.rules:
            if rule.check.python in ("protocol", "protocol-rehearsed", "protocol-seen"):
                declared = protocol_of(rule.check.parameters)
                names |= declared.names() | _made_names(self._project, declared)
                if any(role.parameters for role in declared.roles.values()):
                    names |= PARAMETERS  # what makes the object may be looked up in a table
                attributes |= declared.stored()[0]
                stored |= declared.stored()[1]
                calling = calling or _asks_for_calls(self._project, declared)
        storing = names_storing(self._project, attributes, stored)
        self._entered = names_entered(self._project, names | storing, calls_objects=calling) | storing
        self._programs: dict[FunctionRef, Program] = {}
        self._things: dict[tuple[object, ...], Things] = {}
        self._tests: dict[FunctionRef, Tests] = {}
        self._size = 0
        self._starts: dict[FunctionRef, frozenset[FunctionRef]] = {}

    @classmethod
    def of(cls, context: CheckContext) -> _Programs:
        """Those of the project that a check works on."""
        if cls not in context.project.kept:
            context.project.kept[cls] = cls(context)
        found: _Programs = context.project.kept[cls]
        return found

    def program(self, start: FunctionRef) -> Program:
        """The program that begins with a function."""
        if start not in self._programs:
            made = program_of(self._project, start, self._entered.__contains__)
            self._size += len(made.steps)
            if self._size > MAX_TOGETHER:
                made = Program(start, made.steps[:0], 0, {}, {})
            self._programs[start] = made
        return self._programs[start]

    def things(self, start: FunctionRef, parameters: Mapping[str, Any]) -> Things:
        """The objects of a program; shared by the rules that look through the same calls."""
        given = [tuple(parameters.get(name, ())) for name in ("same", "silent", "wrappers", "handing")]
        if mentions(self._project, start.file, parameters.get("handing-unless", ())):
            given[-1] = ()
        key = (start, *given)
        if key not in self._things:
            self._things[key] = Things(self._project, *given)
            self._things[key].copies = self.program(start).copies
        return self._things[key]

    def tests(self, things: Things, start: FunctionRef, declared: Protocol) -> Tests:
        """The tests of a program that are asked more than once; the same for all rules of which no test chooses the events."""
        program = self.program(start)
        if any(one.block or one.is_told for every in declared.events.values() for one in every):
            return Tests(self._project, program, tests_of_choices(things, program, declared))
        if start not in self._tests:
            self._tests[start] = Tests(self._project, program, iter(()))
        return self._tests[start]

    def starts(self, sites: Iterable[CallSite], *, whole: bool) -> list[FunctionRef]:
        """Where the programs begin that come to some calls.

        With ``whole`` only those whose beginning is that of a process.
        """
        found: dict[FunctionRef, None] = {}
        for ref in sorted({FunctionRef(one.file, one.site.function) for one in sites}, key=_place):
            for start in sorted(self._tops(ref), key=_place):
                if not whole or start.index < 0:
                    found[start] = None
            if len(found) >= MAX_STARTS:
                break
        return list(found)[:MAX_STARTS]

    def _tops(self, ref: FunctionRef) -> frozenset[FunctionRef]:
        """The functions and modules from which a function is reached, and that nothing calls."""
        if ref.index < 0:
            return frozenset({ref})
        if ref not in self._starts:
            tops: set[FunctionRef] = set()
            seen = {ref}
            stack = [ref]
            while stack and len(seen) < 60:
                one = stack.pop()
                edges = self._project.call_graph.callers(one)
                callers = {FunctionRef(edge.file, edge.function) for edge in edges} - {one}
                if not callers:
                    tops.add(one)
                for caller in sorted(callers, key=_place):
                    if caller.index < 0:
                        tops.add(caller)
                    elif caller not in seen:
                        seen.add(caller)
                        stack.append(caller)
            self._starts[ref] = frozenset(tops)
        return self._starts[ref]


def _asks_for_calls(project: Project, declared: Protocol) -> bool:
    """Whether calls of the objects themselves are events of a protocol whose objects the project has."""
    if not any(one.object for every in declared.events.values() for one in every):
        return False
    wanted = declared.needs or {name.rpartition(".")[2] for name in declared.given_to}
    return not wanted or any(_occurs(project, name) for name in wanted)


def _place(ref: FunctionRef) -> tuple[str, int]:
    return ref.file, ref.index


def _span(step: Step) -> Span:
    return ir.unpack(step.point.at, step.frame.file)


def _finding(
    context: CheckContext, declared: Protocol, program: Program, walk: Walk, hit: Hit, tracked: Instance | None
) -> Finding:
    fault, met = hit.fault, hit.met
    event = _span(program.steps[hit.step])
    notes: list[Related] = []
    places: dict[str, Span] = {"event": event}
    if tracked is not None:
        places["made"] = tracked.span()
    source = met.source
    for index, (step, move) in sorted(hit.moved.items(), key=lambda one: one[1][0]):
        name = declared.variables[index]
        places[name] = _span(program.steps[step])
        if source is None and index in fault.when:
            source = next((one.source for one in walk.met(step) if one.source is not None), None)
        if move is not None and move.says and index in fault.when:
            notes.append(Related(places[name], move.says))
    if source is not None:
        places["source"] = ir.unpack(source.call.at, source.frame.file)
    at = places.get(fault.at, event)
    frame = program.steps[hit.step].frame
    if program.copies.get((frame.file, frame.function), 0) > 1 and id(frame) in program.calls:
        notes.append(Related(_span(program.steps[program.calls[id(frame)]]), "it is called from here"))
    if fault.made and "made" in places:
        notes.insert(0, Related(places["made"], fault.made))
    if at != event and fault.says:
        notes.append(Related(event, fault.says))
    elif "source" in places and at != places["source"] and fault.source_says:
        notes.append(Related(places["source"], fault.source_says))
    notes += joining_calls(context.project, at, notes)
    return context.finding(
        fault.message.format(name=_text(program.steps[hit.step]), source=_source_text(source)), at, related=notes
    )


def _source_text(source: Use | None) -> str:
    return _callee_text(source.call.func) if source is not None else ""


def _text(step: Step) -> str:
    expr = step.point.expr
    return _callee_text(expr.func if isinstance(expr, ir.Call) else expr) if expr is not None else ""


def _callee_text(func: ir.Expr) -> str:
    if isinstance(func, ir.Attribute):
        base = _callee_text(func.base)
        return f"{base}.{func.name}" if base else func.name
    if isinstance(func, ir.Call):
        return f"{_callee_text(func.func)}()"
    return func.id if isinstance(func, ir.Name) else ""
