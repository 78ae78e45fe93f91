"""Loaders whose sampler a library makes, and that are gone through in one order again and again.

Parameters: ``makers`` (the methods that make such a loader, with a ``shuffle`` argument at ``position``), ``wrapper`` (the call that
hands a loader on as part ``part`` of its result, with the argument that it was), ``setter`` (the method that tells a sampler
its epoch), ``message``.
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.loaders import evaluates, handed_on, loop_head, loops_around, passes
from distlint.checks.programs import family
from distlint.checks.registry import CheckContext, check
from distlint.checks.sampler_epochs import is_once
from distlint.link.abstract import Abstract, Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.project import CallSite, Project
from distlint.model.finding import Finding, Related
from distlint.model.value import Confidence


@check("prepared-epochs")
def prepared_epochs(context: CheckContext) -> Iterator[Finding]:
    """A finding for each loader that shuffles, is gone through inside another loop, and whose sampler never gets an epoch."""
    project: Project = context.project
    if project.sites(context.parameters["setter"]):
        return
    makers = {
        (found.file, found.site.call.at): found
        for found in project.calls_to(set(context.parameters["makers"]))
        if _shuffles(project, found, context.parameters["position"])
    }
    seen: set[tuple[str, int]] = set()
    for file in sorted({file for found in makers.values() for file in family(project, found.file)} if makers else ()):
        for place in passes(project, {file}):
            if evaluates(project, place):
                continue
            outer = next(iter(loops_around(project, place.file, place.function, place.at)), None)
            if outer is None or is_once(project, outer):
                continue
            for part in handed_on(place.iterable):
                for made in _loaders(context, project.evaluator(None).ask(part, place.file, place.function)):
                    key = (made.frame.file, made.call.at)
                    if key in makers and key not in seen:
                        seen.add(key)
                        yield context.finding(
                            context.parameters["message"],
                            makers[key].span,
                            related=[Related(loop_head(outer), "it is gone through again in each turn of this loop")],
                            confidence=Confidence.LIKELY,
                        )


def _shuffles(project: Project, found: CallSite, position: int) -> bool:
    expr, _ = find_argument(found.site.call, "shuffle", position)
    return expr is not None and project.evaluator(None).value(expr, found.file, found.site.function).only is True


def _loaders(context: CheckContext, value: Abstract) -> Iterator[Instance]:
    """The calls that made what a value can be, behind the wrapper."""
    evaluator = context.project.evaluator(None)
    wrapper, part, argument = context.parameters["wrapper"]
    for option in options_of(value):
        if not isinstance(option, Instance):
            continue
        name = evaluator.modules.canonical(evaluator.instance_name(option))
        if name == f"{wrapper}()[{part}]":
            given = evaluator.argument(option.call, argument, part, option.frame, option.state)
            if given is not None:
                yield from (one for one in options_of(given) if isinstance(one, Instance))
        else:
            yield option
