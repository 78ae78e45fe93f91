"""An argument of a method that all ranks call together, that has to be the same for all, and that each rank works out for itself.

Parameters: ``calls`` (tables with ``call``, the full name of the method, ``argument`` with its ``position``, and ``what`` it is, for the
message), ``subject`` and ``when`` (the condition over the configurations of the object for which it matters), and ``message``, which
says of ``{what}`` what comes of it.
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
            given, _ = find_argument(site.site.call, one["argument"], one["position"])
            if given is None or not _matters(context, site):
                continue
            figure = view.of(given, site.file, site.site.function)
            if not figure.differs or any(is_a_day(project, place) for place in figure.places):
                continue
            yield context.finding(
                context.parameters["message"].format(what=one["what"]),
                ir.unpack(given.at, site.file),
                related=[Related(place, f"differs between the ranks: {figure.why}") for place in figure.places[:2]],
                confidence=Confidence.LIKELY,
                symbol=one["argument"],
            )


def _matters(context: CheckContext, site: CallSite) -> bool:
    """Whether the object was made with configurations for all of which the condition holds, and is used by several processes."""
    if runs_alone(context.project, site.file):
        return False
    condition = compile_condition(context.parameters["when"])
    subjects = [subject for made in receivers(context.project, site) for subject in configurations(context, made)]
    return bool(subjects) and all(condition.judge(subject).holds for subject in subjects)
