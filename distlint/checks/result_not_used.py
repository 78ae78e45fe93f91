"""A call whose effect is in what it gives back, made as a statement of its own while what it got is used further.

Parameters: ``calls`` (by name), each with what to say of it; ``instead`` is said of all others.
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.preparing import function_body, is_thrown_away
from distlint.checks.registry import CheckContext, check
from distlint.link.project import CallSite, Project
from distlint.link.walking import below, expressions_of, statements
from distlint.model import python as ir
from distlint.model.finding import Finding


@check("result-not-used")
def result_not_used(context: CheckContext) -> Iterator[Finding]:
    """A finding for each such call of which the result goes nowhere."""
    project: Project = context.project
    calls = context.parameters["calls"]
    for found in project.calls_to(set(calls)):
        if found.site.call.args and is_thrown_away(project, found) and _goes_on(project, found):
            yield context.finding(calls[found.name], found.span, symbol=found.name)


def _goes_on(project: Project, found: CallSite) -> bool:
    """Whether a program may use what a call got once more: behind it, in a loop around it, or where that can't be seen."""
    call = found.site.call
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    names = {one.id for one in given if type(one) is ir.Name}
    if len(names) < len(given) or found.site.function < 0:
        return True
    body = list(statements(function_body(project, found)))
    around = [one for one in body if isinstance(one, ir.For | ir.While) and ir.encloses(one.at, call.at)]
    parts = (part for one in body for expr in expressions_of(one) for part in below(expr))
    read = [part for part in parts if type(part) is ir.Name and part.id in names and not ir.encloses(call.at, part.at)]
    return any(part.at > call.at or any(ir.encloses(loop.at, part.at) for loop in around) for part in read)
