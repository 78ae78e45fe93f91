"""A model is spread over the devices of one process, or placed by hand, in a run where each process gets its share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from distlint.checks.registry import CheckContext, check
from distlint.link.evaluate import find_argument
from distlint.link.library_uses import written_name
from distlint.model import python as ir
from distlint.model.document import Leaf, find, node_value
from distlint.model.document import Mapping as Tree
from distlint.model.finding import Finding, FixPlan, Operation, Related
from distlint.model.subject import Setting, Subject
from distlint.model.value import Value, known

if TYPE_CHECKING:
    from distlint.link.project import CallSite, Project


@check("device-map-in-distributed")
def device_map_in_distributed(context: CheckContext) -> Iterator[Finding]:
    """Loads with ``argument`` one of ``values`` in runs of several processes that train with one of ``trainers``."""
    project: Project = context.project
    values = frozenset(context.parameters["values"])
    trained = {found.file for found in project.calls_to(set(context.parameters["trainers"]))}
    if not trained:
        return
    for found, expr in _loads(context, project):
        for run in project.runs_reaching(found.file):
            count = run.world_size
            if not count.options or not all(isinstance(n, int) and n > 1 for n in count.options):
                continue
            value = project.evaluator(run).value(expr, found.file, found.site.function)
            if value.is_known and value.only in values and trained & project.closure(run.script_file):
                yield context.finding(
                    f"`{context.parameters['argument']}` is {value.only!r} in a run of {_shown(count)} processes",
                    ir.unpack(expr.at, found.file),
                    related=[Related(run.span, f"{_shown(count)} processes are started here")],
                    confidence=min(value.confidence, count.confidence),
                    plan=_plan(context, found),
                    symbol=context.parameters["argument"],
                    runs=(f"{run.span.file}:{run.span.line}",),
                )


def _shown(count: Value) -> str:
    return " or ".join(str(option) for option in count.options)


@check("device-map-with-sharding")
def device_map_with_sharding(context: CheckContext) -> Iterator[Finding]:
    """Loads with ``argument`` behind arguments that switch sharding on.

    The arguments are subjects of kind ``subject``; their ``setting`` names a file, or is a dict, with ``path`` equal to
    ``value``.
    """
    project: Project = context.project
    loads = list(_loads(context, project))
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
                    plan=_plan(context, found),
                    symbol=parameters["argument"],
                )


def _plan(context: CheckContext, found: CallSite) -> FixPlan | None:
    return context.plan(Operation("remove-argument", found.span, {"name": context.parameters["argument"]}))


def _loads(context: CheckContext, project: Project) -> Iterator[tuple[CallSite, ir.Expr]]:
    """The calls of ``method`` of something in ``package`` that give the argument."""
    for found in project.sites(context.parameters["method"]):
        name = written_name(project, found.site.call.func, found.file, found.site.function)
        if name.startswith(context.parameters["package"] + "."):
            expr, _ = find_argument(found.site.call, context.parameters["argument"], None)
            if expr is not None:
                yield found._replace(name=name), expr


def _inside(project: Project, subject: Subject, setting: Setting, path: tuple[str, ...]) -> Value | None:
    """The value at a path of the configuration that a setting holds or names."""
    content: Any = setting.value.only
    if isinstance(content, str):
        document = project.document(setting.value, subject.span.file)
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
