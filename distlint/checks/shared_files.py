"""Folders and files that every rank makes or removes, though only the first can.

Parameters: those of ``common_ways``; ``calls`` (by dotted name, or ``.method`` for methods of path objects: how it
fails for the second process, the argument with which it does not, its position or -1, and the position of the path if it is not
the first).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.checks.common_ways import jobs_of, tests_of, ways_of_all
from distlint.checks.derivations import RANK_WORDS, comes_of
from distlint.checks.execution import body_of, handles_errors_around
from distlint.checks.programs import left_out
from distlint.checks.registry import CheckContext, check
from distlint.link.arguments import find_argument
from distlint.link.project import CallSite
from distlint.model import python as ir
from distlint.model.finding import Finding, Related

if TYPE_CHECKING:
    from distlint.link.project import Project

_OWN_WORDS = ("tempfile", "mkdtemp", "uuid", "uuid4", "getpid", "time", "now", "hostname", "gethostname", "strftime")


@check("shared-files")
def shared_files(context: CheckContext) -> Iterator[Finding]:
    """A finding for each call that fails on all ranks but the first."""
    project: Project = context.project
    jobs = jobs_of(context)
    if not jobs:
        return
    for found, verb, path in _changes(context, [*jobs.starts, *jobs.hooks.values()]):
        if not path or handles_errors_around(body_of(project, found.file, found.site.function), found.site.call.at):
            continue
        way, start = next(ways_of_all(project, found, jobs), (None, None))
        if way is None or start is None or is_own(project, path, found):
            continue
        yield context.finding(
            f"every rank {verb} this path, and only the first one can",
            found.span,
            related=[Related(start.span, "the processes of the job meet here"), *tests_of(way)],
        )


def _changes(context: CheckContext, starts: list[CallSite]) -> Iterator[tuple[CallSite, str, list[ir.Expr]]]:
    """The calls that may fail for all but the first: site, what it does, and the expressions that make up the path."""
    project: Project = context.project
    lasts = {name.rpartition(".")[2] for name in context.parameters["calls"]}
    late = sorted(left_out(project, sorted({one.file for one in starts}), lasts))
    for name, (verb, harmless, position, *place) in context.parameters["calls"].items():
        method = name.startswith(".")
        for found in _sites(project, name, late):
            call = found.site.call
            if method and (type(call.func) is not ir.Attribute or project.modules.dotted(call.func, found.file)):
                continue
            given, certain = (
                find_argument(call, harmless, position if position >= 0 else None) if harmless else (None, True)
            )
            if given is not None:
                if project.evaluator(None).value(given, found.file, found.site.function).only is not False:
                    continue
            elif not certain:
                continue
            if method:
                yield found, verb, [call.func.base]  # type: ignore[union-attr]
            elif call.args and type(call.args[0]) is not ir.Starred:
                index = place[0] if place else 0
                yield found, verb, list(call.args[:2]) if "moves" in verb else list(call.args[index : index + 1])


def _sites(project: Project, name: str, late: list[str]) -> Iterator[CallSite]:
    """The calls of a function, or of a method by its name, also in files that were left out before."""
    last = name.rpartition(".")[2]
    yield from project.sites(last) if name.startswith(".") else project.calls_to({name})
    for file in late:
        for site in project.module(file).calls.get(last, ()):
            if name.startswith(".") or project.modules.dotted(site.call.func, file) == name:
                yield CallSite(file, site)


def is_own(project: Project, path: list[ir.Expr], found: CallSite) -> bool:
    """Whether a path may differ from rank to rank."""
    return any(
        comes_of(project, expr, found.file, found.site.function, _is_own_word, is_path=True, by_field=True) is not False
        for expr in path
    )


def _is_own_word(name: str) -> bool:
    return name in _OWN_WORDS or RANK_WORDS.search(name) is not None
