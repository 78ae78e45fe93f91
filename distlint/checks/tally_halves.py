"""Quotients of which only one part is brought together over the ranks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.checks.derivations import RANK_WORDS, derivation
from distlint.checks.loaders import argument_of, is_none
from distlint.checks.spread_names import (
    MAX_DEPTH,
    Region,
    called_name,
    calls_of,
    forward,
    joins,
    mentions,
    regions,
    taken_by,
)
from distlint.checks.tally_parts import (
    Tally,
    length_of_all,
    local_count,
    quotients,
    related_of,
    scaled_by_ranks,
    words_of,
)
from distlint.link.abstract import Instance
from distlint.link.walking import below, bound_names, expressions_of, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related
from distlint.model.span import Span

if TYPE_CHECKING:
    from distlint.checks.registry import CheckContext
    from distlint.link.project import Project


def half_reduced(context: CheckContext, tally: Tally) -> Iterator[Finding]:
    """A finding for each quotient of which only the upper part is brought together, and each mean that is only added up."""
    project: Project = context.project
    yield from _added_means(context, tally)
    for region in regions(project, tally.place.file, tally.place.function, tally.names):
        body = region.body(project)
        joined = [call for call in calls_of(body) if joins(call, region.names)]
        if not joined or any("AVG" in words_of(call) for call in joined):
            continue
        if any(_averages(project, call, region) for call in joined) or scaled_by_ranks(project, region):
            continue
        together = forward(body, _brought_together(project, region, joined))
        for part in quotients(region, project):
            above, beneath = part.operands[0], part.operands[1]
            if not (mentions(above, together) or any(ir.encloses(above.at, call.at) for call in joined)):
                continue
            if mentions(beneath, together) or any(ir.encloses(call.at, part.at) for call in joined):
                continue  # each rank's own quotient is what is brought together
            local = local_count(context, beneath, tally, region)
            if local:
                call = joined[0]
                yield context.finding(
                    f"the sum of all ranks is divided by {local}",
                    ir.unpack(part.at, region.file),
                    related=[
                        Related(ir.unpack(call.at, region.file), "this adds up the upper part of the quotient only"),
                        *related_of(tally),
                    ],
                )


def _brought_together(project: Project, region: Region, joined: list[ir.Call]) -> set[str]:
    """The names that hold what all ranks have: those that calls are given to change, and those that results are put into.

    A function of the project whose result is used gives it in its result: what it was given may be a plain number.
    """
    found: set[str] = set()
    for statement in statements(region.body(project)):
        for call in joined:
            if not any(ir.encloses(expr.at, call.at) for expr in expressions_of(statement)):
                continue
            given = (*call.args, *(keyword.value for keyword in call.keywords))
            named = {part.id for one in given for part in below(one) if type(part) is ir.Name} & region.names
            found |= taken_by(statement, named)
            alone = type(statement) is ir.Evaluate and statement.value is call
            if alone or not project.call_graph.targets(region.file, region.function, call):
                found |= {one.id for one in given if type(one) is ir.Name} & region.names
    return found


def _averages(project: Project, call: ir.Call, region: Region, depth: int = 0) -> bool:
    """Whether a function of the project that brings something together divides it by the number of ranks as well."""
    for edge in project.call_graph.targets(region.file, region.function, call):
        body = project.function(edge.target).body
        names = forward(body, {one.name for one in project.function(edge.target).parameters})
        inner = Region(edge.target.file, edge.target.index, names)
        if scaled_by_ranks(project, inner) or any("AVG" in words_of(one) for one in calls_of(body)):
            return True
        if depth < MAX_DEPTH and any(_averages(project, one, inner, depth + 1) for one in calls_of(body)):
            return True
    return False


def _added_means(context: CheckContext, tally: Tally) -> Iterator[Finding]:
    """A mean of each rank that is added up over the ranks and divided by nothing."""
    project: Project = context.project
    found = list(regions(project, tally.place.file, tally.place.function, tally.names))
    if any(scaled_by_ranks(project, region) for region in found):
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
                and local_count(context, part.operands[1], tally, region)
                for part in below(statement.value)
            )
            for target in statement.targets
            for name in bound_names(target)
        }
        for call in calls_of(body):
            given = call.args[0] if call.args else None
            if called_name(call) != "all_reduce" or type(given) is not ir.Name or given.id not in means:
                continue
            if {"AVG", "MAX", "MIN"} & words_of(call):
                continue
            after = forward(body, (given.id,))
            later = [part for part in quotients(region, project) if part.at >> 44 > call.at >> 44]
            if not any(mentions(part.operands[0], after) for part in later):
                yield context.finding(
                    "the means of all ranks are added up here and never divided by the number of ranks",
                    ir.unpack(call.at, region.file),
                    related=related_of(tally),
                )


def whole_data(context: CheckContext, loader: Instance) -> Span | None:
    """Where a loader is made that hands every rank all of the data."""
    project: Project = context.project
    for name in ("sampler", "batch_sampler"):
        _, options, known = argument_of(project, loader, name, context.parameters["signature"])
        if not known or not all(is_none(one) for one in options):
            return None
    expr, options, _ = argument_of(project, loader, "dataset", context.parameters["signature"])
    if expr is None or not options or not all(isinstance(one, Instance) for one in options):
        return None
    made = derivation(project, expr, loader.frame.file, loader.frame.function)
    if not made.whole or any(RANK_WORDS.search(name) for name in made.names()):
        return None
    return loader.span()


def repeated(context: CheckContext, tally: Tally) -> Iterator[Finding]:
    """What every rank has counted over all of the data, added up over the ranks and divided by the length of the data."""
    project: Project = context.project
    for region in regions(project, tally.place.file, tally.place.function, tally.names):
        body = region.body(project)
        joined = [call for call in calls_of(body) if "reduce" in called_name(call) and joins(call, region.names)]
        if not joined or {"AVG", "MAX", "MIN"} & {word for call in joined for word in words_of(call)}:
            continue
        if scaled_by_ranks(project, region):
            continue
        given = {part.id for call in joined for one in call.args for part in below(one) if type(part) is ir.Name}
        together = forward(body, given & region.names)
        for part in quotients(region, project):
            above, beneath = part.operands[0], part.operands[1]
            if not mentions(above, together) or mentions(beneath, together):
                continue
            if length_of_all(context, beneath, region, tally) or local_count(context, beneath, tally, region):
                yield context.finding(
                    "every rank has counted all of the data, and the sum over the ranks is divided by its length once",
                    ir.unpack(part.at, region.file),
                    related=[
                        Related(tally.part, "this loader hands every rank all of the data"),
                        Related(ir.unpack(joined[0].at, region.file), "this adds up what all ranks have counted"),
                    ],
                )
