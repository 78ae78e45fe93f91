"""What the process that starts the others has worked out for all of them: it is one value, whatever it is made of.

A program that starts its processes itself runs in one process until then. What that draws and hands on is the same for all. What stands
at the top level of a module is worked out again by each process that begins afresh, but for the main block, and was worked out once for
those that are forks of the first (``link.start_methods``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from distlint.checks.execution import body_of
from distlint.checks.spread_names import called_name
from distlint.link.arguments import find_argument
from distlint.link.modules import FunctionRef
from distlint.link.start_methods import begins_afresh
from distlint.link.starters import IN_PROCESSES
from distlint.link.walking import asks_for_main, below, expressions_below, expressions_of, guards_of, statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.project import CallSite, Project

MAX_DEPTH = 6
MAX_CALLERS = 6


class _Answers(dict[tuple[str, int, ir.Position], bool]):
    """What was found out of places."""


def is_of_parent(project: Project, file: str, function: int, at: ir.Position) -> bool:
    """Whether a place may well be come to in the process that starts the others alone: all ways lead there before it does so."""
    known: _Answers = project.kept.setdefault(_Answers, _Answers())
    key = (file, function, at)
    if key not in known:
        known[key] = _is_of_parent(project, file, function, at, 0)
    return known[key]


def _is_of_parent(project: Project, file: str, function: int, at: ir.Position, depth: int) -> bool:
    if function < 0:
        return _at_top(project, file, at)
    found = [
        one for one in project.callers(FunctionRef(file, function)) if _place(one.file, one.site) != (file, function)
    ]
    if not found or depth >= MAX_DEPTH or len(found) > MAX_CALLERS or any(one.starter in IN_PROCESSES for one in found):
        return False
    return all(_is_of_parent(project, one.file, one.site.function, one.site.call.at, depth + 1) for one in found)


def _place(file: str, site: ir.Site) -> tuple[str, int]:
    return (file, site.function)


def _at_top(project: Project, file: str, at: ir.Position) -> bool:
    """Whether the top level of a module comes to a place in the first process only."""
    started = [
        site for site in _starting(project) if site.file in project.closure(file) or file in project.closure(site.file)
    ]
    if not started:
        return False
    body = body_of(project, file, -1)
    if _in_lambda(body, at):
        return True  # whoever calls it
    tests = guards_of(body, at) or ()
    if any(guard.test is not None and asks_for_main(guard.test) for guard in tests):
        return True
    return not any(begins_afresh(project, site.file, site.site.call) for site in started)


def _in_lambda(body: tuple[ir.Stmt, ...], at: ir.Position) -> bool:
    """Whether a place lies in a lambda, which is called elsewhere (the factory of a field)."""
    return any(type(one) is ir.Lambda and ir.encloses(one.at, at) for one in expressions_below(body))


class _Starting(list["CallSite"]):
    """The calls of a project that start the processes of a job."""


def _starting(project: Project) -> list[CallSite]:
    if _Starting not in project.kept:
        found = (site for name in sorted(IN_PROCESSES) for site in project.sites(name))
        project.kept[_Starting] = _Starting(site for site in found if _is_starting(project, site))
    sites: _Starting = project.kept[_Starting]
    return sites


def _is_starting(project: Project, site: CallSite) -> bool:
    """Whether a call starts processes one of which is like the other: one process alone may be a helper of each."""
    call = site.site.call
    if called_name(call) != "Process":
        return bool(call.args or call.keywords)
    target, _ = find_argument(call, "target", 1)
    return target is not None and _is_repeated(body_of(project, site.file, site.site.function), call)


def _is_repeated(body: tuple[ir.Stmt, ...], call: ir.Call) -> bool:
    """Whether a call stands in a loop, or in a comprehension."""
    for statement in statements(body):
        if type(statement) in (ir.For, ir.While) and ir.encloses(statement.at, call.at):
            return True
        for expr in expressions_of(statement):
            if any(type(part) is ir.Comprehension and ir.encloses(part.at, call.at) for part in below(expr)):
                return True
    return False
