"""A call whose effect is in what it gives back, made as a statement of its own.

Parameters: ``calls`` (by name), each with what to say of it; ``instead`` is said of all others.
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.preparing import is_thrown_away
from distlint.checks.registry import CheckContext, check
from distlint.link.project import Project
from distlint.model.finding import Finding


@check("result-not-used")
def result_not_used(context: CheckContext) -> Iterator[Finding]:
    """A finding for each such call of which the result goes nowhere."""
    project: Project = context.project
    calls = context.parameters["calls"]
    for found in project.calls_to(set(calls)):
        if found.site.call.args and is_thrown_away(project, found):
            yield context.finding(calls[found.name], found.span, symbol=found.name)
