"""Samplers that shuffle in another order on each rank, so that the parts that the ranks take overlap.

Parameters: ``samplers`` and ``loaders`` (the classes), ``order`` (arguments of a sampler that its order follows from, by name
with their positions), ``count`` (the one that says between how many processes it deals out), ``setter`` (the method that tells a sampler
its epoch).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from distlint.checks.divergence import DivergenceView
from distlint.checks.meeting_loaders import OWN_ORDER
from distlint.checks.rank_ways import only_rank_0_goes, ways_to
from distlint.checks.registry import CheckContext, check
from distlint.checks.rehearsed import rehearsed
from distlint.link.abstract import Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.modules import External
from distlint.model import python as ir
from distlint.model.finding import Finding, Related

if TYPE_CHECKING:
    from distlint.link.project import CallSite, Project


@check("sampler-orders")
def sampler_orders(context: CheckContext) -> Iterator[Finding]:
    """A finding for each seed, switch or epoch that makes the orders of the ranks differ."""
    known = set()
    for finding in (*_made_differently(context), *_told_differently(context)):
        known.add((finding.span.file, finding.span.line))
        yield finding
    for finding in rehearsed(context):
        span = finding.span
        if not any((span.file, line) in known for line in range(span.line, span.end_line + 1)):
            yield finding


def _made_differently(context: CheckContext) -> Iterator[Finding]:
    project: Project = context.project
    view = DivergenceView.of_project(project)
    for site in project.calls_to(set(context.parameters["samplers"])):
        for name, position in context.parameters["order"].items():
            given, _ = find_argument(site.site.call, name, position)
            if given is None or not _shuffles(project, site.site.call, site.file, site.site.function, but=name):
                continue
            if not view.is_for_all(site, *context.parameters["count"]):
                continue
            figure = view.of(given, site.file, site.site.function)
            if figure.differs:
                yield context.finding(
                    OWN_ORDER.format(name),
                    ir.unpack(given.at, site.file),
                    related=[Related(one, "here it comes to differ") for one in figure.places[:1]],
                )


def _told_differently(context: CheckContext) -> Iterator[Finding]:
    project: Project = context.project
    view = DivergenceView.of_project(project)
    for site in project.sites(context.parameters["setter"]):
        call = site.site.call
        sampler = _receiver(context, site)
        if sampler is None or not _shuffles(project, sampler.call, sampler.frame.file, sampler.frame.function):
            continue
        made = Related(sampler.span(), "the sampler is made here")
        given, _ = find_argument(call, "epoch", 0)
        figure = view.of(given, site.file, site.site.function) if given is not None else None
        if given is not None and figure is not None and figure.differs:
            yield context.finding(
                "the ranks tell the sampler different epochs, so each draws an order of its own",
                ir.unpack(given.at, site.file),
                related=[made, *(Related(one, "here it comes to differ") for one in figure.places[:1])],
            )
            continue
        ways = list(ways_to(project, site.file, site.site.function, call.at))
        tests = [only_rank_0_goes(project, way) for way in ways]
        if tests and all(tests) and tests[0] is not None and _is_the_only(project, site):
            yield context.finding(
                "only rank 0 tells the sampler the epoch, so from the second epoch on its order is not that of the others",
                site.span,
                related=[made, Related(ir.unpack(tests[0].guard.at, tests[0].file), "only rank 0 comes there")],
            )


def _receiver(context: CheckContext, site: CallSite) -> Instance | None:
    """The sampler whose method is called, also as the attribute of its loader."""
    func = site.site.call.func
    if type(func) is not ir.Attribute:
        return None
    evaluator = context.project.evaluator(None)
    options = options_of(evaluator.ask(func.base, site.file, site.site.function))
    found = [one for one in options if isinstance(one, Instance) and isinstance(one.callee, External)]
    if len(found) != 1:
        return None
    one = found[0]
    if _is_of(one, context.parameters["samplers"]) and not one.part:
        return one
    if _is_of(one, context.parameters["loaders"]) and one.part == (".sampler",):
        given = evaluator.argument(one.call, "sampler", None, one.frame, one.state)
        inner = [item for item in options_of(given) if isinstance(item, Instance)] if given is not None else []
        if len(inner) == 1 and _is_of(inner[0], context.parameters["samplers"]):
            return inner[0]
    return None


def _is_of(one: Instance, names: Collection[str]) -> bool:
    return isinstance(one.callee, External) and one.callee.name in names


def _shuffles(project: Project, call: ir.Call, file: str, function: int, but: str = "") -> bool:
    """Whether a sampler is not told to keep the order of its data."""
    given, certain = find_argument(call, "shuffle", 3)
    if given is None or but == "shuffle":
        return certain or but == "shuffle"
    return project.evaluator(None).value(given, file, function).only is True


def _is_the_only(project: Project, site: CallSite) -> bool:
    """Whether no other call in the function does the same, for the other ranks."""
    name = site.site.call.func.name if type(site.site.call.func) is ir.Attribute else ""
    others = [one for one in project.sites(name) if (one.file, one.site.function) == (site.file, site.site.function)]
    return len(others) == 1
