"""Checkpoints that are chosen by a figure of one rank's own part of the data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.checks.loaders import trains
from distlint.checks.spread_names import Region, called_name, calls_of, forward, is_joined, mentions, regions
from distlint.checks.tally_joined import own_names
from distlint.checks.tally_parts import Tally, related_of
from distlint.link.arguments import find_argument
from distlint.link.walking import below, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related

if TYPE_CHECKING:
    from distlint.checks.registry import CheckContext
    from distlint.link.project import Project

_ORDER = frozenset({"<", ">", "<=", ">="})


def own_decisions(context: CheckContext, tally: Tally) -> Iterator[Finding]:
    """A finding for each test that compares what one rank has worked out, and under which something is saved."""
    project: Project = context.project
    names = own_names(project, tally.place, tally.names)
    if not names or trains(project, tally.place.file, tally.place.body):
        return
    found = list(regions(project, tally.place.file, tally.place.function, names))
    if any(is_joined(project, region) for region in found):
        return
    makers = {(region.file, region.function) for region in found if region.names}
    found += [inner for region in found for inner in _handed(project, region, makers)]
    for region in found:
        for statement in statements(region.body(project)):
            if type(statement) is ir.If and any(
                _compares(test, region) for test in (statement.test, *_flags(project, statement.test, region))
            ):
                saved = next((call for call in calls_of(statement.body) if _saves(context, call, region)), None)
                if saved is not None:
                    yield context.finding(
                        "what is saved is chosen by a figure of one rank's own part of the data",
                        ir.unpack(statement.test.at, region.file),
                        related=[
                            *related_of(tally),
                            Related(ir.unpack(saved.at, region.file), "this saves what is chosen"),
                        ],
                    )


def _handed(project: Project, region: Region, makers: set[tuple[str, int]]) -> Iterator[Region]:
    """The functions that a figure is handed to, with their names for it; ``makers`` are those that return it."""
    for call in calls_of(region.body(project)):
        for edge in project.call_graph.targets(region.file, region.function, call):
            definition = project.function(edge.target)
            names = set()
            for position, one in enumerate(definition.parameters):
                place = position - (1 if definition.owner >= 0 else 0) + edge.shift
                given, _ = find_argument(call, one.name, place)
                if given is not None and (mentions(given, region.names) or _calls(project, given, region, makers)):
                    names.add(one.name)
            if names:
                yield Region(edge.target.file, edge.target.index, forward(definition.body, names))


def _calls(project: Project, expr: ir.Expr, region: Region, makers: set[tuple[str, int]]) -> bool:
    """Whether an expression is the result of one of some functions."""
    return type(expr) is ir.Call and any(
        (edge.target.file, edge.target.index) in makers
        for edge in project.call_graph.targets(region.file, region.function, expr)
    )


def _compares(test: ir.Expr, region: Region) -> bool:
    """Whether a test asks whether a figure is better than another one."""
    return any(
        type(part) is ir.Operation
        and _ORDER & set(part.operators)
        and mentions(part, region.names)
        and not any(type(one) is ir.Constant for one in part.operands)
        for part in below(test)
    )


def _flags(project: Project, test: ir.Expr, region: Region) -> Iterator[ir.Expr]:
    """What the variables of a test are set to: ``is_best = score > best`` and then ``if is_best``."""
    named = {part.id for part in below(test) if type(part) is ir.Name}
    for statement in statements(region.body(project)):
        if type(statement) is ir.Assign and statement.value is not None and type(statement.value) is ir.Operation:
            if any(type(target) is ir.Name and target.id in named for target in statement.targets):
                yield statement.value


def _saves(context: CheckContext, call: ir.Call, region: Region, depth: int = 0) -> bool:
    """Whether a call saves something, itself or through functions of the project."""
    if called_name(call) in context.parameters["saves"]:
        return True
    project: Project = context.project
    return depth < 2 and any(
        _saves(context, inner, Region(edge.target.file, edge.target.index, frozenset()), depth + 1)
        for edge in project.call_graph.targets(region.file, region.function, call)
        for inner in calls_of(project.function(edge.target).body)
    )
