"""Sums over prepared loaders that count the samples which only fill up the last batches, divided by the number of samples.

A prepared loader gives all processes as many batches of one size; what ``padded_metrics`` says of values that are collected goes for
what each process has counted as well, once it is added up over the processes and divided by the length of the data. Parameters: those of
``padded_metrics``, and ``adding`` (calls that add up over the processes).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from distlint.checks.execution import body_of
from distlint.checks.loaders import argument_of, trains
from distlint.checks.padding import is_uneven, loader_of, minds
from distlint.checks.preparing import Handed, Preparations, last_name, texts_of
from distlint.checks.registry import CheckContext
from distlint.link.abstract import Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.project import CallSite, Project
from distlint.link.walking import below, expressions_of, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related


class _Counted(NamedTuple):
    """A figure that a loop over a prepared loader counts: how it is written, the loop, and what was handed over for the loader."""

    name: str
    loop: ir.For
    handed: Handed


def padded_sums(context: CheckContext, found: Preparations) -> Iterator[Finding]:
    """A finding for each such sum."""
    project: Project = context.project
    for site in project.calls_to(set(context.parameters["adding"])):
        body = body_of(project, site.file, site.site.function)
        given, _ = find_argument(site.site.call, "tensor", 0)
        how, certain = find_argument(site.site.call, "reduction", 1)
        adds = certain and (how is None or (type(how) is ir.Constant and how.value == "sum"))
        if given is None or not adds or minds(context, body, site):
            continue
        for counted in _counted(context, found, body, site, given):
            quotient = _divided(context, body, site, counted)
            if quotient is not None:
                yield _finding(context, site, counted, quotient)
                break


def _finding(context: CheckContext, site: CallSite, counted: _Counted, quotient: ir.Expr) -> Finding:
    assert counted.handed.instance is not None  # noqa: S101 - ``_counted`` has tested it
    return context.finding(
        "the samples that only fill up the last batch are counted as well, but this divides by the number of samples",
        ir.unpack(quotient.at, site.file),
        related=[
            Related(ir.unpack(counted.loop.iterable.at, site.file), "they are counted in this loop"),
            Related(site.span, "the counts of the processes are added up here"),
            Related(counted.handed.instance.span(), "the loader over the data"),
            Related(counted.handed.found.span, "this makes all processes get as many batches of one size"),
        ],
        symbol=site.name,
    )


def _counted(
    context: CheckContext, found: Preparations, body: tuple[ir.Stmt, ...], site: CallSite, given: ir.Expr
) -> Iterator[_Counted]:
    """What is added up of what a loop in front of the call has counted."""
    names = {texts_of(part) for part in below(given)} - {""}
    for loop in statements(body):
        if type(loop) is not ir.For or loop.at >= site.site.call.at or trains(context.project, site.file, loop.body):
            continue
        counting = [one for one in statements(loop.body) if type(one) is ir.AugAssign and one.operator == "+"]
        own = [name for one in counting if (name := texts_of(one.target)) in names]
        handed = loader_of(context, found, loop, site.file, site.site.function) if own else None
        if handed is not None and handed.instance is not None and is_uneven(context, handed.instance):
            yield from (_Counted(name, loop, handed) for name in own)


def _divided(context: CheckContext, body: tuple[ir.Stmt, ...], site: CallSite, counted: _Counted) -> ir.Expr | None:
    """The quotient of the sum and the number of samples behind the call."""
    sums = {counted.name}
    for statement in statements(body):
        if type(statement) is ir.Assign and statement.value is not None and _holds(statement.value, site.site.call):
            sums |= {texts_of(part) for target in statement.targets for part in below(target)} - {""}
    for statement in statements(body):
        for expr in expressions_of(statement):
            for part in below(expr):
                if part.at < site.site.call.at and not _holds(part, site.site.call):
                    continue
                if type(part) is ir.Operation and part.operators == ("/",) and len(part.operands) == 2:
                    mentioned = {texts_of(one) for one in below(part.operands[0])}
                    if mentioned & sums and _is_length(context, part.operands[1], site, counted):
                        return part
    return None


def _holds(expr: ir.Expr, call: ir.Call) -> bool:
    return any(part is call for part in below(expr))


def _is_length(context: CheckContext, expr: ir.Expr, site: CallSite, counted: _Counted) -> bool:
    """Whether an expression is the length of the data of the loader."""
    if type(expr) is not ir.Call or last_name(expr.func) != "len" or len(expr.args) != 1:
        return False
    asked = expr.args[0]
    if type(asked) is ir.Attribute and asked.name == "dataset":
        return texts_of(asked.base) == texts_of(counted.loop.iterable)
    assert counted.handed.instance is not None  # noqa: S101 - ``_counted`` has tested it
    project: Project = context.project
    _, data, _ = argument_of(project, counted.handed.instance, "dataset", context.parameters["signature"])
    mine = options_of(project.evaluator(None).ask(asked, site.file, site.site.function))
    one = mine[0] if len(mine) == 1 else None
    other = data[0] if len(data) == 1 else None
    return isinstance(one, Instance) and isinstance(other, Instance) and one.identity == other.identity
