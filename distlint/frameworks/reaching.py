"""Whether a run comes to a call: the tests on the way there, as far as the run's options decide them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from distlint.link.abstract import LambdaValue, node_of, options_of
from distlint.link.arithmetic import truth
from distlint.link.modules import FunctionRef
from distlint.link.parameters import looks_up_another
from distlint.link.project import CallSite
from distlint.link.unused import UnusedFunctions
from distlint.link.walking import (
    Guard,
    asks_for_main,
    below,
    bodies_of,
    expressions_below,
    guards_of,
    lambdas_around,
    last_name,
    statements,
)
from distlint.model import python as ir
from distlint.model.document import Leaf, node_value
from distlint.model.launch import Launch, Run
from distlint.model.value import Confidence
from distlint.rehearsal.witnesses import Witnesses

if TYPE_CHECKING:
    from distlint.link.callers import Caller
    from distlint.link.project import Project

MAX_LEVELS = 3
MAX_CALLERS = 8
"""So many calls are gone back from a place, and so many callers of each function, for the tests on the way."""
_BY_NAME = ("globals", "locals", "eval", "getattr", "import_module")
"""What finds a function by its name."""
_LOOPS = ("for", "while")
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


def comes_to(
    project: Project, found: CallSite, run: Run, levels: int = MAX_LEVELS, *, by_open_tables: bool = True
) -> bool:
    """Whether a run may come to a call: false only where the options that it gives decide a test the other way.

    Without ``by_open_tables`` also where all its ways lead through tables of which is not known what they are asked for.

    The tests are those in its function, and those before all calls of the function that are seen. A ``lambda`` of a table is entered
    where the table is asked for it, and so is a function that a table holds.
    """
    if _is_in_other_lambda(project, found, run) or _is_seen_to_be_passed(project, found.file, found.site, run):
        return False
    for guard in _guards(project, found.file, found.site.function, found.site.call.at):
        decided = _decided(project, guard.test, found.file, found.site.function, run)
        if decided is not None and decided != guard.holds:
            return False
    if found.site.function < 0 or not levels:
        return True
    ref = FunctionRef(found.file, found.site.function)
    if _is_seen_inside(project, ref, run):
        return True
    callers = project.callers(ref)
    if not callers:
        return not _is_never_entered(project, ref, run)
    if len(callers) > MAX_CALLERS:
        return True
    return any(
        comes_to(project, found._replace(file=one.file, site=one.site), run, levels - 1, by_open_tables=by_open_tables)
        for one in callers
        if not _looks_up_another(project, one, run, ref)
        and not _is_seen_to_be_passed(project, one.file, one.site, run)
        and not _is_seen_to_go_elsewhere(project, one, run, ref)
        and (by_open_tables or _is_seen_inside(project, ref, run) or not _is_open_choice(project, one, run))
    )


def is_passed_by(project: Project, file: str, function: int, at: ir.Position) -> bool:
    """Whether launches of a file are known, and none of them is known to come to a place of it.

    Each decides a test on the way there otherwise, or leaves open whether a table is asked for the function; or nothing names that.
    """
    found = CallSite(file, ir.Site(ir.Call(ir.Name("", at), (), (), at), function))
    runs = project.runs_reaching(file)
    if not runs:
        return False
    ref = FunctionRef(file, function)
    if function >= 0 and UnusedFunctions.of(project).has(ref):
        return not any(_is_seen_inside(project, ref, run) for run in runs)
    return not any(comes_to(project, found, run, by_open_tables=False) for run in runs)


def _is_seen_inside(project: Project, ref: FunctionRef, run: Run) -> bool:
    """Whether a run was certainly seen to come into a function."""
    witness = Witnesses.of(project).of_run(run) if project.second_opinion is not None else None
    return witness is not None and ref in witness.sure


def _is_seen_to_be_passed(project: Project, file: str, site: ir.Site, run: Run) -> bool:
    """Whether a run that was followed to its end went by a call behind a test, or in a loop, of a function that it was in."""
    is_call = site.call.at != site.call.func.at  # an attribute stands for a call of it where no call is meant
    if project.second_opinion is None or not is_call or (site.function < 0 and file != run.script_file):
        return False
    witness = Witnesses.of(project).of_run(run)
    if witness is None or not witness.is_whole or (file, site.call.at) in witness.come:
        return False
    if site.function >= 0 and FunctionRef(file, site.function) not in witness.entered:
        return False
    return any(True for _ in _ways(project, file, site.function, site.call.at))


def _is_seen_to_go_elsewhere(project: Project, caller: Caller, run: Run, ref: FunctionRef) -> bool:
    """Whether a run that was followed to its end came to a call of a method, and that went to those of other classes each time."""
    witness = Witnesses.of(project).of_run(run) if project.second_opinion is not None else None
    if witness is None or not witness.is_whole or project.function(ref).owner < 0:
        return False
    went = witness.went.get((caller.file, caller.site.call.func.at))
    return went is not None and bool(went) and None not in went and ref not in went


def _looks_up_another(project: Project, caller: Caller, run: Run, ref: FunctionRef) -> bool:
    """Whether a caller by a table calls another function in a run."""
    evaluator = project.evaluator(run)
    outer = evaluator.frame(caller.file, caller.site.function)
    return caller.looked_up and looks_up_another(evaluator, caller.site.call, ref, outer)


def _is_never_entered(project: Project, ref: FunctionRef, run: Run) -> bool:
    """Whether a function that nothing names (``globals()[args.mode]()``) was not come to in a run that was followed to its end."""
    function = project.function(ref)
    if project.second_opinion is None or function.owner >= 0 or function.parent >= 0 or function.decorators:
        return False
    witness = Witnesses.of(project).of_run(run)
    if witness is None or not witness.is_whole or ref in witness.entered:
        return False
    files = project.closure(run.script_file)
    if not any(one.file in files for word in _BY_NAME for one in project.sites(word)):
        return False
    bodies = (body for file in files for _, body in bodies_of(project.module(file)))
    return not any(last_name(part) == function.name for body in bodies for part in expressions_below(body))


def _is_in_other_lambda(project: Project, found: CallSite, run: Run) -> bool:
    """Whether a call stands in a ``lambda`` of a table that a run asks for other ones only."""
    body, at = project.body(found.file, found.site.function), found.site.call.at
    for one in lambdas_around(body, at):
        lookups = project.table_calls.of_lambda(found.file, one.at)
        if lookups and not any(_calls_surely(project, where.file, where.site, run, one) for where in lookups):
            return True
    return False


def _calls_surely(project: Project, file: str, site: ir.Site, run: Run, wanted: ir.Lambda) -> bool:
    """Whether what a call looks up in a run is known to be a ``lambda``."""
    options = options_of(project.evaluator(run).ask(site.call.func, file, site.function))
    return len(options) == 1 and isinstance(options[0], LambdaValue) and options[0].lambda_ is wanted


def open_tests(project: Project, found: CallSite, run: Run | None) -> Iterator[ir.Expr]:
    """The tests on the way to a call, in its function and in those that lead there, that nothing known of a run decides.

    With what the variables in them are set to in the same function.
    """
    yield from _open_tests(project, found.file, found.site.function, found.site.call.at, run, MAX_LEVELS)


def _open_tests(
    project: Project, file: str, function: int, at: ir.Position, run: Run | None, levels: int
) -> Iterator[ir.Expr]:
    for guard in _guards(project, file, function, at):
        if _decided(project, guard.test, file, function, run) is None:
            yield from _with_variables(project, file, function, guard.test)
    if function >= 0 and levels:
        for caller in project.callers(FunctionRef(file, function))[:MAX_CALLERS]:
            yield from _open_choices(project, caller, run)
            yield from _open_tests(project, caller.file, caller.site.function, caller.site.call.at, run, levels - 1)


def _with_variables(project: Project, file: str, function: int, test: ir.Expr) -> Iterator[ir.Expr]:
    """A test, and what is assigned to the variables in it (``hold = not last and plugin.support_no_sync()``), and to those in that."""
    found = [test]
    names: set[str] = set()
    for expr in found:
        new = {part.id for part in below(expr) if type(part) is ir.Name} - names
        names |= new
        for one in statements(project.body(file, function)) if new else ():
            if type(one) is ir.Assign and one.value is not None:
                found += [one.value for to in one.targets if type(to) is ir.Name and to.id in new]
    yield from found


def _open_choices(project: Project, caller: Caller, run: Run | None) -> Iterator[ir.Expr]:
    """What decides which function a call comes to, where nothing known of a run tells that."""
    if _is_open_choice(project, caller, run):
        yield from project.table_calls.choices(caller.file, caller.site)


def _is_open_choice(project: Project, caller: Caller, run: Run | None) -> bool:
    """Whether a call gets its function from a table, and it is not known which."""
    if not caller.looked_up:
        return False
    called = project.evaluator(run).ask(caller.site.call.func, caller.file, caller.site.function)
    return len(options_of(called)) != 1 or isinstance(called, Leaf)


class _Tested(NamedTuple):
    """A test on the way to a place, and whether it has to hold."""

    test: ir.Expr
    holds: bool


def _ways(project: Project, file: str, function: int, at: ir.Position) -> Iterator[Guard]:
    """The tests and loops on the way to a place in its function."""
    for guard in guards_of(project.body(file, function), at) or ():
        if guard.kind in _LOOPS or (
            guard.test is not None and guard.kind in ("if", "exit", "expression") and not asks_for_main(guard.test)
        ):
            yield guard


def _guards(project: Project, file: str, function: int, at: ir.Position) -> Iterator[_Tested]:
    for guard in _ways(project, file, function, at):
        if guard.test is not None and guard.kind not in _LOOPS:
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
