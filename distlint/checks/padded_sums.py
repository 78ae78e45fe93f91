"""Sums over prepared loaders that count the samples which only fill up the last batches, divided by the number of samples.

A prepared loader gives all processes as many batches of one size; what ``padded_metrics`` says of values that are collected goes for
what each process has counted as well, once it is added up over the processes and divided by the length of the data. Parameters: those of
``padded_metrics``, and ``adding`` (calls that add up over the processes).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from distlint.checks.derivations import Part
from distlint.checks.execution import body_of
from distlint.checks.loaders import argument_of, trains
from distlint.checks.number_sources import Step
from distlint.checks.padding import is_uneven, loader_of, minds
from distlint.checks.preparing import Handed, Preparations, texts_of
from distlint.checks.registry import CheckContext
from distlint.checks.schedule_numbers import handed, is_length_of
from distlint.checks.tally_parts import bare
from distlint.link.abstract import Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.modules import FunctionRef
from distlint.link.project import CallSite, Project
from distlint.link.walking import below, expressions_of, last_name, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related

MAX_DEPTH = 3
"""Calls inside each other that are followed back, from the one that adds up or from what it gave."""


class _Added(NamedTuple):
    """A call after which something is added up over the processes: what it is given, and whether its rows are still to be added up."""

    site: CallSite
    given: ir.Expr
    rows: bool


class _Counted(NamedTuple):
    """A figure that a loop over a prepared loader counts: how it is written, the loop, and what was handed over for the loader.

    ``inside``: it is brought together in each turn of the loop.
    """

    name: str
    loop: ir.For
    handed: Handed
    inside: bool = False


class _Result(NamedTuple):
    """Where the sum is to be had: a call in a function, and which of the things that it gives (none: all of it)."""

    site: CallSite
    rows: bool
    position: int | None = None


def padded_sums(context: CheckContext, found: Preparations, told: Collection[ir.Position]) -> Iterator[Finding]:
    """A finding for each such sum; ``told``: the loops of which something is said already."""
    project: Project = context.project
    reported: set[tuple[str, ir.Position]] = set()
    for added in _sums(context):
        site = added.site
        body = body_of(project, site.file, site.site.function)
        if minds(context, body, site):
            continue
        for counted in _counted(context, found, body, added):
            if counted.loop.at in told:
                continue
            quotient = _divided(context, found, _Result(site, added.rows), counted)
            if quotient is not None and (quotient.file, quotient.expr.at) not in reported:
                reported.add((quotient.file, quotient.expr.at))
                yield _finding(context, site, counted, quotient)
                break


def _sums(context: CheckContext) -> Iterator[_Added]:
    """The calls that add up over the processes, and those of the helpers that make such a call for what they are given."""
    project: Project = context.project
    for site in project.calls_to(set(context.parameters["adding"])):
        given, _ = find_argument(site.site.call, "tensor", 0)
        how, certain = find_argument(site.site.call, "reduction", 1)
        adds = certain and (how is None or (type(how) is ir.Constant and how.value == "sum"))
        if given is not None and adds:
            yield from _called(project, _Added(site, given, rows=False))
    for site in project.calls_to(set(context.parameters["gather"])):
        given, _ = find_argument(site.site.call, "tensor", 0)
        if given is not None:
            yield from _called(project, _Added(site, given, rows=True))


def _called(project: Project, added: _Added, depth: int = 0) -> Iterator[_Added]:
    yield added
    site = added.site
    if site.site.function < 0 or depth >= MAX_DEPTH:
        return
    ref = FunctionRef(site.file, site.site.function)
    definition = project.function(ref)
    named = bare(added.given)
    position = next((at for at, one in enumerate(definition.parameters) if one.name == texts_of(named)), None)
    returned = list(_returns(definition.body))
    if position is None or len(returned) != 1 or not _holds(returned[0], site.site.call):
        return
    rows = added.rows and not _Sums(_Result(site, rows=True), set(), set()).gives(returned[0])
    for caller in project.callers(ref):
        shift = caller.shift - (1 if definition.owner >= 0 else 0)
        given, certain = find_argument(caller.site.call, definition.parameters[position].name, position + shift)
        if given is not None and certain and not caller.starter:
            yield from _called(project, _Added(CallSite(caller.file, caller.site, site.name), given, rows), depth + 1)


def _returns(body: tuple[ir.Stmt, ...]) -> Iterator[ir.Expr]:
    return (one.value for one in statements(body) if type(one) is ir.Return and one.value is not None)


def _finding(context: CheckContext, site: CallSite, counted: _Counted, quotient: Part) -> Finding:
    assert counted.handed.instance is not None  # noqa: S101 - ``_counted`` has tested it
    return context.finding(
        "the samples that only fill up the last batch are counted as well, but this divides by the number of samples",
        ir.unpack(quotient.expr.at, quotient.file),
        related=[
            Related(ir.unpack(counted.loop.iterable.at, site.file), "they are counted in this loop"),
            Related(site.span, "the counts of the processes are added up here"),
            Related(counted.handed.instance.span(), "the loader over the data"),
            Related(counted.handed.found.span, "this makes all processes get as many batches of one size"),
        ],
        symbol=site.name,
    )


def _counted(
    context: CheckContext, found: Preparations, body: tuple[ir.Stmt, ...], added: _Added
) -> Iterator[_Counted]:
    """What is added up of what a loop has counted, in front of the call or turn by turn around it."""
    site, call = added.site, added.site.site.call
    names = {texts_of(part) for part in below(added.given)} - {""}
    for loop in statements(body):
        if type(loop) is not ir.For or loop.at >= call.at or trains(context.project, site.file, loop.body):
            continue
        inside = any(ir.encloses(one.at, call.at) for one in loop.body)
        counting = [one for one in statements(loop.body) if type(one) is ir.AugAssign and one.operator == "+"]
        if inside:
            sums = _sums_of(loop.body, _Result(site, added.rows))
            own = [texts_of(one.target) for one in counting if sums.gives(one.value)]
        else:
            own = [name for one in counting if (name := texts_of(one.target)) in names]
        handing = loader_of(context, found, loop, site.file, site.site.function) if any(own) else None
        if handing is not None and handing.instance is not None and is_uneven(context, handing.instance):
            yield from (_Counted(name, loop, handing, inside) for name in own if name)


class _Sums(NamedTuple):
    """What holds the sum in a function: the call that gives it, and the variables, also those of rows that are not yet added up."""

    result: _Result
    names: set[str]
    rows: set[str]

    def gives(self, expr: ir.Expr) -> bool:
        """Whether an expression works with the sum."""
        parts = list(below(expr))
        if any(texts_of(part) in self.names for part in parts):
            return True
        if self.result.rows:
            return any(_adds_rows(part) and self._brings(part) for part in parts)
        return self.result.position is None and _holds(expr, self.result.site.site.call)

    def _brings(self, expr: ir.Expr) -> bool:
        return _holds(expr, self.result.site.site.call) or any(texts_of(part) in self.rows for part in below(expr))


def _sums_of(body: tuple[ir.Stmt, ...], result: _Result, known: str = "") -> _Sums:
    sums = _Sums(result, {known} if known else set(), set())
    call = result.site.site.call
    for one in statements(body):
        if type(one) is not ir.Assign or one.value is None:
            continue
        targets = one.targets
        if one.value is call and result.position is not None:
            parts = targets[0].items if len(targets) == 1 and type(targets[0]) is ir.ListDisplay else ()
            targets = parts[result.position : result.position + 1]
            sums.names.update({texts_of(target) for target in targets} - {""})
            continue
        names = {texts_of(part) for target in targets for part in below(target)} - {"", "self"}
        if sums.gives(one.value):
            sums.names.update(names)
        elif result.rows and _holds(one.value, call):
            sums.rows.update(names)
    return sums


def _adds_rows(expr: ir.Expr) -> bool:
    return type(expr) is ir.Call and last_name(expr.func) == "sum"


def _divided(
    context: CheckContext, found: Preparations, result: _Result, counted: _Counted, depth: int = 0
) -> Part | None:
    """The quotient of the sum and the number of samples, behind the call or behind a call of the function that gives the sum."""
    site, call = result.site, result.site.site.call
    body = body_of(context.project, site.file, site.site.function)
    sums = _sums_of(body, result, counted.name if counted.inside and depth == 0 else "")
    for statement in statements(body):
        for expr in expressions_of(statement):
            for part in below(expr):
                if part.at < call.at and not _holds(part, call):
                    continue
                if type(part) is ir.Operation and part.operators == ("/",) and len(part.operands) == 2:
                    number = Part(bare(part.operands[1]), site.file, site.site.function)
                    if sums.gives(part.operands[0]) and _is_length(context, found, number, counted):
                        return Part(part, site.file, site.site.function)
    return _divided_by_caller(context, found, sums, counted, depth)


def _divided_by_caller(
    context: CheckContext, found: Preparations, sums: _Sums, counted: _Counted, depth: int
) -> Part | None:
    project, site = context.project, sums.result.site
    if site.site.function < 0 or depth >= MAX_DEPTH:
        return None
    ref = FunctionRef(site.file, site.site.function)
    given = list(_returns(project.function(ref).body))
    if len(given) != 1:
        return None
    items = given[0].items if type(given[0]) is ir.ListDisplay else ()
    positions = [at for at, one in enumerate(items) if _is_plain(one) and sums.gives(one)]
    if not positions and not (_is_plain(given[0]) and sums.gives(given[0])):
        return None
    for caller in project.callers(ref):
        where = CallSite(caller.file, caller.site)
        if caller.starter or minds(context, body_of(project, caller.file, caller.site.function), where):
            continue
        for position in positions or (None,):
            quotient = _divided(context, found, _Result(where, rows=False, position=position), counted, depth + 1)
            if quotient is not None:
                return quotient
    return None


def _is_plain(expr: ir.Expr) -> bool:
    """Whether an expression is the sum as it is, with nothing worked out of it (``hits``, ``hits.item()``, a call)."""
    return type(expr) in (ir.Name, ir.Attribute, ir.Call) and not any(type(one) is ir.Operation for one in below(expr))


def _holds(expr: ir.Expr, call: ir.Call) -> bool:
    return any(part is call for part in below(expr))


def _is_length(context: CheckContext, found: Preparations, number: Part, counted: _Counted) -> bool:
    """Whether a number can only be the length of the data of the loader."""
    made = counted.handed.instance
    assert made is not None  # noqa: S101 - ``_counted`` has tested it
    project: Project = context.project
    _, options, _ = argument_of(project, made, "dataset", context.parameters["signature"])
    data = tuple(one for one in options if isinstance(one, Instance))
    if len(options) != 1:
        data = ()
    sources = [one for one in handed(project, number) if type(one.expr) not in (ir.Name, ir.Attribute)]
    return bool(sources) and all(
        (bool(data) and is_length_of(project, one, data)) or _is_length_of_loader(found, one, made) for one in sources
    )


def _is_length_of_loader(found: Preparations, number: Step, made: Instance) -> bool:
    """Whether a number is the length of what the loader, prepared or not, has for its data (``len(loader.dataset)``)."""
    expr = bare(number.expr)
    if type(expr) is not ir.Call or last_name(expr.func) != "len" or len(expr.args) != 1:
        return False
    asked = expr.args[0]
    if type(asked) is not ir.Attribute or asked.name != "dataset":
        return False
    options = options_of(found.things.evaluator.ask_in(asked.base, number.frame))
    only = options[0] if len(options) == 1 else None
    if not isinstance(only, Instance):
        return False
    handing = found.given_for(only) if found.is_prepared(only) else None
    loader = only if handing is None else handing.instance
    return loader is not None and loader.identity == made.identity
