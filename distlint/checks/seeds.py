"""The calls that seed random numbers, and which of them is the last one before something is drawn."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, NamedTuple

from distlint.checks.derivations import derivation
from distlint.checks.programs import family
from distlint.link.arguments import find_argument
from distlint.link.modules import FunctionRef
from distlint.model import python as ir
from distlint.model.span import Span

if TYPE_CHECKING:
    from distlint.link.project import CallSite, Project

MAX_DEPTH = 3
MAX_CALLERS = 8


class Seeding(NamedTuple):
    """A call that comes to seed random numbers, and whether the seed has to do with the rank."""

    file: str
    function: int
    at: ir.Position
    by_rank: bool


def seedings(project: Project, file: str, names: Collection[str]) -> list[Seeding]:
    """The calls in a program that seed: where a helper is given the seed, the calls of the helper."""
    files = family(project, file)
    found: list[Seeding] = []
    for site in project.calls_to(set(names)):
        if site.file in files:
            call = site.site.call
            given = call.args[0] if call.args else call.keywords[0].value if call.keywords else None
            found += _lifted(project, site.file, site.site.function, call.at, given, 0)
    return found


def _lifted(
    project: Project, file: str, function: int, at: ir.Position, given: ir.Expr | None, depth: int
) -> Iterator[Seeding]:
    if type(given) is ir.Name and function >= 0 and depth < MAX_DEPTH:
        definition = project.module(file).functions[function]
        place = next((i for i, one in enumerate(definition.parameters) if one.name == given.id), None)
        callers = project.callers(FunctionRef(file, function)) if place is not None else ()
        if place is not None and 0 < len(callers) <= MAX_CALLERS:
            shift = 1 if definition.owner >= 0 else 0
            for caller in callers:
                handed, _ = find_argument(caller.site.call, given.id, place - shift + caller.shift)
                handed = handed if handed is not None else definition.parameters[place].default
                yield from _lifted(project, caller.file, caller.site.function, caller.site.call.at, handed, depth + 1)
            return
    by_rank = given is not None and derivation(project, given, file, function).mentions_rank()
    yield Seeding(file, function, at, by_rank)


def seeds_before(project: Project, site: CallSite, names: Collection[str]) -> list[tuple[Span, bool]]:
    """The last call that seeds before a call, where that is told, else all of the program."""
    found = seedings(project, site.file, names)
    last = _last(found, project, site.file, site.site.function, site.site.call.at, 0)
    chosen = [last] if last is not None else found
    return [(ir.unpack(one.at, one.file), one.by_rank) for one in chosen]


def _last(
    found: list[Seeding], project: Project, file: str, function: int, at: ir.Position, depth: int
) -> Seeding | None:
    own = [one for one in found if (one.file, one.function) == (file, function) and one.at >> 44 < at >> 44]
    if own:
        return max(own, key=lambda one: one.at >> 44)
    callers = project.callers(FunctionRef(file, function)) if function >= 0 else ()
    if len(callers) == 1 and depth < MAX_DEPTH:
        caller = callers[0]
        return _last(found, project, caller.file, caller.site.function, caller.site.call.at, depth + 1)
    return None
