"""An argument of a library's settings that has to be the same on all ranks, and that each rank works out for itself.

Parameters: ``subject`` (the kind of settings), ``argument`` with ``position``, ``needed`` (settings that, switched on, make all ranks read
what one wrote by it), ``reading`` (method and argument by which they do, where that is true, or what one of the ``finders`` found in the
place that the argument names), ``writers`` (a setting with which others write as well) and ``message``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from distlint.checks.derivations import derivation
from distlint.checks.divergence import DivergenceView
from distlint.checks.own_paths import is_a_day
from distlint.checks.programs import family
from distlint.checks.registry import CheckContext, check
from distlint.checks.spread_names import Region, is_joined
from distlint.link.arguments import find_argument
from distlint.link.project import CallSite, Project
from distlint.link.walking import below
from distlint.model import python as ir
from distlint.model.finding import Finding, Related
from distlint.model.span import Span
from distlint.model.subject import Subject

_SENDING = re.compile("broadcast|gather|reduce|scatter|sync", re.IGNORECASE)
"""Names of what tells others something."""


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
        if given is None:
            continue
        figure = view.of(given, site.file, site.site.function)
        places = [one for one in figure.places if not is_a_day(project, one)] if figure.differs else []
        needed = _needed(context, subject, site, places) if places and places[0] not in seen else None
        if needed is None:
            continue
        seen.add(places[0])
        yield context.finding(
            parameters["message"],
            places[0],
            related=[Related(ir.unpack(given.at, site.file), f"it is `{parameters['argument']}`"), needed],
            symbol=parameters["argument"],
        )


def _needed(context: CheckContext, subject: Subject, site: CallSite, places: Sequence[Span]) -> Related | None:
    """What makes all ranks read what one of them has written."""
    for name in context.parameters["needed"]:
        setting = subject.settings.get(name)
        if setting is not None and setting.certain and setting.value.only is True:
            return Related(setting.key_span, "every rank reads from there what one rank has written")
    own = subject.settings.get(context.parameters["writers"])
    if own is not None and own.value.only is not False:
        return None
    project: Project = context.project
    method, argument = context.parameters["reading"]
    files = family(project, site.file)
    for found in project.sites(method):
        if found.file not in files:
            continue
        named, _ = find_argument(found.site.call, argument, None)
        given, _ = find_argument(found.site.call, argument, 0)
        told = type(named) is ir.Constant and named.value is True
        if told or (given is not None and _is_found(context, found, given, places)):
            return Related(found.span, "every rank looks there for what one rank has written")
    return None


def _is_found(context: CheckContext, reading: CallSite, given: ir.Expr, places: Sequence[Span]) -> bool:
    """Whether each rank reads what it has found in its own place, and nobody tells the others what that is."""
    project: Project = context.project
    names = frozenset(part.id for part in below(given) if type(part) is ir.Name)
    if is_joined(project, Region(reading.file, reading.site.function, names)):
        return False
    made = derivation(project, given, reading.file, reading.site.function, by_field=True)
    if any(_SENDING.search(name) for name in made.names()):
        return False
    view = DivergenceView.of_project(project)
    for part in made.parts:
        call = part.expr
        if type(call) is not ir.Call or not call.args:
            continue
        if project.modules.dotted(call.func, part.file) not in context.parameters["finders"]:
            continue
        place = derivation(project, call.args[0], part.file, part.function, by_field=True)
        figure = view.of(call.args[0], part.file, part.function)
        if context.parameters["argument"] in place.names() or (
            figure.differs and not {*places}.isdisjoint(figure.places)
        ):
            return True
    return False
