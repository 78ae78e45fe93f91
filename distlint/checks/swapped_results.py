"""The results of a call that gives its arguments back in their order, unpacked in another order.

Parameters: ``calls`` (by their names).
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.preparing import function_body, texts_of
from distlint.checks.registry import CheckContext, check
from distlint.link.project import Project
from distlint.link.walking import statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related


@check("swapped-results")
def swapped_results(context: CheckContext) -> Iterator[Finding]:
    """A finding for each such call whose results go by the names of its arguments, but not in their places."""
    project: Project = context.project
    for found in project.calls_to(set(context.parameters["calls"])):
        call = found.site.call
        given = [texts_of(one) for one in call.args]
        if len(given) < 2 or not all(given) or len(set(given)) != len(given) or call.keywords:
            continue
        for statement in statements(function_body(project, found)):
            if type(statement) is not ir.Assign or statement.value is None or statement.value.at != call.at:
                continue
            for target in statement.targets:
                items = target.items if isinstance(target, ir.ListDisplay) else ()
                names = [texts_of(one) for one in items]
                wrong = [i for i, name in enumerate(names) if i < len(given) and name != given[i] and name in given]
                if len(names) == len(given) and wrong:
                    first = wrong[0]
                    yield context.finding(
                        f"`{names[first]}` gets what stands for `{given[first]}`: the results come in the order of the arguments",
                        ir.unpack(items[first].at, found.file),
                        related=[Related(ir.unpack(call.args[first].at, found.file), "this argument has that place")],
                    )
