"""Streams under a trainer that parts all other data by itself: nothing parts these.

Parameters: ``trainers`` and ``several`` (see ``module_hooks``), ``loaders`` with their positional ``signature``, ``streams`` (base
classes of datasets that are gone through without a sampler), ``parting`` (words of programs that part streams in another way), and
those of ``unsplit_data.is_whole``.
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.hooked import trainers_of_several
from distlint.checks.loaders import argument_of, made_at
from distlint.checks.programs import family
from distlint.checks.registry import CheckContext, check
from distlint.checks.unparted_loaders import evaluates
from distlint.checks.unsplit_data import is_stream, is_whole
from distlint.link.abstract import Instance
from distlint.link.modules import ClassRef
from distlint.link.project import CallSite, Project
from distlint.model import python as ir
from distlint.model.finding import Finding, Related
from distlint.model.span import Span


@check("whole-streams")
def whole_streams(context: CheckContext) -> Iterator[Finding]:
    """A finding for each loader over such a stream, all of which each process goes through."""
    project: Project = context.project
    seen = set()
    for trainer in trainers_of_several(context):
        files = family(project, trainer.file)
        texts = [project.text_of(file) for file in sorted(files)]
        if any(word in text for word in context.parameters["parting"] for text in texts):
            continue
        for site in project.calls_to(set(context.parameters["loaders"])):
            if site.file not in files or site.span in seen or evaluates(project, site):
                continue
            stream = _whole_stream(context, site)
            if stream is None:
                continue
            seen.add(site.span)
            related = [
                Related(stream, "this is what every process goes through"),
                Related(trainer.span, "this trainer runs several processes, and parts no streams"),
            ]
            yield context.finding("every process goes through all of this stream", site.span, related=related)


def _whole_stream(context: CheckContext, site: CallSite) -> Span | None:
    """Where a stream goes through its items, if a loader hands out all of it in each process; ``None`` where that is not shown."""
    project: Project = context.project
    loader = made_at(project, site)
    _, options, _ = argument_of(project, loader, "dataset", context.parameters["signature"])
    if not options or not is_stream(context, options) or not is_whole(context, loader):
        return None
    classes = [one.callee for one in options if isinstance(one, Instance) and isinstance(one.callee, ClassRef)]
    methods = [project.modules.method(one, "__iter__") for one in classes]
    return next((ir.unpack(project.function(one).name_at, one.file) for one in methods if one is not None), None)
