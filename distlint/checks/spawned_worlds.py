"""Processes that a program spawns, and that wait for another number of them than there are.

Parameters: ``starters`` (library functions that start processes and give each its index: the parameter with their
number, and its position) and ``groups`` (functions that join the group, with ``rank`` and ``world_size``).
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.registry import CheckContext, check
from distlint.link.arguments import find_argument
from distlint.link.modules import FunctionRef
from distlint.link.project import CallSite, Project
from distlint.link.starters import started_call
from distlint.link.walking import below, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related
from distlint.model.span import Span
from distlint.model.value import Confidence, Value


@check("spawned-worlds")
def spawned_worlds(context: CheckContext) -> Iterator[Finding]:
    """A finding for each group whose size is not the number of processes that are started for it."""
    project: Project = context.project
    starters = context.parameters["starters"]
    groups = list(project.calls_to(set(context.parameters["groups"])))
    for starter in project.calls_to(set(starters)) if groups else ():
        started = started_call(starter.site.call, "spawn")
        target = project.modules.resolve(started.func, starter.file) if started is not None else None
        number, _ = find_argument(starter.site.call, *starters[starter.name])
        if not isinstance(target, FunctionRef) or number is None:
            continue
        count = project.evaluator(None).value(number, starter.file, starter.site.function)
        joined = [one for one in groups if _is_by_index(project, one, target)]
        if type(count.only) is not int or len(joined) != 1 or count.only < 1:
            continue
        size, place = _size(project, joined[0])
        if type(size.only) is not int or size.only == count.only:
            continue
        few = count.only < size.only
        yield context.finding(
            f"the group is for {size.only} processes, but {count.only} are spawned, with the ranks 0 to {count.only - 1}",
            place,
            related=[Related(ir.unpack(number.at, starter.file), f"{count.only} processes are started here")],
            help=context.parameters["too-few" if few else "too-many"],
            confidence=min(size.confidence, count.confidence, Confidence.LIKELY),
        )


def _size(project: Project, found: CallSite) -> tuple[Value, Span]:
    expr, _ = find_argument(found.site.call, "world_size", 3)
    assert expr is not None  # noqa: S101 - tested by ``_is_by_index``
    return project.evaluator(None).value(expr, found.file, found.site.function), ir.unpack(expr.at, found.file)


def _is_by_index(project: Project, found: CallSite, target: FunctionRef) -> bool:
    """Whether a call joins with the index that the started function is given as its rank, in it or a function below."""
    rank, _ = find_argument(found.site.call, "rank", 4)
    size, _ = find_argument(found.site.call, "world_size", 3)
    place, call = FunctionRef(found.file, found.site.function), found.site.call
    for _ in range(3):
        if type(rank) is not ir.Name or size is None or place.index < 0:
            return False
        function = project.module(place.file).functions[place.index]
        names = [parameter.name for parameter in function.parameters]
        if rank.id not in names or _is_set(function.body, rank.id) or _is_for_some(function.body, rank.id, call):
            return False
        if place == target:
            return names.index(rank.id) == 0
        callers = project.callers(place)
        if len(callers) != 1 or callers[0].shift:
            return False
        call = callers[0].site.call
        rank, _ = find_argument(call, rank.id, names.index(rank.id))
        place = FunctionRef(callers[0].file, callers[0].site.function)
    return False


def _is_for_some(body: tuple[ir.Stmt, ...], name: str, call: ir.Call) -> bool:
    """Whether a branch on the index leads to a call, or an early way out in front of it: some of the processes join then."""
    for statement in statements(body):
        if isinstance(statement, ir.If | ir.While) and any(
            type(one) is ir.Name and one.id == name for one in below(statement.test)
        ):
            leaves = any(map(_is_way_out, statements(statement.body)))
            if ir.encloses(statement.at, call.at) or (leaves and statement.at < call.at):
                return True
    return False


def _is_way_out(statement: ir.Stmt) -> bool:
    return type(statement) is ir.Return or (
        type(statement) is ir.Jump and statement.kind in ("raise", "break", "continue")
    )


def _is_set(body: tuple[ir.Stmt, ...], name: str) -> bool:
    for statement in statements(body):
        targets = statement.targets if isinstance(statement, ir.Assign) else ()
        if isinstance(statement, ir.AugAssign | ir.For):
            targets = (statement.target,)
        if any(type(target) is ir.Name and target.id == name for target in targets):
            return True
    return False
