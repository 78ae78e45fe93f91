"""Scripts that overwrite with a constant what their launcher tells each process.

Parameters: ``variables`` (those that differ between processes, or that the launcher has already used).
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.execution import Execution, body_of
from distlint.checks.registry import CheckContext, check
from distlint.link.project import Project
from distlint.link.walking import statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Operation, Related


@check("launcher-variables")
def launcher_variables(context: CheckContext) -> Iterator[Finding]:
    """A finding for each constant that a launched script certainly writes over a variable of its launcher."""
    project: Project = context.project
    stores = list(_stores(context))
    for run in project.runs if stores else ():
        launch = run.launch
        if launch is None or launch.world_size.only == 1:
            continue
        execution = Execution(project, run)
        for file, function, statement, name, text in stores:
            if name not in launch.provides or not execution.reaches(file, function, statement.at):
                continue
            yield context.finding(
                f"`{name}` is set to {text!r}, over what the launcher told this process",
                ir.unpack(statement.at, file),
                related=[Related(launch.span, f"`{launch.launcher}` sets `{name}` for each process")],
                plan=context.plan(Operation("remove-statement", ir.unpack(statement.at, file))),
                symbol=name,
            )


def _stores(context: CheckContext) -> Iterator[tuple[str, int, ir.Assign, str, str]]:
    """The statements ``os.environ["NAME"] = constant``: file, function, statement, name and value."""
    project: Project = context.project
    names = frozenset(context.parameters["variables"])
    for file in project.python_files:
        module = project.module(file)
        if "environ" not in module.attributes and not any(item.name == "environ" for item in module.imports):
            continue
        for function in range(-1, len(module.functions)):
            for statement in statements(body_of(project, file, function)):
                if type(statement) is not ir.Assign or type(statement.value) is not ir.Constant:
                    continue
                target = statement.targets[0]
                if type(target) is not ir.Subscript or type(target.index) is not ir.Constant:
                    continue
                if target.index.value in names and project.modules.dotted(target.base, file) == "os.environ":
                    yield file, function, statement, str(target.index.value), str(statement.value.value)
