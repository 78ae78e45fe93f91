"""An argument of a method that all ranks call together, that has to be the same for all, and that each rank works out for itself.

Parameters: ``calls`` (tables with ``call``, the full name of the method, ``argument`` with its ``position``, and ``what`` it is, for the
message; ``unless`` names arguments with which the ranks do not work together), ``subject`` and ``when`` (the condition over the
configurations of the object for which it matters; always where there is none), ``holding`` (calls that hold the argument in one of their
own, with its name and position), ``why`` (what makes it differ, where the rule is about that alone), and ``message``, which says of
``{what}`` what comes of it.
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.divergence import DivergenceView
from distlint.checks.engines import configurations, receivers
from distlint.checks.own_paths import is_a_day
from distlint.checks.programs import runs_alone
from distlint.checks.registry import CheckContext, check
from distlint.judge.conditions import compile_condition
from distlint.link.arguments import find_argument
from distlint.link.followed import followed
from distlint.link.project import CallSite, Project
from distlint.model import python as ir
from distlint.model.finding import Finding, Related
from distlint.model.value import Confidence


@check("argument-of-each-rank")
def argument_of_each_rank(context: CheckContext) -> Iterator[Finding]:
    """A finding for each such argument, at the place where it comes to differ."""
    project: Project = context.project
    view = DivergenceView.of_project(project)
    for one in context.parameters["calls"]:
        for site in project.calls_to({one["call"]}):
            given, _ = find_argument(site.site.call, one["argument"], one.get("position"))
            if given is None or not _matters(context, site):
                continue
            if any(word.name is None or word.name in one.get("unless", ()) for word in site.site.call.keywords):
                continue
            given = _held(context, given, site)
            figure = view.of(given, site.file, site.site.function)
            if figure.why not in context.parameters.get("why", (figure.why,)):
                continue
            if not figure.differs or any(is_a_day(project, place) for place in figure.places):
                continue
            yield context.finding(
                context.parameters["message"].format(what=one["what"]),
                ir.unpack(given.at, site.file),
                related=[Related(place, f"differs between the ranks: {figure.why}") for place in figure.places[:2]],
                confidence=Confidence.LIKELY,
                symbol=one["argument"],
            )


def _held(context: CheckContext, given: ir.Expr, site: CallSite) -> ir.Expr:
    """What a call holds that makes the argument, where it is such a call; else the argument."""
    project: Project = context.project
    made = followed(given, project.flow(site.file, site.site.function).before(given.at))
    if type(made) is ir.Call:
        holding = context.parameters.get("holding", {}).get(project.modules.dotted(made.func, site.file))
        inner = find_argument(made, *holding)[0] if holding else None
        return given if inner is None else inner
    return given


def _matters(context: CheckContext, site: CallSite) -> bool:
    """Whether the object was made with configurations for all of which the condition holds, and is used by several processes."""
    if runs_alone(context.project, site.file):
        return False
    if "when" not in context.parameters:
        return True
    condition = compile_condition(context.parameters["when"])
    subjects = [subject for made in receivers(context.project, site) for subject in configurations(context, made)]
    return bool(subjects) and all(condition.judge(subject).holds for subject in subjects)
