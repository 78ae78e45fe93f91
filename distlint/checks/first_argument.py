"""Scripts that take their first argument by its number, under a launcher that puts an option of its own in front.

Parameters: none.
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.execution import Execution, body_of
from distlint.checks.registry import CheckContext, check
from distlint.judge.versions import satisfies
from distlint.link.process_arguments import ARGUMENTS, any_rewrites
from distlint.link.project import Project
from distlint.link.walking import expressions_of, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related
from distlint.model.launch import Launch


@check("first-argument")
def first_argument(context: CheckContext) -> Iterator[Finding]:
    """A finding for each ``sys.argv[1]`` that certainly is the launcher's option."""
    project: Project = context.project
    for run in project.runs:
        launch = run.launch
        if launch is None or not launch.appends or launch.appends_perhaps or run.script_file not in project.facts:
            continue
        option = _added(context, launch, run.script_file)
        if not option or any_rewrites(project, project.closure(run.script_file), {}):
            continue
        execution = Execution(project, run)
        for function, part in _first_arguments(project, run.script_file):
            if execution.reaches(run.script_file, function, part.at):
                yield context.finding(
                    f"`sys.argv[1]` is the `{option}` that `{launch.launcher}` puts in front of the script's arguments",
                    ir.unpack(part.at, run.script_file),
                    related=[Related(launch.span, f"`{launch.launcher}` adds `{option}=...`")],
                )


def _added(context: CheckContext, launch: Launch, file: str) -> str:
    launchers = (launcher for spec in context.project.specs for launcher in spec.launchers)
    spec = next(launcher for launcher in launchers if launcher.name == launch.launcher)
    conditions = {spelling: (package, specifier) for spelling, package, specifier in spec.appends_when}
    versions = context.project.environments.for_file(file)
    holding = [one for one in launch.appends if one not in conditions or satisfies(versions, *conditions[one])]
    return holding[0] if len(holding) == 1 else ""


def _first_arguments(project: Project, file: str) -> Iterator[tuple[int, ir.Subscript]]:
    """The uses of ``sys.argv[1]`` as a value: assigned, or an argument of a call; those that test it are left out."""
    module = project.module(file)
    for function in range(-1, len(module.functions)):
        for statement in statements(body_of(project, file, function)):
            if type(statement) not in (ir.Assign, ir.Evaluate, ir.With):
                continue
            for expr in expressions_of(statement):
                for part in _values(expr):
                    if (
                        type(part) is ir.Subscript
                        and type(part.index) is ir.Constant
                        and part.index.value == 1
                        and project.modules.dotted(part.base, file) == ARGUMENTS
                    ):
                        yield function, part


def _values(expr: ir.Expr) -> Iterator[ir.Expr]:
    """An expression and the arguments of the calls in it, however deep."""
    yield expr
    if type(expr) is ir.Call:
        if type(expr.func) is ir.Attribute:
            yield from _values(expr.func.base)
        for argument in (*expr.args, *(keyword.value for keyword in expr.keywords)):
            yield from _values(argument)
