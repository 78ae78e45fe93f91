"""An argument of a call that all ranks make together, that has to be the same for all, and that each rank works out for itself.

Parameters: ``calls`` (tables with ``call``, the full name of what is called, ``argument`` with its ``position``, ``what`` it is, for the
message, and ``unless``, the arguments of the call by which each rank may be on its own) and ``message``, which says of ``{what}`` what
comes of it.
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.divergence import DivergenceView
from distlint.checks.own_paths import is_a_day
from distlint.checks.registry import CheckContext, check
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
            words = {word.name for word in site.site.call.keywords}
            if given is None or None in words or words & set(one.get("unless", ())) or _is_alone(project, site):
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


def _is_alone(project: Project, site: CallSite) -> bool:
    """Whether every known run that comes to a call has one process."""
    runs = project.runs_reaching(site.file)
    return bool(runs) and all(run.world_size.only == 1 for run in runs)
