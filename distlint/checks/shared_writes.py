"""Files that all ranks write at once.

Parameters: those of ``common_ways``; ``writes`` (by dotted name: the position of the path, its name, and, where the call may only read,
position and name of the mode), ``methods`` (names of methods with the position of the path, -1 for the object itself), ``downloads``
(prefixes of what downloads with ``download=True``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.checks.common_ways import jobs_of, tests_of, ways_of_all
from distlint.checks.derivations import RANK_WORDS, Part
from distlint.checks.execution import body_of
from distlint.checks.made_of import made_of, name_of
from distlint.checks.registry import CheckContext, check
from distlint.checks.shared_files import is_own
from distlint.checks.written_apart import written_apart
from distlint.link.arguments import find_argument
from distlint.link.project import CallSite
from distlint.link.walking import below, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related

if TYPE_CHECKING:
    from distlint.link.project import Project


@check("shared-writes")
def shared_writes(context: CheckContext) -> Iterator[Finding]:
    """A finding for each call with which every rank writes one file."""
    project: Project = context.project
    jobs = jobs_of(context)
    if not jobs:
        return
    reported: set[tuple[str, int]] = set()
    beside: set[tuple[str, int, tuple[Related, ...]]] = set()
    for site, path, is_opened in (*_writes(context), *_downloads(context)):
        key = (site.file, site.site.call.at)
        if key in reported:
            continue
        # most calls are on no way of all ranks: that is quickly asked, other than what a path is made from
        way, start = next(ways_of_all(project, site, jobs), (None, None))
        if way is None or start is None or _is_prepared_for(project, site):
            continue
        if path is not None and (_is_nothing(project, path, site) or is_own(project, [path], site)):
            continue
        if is_opened and _has_own_rows(project, site):
            continue
        if path is not None and site.span in written_apart(project):
            continue
        reported.add(key)
        tests = tuple(tests_of(way))
        if tests and (site.file, site.site.function, tests) in beside:
            continue  # what one test lets all ranks do is one fault, however many calls do it
        beside.add((site.file, site.site.function, tests))
        yield context.finding(
            "every rank downloads this to the same place at once" if path is None else "every rank writes this file",
            site.span,
            related=[Related(start.span, "the processes of the job meet here"), *tests],
        )


def _writes(context: CheckContext) -> Iterator[tuple[CallSite, ir.Expr, bool]]:
    """The calls that write a file, the expressions of its path, and whether a call only opens it for that."""
    project: Project = context.project
    table = context.parameters["writes"]
    plain = (one for one in project.sites("open") if type(one.site.call.func) is ir.Name)
    for site in (*project.calls_to(set(table)), *plain):
        position, name, *mode = table[site.name or "open"]
        given, _ = find_argument(site.site.call, name, position)
        if given is not None and _is_path(project, given, site) and (not mode or _writes_by(site, *mode)):
            yield site, given, bool(mode)
    for name, position in context.parameters["methods"].items():
        for site in project.sites(name):
            func = site.site.call.func
            if type(func) is not ir.Attribute or project.modules.dotted(func, site.file):
                continue
            if name == "open" and not _writes_by(site, 0, "mode"):
                continue
            given = func.base if position < 0 else find_argument(site.site.call, "path", position)[0]
            if given is not None and _is_path(project, given, site):
                yield site, given, name == "open"


def _writes_by(site: CallSite, position: int, name: str) -> bool:
    """Whether the mode of a call says that it writes."""
    mode, _ = find_argument(site.site.call, name, position)
    return type(mode) is ir.Constant and type(mode.value) is str and mode.value[:1] in ("w", "a", "x")


def _has_own_rows(project: Project, site: CallSite) -> bool:
    """Whether a file is written in a loop over something that may be empty on some ranks."""
    for statement in statements(body_of(project, site.file, site.site.function)):
        if type(statement) is ir.With and ir.encloses(statement.at, site.site.call.at):
            for inner in statements(statement.body):
                if type(inner) is ir.For:
                    rows = Part(inner.iterable, site.file, site.site.function)
                    parts = made_of(project, rows, bodies=True)
                    if any(one.fixed or RANK_WORDS.search(name_of(one.expr)) for one in parts):
                        return True
    return False


def _is_path(project: Project, expr: ir.Expr, site: CallSite) -> bool:
    """Whether an expression is no buffer in memory."""
    made = project.modules.dotted(expr.func, site.file) if type(expr) is ir.Call else ""
    if type(expr) is ir.Name:
        body = body_of(project, site.file, site.site.function)
        text = project.text_of(site.file)
        return bool(body) and f"{expr.id} = io." not in text and f"{expr.id} = BytesIO" not in text
    return not made.startswith("io.")


def _downloads(context: CheckContext) -> Iterator[tuple[CallSite, None, bool]]:
    """The calls that make a dataset of a library and have it downloaded."""
    project: Project = context.project
    prefixes = tuple(context.parameters["downloads"])
    for file in project.python_files:
        if file not in project.facts or project.facts[file].module is None or "download" not in project.text_of(file):
            continue
        for sites in project.module(file).calls.values():
            for site in sites:
                given, _ = find_argument(site.call, "download", None)
                if type(given) is ir.Constant and given.value is True:
                    if project.modules.dotted(site.call.func, file).startswith(prefixes):
                        yield CallSite(file, site), None, False


def _is_nothing(project: Project, path: ir.Expr, site: CallSite) -> bool:
    """Whether what is written is thrown away, or no file."""
    value = project.evaluator(None).value(path, site.file, site.site.function)
    if value.is_known and str(value.only).startswith("/dev/"):
        return True
    return any(type(part) is ir.Attribute and part.name == "devnull" for part in below(path))


def _is_prepared_for(project: Project, site: CallSite) -> bool:
    """Whether the text around knows of the others: a lock, or a name of its own for each process."""
    lines = project.text_of(site.file).split("\n")
    near = "\n".join(lines[max(0, site.span.line - 12) : site.span.line])
    return any(word in near for word in ("Lock(", "lock(", "flock", "getpid", "uuid", "local_rank", "node_rank"))
