"""Loads that are given a certain argument; shared by the checks about it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.checks.registry import CheckContext
from distlint.link.arguments import find_argument
from distlint.link.library_uses import written_name
from distlint.model import python as ir
from distlint.model.finding import FixPlan, Operation

if TYPE_CHECKING:
    from distlint.link.project import CallSite, Project


def removal_plan(context: CheckContext, found: CallSite) -> FixPlan | None:
    """Removes the argument from the call."""
    return context.plan(Operation("remove-argument", found.span, {"name": context.parameters["argument"]}))


def loads_with_argument(context: CheckContext, project: Project) -> Iterator[tuple[CallSite, ir.Expr]]:
    """The calls of ``method`` of something in ``package`` that give the argument."""
    for found in project.sites(context.parameters["method"]):
        name = written_name(project, found.site.call.func, found.file, found.site.function)
        if name.startswith(context.parameters["package"] + "."):
            expr, _ = find_argument(found.site.call, context.parameters["argument"], None)
            if expr is not None:
                yield found._replace(name=name), expr
