"""A decorator or a context that has to be called first, and is not.

Such a decorator takes the function for its first argument; a class or a method is no context.

Parameters: ``decorators``, the dotted names of functions and methods that return the decorator, and ``contexts``, those of classes,
functions and methods that return the context.
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.rank_decorators import is_named, is_one_of
from distlint.checks.registry import CheckContext, check
from distlint.link.modules import FunctionRef
from distlint.link.project import Project
from distlint.link.walking import bodies_of, statements
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
                if _last(decorator) and is_named(project, decorator, FunctionRef(file, index), decorators):
                    says = f"`{_last(decorator)}` is not called, and takes `{function.name}` for its first argument"
                    yield _finding(context, says, decorator, file)
        for owner, body in bodies_of(project.module(file)):
            for statement in statements(body) if contexts else ():
                for entered, _ in statement.items if type(statement) is ir.With else ():
                    if _last(entered) and is_one_of(project, entered, file, owner, contexts):
                        yield _finding(
                            context, f"`{_last(entered)}` is not called, so that it is no context", entered, file
                        )


def _finding(context: CheckContext, says: str, expr: ir.Expr, file: str) -> Finding:
    place = ir.unpack(expr.at, file)
    end = Span(file, place.end_line, place.end_column, place.end_line, place.end_column)
    plan = FixPlan("Call it", Safety.SAFE, (Operation("replace", end, {"text": "()"}),))
    return context.finding(says, place, plan=plan, symbol=_last(expr))


def _last(expr: ir.Expr) -> str:
    """The last name of an expression that is not called; nothing for calls and all else."""
    return expr.name if type(expr) is ir.Attribute else expr.id if type(expr) is ir.Name else ""
