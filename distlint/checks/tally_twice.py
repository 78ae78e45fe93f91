"""Sums over all ranks that are divided by the number of ranks and by the length of all the data as well."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.checks.spread_names import Region, called_name, calls_of, forward, joins, mentions, names_world, regions
from distlint.checks.tally_parts import Tally, length_of_all, quotients, related_of, words_of
from distlint.link.walking import below, bound_names, expressions_of, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related

if TYPE_CHECKING:
    from distlint.checks.registry import CheckContext
    from distlint.link.project import Project


def divided_twice(context: CheckContext, tally: Tally) -> Iterator[Finding]:
    """A finding for each quotient by the length of all the data whose upper part is, or becomes, a mean over the ranks."""
    project: Project = context.project
    found = list(regions(project, tally.place.file, tally.place.function, tally.names))
    if any(_multiplies(region, project) for region in found):
        return
    for number, region in enumerate(found):
        for call, given in _averages(project, region):
            where = Related(ir.unpack(call.at, region.file), "this brings it together")
            later = list(regions(project, region.file, region.function, given))
            for other, part in _by_length(context, later, tally):
                yield _finding(context, other, part, where, tally)
            # divided first, by a function that returns it, and brought together by its caller
            before = [one for one in found[:number] if _returns_one(one, project)]
            for other, part in _by_length(context, before, tally):
                yield _finding(context, other, part, where, tally)


def _finding(context: CheckContext, region: Region, part: ir.Operation, where: Related, tally: Tally) -> Finding:
    return context.finding(
        "the mean over the ranks of what each has added up is divided by the length of the whole dataset",
        ir.unpack(part.at, region.file),
        related=[where, *related_of(tally)],
    )


def _by_length(context: CheckContext, found: list[Region], tally: Tally) -> Iterator[tuple[Region, ir.Operation]]:
    for region in found:
        for part in quotients(region, context.project):
            if mentions(part.operands[0], region.names) and not names_world(part.operands[1]):
                if length_of_all(context, part.operands[1], region, tally):
                    yield region, part


def _returns_one(region: Region, project: Project) -> bool:
    """Whether a function gives back a single figure."""
    given = [one.value for one in statements(region.body(project)) if type(one) is ir.Return and one.value is not None]
    return len(given) == 1 and type(given[0]) is not ir.ListDisplay


def _multiplies(region: Region, project: Project) -> bool:
    """Whether something is multiplied by the number of ranks, or the length divided by it: then it comes out even."""
    for statement in statements(region.body(project)):
        if type(statement) is ir.AugAssign and statement.operator == "*" and names_world(statement.value):
            return True
        for expr in expressions_of(statement):
            for part in below(expr):
                if type(part) is ir.Operation and {"*", "//"} & set(part.operators) and names_world(part):
                    return True
    return False


def _averages(project: Project, region: Region) -> Iterator[tuple[ir.Call, frozenset[str]]]:
    """The calls that bring names of a function together and give the mean over the ranks, and the names that hold it."""
    body = region.body(project)
    for call in calls_of(body):
        if not joins(call, region.names):
            continue
        words = words_of(call)
        if called_name(call) == "all_reduce":
            given = {part.id for one in call.args[:1] for part in below(one) if type(part) is ir.Name}
            if "AVG" in words or (
                ("SUM" in words or not _has_operation(call)) and _is_divided(body, forward(body, given))
            ):
                yield call, frozenset(given)
            continue
        for edge in project.call_graph.targets(region.file, region.function, call):
            definition = project.function(edge.target)
            inner = forward(definition.body, {one.name for one in definition.parameters})
            reducing = [one for one in calls_of(definition.body) if called_name(one) == "all_reduce"]
            if len(reducing) == 1 and _is_divided(definition.body, inner) and not _branches(definition.body):
                bound = {
                    name
                    for statement in statements(body)
                    if type(statement) is ir.Assign and statement.value is not None
                    if ir.encloses(statement.value.at, call.at)
                    for target in statement.targets
                    for name in bound_names(target)
                }
                yield call, frozenset(bound)


def _has_operation(call: ir.Call) -> bool:
    return len(call.args) > 1 or any(word.name == "op" for word in call.keywords)


def _branches(body: tuple[ir.Stmt, ...]) -> bool:
    """Whether a function divides in some cases only, as one with a switch for it does."""
    return any(
        type(one) is ir.If
        and any(
            (type(inner) is ir.AugAssign and inner.operator == "/")
            or any(
                type(part) is ir.Operation and "/" in part.operators for e in expressions_of(inner) for part in below(e)
            )
            for inner in statements((*one.body, *one.orelse))
        )
        for one in statements(body)
    )


def _is_divided(body: tuple[ir.Stmt, ...], names: frozenset[str]) -> bool:
    """Whether something of the names is divided by the number of ranks alone."""
    for statement in statements(body):
        if type(statement) is ir.AugAssign and statement.operator == "/":
            if mentions(statement.target, names) and names_world(statement.value):
                return True
        for expr in expressions_of(statement):
            for part in below(expr):
                if type(part) is ir.Operation and part.operators == ("/",) and names_world(part.operands[1]):
                    if mentions(part.operands[0], names):
                        return True
                if type(part) is ir.Call and called_name(part) in ("div_", "div") and any(map(names_world, part.args)):
                    return True
    return False
