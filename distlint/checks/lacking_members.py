"""An attribute or method that no release of a library's class has, asked of an object of that class.

The tables of released names see definitions only; a class whose members are all known can also be asked for what is none of them.

Parameters: ``members`` (class by its dotted name: the names of all its members in all releases); ``mode-words`` (parts of names: a test
on the way that holds one may ask for the class or the attribute itself, so that nothing is said).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from distlint.checks.engines import tests_name
from distlint.checks.registry import CheckContext, check
from distlint.checks.wrapped_calls import names_given, names_handed_on
from distlint.frameworks.reaching import runs_through
from distlint.link.abstract import Abstract, Instance, options_of
from distlint.link.modules import External
from distlint.link.project import CallSite, Project
from distlint.link.walking import bodies_of, expressions_below, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related


@check("lacking-members")
def lacking_members(context: CheckContext) -> Iterator[Finding]:
    """A finding for each read of such an attribute, also as the callee of a call, that every run makes of such an object."""
    project: Project = context.project
    members: Mapping[str, frozenset[str]] = {
        name: frozenset(names) for name, names in context.parameters["members"].items()
    }
    made = [found for name in members for found in project.calls_to({name})]
    made += [found for name in members for found in project.table_calls.of_library(name)]
    if not made:
        return
    names = {name for found in made for name in names_given(project, found)}
    names |= names_handed_on(project, names)
    common = frozenset.intersection(*members.values())
    for file in project.python_files:
        for function, body in bodies_of(project.module(file)):
            for expr in expressions_below(body):
                if type(expr) is not ir.Attribute or expr.name in common or expr.name.startswith("__"):
                    continue
                if _last_name(expr.base) in names and not project.is_stored(expr.name):
                    yield from _judge(context, project, members, expr, CallSite(file, _site(expr, function)))


def _site(expr: ir.Attribute, function: int) -> ir.Site:
    """The read as if it were a call, so that what leads to a call can be asked of it."""
    return ir.Site(ir.Call(expr, (), (), expr.at), function)


def _last_name(expr: ir.Expr) -> str:
    return expr.id if type(expr) is ir.Name else expr.name if type(expr) is ir.Attribute else ""


def _judge(
    context: CheckContext,
    project: Project,
    members: Mapping[str, frozenset[str]],
    expr: ir.Attribute,
    found: CallSite,
) -> Iterator[Finding]:
    runs = list(runs_through(project, found))
    lacking: list[Instance] = []
    for run in runs:
        evaluator = project.evaluator(run)
        for option in options_of(evaluator.ask(expr.base, found.file, found.site.function)):
            if not _lacks(project, members, option, expr.name):
                return
            assert isinstance(option, Instance)  # noqa: S101 - tested by _lacks
            lacking.append(option)
    if not lacking or _is_guarded(project, found) or tests_name(project, found, context.parameters["mode-words"]):
        return
    owner = lacking[0].callee
    assert isinstance(owner, External)  # noqa: S101 - tested by _lacks
    last = owner.name.rpartition(".")[2]
    related = [Related(lacking[0].span(), "made here")]
    yield context.finding(f"{last} has no `{expr.name}`", found.span, related=related, symbol=f"{last}.{expr.name}")


def _lacks(project: Project, members: Mapping[str, frozenset[str]], value: Abstract, name: str) -> bool:
    """Whether a value is an object of one of the classes, that class itself and no part of it, without a member of the name."""
    if not isinstance(value, Instance) or value.part or not isinstance(value.callee, External):
        return False
    known = members.get(project.modules.canonical(value.callee.name))
    return known is not None and name not in known


def _is_guarded(project: Project, found: CallSite) -> bool:
    """Whether a ``try`` is around a place, which may wait for the failure."""
    module = project.module(found.file)
    body = module.body if found.site.function < 0 else module.functions[found.site.function].body
    return any(type(one) is ir.Try and ir.encloses(one.at, found.site.call.at) for one in statements(body))
