"""Objects that are handed to a trainer whose arguments make it refuse them.

Parameters: ``trainers`` (classes), ``refused`` (the keyword with the objects, none of which is given by ``None``), ``arguments`` (the
parameter with the arguments, and its position), ``subject`` and ``when`` (the condition over these arguments).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.checks.execution import body_of
from distlint.checks.loaders import is_none
from distlint.checks.registry import CheckContext, check
from distlint.judge.conditions import compile_condition
from distlint.link.abstract import Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.modules import ClassRef
from distlint.link.walking import statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related

if TYPE_CHECKING:
    from distlint.link.project import CallSite, Project


@check("refused-objects")
def refused_objects(context: CheckContext) -> Iterator[Finding]:
    """A finding for each trainer that gets such objects, whatever else its class does."""
    project: Project = context.project
    if not any(project.mentions(name.rpartition(".")[2]) for name in context.parameters["trainers"]):
        return
    condition = compile_condition(context.parameters["when"])
    for site in _makers(context):
        given, _ = find_argument(site.site.call, context.parameters["refused"], None)
        if given is None or not _is_something(project, given, site):
            continue
        name, position = context.parameters["arguments"]
        arguments, _ = find_argument(site.site.call, name, position)
        made = options_of(project.evaluator(None).ask(arguments, site.file, site.site.function)) if arguments else ()
        places = [one.span() if isinstance(one, Instance) and not one.part else None for one in made]
        subjects = [one for one in context.subjects(context.parameters["subject"]) if one.extra.get("call") in places]
        if not places or None in places or {one.extra.get("call") for one in subjects} != set(places):
            continue
        if all(condition.judge(one).holds for one in subjects):
            yield context.finding(
                f"`{context.parameters['refused']}` is given although the arguments part the model between the processes",
                ir.unpack(given.at, site.file),
                related=[Related(one, "these are the arguments") for one in places[:1] if one is not None],
            )


def _makers(context: CheckContext) -> Iterator[CallSite]:
    """The calls that make a trainer, or an object of a class of the project that is one and hands its arguments on."""
    project: Project = context.project
    bases = frozenset(context.parameters["trainers"])
    yield from project.calls_to(set(bases))
    for file in project.python_files:
        for index, definition in enumerate(project.module(file).classes):
            owner = ClassRef(file, index)
            if bases & project.modules.external_bases(owner) and project.modules.method(owner, "__init__") is None:
                for site in project.sites(definition.name):
                    if project.modules.resolve(site.site.call.func, site.file) == owner:
                        yield site


def _is_something(project: Project, given: ir.Expr, site: CallSite) -> bool:
    """Whether one of the objects is certainly there: made by a call, in a tuple written here or in a variable with that alone."""
    if type(given) is ir.Name:
        stored = [
            one.value
            for one in statements(body_of(project, site.file, site.site.function))
            if type(one) is ir.Assign and any(type(to) is ir.Name and to.id == given.id for to in one.targets)
        ]
        if len(stored) != 1 or stored[0] is None:
            return False
        given = stored[0]
    if type(given) is not ir.ListDisplay:
        return False
    evaluator = project.evaluator(None)
    for item in given.items:
        options = options_of(evaluator.ask(item, site.file, site.site.function))
        if options and all(isinstance(one, Instance) for one in options) and not any(map(is_none, options)):
            return True
    return False
