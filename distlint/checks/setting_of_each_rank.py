"""An argument of a library's settings that has to be the same on all ranks, and that each rank works out for itself.

Parameters: ``subject`` (the kind of settings), ``argument`` with ``position``, ``needed`` (settings that, switched on, make all ranks read
what one wrote by it), ``reading`` (method and argument by which they do, where that is true) and ``message``.
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.divergence import DivergenceView
from distlint.checks.own_paths import is_a_day
from distlint.checks.programs import family
from distlint.checks.registry import CheckContext, check
from distlint.link.arguments import find_argument
from distlint.link.project import CallSite, Project
from distlint.model import python as ir
from distlint.model.finding import Finding, Related
from distlint.model.span import Span
from distlint.model.subject import Subject


@check("setting-of-each-rank")
def setting_of_each_rank(context: CheckContext) -> Iterator[Finding]:
    """A finding for each place at which such an argument comes to differ between the ranks."""
    project: Project = context.project
    parameters = context.parameters
    view = DivergenceView.of_project(project)
    seen: set[Span] = set()
    for subject in context.subjects(parameters["subject"]):
        site = subject.extra.get("site")
        if not isinstance(site, CallSite) or (subject.run is not None and subject.run.world_size.only == 1):
            continue
        given, _ = find_argument(site.site.call, parameters["argument"], parameters["position"])
        needed = _needed(context, subject, site)
        if given is None or needed is None:
            continue
        figure = view.of(given, site.file, site.site.function)
        places = [one for one in figure.places if not is_a_day(project, one)] if figure.differs else []
        if not places or places[0] in seen:
            continue
        seen.add(places[0])
        yield context.finding(
            parameters["message"],
            places[0],
            related=[Related(ir.unpack(given.at, site.file), f"it is `{parameters['argument']}`"), needed],
            symbol=parameters["argument"],
        )


def _needed(context: CheckContext, subject: Subject, site: CallSite) -> Related | None:
    """What makes all ranks read what one of them has written."""
    for name in context.parameters["needed"]:
        setting = subject.settings.get(name)
        if setting is not None and setting.certain and setting.value.only is True:
            return Related(setting.key_span, "every rank reads from there what one rank has written")
    project: Project = context.project
    method, argument = context.parameters["reading"]
    files = family(project, site.file)
    for found in project.sites(method):
        given, _ = find_argument(found.site.call, argument, None)
        if found.file in files and type(given) is ir.Constant and given.value is True:
            return Related(found.span, "every rank looks there for what one rank has written")
    return None
