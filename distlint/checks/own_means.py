"""Quotients that are the mean of what one rank went through: a sum by how many there were of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distlint.checks.execution import body_of
from distlint.checks.loaders import loader_classes, loaders_in
from distlint.checks.spread_names import JOINING, called_name, calls_of, forward, mentions
from distlint.checks.tally_parts import bare
from distlint.link.walking import below, bound_names, statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.checks.registry import CheckContext


def is_own_mean(context: CheckContext, quotient: ir.Operation, file: str, function: int) -> bool:
    """Whether a quotient divides a sum by the number of its terms, and nothing of either was brought together over the ranks.

    The terms are counted beside the sum (``seen += len(batch)``), are those of a list, or one for each batch of a loader. By the length
    of a data set of which each rank has gone through its part the quotient is a share of the mean, which may be added up.
    """
    if quotient.operators != ("/",) or len(quotient.operands) != 2:
        return False
    upper, lower = quotient.operands[0], bare(quotient.operands[1])
    body = body_of(context.project, file, function)
    if type(lower) is ir.Name:
        counts = _is_counter(body, lower.id)
    elif (
        type(lower) is ir.Call
        and called_name(lower) == "len"
        and len(lower.args) == 1
        and type(lower.args[0]) is ir.Name
    ):
        listed = lower.args[0]
        classes = loader_classes(context.project, context.parameters["loaders"])
        counts = bool(loaders_in(context.project, listed, file, function, classes)) or (
            mentions(upper, (listed.id,)) and _is_collected(body, listed.id)
        )
    else:
        return False
    used = {part.id for one in (upper, lower) for part in below(one) if type(part) is ir.Name}
    names = forward(body, used)
    before = [
        call
        for call in calls_of(body)
        if call.at < quotient.at and not ir.encloses(call.at, quotient.at) and JOINING.search(called_name(call))
    ]
    return counts and not any(mentions(one, names) for call in before for one in call.args)


def _is_counter(body: tuple[ir.Stmt, ...], name: str) -> bool:
    """Whether a variable starts at a number, and is only added to."""
    added = False
    for statement in statements(body):
        if type(statement) is ir.AugAssign and name in bound_names(statement.target):
            if statement.operator != "+" or type(statement.target) is not ir.Name:
                return False
            added = True
        elif type(statement) is ir.Assign and any(name in bound_names(one) for one in statement.targets):
            value = statement.value
            values = value.items if type(value) is ir.ListDisplay else (value,)
            if not all(_is_start(one) for one in values):
                return False
    return added


def _is_start(expr: ir.Expr | None) -> bool:
    """Whether an expression is a number, or a tensor of one, to begin with."""
    if type(expr) is ir.Call:
        first = expr.args[0] if expr.args else None
        return called_name(expr) == "zeros" or (called_name(expr) == "tensor" and type(first) is ir.Constant)
    return type(expr) is ir.Constant


def _is_collected(body: tuple[ir.Stmt, ...], name: str) -> bool:
    """Whether a list holds what was worked out one after the other."""
    for statement in statements(body):
        if type(statement) is ir.Assign and any(name in bound_names(one) for one in statement.targets):
            value = statement.value
            empty = type(value) is ir.ListDisplay and not value.items
            if not empty and type(value) is not ir.Comprehension:
                return False
    return True
