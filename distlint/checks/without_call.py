"""A decorator or a context that has to be called first, and is not.

Such a decorator takes the function for its first argument; a class or a method is no context.

Parameters: ``decorators``, the dotted names of functions and methods that return the decorator, and ``contexts``, those of classes,
functions and methods that return the context. What is among ``wanting`` takes arguments that nobody else knows, so that it is not mended.
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.rank_decorators import is_named, is_one_of
from distlint.checks.registry import CheckContext, check
from distlint.link.modules import FunctionRef
from distlint.link.project import Project
from distlint.link.walking import bodies_of, last_name, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, FixPlan, Operation, Safety
from distlint.model.span import Span


@check("without-call")
def without_call(context: CheckContext) -> Iterator[Finding]:
    """Functions with one of the decorators, and ``with`` statements with one of the contexts, without parentheses behind it."""
    project: Project = context.project
    decorators = frozenset(context.parameters.get("decorators", ()))
    contexts = frozenset(context.parameters.get("contexts", ()))
    for file in project.python_files:
        for index, function in enumerate(project.module(file).functions):
            for decorator in function.decorators:
                if last_name(decorator) and is_named(project, decorator, FunctionRef(file, index), decorators):
                    says = f"`{last_name(decorator)}` is not called, and takes `{function.name}` for its first argument"
                    yield _finding(context, says, decorator, file)
        for owner, body in bodies_of(project.module(file)):
            for statement in statements(body) if contexts else ():
                for entered, _ in statement.items if type(statement) is ir.With else ():
                    if last_name(entered) and is_one_of(project, entered, file, owner, contexts):
                        yield _finding(
                            context, f"`{last_name(entered)}` is not called, so that it is no context", entered, file
                        )


def _finding(context: CheckContext, says: str, expr: ir.Expr, file: str) -> Finding:
    place = ir.unpack(expr.at, file)
    end = Span(file, place.end_line, place.end_column, place.end_line, place.end_column)
    operation = Operation("replace", end, {"text": "()"})
    is_wanting = last_name(expr) in context.parameters.get("wanting", ())
    plan = None if is_wanting else FixPlan("Call it", Safety.SAFE, (operation,))
    return context.finding(says, place, plan=plan, symbol=last_name(expr))
