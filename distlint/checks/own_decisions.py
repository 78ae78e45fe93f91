"""Checkpoints that are chosen by a figure of one rank's own part of the data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.checks.loaders import trains
from distlint.checks.spread_names import Region, called_name, calls_of, is_joined, mentions, regions
from distlint.checks.tally_parts import Tally, related_of
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
    if trains(project, tally.place.file, tally.place.body):
        return
    found = list(regions(project, tally.place.file, tally.place.function, tally.names))
    if any(is_joined(project, region) for region in found):
        return
    for region in found:
        for statement in statements(region.body(project)):
            if type(statement) is ir.If and _compares(statement.test, region):
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


def _compares(test: ir.Expr, region: Region) -> bool:
    """Whether a test asks whether a figure is better than another one."""
    return any(
        type(part) is ir.Operation
        and _ORDER & set(part.operators)
        and mentions(part, region.names)
        and not any(type(one) is ir.Constant for one in part.operands)
        for part in below(test)
    )


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
