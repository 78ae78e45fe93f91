"""Losses, and other figures, that are means over a batch.

Parameter: ``means`` (functions and classes whose result is a mean unless they are told otherwise, by dotted names).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from distlint.checks.spread_names import called_name
from distlint.link.abstract import Instance, options_of
from distlint.link.modules import External
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.checks.registry import CheckContext
    from distlint.link.project import Project


def is_mean(context: CheckContext, call: ir.Call, file: str, function: int) -> bool:
    """Whether a call gives the mean over a batch."""
    project: Project = context.project
    if any(one.name in (None, "reduction", "size_average") for one in call.keywords):
        return False
    if called_name(call) == "mean" and type(call.func) is ir.Attribute:
        return True
    means = tuple(context.parameters["means"])
    if project.modules.dotted(call.func, file) in means:
        return True
    options = options_of(project.evaluator(None).ask(call.func, file, function))
    made = [one for one in options if isinstance(one, Instance) and isinstance(one.callee, External)]
    return (
        bool(made)
        and len(made) == len(options)
        and all(
            one.callee.name in means  # type: ignore[union-attr]
            and not any(keyword.name in (None, "reduction") for keyword in one.call.keywords)
            for one in made
        )
    )
