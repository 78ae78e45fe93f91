"""Data loaders that are told to shuffle and given a sampler, which would do the same.

The values of both are followed back from the call; where that leads nowhere, a rehearsal of the program may have seen them.
Parameters: ``loaders`` (the classes) and ``signature`` (the positional parameters of a loader).
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.registry import CheckContext, check
from distlint.checks.rehearsed import rehearsed
from distlint.link.abstract import Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.project import CallSite, Project
from distlint.model import python as ir
from distlint.model.document import Leaf
from distlint.model.finding import Finding, Operation, Related
from distlint.model.span import Span


@check("samplers")
def samplers(context: CheckContext) -> Iterator[Finding]:
    """A finding for each such loader."""
    known = set()
    for finding, made in _followed(context):
        known.add(made)
        yield finding
    yield from (finding for finding in rehearsed(context) if finding.span not in known)


def _followed(context: CheckContext) -> Iterator[tuple[Finding, Span]]:
    """What shows where the arguments of a call are followed back, with the place of the call."""
    project: Project = context.project
    signature = list(context.parameters["signature"])
    evaluator = project.evaluator(None)
    for found in project.calls_to(set(context.parameters["loaders"])):
        call, function = found.site.call, found.site.function
        shuffle, absent = find_argument(call, "shuffle", signature.index("shuffle"))
        sampler, _ = find_argument(call, "sampler", signature.index("sampler"))
        if sampler is None or (shuffle is None and absent):
            continue
        if not _is_true(project, found, shuffle, signature.index("shuffle")):
            continue
        options = options_of(evaluator.ask(sampler, found.file, function))
        objects = [option for option in options if isinstance(option, Instance)]
        if not objects:
            continue
        always = len(objects) == len(options)
        when = "" if always else " where there is one"
        text = f"{sampler.id} is None" if type(sampler) is ir.Name else "False"
        finding = context.finding(
            f"`shuffle=True` is given together with a sampler{when}",
            ir.unpack(shuffle.at, found.file) if shuffle is not None else found.span,
            related=[Related(one.span(), "the sampler is made here") for one in objects],
            plan=context.plan(
                Operation(
                    "set-argument",
                    found.span,
                    {"name": "shuffle", "text": "False" if always else text, "position": signature.index("shuffle")},
                )
            )
            if shuffle is not None
            else None,
        )
        yield finding, found.span


def _is_true(project: Project, found: CallSite, shuffle: ir.Expr | None, position: int) -> bool:
    """Whether a loader is certainly told to shuffle, also behind ``**``."""
    evaluator = project.evaluator(None)
    if shuffle is not None:
        return evaluator.value(shuffle, found.file, found.site.function).only is True
    frame = evaluator.frame(found.file, found.site.function)
    given = evaluator.argument(found.site.call, "shuffle", position, frame)
    return isinstance(given, Leaf) and given.value.is_known and given.value.only is True
