"""Files that one rank writes and the others read, with nothing in between that makes them wait.

Parameters: ``starts`` (calls that make processes a job), ``writes`` and ``reads`` (functions by dotted name with the position of the
path; ``open`` by its mode), ``waiting`` (last names of calls at which ranks wait for each other, or for the file).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from distlint.checks.derivations import derivation
from distlint.checks.divergence import DivergenceView
from distlint.checks.execution import body_of, handles_errors_around
from distlint.checks.meeting_files import too_early
from distlint.checks.programs import family
from distlint.checks.rank_ways import Way, in_many_processes, only_rank_0_goes, ways_to
from distlint.checks.ranks import SECOND
from distlint.checks.registry import CheckContext, check
from distlint.checks.spread_names import called_name
from distlint.link.arguments import find_argument
from distlint.link.modules import FunctionRef
from distlint.link.project import CallSite
from distlint.link.walking import asks_for_main, below, calls_in, expressions_below, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related
from distlint.model.value import Confidence

if TYPE_CHECKING:
    from distlint.link.project import Project

MAX_DEPTH = 3
MAX_PAIRS = 60


class Access(NamedTuple):
    """A call that reads or writes a file, and the expression of its path."""

    site: CallSite
    path: ir.Expr


class Step(NamedTuple):
    """A place on the way from a function down to a call: the call there, or the one that leads to it."""

    file: str
    function: int
    at: ir.Position


@check("unwaited-files")
def unwaited_files(context: CheckContext) -> Iterator[Finding]:
    """A finding for each read that may come before the write of rank 0."""
    seen = set()
    for one in _by_rehearsal(context):
        seen.add(one.span)
        yield one
    for one in _by_paths(context):
        if one.span not in seen:
            yield one


def _by_rehearsal(context: CheckContext) -> Iterator[Finding]:
    for one in too_early(context.project):
        yield context.finding(one.message, one.span, related=one.related, confidence=Confidence.LIKELY)


def _by_paths(context: CheckContext) -> Iterator[Finding]:
    project: Project = context.project
    starts = list(project.calls_to(set(context.parameters["starts"])))
    if not starts:
        return
    files = frozenset().union(*(family(project, one.file) for one in starts))
    writes = [
        (one, way, test)
        for one in accesses(context, "writes", files)
        for way in ways_to(project, one.site.file, one.site.site.function, one.site.site.call.at)
        if (test := only_rank_0_goes(project, way)) is not None
    ]
    if not writes:
        return
    pairs = 0
    for read in accesses(context, "reads", files):
        for write, _, test in writes:
            pairs += 1
            if pairs > MAX_PAIRS or not _is_same_path(project, write, read):
                continue
            start = all_come(project, read, starts)
            if start is None or not _follows_unwaited(context, write, read):
                continue
            yield context.finding(
                "the other ranks come here while rank 0 may still be writing this file",
                read.site.span,
                related=[
                    Related(write.site.span, "rank 0 writes it here"),
                    Related(ir.unpack(test.guard.at, test.file), "only rank 0 comes there; the others go on at once"),
                ],
            )
            break


def accesses(context: CheckContext, kind: str, files: frozenset[str]) -> Iterator[Access]:
    """The calls in some files that write, or read, a file."""
    project: Project = context.project
    table = context.parameters[kind]
    for site in project.calls_to({name for name in table if not name.startswith(".")} - {"open"}):
        path, _ = find_argument(site.site.call, "path" if kind == "writes" else "f", table[site.name])
        if path is not None and site.file in files:
            yield Access(site, path)
    for name in table:
        if name.startswith("."):
            for site in project.sites(name[1:]):
                func = site.site.call.func
                if site.file in files and type(func) is ir.Attribute:
                    yield Access(site, func.base)
    for site in project.sites("open"):
        call = site.site.call
        if site.file not in files or type(call.func) is not ir.Name or not call.args:
            continue
        mode, _ = find_argument(call, "mode", 1)
        text = mode.value if type(mode) is ir.Constant and type(mode.value) is str else "r" if mode is None else ""
        if text and (kind == "writes") is (text[0] in "wx"):
            yield Access(site, call.args[0])


def _is_same_path(project: Project, write: Access, read: Access) -> bool:
    """Whether two paths are certainly the same and the same on all ranks."""
    if write.site.site.call is read.site.site.call:
        return False
    evaluator = project.evaluator(None)
    values = [evaluator.value(one.path, one.site.file, one.site.site.function) for one in (write, read)]
    if all(value.is_known for value in values):
        return bool(str(values[0].only) == str(values[1].only))
    if write.site.file != read.site.file:
        return False
    texts = [_text(project, one) for one in (write, read)]
    if texts[0] != texts[1] or any(type(part) is ir.Call for part in below(read.path)):
        return False
    together = write.site.site.function == read.site.site.function
    made = derivation(project, read.path, read.site.file, read.site.site.function)
    outside = all(type(part) is not ir.Name or _is_global(project, part.id, write) for part in below(read.path))
    return (together or outside) and made.whole and not made.mentions_rank()


def _is_global(project: Project, name: str, access: Access) -> bool:
    function = access.site.site.function
    if function < 0:
        return True
    flow = project.flow(access.site.file, function)
    return name not in flow.bound and all(
        one.name != name for one in project.function(FunctionRef(access.site.file, function)).parameters
    )


def _text(project: Project, access: Access) -> str:
    span = ir.unpack(access.path.at, access.site.file)
    if span.line != span.end_line:
        return ""
    lines = project.text_of(access.site.file).split("\n")
    return lines[span.line - 1][span.column - 1 : span.end_column - 1]


def all_come(project: Project, read: Access, starts: list[CallSite]) -> CallSite | None:
    """The start of the job, if a rank other than 0 certainly comes to a read."""
    place = read.site
    if handles_errors_around(body_of(project, place.file, place.site.function), place.site.call.at):
        return None
    view = DivergenceView.of_project(project)
    for way in ways_to(project, place.file, place.site.function, place.site.call.at):
        start = in_many_processes(project, way, starts)
        if start is not None and not way.alone and _passes(way, view):
            return start
    return None


def _passes(way: Way, view: DivergenceView) -> bool:
    for test in way.tests:
        expr = test.guard.test
        if expr is None:
            return False
        if asks_for_main(expr) or test.guard.kind == "for":
            continue
        if view.outcomes(expr, test.file, test.function, (SECOND,)) != (test.guard.holds,):
            return False
    return True


def _follows_unwaited(context: CheckContext, write: Access, read: Access) -> bool:
    """Whether a read follows a write in the text of some function, and no rank waits on the way."""
    project: Project = context.project
    for down in _chains(project, write.site):
        for other in _chains(project, read.site):
            if (down[0].file, down[0].function) != (other[0].file, other[0].function):
                continue
            if down[0].at >> 44 >= other[0].at >> 44:
                continue
            waited = any(
                _waits(context, step.file, step.function, call) for step, call in _between(project, down, other)
            )
            if not waited and not _waits_on_leaving(context, down, other[0].at):
                return True
    return False


def _chains(project: Project, site: CallSite, depth: int = 0) -> Iterator[tuple[Step, ...]]:
    """The places from each function that comes to a call down to it, the call's own function first."""
    own = Step(site.file, site.site.function, site.site.call.at)
    yield (own,)
    if site.site.function < 0 or depth >= MAX_DEPTH:
        return
    for caller in project.callers(FunctionRef(site.file, site.site.function))[:6]:
        for chain in _chains(project, CallSite(caller.file, caller.site), depth + 1):
            yield (*chain, own)


