"""Loaders whose first pass is repeated for ever by ``itertools.cycle``: their samplers are asked once, and told of epochs in vain.

CPython 3.11, documentation of ``itertools.cycle``: it saves a copy of each item, and repeats from the saved copies.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING

from distlint.checks.epoch_settings import sampler_of
from distlint.checks.loaders import loader_classes, loaders_in, starts_once, trains
from distlint.checks.made_of import name_of
from distlint.checks.programs import family
from distlint.checks.registry import CheckContext
from distlint.link.project import CallSite, Project
from distlint.model import python as ir
from distlint.model.finding import Finding, Related
from distlint.model.span import Span

if TYPE_CHECKING:
    from distlint.link.abstract import Instance

_CYCLE = "itertools.cycle"
_ASIDE = re.compile(r"val|test|eval|dev|calib", re.IGNORECASE)


def cycled(
    context: CheckContext, shuffles: Callable[[Project, CallSite], bool], told: Collection[Span]
) -> Iterator[tuple[CallSite, Finding]]:
    """A finding for each loader with a sampler that shuffles, of which the program goes through one pass again and again.

    With the place where the sampler is made. ``shuffles`` says whether a sampler does, ``told`` are places of samplers with a finding.
    """
    project: Project = context.project
    if not project.mentions("cycle"):
        return
    names = loader_classes(project, context.parameters["loaders"])
    for site in project.calls_to({_CYCLE}):
        given = site.site.call.args[0] if len(site.site.call.args) == 1 else None
        if given is None or _ASIDE.search(name_of(given)):
            continue
        # within a loop each turn may begin a pass of its own
        if not starts_once(project, site.file, site.site.function, site.site.call.at):
            continue
        loaders = loaders_in(project, given, site.file, site.site.function, names)
        sampler: Instance | None = sampler_of(context, loaders[0]) if len(loaders) == 1 else None
        if sampler is None or sampler.span() in told:
            continue
        made = CallSite(sampler.frame.file, ir.Site(sampler.call, sampler.frame.function))
        if not shuffles(project, made) or not _is_trained(project, site):
            continue
        sets = [one for one in project.sites(context.parameters["setter"]) if one.file in family(project, site.file)]
        yield (
            made,
            context.finding(
                "`itertools.cycle` repeats the batches of the first pass: the sampler is not asked again, whatever epoch it is told",
                site.span,
                related=[
                    Related(made.span, "this sampler shuffles by its epoch"),
                    *(Related(one.span, "this comes to nothing") for one in sets[:1]),
                ],
                help="begin a pass of its own in each epoch, behind `set_epoch`: a generator that goes through the loader again and again",
            ),
        )


def _is_trained(project: Project, site: CallSite) -> bool:
    """Whether the program of a call trains anything."""
    return any(
        trains(project, file, project.module(file).body)
        or any(trains(project, file, one.body) for one in project.module(file).functions)
        for file in sorted(family(project, site.file))
        if file in project.facts and project.facts[file].module is not None
    )
