"""Calls that need the process group, made while a module is imported: before any group is started.

Parameters: ``calls`` (library functions and classes that ask for the default group when they are called without arguments by position)
and ``starts`` (what starts the group).
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.import_order import import_starts, is_early
from distlint.checks.programs import Programs, family
from distlint.checks.registry import CheckContext, check
from distlint.link.caught import is_caught
from distlint.link.project import CallSite, Project
from distlint.link.walking import bodies_of, guards_of, lambdas_around
from distlint.model.finding import Finding, Related

_ERRORS = frozenset({"AssertionError", "RuntimeError", "ValueError"})
"""What such calls raise where there is no group."""


@check("called-at-import")
def called_at_import(context: CheckContext) -> Iterator[Finding]:
    """A finding for each such call in a module that a program imports before it can have started the group."""
    project: Project = context.project
    starts = list(project.calls_to(set(context.parameters["starts"])))
    if not starts:
        return
    at_import = import_starts(project, starts)
    importers = Programs.of_project(project).importers
    for found in project.calls_to(set(context.parameters["calls"])):
        if not importers.get(found.file) or not _is_straight(project, found):
            continue
        started = [one for one in starts if one.file in family(project, found.file)]
        if not started or not is_early(project, found.file, found.site.call.at, at_import):
            continue
        name, module = found.name.rpartition(".")[2], found.file.rpartition("/")[2]
        yield context.finding(
            f"`{name}` is called while `{module}` is imported, before the process group is started",
            found.span,
            related=[Related(started[0].span, "the group is started here, later")],
            symbol=found.name,
        )


def _is_straight(project: Project, found: CallSite) -> bool:
    """Whether a call is made whenever its file is imported, outside of functions and lambdas, and a failure of it is not caught."""
    call, body = found.site.call, project.module(found.file).body
    if found.site.function >= 0 or call.args or guards_of(body, call.at):
        return False
    outside = (one for function, one in bodies_of(project.module(found.file)) if function < 0)
    if any(True for one in outside for _ in lambdas_around(one, call.at)):
        return False
    return not is_caught(project, found.file, body, call.at, _ERRORS)
