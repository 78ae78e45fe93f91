"""Whether a run comes to a call: the tests on the way there, as far as the run's options decide them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from distlint.link.abstract import node_of
from distlint.link.arithmetic import truth
from distlint.link.modules import FunctionRef
from distlint.link.walking import asks_for_main, guards_of
from distlint.model import python as ir
from distlint.model.document import node_value
from distlint.model.launch import Launch, Run
from distlint.model.value import Confidence

if TYPE_CHECKING:
    from distlint.link.project import CallSite, Project

MAX_LEVELS = 3
MAX_CALLERS = 8
"""So many calls are gone back from a place, and so many callers of each function, for the tests on the way."""
_AFFIXES = {"startswith": str.startswith, "endswith": str.endswith}


def runs_through(project: Project, found: CallSite) -> Iterator[Run | None]:
    """The launched runs that come to a call, or ``None`` once where no launch of its file is known.

    Nothing where launches are known and none of them comes there: then the place does nothing in this project.
    """
    runs = project.runs_reaching(found.file)
    if not runs:
        yield None
    yield from (run for run in runs if comes_to(project, found, run))


def run_of(project: Project, launch: Launch) -> Run:
    """The run of a launch; one is made for a launch whose script is not in the project."""
    for run in project.runs:
        if run.launch is launch:
            return run
    given = project.given_size()
    return Run(launch.script_file, launch, world_size=launch.world_size if given.is_unknown else given)


def comes_to(project: Project, found: CallSite, run: Run, levels: int = MAX_LEVELS) -> bool:
    """Whether a run may come to a call: false only where the options that it gives decide a test the other way.

    The tests are those in its function, and those before all calls of the function that are seen.
    """
    for guard in _guards(project, found.file, found.site.function, found.site.call.at):
        decided = _decided(project, guard.test, found.file, found.site.function, run)
        if decided is not None and decided != guard.holds:
            return False
    if found.site.function < 0 or not levels:
        return True
    callers = project.callers(FunctionRef(found.file, found.site.function))
    if not callers or len(callers) > MAX_CALLERS:
        return True
    return any(comes_to(project, found._replace(file=one.file, site=one.site), run, levels - 1) for one in callers)


def open_tests(project: Project, found: CallSite, run: Run | None) -> Iterator[ir.Expr]:
    """The tests on the way to a call, in its function and in those that lead there, that nothing known of a run decides."""
    yield from _open_tests(project, found.file, found.site.function, found.site.call.at, run, MAX_LEVELS)


def _open_tests(
    project: Project, file: str, function: int, at: ir.Position, run: Run | None, levels: int
) -> Iterator[ir.Expr]:
    for guard in _guards(project, file, function, at):
        if _decided(project, guard.test, file, function, run) is None:
            yield guard.test
    if function >= 0 and levels:
        for caller in project.callers(FunctionRef(file, function))[:MAX_CALLERS]:
            yield from _open_tests(project, caller.file, caller.site.function, caller.site.call.at, run, levels - 1)


class _Tested(NamedTuple):
    """A test on the way to a place, and whether it has to hold."""

    test: ir.Expr
    holds: bool


def _guards(project: Project, file: str, function: int, at: ir.Position) -> Iterator[_Tested]:
    for guard in guards_of(project.body(file, function), at) or ():
        if guard.test is not None and guard.kind in ("if", "exit", "expression") and not asks_for_main(guard.test):
            yield _Tested(guard.test, guard.holds)


def _decided(project: Project, test: ir.Expr, file: str, function: int, run: Run | None) -> bool | None:
    """Whether a test holds in a run; also for ``option.startswith("...")``."""
    evaluator = project.evaluator(run)
    if type(test) is ir.Call and type(test.func) is ir.Attribute and test.func.name in _AFFIXES and len(test.args) == 1:
        texts = [
            node_value(node_of(evaluator.ask(expr, file, function), ir.unpack(expr.at, file)))
            for expr in (test.func.base, test.args[0])
        ]
        if all(
            text.is_known and isinstance(text.only, str) and text.confidence > Confidence.POSSIBLE for text in texts
        ):
            return _AFFIXES[test.func.name](texts[0].only, texts[1].only)
    return truth(evaluator.ask(test, file, function))
