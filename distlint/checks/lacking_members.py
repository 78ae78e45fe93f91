"""An attribute or method that no release of a library's class has, asked of an object of that class.

The rules about released names need a release that has the name. Where the table knows all that a class and its bases have, it can also
be asked for what none of them has.

Parameters: ``classes`` (their dotted names); ``mode-words`` (parts of names: a test on the way that holds one may ask for the class or the
attribute itself, so that nothing is said).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from distlint.checks.engines import tests_name
from distlint.checks.registry import CheckContext, check
from distlint.checks.released_faults import Faults, faults_of
from distlint.checks.unheard_names import unheard_in
from distlint.checks.wrapped_calls import names_given, names_handed_on
from distlint.frameworks.reaching import runs_through
from distlint.link.abstract import Abstract, Instance, options_of
from distlint.link.modules import External
from distlint.link.project import CallSite, Project
from distlint.link.walking import bodies_of, expressions_below, last_name
from distlint.model import python as ir
from distlint.model.finding import Finding, Related

_FAILURE = frozenset({"AttributeError"})


class _Read(NamedTuple):
    """An attribute that is read, also as the callee of a call, with the call that it would be for what leads there."""

    expr: ir.Attribute
    found: CallSite


@check("lacking-members")
def lacking_members(context: CheckContext) -> Iterator[Finding]:
    """A finding for each read of such an attribute that every run makes of such an object."""
    project: Project = context.project
    classes = frozenset(context.parameters["classes"])
    made = [found for name in sorted(classes) for found in project.calls_to({name})]
    made += [found for name in sorted(classes) for found in project.table_calls.of_library(name)]
    if not made:
        return
    names = {name for found in made for name in names_given(project, found)}
    names |= names_handed_on(project, names)
    for read in _reads(project, names):
        yield from _judge(context, project, classes, read)


def _reads(project: Project, names: set[str]) -> Iterator[_Read]:
    """The attributes that are read of what goes by one of the names, but for those that the project stores somewhere."""
    for file in project.python_files:
        for function, body in bodies_of(project.module(file)):
            for expr in expressions_below(body):
                if type(expr) is not ir.Attribute or expr.name.startswith("_") or last_name(expr.base) not in names:
                    continue
                if not project.is_stored(expr.name):
                    yield _Read(expr, CallSite(file, ir.Site(ir.Call(expr, (), (), expr.at), function)))


def _judge(context: CheckContext, project: Project, classes: frozenset[str], read: _Read) -> Iterator[Finding]:
    expr, found = read
    faults = faults_of(project)
    lacking: list[Instance] = []
    for run in runs_through(project, found):
        evaluator = project.evaluator(run)
        for option in options_of(evaluator.ask(expr.base, found.file, found.site.function)):
            owner = _class_of(project, option)
            if owner not in classes or not _lacks(faults, owner, expr.name, found):
                return
            assert isinstance(option, Instance)  # noqa: S101 - it has a class
            lacking.append(option)
    if not lacking or tests_name(project, found, context.parameters["mode-words"]):
        return
    last = _class_of(project, lacking[0]).rpartition(".")[2]
    related = [Related(lacking[0].span(), "made here")]
    yield context.finding(f"{last} has no `{expr.name}`", found.span, related=related, symbol=f"{last}.{expr.name}")


def _class_of(project: Project, value: Abstract) -> str:
    """The library class that an object is of, and not of one that derives from it; nothing for parts of one, and anything else."""
    if not isinstance(value, Instance) or value.part or not isinstance(value.callee, External):
        return ""
    return project.modules.canonical(value.callee.name)


def _lacks(faults: Faults, owner: str, name: str, found: CallSite) -> bool:
    """Whether no release has the member, and the place is surely reached without a handler that waits for the failure."""
    package = faults.packages.get(owner.partition(".")[0], "")
    allowed = faults.releases.of(package, found.file) if package else None
    if allowed is None:
        return False
    dotted = f"{owner}.{name}"
    if unheard_in(allowed, lambda version: faults.table.find(dotted, version)) != dotted:
        return False
    newest = allowed.candidates[0].version
    return faults.project.reach(package).reached(found.file, found.site.call.at, newest, _FAILURE) is True
