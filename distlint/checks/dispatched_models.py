"""Models that were spread over devices by a map, handed to what makes them ready for several processes, which refuses them.

Parameters: ``dispatching`` (functions that spread their argument ``model`` by ``argument``: its position), ``loads`` (last names of methods
that load a model so, below ``package``), ``argument``, ``words`` (texts that stand for a map of several entries, for ``dispatching``),
``prepare`` and ``trainers`` (calls that get the model, among others or as ``model``), ``signs`` (words of programs that bring several
processes together), ``allowing`` (words of programs that switch the refusal off).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from distlint.checks.execution import body_of
from distlint.checks.programs import brings_together, family
from distlint.checks.protocol_things import Things
from distlint.checks.registry import CheckContext, check
from distlint.judge.wording import show
from distlint.link.abstract import Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.modules import External, FunctionRef
from distlint.link.project import CallSite, Project
from distlint.link.walking import asks_for_main, guards_of
from distlint.model import python as ir
from distlint.model.document import Leaf, Mapping
from distlint.model.finding import Finding, Related, Severity

MAX_CALLERS = 3
"""Functions, one called by the other, above the call that spreads a model."""


class _Spread(NamedTuple):
    """A call that spreads a model, with the map that it is given."""

    call: ir.Call
    file: str
    function: int
    map: ir.Expr


@check("dispatched-models")
def dispatched_models(context: CheckContext) -> Iterator[Finding]:
    """A finding for each model that is spread by a map of several entries and then made ready for several processes."""
    project: Project = context.project
    parameters = context.parameters
    things = Things(project, (), (), ())
    in_place = list(project.calls_to(set(parameters["dispatching"])))
    for site in project.calls_to({*parameters["prepare"], *parameters["trainers"]}):
        files = family(project, site.file)
        if any(word in project.text_of(file) for file in files for word in parameters["allowing"]):
            continue
        alone, several = _processes(context, site)
        if alone or not several:
            continue
        plain = site.name in parameters["trainers"]
        given = (find_argument(site.site.call, "model", 0)[0],) if plain else site.site.call.args
        for expr in given:
            spread = _spread(context, things, site, expr, in_place) if expr is not None else None
            if spread is None or not _always(project, spread.file, spread.function, spread.call, 0):
                continue
            if not _always(project, site.file, site.site.function, site.site.call, 0):
                continue
            known = isinstance(several, Related)
            places = [Related(site.span, "it is made ready for several processes here")]
            yield context.finding(
                "this model is spread over devices by a map of several entries, so it is refused in a run of several processes",
                ir.unpack(spread.map.at, spread.file),
                related=[*places, several] if isinstance(several, Related) else places,
                severity=None if known else Severity.WARNING,
                symbol=parameters["argument"],
            )


def _processes(context: CheckContext, site: CallSite) -> tuple[bool, Related | bool]:
    """Whether a program certainly runs alone; and what says that it runs as several processes, or whether it looks like that."""
    project: Project = context.project
    runs = project.runs_reaching(site.file)
    for run in runs:
        count = run.world_size
        if count.options and all(isinstance(one, int) and one > 1 for one in count.options):
            return False, Related(run.span, f"{show(count)} processes are started here")
    if any(run.world_size.only == 1 for run in runs):
        return True, False
    if site.name in context.parameters["trainers"]:
        return False, False
    return False, brings_together(project, site.file, context.parameters["signs"])


def _spread(
    context: CheckContext, things: Things, site: CallSite, expr: ir.Expr, in_place: list[CallSite]
) -> _Spread | None:
    """The call that spread what an expression is, with a map of several entries."""
    if type(expr) is ir.Starred:
        return None
    evaluator = things.evaluator
    options = options_of(evaluator.ask(expr, site.file, site.site.function))
    made = things.peeled(options[0]) if len(options) == 1 and isinstance(options[0], Instance) else None
    if made is None or made.part:
        return None
    name = made.callee.name if isinstance(made.callee, External) else ""
    parameters = context.parameters
    position = parameters["dispatching"].get(name)
    loaded = name.startswith(parameters["package"]) and name.rpartition(".")[2] in parameters["loads"]
    if position is not None or loaded:
        given, _ = find_argument(made.call, parameters["argument"], position)
        found = given is not None and _has_several(context, made, given, words=position is not None)
        return _Spread(made.call, made.frame.file, made.frame.function, given) if given is not None and found else None
    for one in in_place:
        model, _ = find_argument(one.site.call, "model", 0)
        given, _ = find_argument(one.site.call, parameters["argument"], parameters["dispatching"][one.name])
        same = one.file == site.file and one.site.function == site.site.function and one.span.start < site.span.start
        if model is None or given is None or not same:
            continue
        held = things.mention(model, evaluator.frame(one.file, one.site.function))
        if held.only == made.identity:
            frame = evaluator.frame(one.file, one.site.function)
            at = Instance(made.callee, one.site.call, frame, evaluator.state(frame, one.site.call.at))
            if _has_several(context, at, given, words=True):
                return _Spread(one.site.call, one.file, one.site.function, given)
    return None


def _has_several(context: CheckContext, made: Instance, given: ir.Expr, *, words: bool) -> bool:
    """Whether a map certainly has more than one entry, or is a word that stands for such a map."""
    evaluator = context.project.evaluator(None)
    options = options_of(evaluator.ask_in(given, made.frame, made.state))
    for one in options:
        if isinstance(one, Mapping):
            if sum(1 for entry in one.entries if entry.certain) < 2:
                return False
        elif not isinstance(one, Leaf) or not words or one.value.only not in context.parameters["words"]:
            return False
    return bool(options)


def _always(project: Project, file: str, function: int, call: ir.Call, depth: int) -> bool:
    """Whether no test keeps a call from being made, nor those of the functions around it."""
    guards = guards_of(body_of(project, file, function), call.at)
    if guards is None or any(one.test is None or not asks_for_main(one.test) for one in guards):
        return False
    if function < 0 or depth >= MAX_CALLERS:
        return True
    callers = list(project.callers(FunctionRef(file, function)))
    return all(_always(project, one.file, one.site.function, one.site.call, depth + 1) for one in callers)
