"""A call that needs the process group, in front of the one that starts it.

Parameters: ``calls`` (library functions that need the group), ``starts`` (library functions and classes that start it), ``also``
(others that start it, of which another rule speaks), ``message``.
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.execution import body_of, handles_errors_around
from distlint.checks.registry import CheckContext, check
from distlint.link.modules import FunctionRef
from distlint.link.project import CallSite, Project
from distlint.link.walking import Guard, asks_for_main, calls_in, guards_of
from distlint.model import python as ir
from distlint.model.finding import Finding, Related
from distlint.model.value import Confidence

MAX_WAVES = 6


@check("call-before-start")
def call_before_start(context: CheckContext) -> Iterator[Finding]:
    """The first such call of a body that starts the group further down, where nothing before it may have started it."""
    project: Project = context.project
    starts = set(context.parameters["starts"])
    every = starts | set(context.parameters.get("also", ()))
    lasts = {name.rpartition(".")[2] for name in every}
    direct = list(project.calls_to(every))
    if not any(found.name in starts for found in direct):
        return
    possible = lasts | _names_leading_to(project, lasts)
    seen: set[tuple[str, int]] = set()
    for found in sorted(project.calls_to(set(context.parameters["calls"])), key=lambda one: one.span):
        scope = (found.file, found.site.function)
        if scope in seen or _names_process_group(found.site.call):
            continue
        here = [one for one in direct if (one.file, one.site.function) == scope]
        later = [one for one in here if one.span > found.span and _is_straight(project, one)]
        if len(here) != len(later) or not any(one.name in starts for one in later) or not _is_straight(project, found):
            continue
        if _may_have_started(project, found, possible) or _is_started_by_import(project, found.file, direct):
            continue
        seen.add(scope)
        yield context.finding(
            context.parameters["message"].format(name=found.name.rpartition(".")[2]),
            found.span,
            related=[Related(later[0].span, "the group is started here")],
            confidence=Confidence.LIKELY,
            symbol=found.name,
        )


def _names_process_group(call: ir.Call) -> bool:
    return bool(call.args) or any(keyword.name in (None, "group") for keyword in call.keywords)


def _is_straight(project: Project, found: CallSite) -> bool:
    """Whether a call is made whenever its function runs, and an exception in it ends the program."""
    body = body_of(project, found.file, found.site.function)
    guards = guards_of(body, found.site.call.at)
    if guards is None or handles_errors_around(body, found.site.call.at):
        return False
    return all(_asks_for_main(guard) for guard in guards)


def _asks_for_main(guard: Guard) -> bool:
    return guard.kind == "if" and guard.test is not None and asks_for_main(guard.test)


def _names_leading_to(project: Project, lasts: set[str]) -> set[str]:
    """The names of functions and classes that may come to one of the calls, by names alone, so rather too many."""
    wave, found = set(lasts), set[str]()
    for _ in range(MAX_WAVES):
        names = set()
        for name in sorted(wave):
            for site in project.sites(name):
                if site.site.function >= 0:
                    function = project.module(site.file).functions[site.site.function]
                    names.add(function.name)
                    if function.owner >= 0:
                        names.add(project.module(site.file).classes[function.owner].name)
        wave = names - found
        if not wave:
            break
        found |= wave
    return found


def _may_have_started(project: Project, found: CallSite, possible: set[str]) -> bool:
    """Whether a call in front of this one, here or on the way here, may have started the group."""
    if _starts_before(project, found, possible):
        return True
    if found.site.function < 0:
        return False
    callers = project.callers(FunctionRef(found.file, found.site.function))
    if not callers:
        return True
    return any(
        caller.site.function >= 0 or _starts_before(project, CallSite(caller.file, caller.site), possible)
        for caller in callers
    )


def _starts_before(project: Project, found: CallSite, possible: set[str]) -> bool:
    for call in calls_in(body_of(project, found.file, found.site.function)):
        name = call.func.name if type(call.func) is ir.Attribute else call.func.id if type(call.func) is ir.Name else ""
        if name in possible and ir.unpack(call.at, found.file) < found.span:
            return True
    return False


def _is_started_by_import(project: Project, file: str, direct: list[CallSite]) -> bool:
    """Whether a module that the file imports starts the group while it is imported."""
    closure = project.closure(file)
    return any(one.site.function < 0 and one.file != file and one.file in closure for one in direct)
