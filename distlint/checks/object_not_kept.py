"""An object whose effect ends with it is thrown away at once."""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.registry import CheckContext, check
from distlint.link.library_uses import bodies
from distlint.link.walking import statements
from distlint.model import python as ir
from distlint.model.finding import Finding


@check("object-not-kept")
def object_not_kept(context: CheckContext) -> Iterator[Finding]:
    """Calls of ``callee`` that stand as statements, so that nobody holds what they give."""
    project = context.project
    places = {(found.file, found.site.call.at): found for found in project.calls_to(set(context.parameters["callee"]))}
    for file in sorted({file for file, _ in places}):
        for _, body in bodies(project.module(file)):
            for statement in statements(body):
                if type(statement) is ir.Evaluate and (file, statement.value.at) in places:
                    found = places[file, statement.value.at]
                    name = found.name.rpartition(".")[2]
                    yield context.finding(f"the `{name}` object is not kept", found.span, symbol=found.name)
