"""Figures that a rank works out over its own part of the data and takes for those of all of it.

Parameters: ``loaders`` with their positional ``signature``, ``samplers`` (that part the data), ``prepare`` (calls that give loaders
a form that parts the data), ``shows`` (names of
functions and methods that show or keep a figure), ``schedulers`` (that follow one). The rule's ``fault`` is ``whole``
(what one rank counted is divided by the length of all the data), ``shown`` (rank 0 shows what it worked out alone),
``followed`` (a schedule follows it) or ``half`` (only one part of a quotient is brought together).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from distlint.checks.divergence import DivergenceView
from distlint.checks.execution import body_of
from distlint.checks.loaders import (
    Pass,
    argument_of,
    handed_on,
    is_none,
    loader_classes,
    loaders_in,
    passes,
    trains,
)
from distlint.checks.preparing import Preparations
from distlint.checks.programs import family
from distlint.checks.registry import CheckContext, check
from distlint.checks.spread_names import (
    JOINING,
    Region,
    bound_names,
    called_name,
    calls_of,
    forward,
    is_joined,
    joins,
    mentions,
    names_world,
    regions,
    scales_by_world,
)
from distlint.link.abstract import Instance, options_of
from distlint.link.modules import External
from distlint.link.walking import below, expressions_of, guards_of, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related

if TYPE_CHECKING:
    from distlint.link.project import Project

_OWN = re.compile(r"rank|local|shard|worker|proc|this|gpu|device|part|own", re.IGNORECASE)


class Tally(NamedTuple):
    """A loop over a loader that hands each rank its part, and the variables that it adds up."""

    place: Pass
    loader: Instance
    sampler: Instance
    names: frozenset[str]


@check("tallies")
def tallies(context: CheckContext) -> Iterator[Finding]:
    """A finding for each such figure."""
    project: Project = context.project
    samplers = list(project.calls_to(set(context.parameters["samplers"])))
    parting = [*samplers, *project.calls_to(set(context.parameters.get("prepare", ())))]
    if not parting:
        return
    files = frozenset().union(*(family(project, one.file) for one in parting))
    names = loader_classes(project, context.parameters["loaders"])
    reported: set[tuple[str, int]] = set()
    for place in passes(project, files):
        if not place.body:
            continue
        loaders = loaders_in(project, place.iterable, place.file, place.function, names)
        pairs = [(loader, _parting(context, loader)) for loader in loaders]
        for loader, sampler in (*pairs, *_prepared(context, place, names)):
            added = frozenset(_added(place.body)) | _of_batches(context, place)
            if sampler is not None and added:
                for finding in _FAULTS[context.parameters["fault"]](context, Tally(place, loader, sampler, added)):
                    key = (finding.span.file, finding.span.line)
                    if key not in reported:
                        reported.add(key)
                        yield finding


def _prepared(context: CheckContext, place: Pass, names: frozenset[str]) -> Iterator[tuple[Instance, Instance]]:
    """The loaders that a loop goes through in the form that ``prepare`` gave them, which parts the data.

    What a loop collects of all processes in each step is no figure of one rank.
    """
    if not context.parameters.get("prepare") or any(JOINING.search(called_name(call)) for call in calls_of(place.body)):
        return
    found = Preparations.of_context(context)
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


def _related(tally: Tally) -> list[Related]:
    return [
        Related(tally.sampler.span(), "this hands each rank its own part of the data"),
        Related(ir.unpack(tally.place.iterable.at, tally.place.file), "each rank goes through its part here"),
    ]


# Divided by the length of all the data --------------------------------------------------------------------------------


def _whole(context: CheckContext, tally: Tally) -> Iterator[Finding]:
    project: Project = context.project
    found = list(regions(project, tally.place.file, tally.place.function, tally.names))
    if any(is_joined(project, region) for region in found):
        return
    for region in found:
        for part in _quotients(region, project):
            if mentions(part.operands[0], region.names) and not names_world(part):
                if _is_length_of_all(context, part.operands[1], region, tally):
                    yield context.finding(
                        "this divides what one rank has added up by the length of the whole dataset",
                        ir.unpack(part.at, region.file),
                        related=_related(tally),
                    )


def _quotients(region: Region, project: Project) -> Iterator[ir.Operation]:
    """The divisions of a function; ``x /= y`` counts as ``x / y``."""
    for statement in statements(region.body(project)):
        if type(statement) is ir.AugAssign and statement.operator == "/":
            yield ir.Operation(("/",), (statement.target, statement.value), statement.at)
        for expr in expressions_of(statement):
            for part in below(expr):
                if type(part) is ir.Operation and part.operators == ("/",) and len(part.operands) == 2:
                    yield part


def _is_length_of_all(context: CheckContext, expr: ir.Expr, region: Region, tally: Tally) -> bool:
    """Whether an expression is the length of the dataset that the loader parts."""
    expr = _bare(expr)
    project: Project = context.project
    if type(expr) is ir.Name:
        bound = [
            statement.value
            for statement in statements(region.body(project))
            if type(statement) is ir.Assign
            and statement.value is not None
            and any(type(target) is ir.Name and target.id == expr.id for target in statement.targets)
        ]
        expr = bound[0] if len(bound) == 1 else expr
    if type(expr) is not ir.Call or type(expr.func) is not ir.Name or expr.func.id != "len" or len(expr.args) != 1:
        return False
    counted = expr.args[0]
    evaluator = project.evaluator(None)
    if type(counted) is ir.Attribute and counted.name == "dataset":
        options = options_of(evaluator.ask(counted.base, region.file, region.function))
        wanted = {tally.loader.identity, tally.sampler.identity}
        return any(isinstance(one, Instance) and one.identity in wanted for one in options)
    _, whole, _ = argument_of(project, tally.loader, "dataset", context.parameters["signature"])
    identities = {one.identity for one in whole if isinstance(one, Instance)}
    options = options_of(evaluator.ask(counted, region.file, region.function))
    return any(isinstance(one, Instance) and one.identity in identities for one in options)


# Shown by rank 0 ------------------------------------------------------------------------------------------------------


def _shown(context: CheckContext, tally: Tally) -> Iterator[Finding]:
    project: Project = context.project
    if trains(project, tally.place.file, tally.place.body):
        return
    found = list(regions(project, tally.place.file, tally.place.function, tally.names))
    if any(is_joined(project, region) for region in found):
        return
    for region in found:
        for call in calls_of(region.body(project)):
            if called_name(call) not in context.parameters["shows"]:
                continue
            given = [*call.args, *(keyword.value for keyword in call.keywords)]
            if not any(mentions(one, region.names) for one in given) or _says_own(call):
                continue
            test = _rank_test(project, call, region)
            if test is not None:
                yield context.finding(
                    "rank 0 shows what it has worked out over its own part of the data as the figure of all",
                    ir.unpack(call.at, region.file),
                    related=[*_related(tally), Related(ir.unpack(test.at, region.file), "only rank 0 comes here")],
                )


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


# Half of a quotient ---------------------------------------------------------------------------------------------------


def _half(context: CheckContext, tally: Tally) -> Iterator[Finding]:
    project: Project = context.project
    yield from _added_means(context, tally)
    for region in regions(project, tally.place.file, tally.place.function, tally.names):
        body = region.body(project)
        joined = [call for call in calls_of(body) if joins(call, region.names)]
        if not joined or any("AVG" in _words(call) for call in joined) or scales_by_world(body, region.names):
            continue
        given = {
            part.id
            for call in joined
            for one in (*call.args, *(keyword.value for keyword in call.keywords))
            for part in below(one)
            if type(part) is ir.Name
        }
        together = forward(body, given & region.names)
        for part in _quotients(region, project):
            above, beneath = part.operands[0], part.operands[1]
            if not mentions(above, together) or mentions(beneath, together):
                continue
            local = _local_count(context, beneath, tally, region)
            if local:
                call = joined[0]
                yield context.finding(
                    f"the sum of all ranks is divided by {local}",
                    ir.unpack(part.at, region.file),
                    related=[
                        Related(ir.unpack(call.at, region.file), "this adds up the upper part of the quotient only"),
                        *_related(tally),
                    ],
                )


def _added_means(context: CheckContext, tally: Tally) -> Iterator[Finding]:
    """A mean of each rank that is added up over the ranks and divided by nothing."""
    project: Project = context.project
    found = list(regions(project, tally.place.file, tally.place.function, tally.names))
    if any(scales_by_world(region.body(project), region.names) for region in found):
        return
    for region in found:
        body = region.body(project)
        means = {
            name
            for statement in statements(body)
            if type(statement) is ir.Assign
            and statement.value is not None
            and any(
                type(part) is ir.Operation
                and part.operators == ("/",)
                and mentions(part.operands[0], tally.names)
                and _local_count(context, part.operands[1], tally, region)
                for part in below(statement.value)
            )
            for target in statement.targets
            for name in bound_names(target)
        }
        for call in calls_of(body):
            given = call.args[0] if call.args else None
            if called_name(call) != "all_reduce" or type(given) is not ir.Name or given.id not in means:
                continue
            if {"AVG", "MAX", "MIN"} & _words(call):
                continue
            after = forward(body, (given.id,))
            later = [part for part in _quotients(region, project) if part.at >> 44 > call.at >> 44]
            if not any(mentions(part.operands[0], after) for part in later):
                yield context.finding(
                    "the means of all ranks are added up here and never divided by the number of ranks",
                    ir.unpack(call.at, region.file),
                    related=_related(tally),
                )


def _words(call: ir.Call) -> set[str]:
    return {part.name for part in below(call) if type(part) is ir.Attribute} | {
        part.id for part in below(call) if type(part) is ir.Name
    }


def _local_count(context: CheckContext, expr: ir.Expr, tally: Tally, region: Region) -> str:
    """What a denominator counts, if it is something of one rank alone."""
    expr = _bare(expr)
    if type(expr) is ir.Name and expr.id in tally.names:
        return f"`{expr.id}`, which counts the part of one rank"
    if type(expr) is ir.Call and type(expr.func) is ir.Name and expr.func.id == "len" and len(expr.args) == 1:
        for option in options_of(context.project.evaluator(None).ask(expr.args[0], region.file, region.function)):
            if isinstance(option, Instance) and option.identity in (tally.loader.identity, tally.sampler.identity):
                what = "batches" if option.identity == tally.loader.identity else "samples"
                return f"the number of {what} of one rank"
    return ""


def _bare(expr: ir.Expr) -> ir.Expr:
    """An expression without ``max(..., 1)``, ``float`` and ``.item()`` around it."""
    while type(expr) is ir.Call:
        if type(expr.func) is ir.Name and expr.func.id in ("max", "float", "int") and expr.args:
            expr = next((one for one in expr.args if type(one) is not ir.Constant), expr.args[0])
        elif type(expr.func) is ir.Attribute and expr.func.name in ("item", "float") and not expr.args:
            expr = expr.func.base
        else:
            break
    return expr


# A schedule that follows it --------------------------------------------------------------------------------------------


def _followed(context: CheckContext, tally: Tally) -> Iterator[Finding]:
    project: Project = context.project
    wanted = {f"{name}()" for name in context.parameters["schedulers"]}
    evaluator = project.evaluator(None)
    for region in regions(project, tally.place.file, tally.place.function, tally.names):
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
                    related=[*_related(tally), Related(made[0].span(), "the schedule is made here")],
                )


_FAULTS: dict[str, Callable[[CheckContext, Tally], Iterator[Finding]]] = {
    "whole": _whole,
    "shown": _shown,
    "half": _half,
    "followed": _followed,
}
