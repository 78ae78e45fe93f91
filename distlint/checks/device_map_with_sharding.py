"""A model is placed by hand although its parameters are sharded over all processes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from distlint.checks.argument_loads import loads_with_argument, removal_plan
from distlint.checks.registry import CheckContext, check
from distlint.model import python as ir
from distlint.model.document import Leaf, find, node_value
from distlint.model.document import Mapping as Tree
from distlint.model.finding import Finding, Related
from distlint.model.subject import Setting, Subject
from distlint.model.value import Value, known

if TYPE_CHECKING:
    from distlint.link.project import CallSite, Project


@check("device-map-with-sharding")
def device_map_with_sharding(context: CheckContext) -> Iterator[Finding]:
    """Loads with ``argument`` behind arguments that switch sharding on.

    The arguments are subjects of kind ``subject``; their ``setting`` names a file, or is a dict, with ``path`` equal to
    ``value``.
    """
    project: Project = context.project
    loads = list(loads_with_argument(context, project))
    if not loads:
        return
    parameters = context.parameters
    path = tuple(parameters["path"].split("."))
    for subject in context.subjects(parameters["subject"]):
        setting = subject.settings.get(parameters["setting"])
        inner = None if setting is None else _inside(project, subject, setting, path)
        if inner is None or inner.only != parameters["value"]:
            continue
        for found, expr in loads:
            if found.file == subject.span.file and _is_behind(subject, found) and _is_given(project, found, expr):
                places = [Related(place, f"`{parameters['path']}` is {inner.only} here") for place in inner.spans[:1]]
                yield context.finding(
                    f"`{parameters['argument']}` is given although the parameters are sharded over all processes",
                    ir.unpack(expr.at, found.file),
                    related=[*places, Related(subject.span, "the arguments are made before")],
                    confidence=inner.confidence,
                    plan=removal_plan(context, found),
                    symbol=parameters["argument"],
                )


def _inside(project: Project, subject: Subject, setting: Setting, path: tuple[str, ...]) -> Value | None:
    """The value at a path of the configuration that a setting holds or names."""
    content: Any = setting.value.only
    if isinstance(content, str):
        document = project.documents.found(setting.value, subject.span.file)
        if document is None or not isinstance(document.root, Tree):
            return None
        entry, _ = find(document.root, path)
        return None if entry is None else node_value(entry.node).at(entry.key_span)
    for key in path:
        content = content.get(key) if isinstance(content, Mapping) else None
    return None if content is None else known(content, setting.key_span)


def _is_behind(subject: Subject, found: CallSite) -> bool:
    """Whether the load stands in the same function as the arguments, further down."""
    made = subject.extra.get("site")
    same = made is not None and made.site.function == found.site.function
    return same and subject.span.start < found.span.start


def _is_given(project: Project, found: CallSite, expr: ir.Expr) -> bool:
    """Whether the argument surely is something other than ``None``."""
    value = project.evaluator(None).ask(expr, found.file, found.site.function)
    if isinstance(value, Tree):
        return True
    options = value.value.options if isinstance(value, Leaf) else ()
    return bool(options) and None not in options