def _between(project: Project, down: tuple[Step, ...], other: tuple[Step, ...]) -> Iterator[tuple[Step, ir.Call]]:
    """The calls after a write and before a read: between both in their common function, and on the ways up and down."""
    for call in calls_in(body_of(project, down[0].file, down[0].function)):
        if down[0].at >> 44 < call.at >> 44 and call.at != other[0].at and call.at >> 44 <= other[0].at >> 44:
            yield down[0], call
    for step in down[1:]:
        for call in calls_in(body_of(project, step.file, step.function)):
            if call.at >> 44 > step.at >> 44:
                yield step, call
    for step in other[1:]:
        for call in calls_in(body_of(project, step.file, step.function)):
            if call.at >> 44 < step.at >> 44:
                yield step, call


def _waits_on_leaving(context: CheckContext, down: tuple[Step, ...], read_at: ir.Position) -> bool:
    """Whether a write lies in a context that is left before the read, and at the end of which ranks wait for each other."""
    project: Project = context.project
    for step in down:
        for holder in statements(body_of(project, step.file, step.function)):
            if type(holder) is not ir.With or not ir.encloses(holder.at, step.at):
                continue
            if step is down[0] and ir.encloses(holder.at, read_at):
                continue
            if any(_ends_waiting(context, step, one) for one, _ in holder.items):
                return True
    return False


def _ends_waiting(context: CheckContext, step: Step, manager: ir.Expr) -> bool:
    """Whether leaving a context makes ranks wait."""
    project: Project = context.project
    if type(manager) is ir.Call and called_name(manager) in context.parameters["waiting"]:
        return True
    for edge in project.call_graph.contexts(step.file, step.function, manager)[1]:
        file, function = edge.target.file, edge.target.index
        body = body_of(project, file, function)
        given = [one.at for one in expressions_below(body) if type(one) is ir.Wrapped and one.kind.startswith("yield")]
        if any(call.at > min(given, default=0) and _waits(context, file, function, call) for call in calls_in(body)):
            return True
    return False


def _waits(context: CheckContext, file: str, function: int, call: ir.Call, depth: int = 0) -> bool:
    """Whether a call makes ranks wait for each other."""
    if called_name(call) in context.parameters["waiting"]:
        return True
    project: Project = context.project
    if depth >= MAX_DEPTH:
        return False
    return any(
        _waits(context, edge.target.file, edge.target.index, inner, depth + 1)
        for edge in project.call_graph.targets(file, function, call)
        for inner in calls_in(body_of(project, edge.target.file, edge.target.index))
    )
