"""Wrappers that are told of a device although the program itself falls back to the CPU, where they refuse it.

Parameters: ``wrappers`` (calls, with the argument that names devices and its position), ``groups`` (calls that start the process group),
``needing`` (a backend that needs devices), ``asks`` (the call that tells whether there are devices), ``uses`` (calls that fail without).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.checks.derivations import derivation
from distlint.checks.execution import body_of
from distlint.checks.programs import family
from distlint.checks.rank_ways import Way, ways_to
from distlint.checks.registry import CheckContext, check
from distlint.link.arguments import find_argument
from distlint.link.walking import below, bound_names, expressions_of, guards_of, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related

if TYPE_CHECKING:
    from distlint.link.project import CallSite, Project

_DEVICE = re.compile(r"cuda|gpu|cpu|device|backend|nccl|gloo|accelerator", re.IGNORECASE)
_RANK = re.compile(r"rank|gpu", re.IGNORECASE)
_REFUSAL = re.compile(
    r"assert [^\n]*is_available\(\)|not [\w.]*is_available\(\)[^\n]*:\s*(?:raise|sys\.exit|exit|quit)"
)


@check("device-fallback")
def device_fallback(context: CheckContext) -> Iterator[Finding]:
    """A finding for each wrapper that names a device where the program may stand on the CPU."""
    project: Project = context.project
    wrappers = context.parameters["wrappers"]
    for site in project.calls_to(set(wrappers)):
        name, position = wrappers[site.name]
        given, _ = find_argument(site.site.call, name, position)
        if given is None or not _names_own_device(project, given, site):
            continue
        files = sorted(one for one in family(project, site.file) if one in project.facts and project.module(one))
        fallback = fallback_of(context, files)
        if fallback is None or _needs_devices(context, files):
            continue
        ways = ways_to(project, site.file, site.site.function, site.site.call.at)
        if any(not asks_for_device(project, way) for way in ways):
            yield context.finding(
                f"`{name}` is given, and the program falls back to the CPU where there is no device",
                ir.unpack(given.at, site.file),
                related=[fallback],
            )


def _names_own_device(project: Project, given: ir.Expr, site: CallSite) -> bool:
    """Whether an argument is, whatever else holds, a list of the rank's own device."""
    body = body_of(project, site.file, site.site.function)
    listed = only_value(body, given)
    if type(listed) is not ir.ListDisplay or len(listed.items) != 1:
        return False
    item = listed.items[0]
    return any(_RANK.search(word) for word in words_of(item)) and type(only_value(body, item)) is not ir.Conditional


def only_value(body: tuple[ir.Stmt, ...], expr: ir.Expr) -> ir.Expr:
    """What a variable is set to in a body, where that is done in one place."""
    if type(expr) is not ir.Name:
        return expr
    values = [
        one.value
        for one in statements(body)
        if type(one) is ir.Assign and any(expr.id in bound_names(target) for target in one.targets)
    ]
    return values[0] if len(values) == 1 and values[0] is not None else expr


def fallback_of(context: CheckContext, files: list[str]) -> Related | None:
    """Where a program chooses the CPU if there is no device."""
    project: Project = context.project
    if not any(site.file in files for site in project.calls_to(set(context.parameters["asks"]))):
        return None
    for file in files:
        for function in range(-1, len(project.module(file).functions)):
            body = body_of(project, file, function)
            for statement in statements(body):
                for test, otherwise in (*_choices(statement), *_early_ends(body, statement)):
                    if any(_DEVICE.search(word) for word in words_of(test)) and "cpu" in otherwise:
                        return Related(ir.unpack(test.at, file), "without a device the program goes on on the CPU")
    return None


def _choices(statement: ir.Stmt) -> Iterator[tuple[ir.Expr, set[str]]]:
    """The tests of a statement, with the texts that stand in what is chosen otherwise."""
    if type(statement) is ir.If:
        inner = [expr for one in statements(statement.orelse) for expr in expressions_of(one)]
        yield statement.test, {word for expr in inner for word in words_of(expr)}
    for expr in expressions_of(statement):
        for part in below(expr):
            if type(part) is ir.Conditional:
                yield part.test, set(words_of(part.orelse))


def _early_ends(body: tuple[ir.Stmt, ...], statement: ir.Stmt) -> Iterator[tuple[ir.Expr, set[str]]]:
    """The test of a branch that ends with ``return``, with the texts that are returned behind it."""
    if type(statement) is ir.If and statement.body and type(statement.body[-1]) is ir.Return:
        later = [one.value for one in statements(body) if type(one) is ir.Return and one.at > statement.at]
        yield statement.test, {word for expr in later if expr is not None for word in words_of(expr)}


def _needs_devices(context: CheckContext, files: list[str]) -> bool:
    """Whether a program does not get along without devices, or nothing shows that it does."""
    project: Project = context.project
    joins = [site for site in project.calls_to(set(context.parameters["groups"])) if site.file in files]
    for site in joins:
        given, _ = find_argument(site.site.call, "backend", 0)
        value = project.evaluator(None).value(given, site.file, site.site.function) if given is not None else None
        if _stands_behind_test(project, site):
            continue
        if value is not None and value.is_known and value.only == context.parameters["needing"]:
            return True
    uses = [site for name in context.parameters["uses"] for site in project.sites(name) if site.file in files]
    if not joins or any(not _stands_behind_test(project, site) for site in uses):
        return True
    return refuses(project, files)


def refuses(project: Project, files: list[str]) -> bool:
    """Whether a program ends where there is no device."""
    return any(_REFUSAL.search(project.text_of(file)) for file in files)


def _stands_behind_test(project: Project, site: CallSite) -> bool:
    """Whether a test about devices stands on the way to a call in its function."""
    guards = guards_of(body_of(project, site.file, site.site.function), site.site.call.at) or ()
    return any(
        guard.test is not None and _is_about_devices(project, guard.test, site.file, site.site.function)
        for guard in guards
    )


def asks_for_device(project: Project, way: Way) -> bool:
    """Whether a test on a way is about devices."""
    return any(
        test.guard.test is not None and _is_about_devices(project, test.guard.test, test.file, test.function)
        for test in way.tests
    )


def _is_about_devices(project: Project, test: ir.Expr, file: str, function: int) -> bool:
    names = (*words_of(test), *derivation(project, test, file, function).names())
    return any(_DEVICE.search(name) for name in names)


def words_of(expr: ir.Expr) -> Iterator[str]:
    """The names, attributes and texts of an expression."""
    for part in below(expr):
        if type(part) is ir.Name:
            yield part.id
        elif type(part) is ir.Attribute:
            yield part.name
        elif type(part) is ir.Constant and type(part.value) is str:
            yield part.value
