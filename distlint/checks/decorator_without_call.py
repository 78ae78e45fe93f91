"""A decorator that has to be called, used bare: it takes the function for its first argument.

Parameters: ``decorators``, the dotted names of methods and functions that return the decorator.
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.rank_decorators import is_named
from distlint.checks.registry import CheckContext, check
from distlint.link.modules import FunctionRef
from distlint.model import python as ir
from distlint.model.finding import Finding, FixPlan, Operation, Safety
from distlint.model.span import Span


@check("decorator-without-call")
def decorator_without_call(context: CheckContext) -> Iterator[Finding]:
    """Functions with one of the decorators without parentheses behind it."""
    project = context.project
    names = frozenset(context.parameters["decorators"])
    lasts = {name.rpartition(".")[2] for name in names}
    for file in project.python_files:
        for index, function in enumerate(project.module(file).functions):
            for decorator in function.decorators:
                if type(decorator) not in (ir.Name, ir.Attribute):
                    continue
                if type(decorator) is ir.Attribute and decorator.name not in lasts:
                    continue
                if is_named(project, decorator, FunctionRef(file, index), names):
                    place = ir.unpack(decorator.at, file)
                    end = Span(file, place.end_line, place.end_column, place.end_line, place.end_column)
                    operation = Operation("replace", end, {"text": "()"})
                    yield context.finding(
                        f"`{_last(decorator)}` is not called, and takes `{function.name}` for its first argument",
                        place,
                        plan=FixPlan("Call it", Safety.SAFE, (operation,)),
                        symbol=function.qualname,
                    )


def _last(decorator: ir.Expr) -> str:
    return decorator.name if type(decorator) is ir.Attribute else decorator.id if type(decorator) is ir.Name else ""
