"""Figures that a rank works out over its own part of the data and takes for those of all of it.

Parameters: ``loaders`` with their positional ``signature``, ``samplers`` (that part the data), ``prepare`` (calls that give loaders
a form that parts the data), ``shows`` (names of functions and methods that show or keep a figure), ``schedulers`` (that follow one),
``needs`` (names of which one has to be called somewhere). The rule's ``fault`` is ``whole`` (what one rank counted is divided by the
length of all the data), ``shown`` (rank 0 shows what it worked out alone), ``followed`` (a schedule follows it), ``decides`` (it
decides what is saved), ``half`` (only one part of a quotient is brought together), ``partial`` (a sum is brought together over some
of the ranks only), ``padded`` (a sampler gives samples again, and they are counted) or ``repeated`` (all ranks counted all of the
data, and their sum is divided by its length once).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

from distlint.checks.divergence import DivergenceView
from distlint.checks.execution import body_of
from distlint.checks.loaders import (
    Pass,
    argument_of,
    handed_on,
    is_none,
    loader_classes,
    loaders_in,
    loops,
    trains,
)
from distlint.checks.own_decisions import own_decisions
from distlint.checks.own_figures import followed_figures
from distlint.checks.own_parts import own_items, takes_own_in
from distlint.checks.preparing import Preparations
from distlint.checks.programs import family
from distlint.checks.registry import CheckContext, check
from distlint.checks.rehearsed import rehearsed
from distlint.checks.spread_names import (
    JOINING,
    Region,
    called_name,
    calls_of,
    forward,
    is_joined,
    mentions,
    names_world,
    regions,
)
from distlint.checks.tally_comprehensions import collected
from distlint.checks.tally_halves import half_reduced, repeated, whole_data
from distlint.checks.tally_joined import own_names
from distlint.checks.tally_meters import fed_meters, may_feed
from distlint.checks.tally_objects import half_reduced_objects
from distlint.checks.tally_padded import counted_twice
from distlint.checks.tally_partial import partly_joined
from distlint.checks.tally_parts import Tally, length_of_all, quotients, related_of
from distlint.checks.tally_twice import divided_twice
from distlint.link.abstract import Instance, options_of
from distlint.link.modules import External
from distlint.link.walking import below, bound_names, guards_of, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related
from distlint.model.span import Span

if TYPE_CHECKING:
    from distlint.link.project import Project

_OWN = re.compile(r"rank|local|shard|worker|proc|this|gpu|device|part|own", re.IGNORECASE)


@check("tallies")
def tallies(context: CheckContext) -> Iterator[Finding]:
    """A finding for each such figure."""
    project: Project = context.project
    needs = context.parameters.get("needs")
    if needs and not any(project.sites(name) for name in needs):
        return
    reported: set[tuple[str, int]] = set()
    if context.parameters["fault"] == "followed":
        for finding in chain(followed_figures(context), _by_rehearsal(context)):
            reported.add((finding.span.file, finding.span.line))
            yield finding
    if context.parameters["fault"] == "half":
        for finding in half_reduced_objects(context):
            reported.add((finding.span.file, finding.span.line))
            yield finding
    samplers = list(project.calls_to(set(context.parameters["samplers"])))
    parting = [
        *samplers,
        *project.calls_to({*context.parameters.get("prepare", ()), *context.parameters.get("starts", ())}),
    ]
    if not parting:
        return
    files = frozenset().union(*(family(project, one.file) for one in parting))
    names = loader_classes(project, context.parameters["loaders"])
    for place in chain(loops(project, files), collected(project, files)):
        # following what each loop goes over takes long, and many of them only look at things
        if not (any(_added(place.body)) or _of_batches(context, place) or may_feed(project, place)):
            continue
        loaders = loaders_in(project, place.iterable, place.file, place.function, names)
        found: list[tuple[Instance | None, Instance | None, Span | None]] = []
        for loader in loaders:
            if context.parameters["fault"] == "repeated":
                found.append((loader, None, whole_data(context, loader)))
                continue
            sampler = _parting(context, loader)
            found.append((loader, sampler, sampler.span() if sampler is not None else _own_data(context, loader)))
        found += [(loader, sampler, sampler.span()) for loader, sampler in _prepared(context, place, names)]
        if not loaders and context.parameters["fault"] == "shown":
            found.append((None, None, own_items(project, place.iterable, place.file, place.function)))
        added = frozenset(_added(place.body)) | _of_batches(context, place) if found else frozenset()
        added |= frozenset(fed_meters(project, place)) if found else added
        if found and context.parameters["fault"] == "padded":
            added |= frozenset(fed_meters(project, place, joined=True))
        for one, other, part in found:
            if part is not None and added:
                tally = Tally(place, one, other, added, part)
                for finding in _FAULTS[context.parameters["fault"]](context, tally):
                    key = (finding.span.file, finding.span.line)
                    if key not in reported:
                        reported.add(key)
                        yield finding


def _by_rehearsal(context: CheckContext) -> Iterator[Finding]:
    """Those that a rehearsal of the program shows, where there is a schedule that follows figures."""
    if any(context.project.sites(name.rpartition(".")[2]) for name in context.parameters["schedulers"]):
        yield from rehearsed(context)


def _own_data(context: CheckContext, loader: Instance) -> Span | None:
    """Where a loader without a sampler is given the data of one rank."""
    if context.parameters["fault"] not in ("shown", "half"):
        return None
    project: Project = context.project
    file, function = loader.frame.file, loader.frame.function
    for name in ("sampler", "batch_sampler"):
        given, options, known = argument_of(project, loader, name, context.parameters["signature"])
        if given is not None and takes_own_in(project, given, file, function, loader.state):
            return ir.unpack(given.at, file)
        if not known or not all(is_none(one) for one in options):
            return None
    expr, options, _ = argument_of(project, loader, "dataset", context.parameters["signature"])
    if expr is None:
        return None
    for one in options:
        if isinstance(one, Instance) and isinstance(one.callee, External):
            if one.callee.name in context.parameters.get("subsets", ()) and len(one.call.args) > 1:
                own = takes_own_in(project, one.call.args[1], one.frame.file, one.frame.function, one.state)
                return one.span() if own else None
    return own_items(project, expr, file, function)


def _prepared(context: CheckContext, place: Pass, names: frozenset[str]) -> Iterator[tuple[Instance, Instance]]:
    """The loaders that a loop goes through in the form that ``prepare`` gave them, which parts the data.

    What a loop collects of all processes in each step is no figure of one rank.
    """
    if not context.parameters.get("prepare") or any(JOINING.search(called_name(call)) for call in calls_of(place.body)):
        return
    found = Preparations.of_context(context)
    if not found.handed:
        return
    evaluator = context.project.evaluator(None)
    for part in handed_on(place.iterable):
        for option in options_of(evaluator.ask(part, place.file, place.function)):
            if isinstance(option, Instance) and found.is_prepared(option):
                handed = found.given_for(option)
                if handed is not None and handed.instance is not None:
                    if evaluator.instance_name(handed.instance) in names:
                        yield handed.instance, option


def _parting(context: CheckContext, loader: Instance) -> Instance | None:
    """The sampler of a loader that certainly hands each rank its part."""
    _, options, _ = argument_of(context.project, loader, "sampler", context.parameters["signature"])
    real = [one for one in options if not is_none(one)]
    samplers = [
        one
        for one in real
        if isinstance(one, Instance)
        and isinstance(one.callee, External)
        and one.callee.name in context.parameters["samplers"]
    ]
    return samplers[0] if len(samplers) == 1 and len(real) == 1 else None


def _added(body: tuple[ir.Stmt, ...]) -> Iterator[str]:
    """The variables that a loop adds to."""
    for statement in statements(body):
        if type(statement) is ir.AugAssign and statement.operator == "+":
            yield from bound_names(statement.target)
        elif type(statement) is ir.Evaluate and type(statement.value) is ir.Call:
            func = statement.value.func
            if type(func) is ir.Attribute and func.name in ("append", "extend") and type(func.base) is ir.Name:
                yield func.base.id
        elif type(statement) is ir.Assign and statement.value is not None and len(statement.targets) == 1:
            target = statement.targets[0]
            if type(target) is ir.Name and type(statement.value) is ir.Operation and "+" in statement.value.operators:
                if mentions(statement.value, (target.id,)):
                    yield target.id


def _of_batches(context: CheckContext, place: Pass) -> frozenset[str]:
    """What a loop works out of its batches, where the rule asks for that as well."""
    if context.parameters["fault"] != "followed":
        return frozenset()
    for statement in statements(body_of(context.project, place.file, place.function)):
        if type(statement) is ir.For and statement.at == place.at:
            return forward(statement.body, set(bound_names(statement.target)))
    return frozenset()


# Divided by the length of all the data --------------------------------------------------------------------------------


def _whole(context: CheckContext, tally: Tally) -> Iterator[Finding]:
    project: Project = context.project
    found = list(regions(project, tally.place.file, tally.place.function, tally.names))
    if any(is_joined(project, region) for region in found):
        yield from divided_twice(context, tally)
        return
    for region in regions(
        project, tally.place.file, tally.place.function, own_names(project, tally.place, tally.names)
    ):
        for part in quotients(region, project):
            if mentions(part.operands[0], region.names) and not names_world(part):
                if length_of_all(context, part.operands[1], region, tally):
                    yield context.finding(
                        "this divides what one rank has added up by the length of the whole dataset",
                        ir.unpack(part.at, region.file),
                        related=related_of(tally),
                    )


# Shown by rank 0 ------------------------------------------------------------------------------------------------------


def _shown(context: CheckContext, tally: Tally) -> Iterator[Finding]:
    project: Project = context.project
    names = own_names(project, tally.place, tally.names)
    if not names or trains(project, tally.place.file, tally.place.body):
        return
    found = list(regions(project, tally.place.file, tally.place.function, names))
    if any(is_joined(project, region) for region in found):
        return
    for region in found:
        for call in calls_of(region.body(project)):
            given = [*call.args, *(keyword.value for keyword in call.keywords)]
            if not any(mentions(one, region.names) for one in given) or _says_own(call):
                continue
            if called_name(call) in context.parameters["shows"]:
                test, file = _rank_test(project, call, region), region.file
            else:
                test, file = _shown_by_helper(context, call, region)
            if test is not None:
                yield context.finding(
                    "rank 0 shows what it has worked out over its own part of the data as the figure of all",
                    ir.unpack(call.at, region.file),
                    related=[*related_of(tally), Related(ir.unpack(test.at, file), "only rank 0 comes here")],
                )


def _shown_by_helper(context: CheckContext, call: ir.Call, region: Region) -> tuple[ir.Expr | None, str]:
    """The test of the rank in a function of the project that shows what it is given; ``None`` where it shows nothing."""
    project: Project = context.project
    view = DivergenceView.of_project(project)
    for edge in project.call_graph.targets(region.file, region.function, call):
        definition = project.function(edge.target)
        names = {one.name for one in definition.parameters[1 if definition.owner >= 0 else 0 :]}
        inside = Region(edge.target.file, edge.target.index, forward(definition.body, names))
        for inner in calls_of(definition.body):
            if called_name(inner) not in context.parameters["shows"] or not any(
                mentions(one, inside.names) for one in inner.args
            ):
                continue
            test = _rank_test(project, inner, inside)
            if test is not None:
                return test, inside.file
            for guard in guards_of(definition.body, inner.at) or ():
                # a writer that only one rank has
                if type(guard.test) is ir.Attribute and view.of_test(guard.test, inside.file, inside.function).differs:
                    return guard.test, inside.file
            outer = _rank_test(project, call, region)
            if outer is not None:
                return outer, region.file
    return None, ""


def _says_own(call: ir.Call) -> bool:
    texts = [part.value for part in below(call) if type(part) is ir.Constant and type(part.value) is str]
    words = [part.id for part in below(call) if type(part) is ir.Name]
    return any(_OWN.search(text) for text in texts) or any("rank" in word for word in words)


def _rank_test(project: Project, call: ir.Call, region: Region) -> ir.Expr | None:
    """The test that lets rank 0 alone come to a call."""
    view = DivergenceView.of_project(project)
    for guard in guards_of(region.body(project), call.at) or ():
        if guard.test is not None and guard.kind in ("if", "exit", "expression"):
            outcomes = view.outcomes(guard.test, region.file, region.function)
            if outcomes == ((True, False) if guard.holds else (False, True)):
                return guard.test
    return None


# A schedule that follows it --------------------------------------------------------------------------------------------


def _followed(context: CheckContext, tally: Tally) -> Iterator[Finding]:
    project: Project = context.project
    wanted = {f"{name}()" for name in context.parameters["schedulers"]}
    evaluator = project.evaluator(None)
    for region in regions(
        project, tally.place.file, tally.place.function, own_names(project, tally.place, tally.names)
    ):
        if is_joined(project, region):
            return
        for call in calls_of(region.body(project)):
            func = call.func
            if type(func) is not ir.Attribute or func.name != "step" or not call.args:
                continue
            if not mentions(call.args[0], region.names):
                continue
            made = [
                one
                for one in options_of(evaluator.ask(func.base, region.file, region.function))
                if isinstance(one, Instance) and evaluator.instance_name(one) in wanted
            ]
            if made:
                yield context.finding(
                    "each rank's learning rate follows a figure of its own part of the data",
                    ir.unpack(call.at, region.file),
                    related=[*related_of(tally), Related(made[0].span(), "the schedule is made here")],
                )


_FAULTS: dict[str, Callable[[CheckContext, Tally], Iterator[Finding]]] = {
    "whole": _whole,
    "shown": _shown,
    "half": half_reduced,
    "repeated": repeated,
    "decides": own_decisions,
    "padded": counted_twice,
    "followed": _followed,
    "partial": partly_joined,
}
