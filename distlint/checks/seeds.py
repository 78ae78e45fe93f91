"""The calls that seed random numbers, and which of them is the last one before something is drawn."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, NamedTuple

from distlint.checks.derivations import RANK_WORDS, derivation
from distlint.checks.divergence import DivergenceView
from distlint.checks.execution import body_of
from distlint.checks.programs import family
from distlint.checks.rank_seeds import told_by_rank
from distlint.link.arguments import find_argument
from distlint.link.modules import FunctionRef
from distlint.link.walking import below, statements
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
            given = call.args[:1] or tuple(word.value for word in call.keywords[:1])
            told = told_by_rank(project, site)
            found += _lifted(project, site.file, site.site.function, call.at, given, by_rank=told is True, depth=0)
    return found


def _lifted(
    project: Project,
    file: str,
    function: int,
    at: ir.Position,
    given: Collection[ir.Expr],
    *,
    by_rank: bool,
    depth: int,
) -> Iterator[Seeding]:
    """A call that seeds with what some expressions make: where they are made of parameters, the calls that give these."""
    parts = list(_expanded(project, given, file, function))
    definition = project.module(file).functions[function] if function >= 0 else None
    own = {parameter.name for parameter in definition.parameters} if definition is not None else set()
    named = {part.id for part in parts if type(part) is ir.Name and part.id in own}
    callers = project.callers(FunctionRef(file, function)) if named else ()
    if definition is None or not 0 < len(callers) <= MAX_CALLERS or depth >= MAX_DEPTH:
        yield Seeding(file, function, at, by_rank or any(_is_by_rank(project, one, file, function) for one in given))
        return
    by_rank = by_rank or any(RANK_WORDS.search(name) for name in _names(parts) if name not in own)
    shift = 1 if definition.owner >= 0 else 0
    for caller in callers:
        handed = []
        for place, parameter in enumerate(definition.parameters):
            if parameter.name in named:
                one, _ = find_argument(caller.site.call, parameter.name, place - shift + caller.shift)
                one = one if one is not None else parameter.default
                handed += [] if one is None else [one]
        where = caller.site
        yield from _lifted(
            project, caller.file, where.function, where.call.at, handed, by_rank=by_rank, depth=depth + 1
        )


def _is_by_rank(project: Project, given: ir.Expr, file: str, function: int) -> bool:
    """Whether a seed has to do with the rank, as far as names tell, and is not known to be the same on all ranks."""
    parts = list(_expanded(project, [given], file, function))
    if not any(RANK_WORDS.search(name) for name in _names(parts)):
        # variables alone are what they are set to: only what objects and functions of the project hold is followed further
        outside = any(type(part) is ir.Attribute and not project.modules.dotted(part, file) for part in parts) or any(
            type(part) is ir.Call and isinstance(project.modules.resolve(part.func, file), FunctionRef)
            for part in parts
        )
        if not outside or not derivation(project, given, file, function).mentions_rank():
            return False
    return not DivergenceView.of_project(project).of(given, file, function).is_same


def _expanded(project: Project, given: Collection[ir.Expr], file: str, function: int) -> Iterator[ir.Expr]:
    """The parts of some expressions, and of what the variables in them are set to in their function."""
    waiting, seen = [*given], set()
    while waiting:
        for part in below(waiting.pop()):
            yield part
            if type(part) is ir.Name and part.id not in seen:
                seen.add(part.id)
                for statement in statements(body_of(project, file, function)):
                    if type(statement) is ir.Assign and statement.value is not None:
                        if any(type(target) is ir.Name and target.id == part.id for target in statement.targets):
                            waiting.append(statement.value)


def _names(parts: Collection[ir.Expr]) -> Iterator[str]:
    for part in parts:
        if type(part) is ir.Name:
            yield part.id
        elif type(part) is ir.Attribute:
            yield part.name
        elif type(part) is ir.Constant and type(part.value) is str and part.value.isupper():
            yield part.value


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
