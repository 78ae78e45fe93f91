"""On which ways processes come to a place: the tests on the way, and whether all ranks of a job go there at once."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, NamedTuple

from distlint.checks.derivations import RANK_WORDS, comes_of, derivation, holders
from distlint.checks.divergence import DivergenceView
from distlint.checks.execution import body_of
from distlint.checks.spread_names import called_name
from distlint.link.abstract import Reference, options_of
from distlint.link.modules import FunctionRef
from distlint.link.starters import IN_PROCESSES, STARTERS
from distlint.link.walking import Guard, asks_for_main, below, calls_in, guards_of, statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.project import CallSite, Project

MAX_DEPTH = 6
MAX_CALLERS = 6
_ALONE = re.compile(r"first|lock|main_process|zero|master|once|suppress|local_main|rank", re.IGNORECASE)


class Test(NamedTuple):
    """A test on the way to a place."""

    guard: Guard
    file: str
    function: int


class Way(NamedTuple):
    """A way to a place from the top level of a module: its tests, and whether a call that starts processes is on it."""

    tests: tuple[Test, ...]
    top: str
    started: bool
    alone: bool
    """Whether something on the way may let ranks pass one by one, or one of them only."""
    entered: tuple[FunctionRef, ...]


def ways_to(
    project: Project,
    file: str,
    function: int,
    at: ir.Position,
    depth: int = 0,
    *,
    entries: Collection[FunctionRef] = (),
) -> Iterator[Way]:
    """The ways to a place; none where they can't be told. ``entries`` are functions that a library calls in every process."""
    body = body_of(project, file, function)
    tests = tuple(Test(guard, file, function) for guard in guards_of(body, at) or ())
    alone = any(_lets_pass_alone(statement) for statement in holders(body, at))
    if function < 0:
        yield Way(tests, file, False, alone, ())
        return
    definition = project.module(file).functions[function]
    alone = alone or any(
        _names_one(one) or _asks_for_rank(project, one, file, definition.parent) for one in definition.decorators
    )
    ref = FunctionRef(file, function)
    if ref in entries:
        yield Way(tests, file, True, alone, (ref,))
    callers = project.callers(ref)
    if depth >= MAX_DEPTH or len(callers) > MAX_CALLERS:
        return
    for caller in callers:
        if (caller.file, caller.site.function) == (file, function):
            continue
        starts = _starts(project, caller.file, caller.site)
        for way in ways_to(project, caller.file, caller.site.function, caller.site.call.at, depth + 1, entries=entries):
            yield Way(
                (*way.tests, *tests) if not starts else tests,
                way.top,
                way.started or starts,
                alone or (way.alone and not starts),
                (*way.entered, ref),
            )


def _starts(project: Project, file: str, site: ir.Site) -> bool:
    """Whether a call site starts its function in processes of their own; a thread belongs to the process that starts it."""
    return any(
        one.site.call.at == site.call.at and one.file == file for name in IN_PROCESSES for one in project.sites(name)
    )


def _lets_pass_alone(statement: ir.Stmt) -> bool:
    return type(statement) is ir.With and any(_names_one(context) for context, _ in statement.items)


def _names_one(expr: ir.Expr) -> bool:
    for part in below(expr):
        word = part.id if type(part) is ir.Name else part.name if type(part) is ir.Attribute else ""
        if word and _ALONE.search(word):
            return True
    return False


def _asks_for_rank(project: Project, decorator: ir.Expr, file: str, function: int) -> bool:
    """Whether a decorator of the project puts a test of the rank around what it wraps."""
    wanted = decorator.func if type(decorator) is ir.Call else decorator
    options = options_of(project.evaluator(None).ask(wanted, file, function))
    return any(
        isinstance(one, Reference) and isinstance(one.target, FunctionRef) and _tests_rank(project, one.target)
        for one in options
    )


