"""A training loop that has to know the number of steps, over data that does not tell its length.

Parameters: ``trainers`` (classes: the parameters with the data and with the arguments, with their positions), ``arguments`` (classes of
the arguments), ``steps`` (the argument that gives the number of steps), ``streams`` (classes of data without a length).
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.registry import CheckContext, check
from distlint.link.abstract import Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.modules import ClassRef
from distlint.link.project import CallSite, Project
from distlint.model.finding import Finding, Related


@check("unsized-data")
def unsized_data(context: CheckContext) -> Iterator[Finding]:
    """A finding for each trainer that is made of such data, and is not told the number of steps."""
    project: Project = context.project
    for found in project.calls_to(set(context.parameters["trainers"])):
        yield from _judged(context, project, found)
    bases = frozenset(context.parameters["trainers"])
    for file in project.python_files:
        for index, definition in enumerate(project.module(file).classes):
            owner = ClassRef(file, index)
            if (
                bases & project.modules.external_bases(owner)
                and project.modules.method(owner, "get_train_dataloader") is None
            ):
                for site in project.sites(definition.name):
                    if project.modules.resolve(site.site.call.func, site.file) == owner:
                        yield from _judged(context, project, site)


def _judged(context: CheckContext, project: Project, found: CallSite) -> Iterator[Finding]:
    data = _only(context, project, found, "data")
    arguments = _only(context, project, found, "arguments")
    if data is None or arguments is None or arguments.part or not isinstance(data.callee, ClassRef):
        return
    evaluator = project.evaluator(None)
    if evaluator.instance_name(arguments).removesuffix("()") not in context.parameters["makers"]:
        return
    streams = frozenset(context.parameters["streams"])
    if not streams & project.modules.external_bases(data.callee) or project.modules.method(data.callee, "__len__"):
        return
    given, certain = find_argument(arguments.call, context.parameters["steps"], None)
    if given is not None:
        number = evaluator.evaluate(given, arguments.frame, arguments.state)
        values = [getattr(one, "value", None) for one in options_of(number)]
        if not all(value is not None and value.is_known and value.only == -1 for value in values):
            return
    elif not certain:
        return
    yield context.finding(
        f"the data has no length and `{context.parameters['steps']}` is not given, so the number of steps is not known",
        found.span,
        related=[
            Related(data.span(), "this data is a stream without a length"),
            Related(arguments.span(), f"`{context.parameters['steps']}` is missing here"),
        ],
    )


def _only(context: CheckContext, project: Project, found: CallSite, which: str) -> Instance | None:
    name, position = context.parameters[which]
    given, _ = find_argument(found.site.call, name, position)
    options = (
        options_of(project.evaluator(None).ask(given, found.file, found.site.function)) if given is not None else ()
    )
    only = options[0] if len(options) == 1 else None
    return only if isinstance(only, Instance) else None
