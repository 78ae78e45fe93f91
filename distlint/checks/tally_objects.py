"""Objects that add up two figures and give their quotient, of which they bring only one together over the ranks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.checks.spread_names import called_name, calls_of, forward, names_world
from distlint.checks.tally_parts import bare, words_of
from distlint.link.modules import FunctionRef
from distlint.link.walking import below, expressions_of, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related

if TYPE_CHECKING:
    from distlint.checks.registry import CheckContext
    from distlint.link.project import Project

_SUMMING = "all_reduce"
_NO_SUMS = {"AVG", "MAX", "MIN", "PRODUCT"}


def half_reduced_objects(context: CheckContext) -> Iterator[Finding]:
    """A finding for each quotient of an attribute that a method sums up over the ranks, and one that only this rank has counted."""
    project: Project = context.project
    for file in project.python_files:
        module = project.module(file)
        if _SUMMING not in module.calls:
            continue
        for owner in range(len(module.classes)):
            methods = [(index, one) for index, one in enumerate(module.functions) if one.owner == owner]
            bodies = [one.body for _, one in methods]
            if any(names_world(expr) for body in bodies for one in statements(body) for expr in expressions_of(one)):
                continue
            counted = set().union(*(_counted_together(body) for body in bodies))
            if len(counted) < 2 or any(_NO_SUMS & words_of(call) for body in bodies for call in calls_of(body)):
                continue
            yield from _quotients(context, file, methods, counted)


def _quotients(
    context: CheckContext, file: str, methods: list[tuple[int, ir.Function]], counted: set[str]
) -> Iterator[Finding]:
    joined: dict[str, ir.Call] = {}
    for _, method in methods:
        for call in calls_of(method.body):
            if called_name(call) == _SUMMING and call.args:
                for name in _given(method.body, call.args[0]) & counted:
                    joined[name] = call
            elif called_name(call) != _SUMMING and "reduce" in called_name(call):
                return  # something else may bring the rest together
    for index, method in methods:
        for statement in statements(method.body):
            for expr in expressions_of(statement):
                for part in below(expr):
                    if type(part) is not ir.Operation or part.operators != ("/",):
                        continue
                    above, beneath = _attribute(bare(part.operands[0])), _attribute(bare(part.operands[1]))
                    if above in joined and beneath in counted and beneath not in joined:
                        if not _is_scaled_outside(context.project, file, method.name, FunctionRef(file, index)):
                            yield context.finding(
                                f"the sum of all ranks is divided by `self.{beneath}`, which counts the part of one rank",
                                ir.unpack(part.at, file),
                                related=[
                                    Related(
                                        ir.unpack(joined[above].at, file),
                                        "this adds up the upper part of the quotient only",
                                    )
                                ],
                            )


def _counted_together(body: tuple[ir.Stmt, ...]) -> set[str]:
    """The attributes of its object that a method adds to, where these are several."""
    found = {
        name
        for one in statements(body)
        if type(one) is ir.AugAssign and one.operator == "+" and (name := _attribute(one.target))
    }
    return found if len(found) > 1 else set()


def _given(body: tuple[ir.Stmt, ...], tensor: ir.Expr) -> set[str]:
    """The attributes that a tensor is made of, directly or through one variable."""
    direct = _attribute(tensor)
    if direct:
        return {direct}
    if type(tensor) is not ir.Name:
        return set()
    return {
        name
        for one in statements(body)
        if type(one) is ir.Assign and one.value is not None
        if any(type(target) is ir.Name and target.id == tensor.id for target in one.targets)
        for part in below(one.value)
        if (name := _attribute(part))
    }


def _attribute(expr: ir.Expr) -> str:
    """The name in ``self.name``; ``""`` for everything else."""
    if type(expr) is ir.Attribute and type(expr.base) is ir.Name and expr.base.id == "self":
        return expr.name
    return ""


def _is_scaled_outside(project: Project, file: str, name: str, ref: FunctionRef) -> bool:
    """Whether what a method or property gives is divided by the number of ranks somewhere."""
    for other in project.python_files:
        module = project.module(other)
        if name not in module.attributes:
            continue
        for index, function in [(-1, None), *enumerate(module.functions)]:
            body = module.body if function is None else function.body
            names = {
                target.id
                for one in statements(body)
                if type(one) is ir.Assign and one.value is not None and _asks(one.value, name)
                for target in one.targets
                if type(target) is ir.Name
            }
            names = set(forward(body, names)) if names else names
            for statement in statements(body):
                if type(statement) is ir.AugAssign and names_world(statement.value):
                    if type(statement.target) is ir.Name and statement.target.id in names:
                        return True
                for expr in expressions_of(statement):
                    for part in below(expr):
                        if type(part) is ir.Operation and names_world(part) and (other, index) != (file, ref.index):
                            if any(
                                _asks(one, name) or (type(one) is ir.Name and one.id in names)
                                for operand in part.operands
                                for one in below(operand)
                            ):
                                return True
    return False


def _asks(expr: ir.Expr, name: str) -> bool:
    return any(type(part) is ir.Attribute and part.name == name for part in below(expr))