def _tests_rank(project: Project, ref: FunctionRef) -> bool:
    """Whether a function, or one that is defined in it, has a test that the ranks may answer differently."""
    functions = project.module(ref.file).functions
    inside = {ref.index}
    for index, one in enumerate(functions):
        if one.parent in inside:
            inside.add(index)
    view = DivergenceView.of_project(project)
    for index in sorted(inside):
        for statement in statements(functions[index].body):
            if type(statement) is not ir.If:
                continue
            outcomes = view.outcomes(statement.test, ref.file, index)
            if len(set(outcomes)) > 1:
                return True
            if None in outcomes and derivation(project, statement.test, ref.file, index).mentions_rank():
                return True
    return False


def all_ranks_go(project: Project, way: Way) -> bool:
    """Whether no test on a way has to do with the rank."""
    if way.alone:
        return False
    view = DivergenceView.of_project(project)
    for test in way.tests:
        expr = test.guard.test
        if test.guard.kind == "except" or expr is None:
            return False
        if asks_for_main(expr) or test.guard.kind in ("for", "match"):
            continue
        outcomes = view.outcomes(expr, test.file, test.function)
        if any(one is not None and one is not test.guard.holds for one in outcomes):
            return False
        if None in outcomes and _mentions_rank(project, expr, test):
            return False
    return True


class _OfRank(dict[tuple[str, int, ir.Position], bool]):
    """Whether tests of functions have to do with the rank, by where they stand: many ways lead through one test."""


def _mentions_rank(project: Project, expr: ir.Expr, test: Test) -> bool:
    known: _OfRank = project.kept.setdefault(_OfRank, _OfRank())
    key = (test.file, test.function, expr.at)
    if key not in known:
        known[key] = comes_of(project, expr, test.file, test.function, RANK_WORDS.search, by_field=True) is True
    return known[key]


def only_rank_0_goes(project: Project, way: Way) -> Test | None:
    """The test on a way that lets rank 0 alone pass."""
    view = DivergenceView.of_project(project)
    for test in way.tests:
        if test.guard.test is not None and test.guard.kind in ("if", "exit", "expression"):
            outcomes = view.outcomes(test.guard.test, test.file, test.function)
            if outcomes == ((True, False) if test.guard.holds else (False, True)):
                return test
    return None


def may_be_for_rank_0(project: Project, file: str, function: int, at: ir.Position) -> bool:
    """Whether a test on some way to a place lets rank 0 alone pass."""
    return any(only_rank_0_goes(project, way) is not None for way in ways_to(project, file, function, at))


def in_many_processes(project: Project, way: Way, starts: Collection[CallSite]) -> CallSite | None:
    """The call that makes the processes on a way a job; ``None`` where there may be one process only."""
    files = project.closure(way.top)
    inside = [one for one in starts if one.file in files and way.top in _tops(project, one)]
    if not inside:
        return None
    spawning = any(
        one.file in files and called_name(one.site.call) in STARTERS and STARTERS[called_name(one.site.call)] == -1
        for name in STARTERS
        if STARTERS[name] == -1
        for one in project.sites(name)
    )
    if spawning and not way.started:
        return None
    return inside[0]


class _Tops(dict[tuple[str, int], frozenset[str]]):
    """The modules from whose top level a call is reached, by its place."""


def _tops(project: Project, site: CallSite) -> frozenset[str]:
    """The modules from whose top level a call is reached."""
    known: _Tops = project.kept.setdefault(_Tops, _Tops())
    key = (site.file, site.site.call.at)
    if key not in known:
        ways = ways_to(project, site.file, site.site.function, site.site.call.at)
        known[key] = frozenset(way.top for way in ways)
    return known[key]


def waits_by_turns(project: Project, file: str, function: int, waiting: Collection[str]) -> bool:
    """Whether a function lets ranks wait for each other behind a test of the rank, so that one goes first."""
    body = body_of(project, file, function)
    view = DivergenceView.of_project(project)
    for call in calls_in(body):
        if called_name(call) in waiting:
            for guard in guards_of(body, call.at) or ():
                if guard.test is not None:
                    outcomes = view.outcomes(guard.test, file, function)
                    if len(set(outcomes)) > 1:
                        return True
                    if None in outcomes and derivation(project, guard.test, file, function).mentions_rank():
                        return True
    return False
