"""Processes that take the same device, because nobody tells them their local rank in the way that they ask for it.

Parameters: ``setters`` (library functions that choose a device: parameter and position), ``variables`` (whose mention
anywhere in the program says that the rank may come from there), ``option`` (the name of the option in question).
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.execution import Execution
from distlint.checks.registry import CheckContext, check
from distlint.link.arguments import find_argument
from distlint.link.options import parsers_of
from distlint.link.project import Project
from distlint.link.walking import below, bodies_of, expressions_below
from distlint.model import python as ir
from distlint.model.finding import Finding, Related
from distlint.model.launch import Launch


@check("local-rank")
def local_rank(context: CheckContext) -> Iterator[Finding]:
    """A finding for each choice of a device that is certainly the option's default in every process of a run."""
    project: Project = context.project
    setters, option = context.parameters["setters"], context.parameters["option"]
    variables = frozenset(context.parameters["variables"])
    sites = None
    for run in project.runs:
        launch = run.launch
        if launch is None or not _starts_several(launch) or not variables & launch.provides:
            continue
        if launch.appends or launch.appends_perhaps or launch.open_arguments:
            continue
        sites = list(project.calls_to(set(setters))) if sites is None else sites
        closure = project.closure(run.script_file)
        mine = [site for site in sites if site.file in closure]
        if not mine or mentions(project, closure, variables):
            continue
        execution, evaluator = Execution(project, run), project.evaluator(run)
        for site in mine:
            name, position = setters[site.name]
            given, _ = find_argument(site.site.call, name, position)
            if given is None or not _names(given, option):
                continue
            value = evaluator.value(given, site.file, site.site.function)
            if value.only not in (-1, 0) or not execution.reaches(site.file, site.site.function, site.site.call.at):
                continue
            defined = next((p.by_dest(option) for p in parsers_of(project).all() if p.span.file in closure), None)
            related = [Related(launch.span, f"`{launch.launcher}` sets `LOCAL_RANK` and passes no option")]
            if defined is not None:
                related.append(Related(defined.span, "its default is what every process gets"))
            yield context.finding(
                f"`{option}` is {value.only} in every process: `{launch.launcher}` does not pass it",
                site.span,
                related=related,
                symbol=option,
            )


def _starts_several(launch: Launch) -> bool:
    processes = launch.processes_per_node.only
    return isinstance(processes, int) and processes > 1


def _names(expr: ir.Expr, name: str) -> bool:
    return any(
        (type(part) is ir.Attribute and part.name == name) or (type(part) is ir.Name and part.id == name)
        for part in below(expr)
    )


def mentions(project: Project, closure: frozenset[str], names: frozenset[str]) -> bool:
    """Whether a string or keyword in the program holds one of some names."""
    for file in closure:
        facts = project.file_facts(file)
        module = facts.module if facts is not None else None
        if module is None:
            continue
        if any(_says(part, names) for _, body in bodies_of(module) for part in expressions_below(body)):
            return True
    return False


def _says(expr: ir.Expr, names: frozenset[str]) -> bool:
    if type(expr) is ir.Lambda:
        return any(_says(part, names) for part in below(expr.body))
    if type(expr) is ir.Call:
        return any(keyword.name in names for keyword in expr.keywords)
    return type(expr) is ir.Constant and isinstance(expr.value, str) and any(name in expr.value for name in names)
