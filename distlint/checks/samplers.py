"""Data loaders that are told to shuffle and given a sampler, which would do the same.

Parameters: ``loaders`` (the classes) and ``signature`` (the positional parameters of a loader).
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.registry import CheckContext, check
from distlint.link.abstract import Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.project import Project
from distlint.model import python as ir
from distlint.model.finding import Finding, Operation, Related


@check("samplers")
def samplers(context: CheckContext) -> Iterator[Finding]:
    """A finding for each such loader."""
    project: Project = context.project
    signature = list(context.parameters["signature"])
    evaluator = project.evaluator(None)
    for found in project.calls_to(set(context.parameters["loaders"])):
        call, function = found.site.call, found.site.function
        shuffle, _ = find_argument(call, "shuffle", signature.index("shuffle"))
        sampler, _ = find_argument(call, "sampler", signature.index("sampler"))
        if shuffle is None or sampler is None:
            continue
        if evaluator.value(shuffle, found.file, function).only is not True:
            continue
        options = options_of(evaluator.ask(sampler, found.file, function))
        objects = [option for option in options if isinstance(option, Instance)]
        if not objects:
            continue
        always = len(objects) == len(options)
        when = "" if always else " where there is one"
        text = f"{sampler.id} is None" if type(sampler) is ir.Name else "False"
        yield context.finding(
            f"`shuffle=True` is given together with a sampler{when}",
            ir.unpack(shuffle.at, found.file),
            related=[Related(one.span(), "the sampler is made here") for one in objects],
            plan=context.plan(
                Operation(
                    "set-argument",
                    found.span,
                    {"name": "shuffle", "text": "False" if always else text, "position": signature.index("shuffle")},
                )
            ),
        )
