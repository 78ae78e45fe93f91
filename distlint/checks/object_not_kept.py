"""An object whose effect ends with it is thrown away at once, or at the end of the function that makes it."""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.registry import CheckContext, check
from distlint.link.project import CallSite
from distlint.link.walking import below, bodies_of, calls_in, expressions_of, statements
from distlint.model import python as ir
from distlint.model.finding import Finding


@check("object-not-kept")
def object_not_kept(context: CheckContext) -> Iterator[Finding]:
    """Calls of ``callee`` whose result nobody holds when the next call is made.

    They stand as statements, or are assigned to a local variable that nothing reads, in a function that makes no further call.
    """
    project = context.project
    places = {(found.file, found.site.call.at): found for found in project.calls_to(set(context.parameters["callee"]))}
    for file in sorted({file for file, _ in places}):
        module = project.module(file)
        for function, body in bodies_of(module):
            for statement in statements(body):
                value = statement.value if isinstance(statement, ir.Evaluate | ir.Assign) else None
                found = places.get((file, value.at)) if value is not None else None
                if found is None:
                    continue
                name = found.name.rpartition(".")[2]
                if isinstance(statement, ir.Evaluate):
                    yield context.finding(f"the `{name}` object is not kept", found.span, symbol=found.name)
                elif (
                    function >= 0
                    and isinstance(statement, ir.Assign)
                    and _ends_with_function(module, function, statement, found)
                ):
                    message = f"the `{name}` object ends with the function, before a model is made"
                    yield context.finding(message, found.span, symbol=found.name)


def _ends_with_function(module: ir.Module, function: int, made: ir.Assign, found: CallSite) -> bool:
    """Whether a variable is local and never read, and nothing is called behind its assignment."""
    target = made.targets[0]
    definition = module.functions[function]
    nested = any(other.parent == function for other in module.functions)
    if len(made.targets) != 1 or not isinstance(target, ir.Name) or nested:
        return False
    if not any(statement is made for statement in statements(definition.body)):
        return False  # in the body of a class, which keeps it
    for statement in statements(definition.body):
        if isinstance(statement, ir.Jump) and statement.kind in ("global", "nonlocal"):
            return False
        for expr in expressions_of(statement):
            for part in below(expr):
                if isinstance(part, ir.Wrapped) and part.kind in ("yield", "yield from", "await"):
                    return False
                if isinstance(part, ir.Name) and part.id == target.id and part is not target:
                    return False
    calls = list(calls_in(definition.body))
    loads = any(isinstance(call.func, ir.Attribute) and call.func.name.startswith("from_") for call in calls)
    return not loads and not any(ir.unpack(call.at, found.file) > found.span for call in calls)
