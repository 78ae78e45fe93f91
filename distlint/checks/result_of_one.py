"""What a function gives that a decorator lets one rank run alone, used by all of them: the others get ``None``.

Parameters: ``sending`` (names of calls that give the others what one rank has).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.checks.execution import body_of
from distlint.checks.rank_decorators import is_named
from distlint.checks.rank_ways import only_rank_0_goes, ways_to
from distlint.checks.registry import CheckContext, check
from distlint.checks.spread_names import called_name, calls_of, mentions
from distlint.link.modules import FunctionRef
from distlint.link.walking import below, expressions_of, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related

if TYPE_CHECKING:
    from distlint.link.project import Project

MAX_CALLERS = 8


@check("result-of-one")
def result_of_one(context: CheckContext) -> Iterator[Finding]:
    """A finding for each function of that kind whose result all ranks go on with."""
    project: Project = context.project
    names = frozenset(name for one in project.specs for name in one.main_only)
    sending = re.compile(context.parameters["sending"])
    for file in project.python_files:
        for index, function in enumerate(project.module(file).functions):
            ref = FunctionRef(file, index)
            alone = next((one for one in function.decorators if is_named(project, _bare(one), ref, names)), None)
            if alone is None or not _gives_something(function.body):
                continue
            for caller in project.callers(ref)[:MAX_CALLERS]:
                used = _use(project, caller.file, caller.site.function, caller.site.call, sending)
                if used is not None:
                    yield context.finding(
                        f"`{function.name}` runs on the first rank only, and all ranks go on with what it gives: the others have `None`",
                        ir.unpack(alone.at, file),
                        related=[
                            Related(ir.unpack(caller.site.call.at, caller.file), "it is called here"),
                            Related(ir.unpack(used.at, caller.file), "every rank goes on with the result here"),
                        ],
                    )
                    break


def _bare(decorator: ir.Expr) -> ir.Expr:
    return decorator.func if type(decorator) is ir.Call else decorator


def _gives_something(body: tuple[ir.Stmt, ...]) -> bool:
    """Whether a function certainly gives something else than ``None``."""
    given = [one.value for one in statements(body) if type(one) is ir.Return]
    return bool(given) and all(
        value is not None and not (type(value) is ir.Constant and value.value is None) for value in given
    )


def _use(project: Project, file: str, function: int, call: ir.Call, sending: re.Pattern[str]) -> ir.Expr | None:
    """Where a caller goes on with the result on all ranks; ``None`` where it does not, or may know what the others get."""
    body = body_of(project, file, function)
    if _on_rank_0(project, file, function, call.at) or any(sending.search(called_name(one)) for one in calls_of(body)):
        return None
    names: set[str] = set()
    for statement in statements(body):
        for expr in expressions_of(statement):
            if expr.at != call.at and ir.encloses(expr.at, call.at):
                return _taking(expr, call)
        if type(statement) is ir.Assign and statement.value is not None and statement.value.at == call.at:
            if len(statement.targets) != 1:
                return None
            names = _named(statement.targets[0])
    if not names:
        return None
    asked = {one.at for one in statements(body) if type(one) in (ir.If, ir.While) and mentions(one.test, names)}  # type: ignore[union-attr]
    if asked:
        return None
    owned = any("." in name for name in names)
    return _read_by_all(project, file, -1 if owned else function, names, call, owned=owned)


def _taking(expr: ir.Expr, call: ir.Call) -> ir.Expr | None:
    """The operation or attribute that can't go on with ``None``, around a call."""
    for part in below(expr):
        if type(part) is ir.Attribute and part.base.at == call.at:
            return part
        if type(part) is ir.Operation and set(part.operators) <= {"+", "-", "*", "/"}:
            if any(operand.at == call.at for operand in part.operands):
                return part
    return None


def _named(target: ir.Expr) -> set[str]:
    if type(target) is ir.Name:
        return {target.id}
    if type(target) is ir.Attribute and type(target.base) is ir.Name:
        return {f"{target.base.id}.{target.name}"}
    return set()


def _read_by_all(
    project: Project, file: str, function: int, names: set[str], call: ir.Call, *, owned: bool
) -> ir.Expr | None:
    """The first place that hands the result on or works with it, where all ranks come; ``None`` where something asks what it is."""
    module = project.module(file)
    functions = range(len(module.functions)) if owned else (function,)
    found: ir.Expr | None = None
    for index in functions:
        for statement in statements(body_of(project, file, index)):
            for expr in expressions_of(statement):
                if not mentions(expr, names):
                    continue
                if type(statement) in (ir.If, ir.While) or any(_is_asking(one, names) for one in below(expr)):
                    return None
                if found is None and (owned or expr.at > call.at) and type(expr) not in (ir.Name, ir.Attribute):
                    taken = next((one for one in below(expr) if _takes(one, names)), None)
                    if taken is not None and not _on_rank_0(project, file, index, expr.at):
                        found = taken
    return found


def _is_asking(expr: ir.Expr, names: set[str]) -> bool:
    """Whether something chooses by the result, or tells it from ``None``."""
    if type(expr) is ir.Conditional:
        return mentions(expr.test, names)
    return (
        type(expr) is ir.Operation
        and bool({"or", "and", "is", "is not", "not", "==", "!="} & set(expr.operators))
        and any(mentions(one, names) for one in expr.operands)
    )


def _takes(expr: ir.Expr, names: set[str]) -> bool:
    """Whether an expression hands the result to a call, or works with it."""
    if type(expr) is ir.Call:
        given = (*expr.args, *(one.value for one in expr.keywords))
        return called_name(expr) != "print" and any(mentions(one, names) for one in given)
    if type(expr) is ir.Operation:
        return any(mentions(one, names) for one in expr.operands)
    return type(expr) in (ir.Attribute, ir.Subscript) and mentions(expr.base, names)  # type: ignore[union-attr]


def _on_rank_0(project: Project, file: str, function: int, at: ir.Position) -> bool:
    return any(only_rank_0_goes(project, way) is not None for way in ways_to(project, file, function, at))
