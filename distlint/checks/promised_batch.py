"""Batches that the program calls those of all processes together, and each process gets as its own.

Parameters: ``loaders`` with their ``signature``, ``samplers`` (classes that part the data between the processes), ``prepare`` (calls that
do), ``settings`` (calls with the parameter that is the batch of one process), ``several`` (names that only programs with several processes
have).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.checks.derivations import Part
from distlint.checks.execution import body_of
from distlint.checks.loaders import argument_of, made_at
from distlint.checks.programs import family
from distlint.checks.registry import CheckContext, check
from distlint.checks.scaled_twice import divider, is_given
from distlint.checks.world_degree import Degrees
from distlint.link.abstract import Instance
from distlint.link.arguments import find_argument
from distlint.link.modules import FunctionRef
from distlint.link.project import CallSite
from distlint.link.walking import below, children, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related
from distlint.model.span import Span

if TYPE_CHECKING:
    from distlint.link.project import Project

_PROMISING = re.compile(
    r"^(?:global|total|effective|overall)_?(?:train(?:ing)?_?)?(?:batch|bs)(?:_?size)?$", re.IGNORECASE
)
"""Names of the batch of all processes together."""
_DIVIDING = re.compile(
    r"world|ranks?(?:_|$)|gpus?(?:_|$)|devices?(?:_|$)|nodes?(?:_|$)|proc|replica|parallel|shard|worker|(?:^|_)(?:dp|ddp|local)(?:_|$)",
    re.IGNORECASE,
)
"""Names that may stand for the number of processes, or say that something is a part."""


MAX_PARTS = 300
"""Expressions that are looked at for one batch."""


@check("promised-batch")
def promised_batch(context: CheckContext) -> Iterator[Finding]:
    """A finding for each such batch."""
    for given, site, related in _batches(context):
        promised = _promised(context.project, given, site)
        if promised is None:
            continue
        yield context.finding(
            f"each process gets `{_name(promised.expr)}` samples at once, so all together take more by their number",
            ir.unpack(given.at, site.file),
            related=related,
            symbol=_name(promised.expr),
        )


def _batches(context: CheckContext) -> Iterator[tuple[ir.Expr, CallSite, list[Related]]]:
    """The batches of one process: what is given as such, where, and what makes it one of several."""
    project: Project = context.project
    settings = context.parameters["settings"]
    for site in project.calls_to(set(settings)):
        given, _ = find_argument(site.site.call, settings[site.name], None)
        if given is not None and _has_several(context, site.file):
            yield given, site, []
    signature = context.parameters["signature"]
    for site in project.calls_to(set(context.parameters["loaders"])):
        given, _ = find_argument(site.site.call, "batch_size", signature.index("batch_size"))
        if given is not None and type(given) is not ir.Constant:
            parted = _parted(context, site)
            if parted is not None:
                yield given, site, [Related(parted, "this gives each process its part of the data")]


def _parted(context: CheckContext, site: CallSite) -> Span | None:
    """What parts the data of a loader between the processes, where that leaves the size of its batches as it is."""
    project: Project = context.project
    _, options, _ = argument_of(project, made_at(project, site), "sampler", context.parameters["signature"])
    evaluator = project.evaluator(None)
    made = [one for one in options if isinstance(one, Instance)]
    names = tuple(context.parameters["samplers"])
    if made and all(evaluator.instance_name(one).startswith(names) for one in made):
        return ir.unpack(made[0].call.at, made[0].frame.file)
    if divider(context, site) is None:
        for found in project.calls_to(set(context.parameters["prepare"])):
            if is_given(project, found, site):
                return found.span
    return None


def _has_several(context: CheckContext, file: str) -> bool:
    """Whether a program is seen to be one of several processes."""
    project: Project = context.project
    if any(isinstance(run.world_size.only, int) and run.world_size.only > 1 for run in project.runs_reaching(file)):
        return True
    texts = [project.text_of(one) for one in family(project, file) if one in project.facts]
    return any(name in text for name in context.parameters["several"] for text in texts)


def _promised(project: Project, given: ir.Expr, site: CallSite) -> Part | None:
    """The name of the batch of all processes that a batch is made of, where nothing else in it may be their number."""
    found = None
    for part in _made_of(project, Part(given, site.file, site.site.function)):
        name = _name(part.expr)
        if part.fixed or _DIVIDING.search(name):
            return None
        if found is None and _PROMISING.match(name):
            found = part
    degree = Degrees(project).of(given, site.file, site.site.function)
    return found if degree is not None and degree.power == 0 else None


def _made_of(project: Project, start: Part) -> Iterator[Part]:
    """What a number is made of, but for the other fields of the objects that it is read from; ``fixed`` marks where that can't be told."""
    waiting, seen = [start], set[tuple[object, ...]]()
    while waiting:
        part = waiting.pop()
        expr, file, function = part.expr, part.file, part.function
        yield part._replace(fixed=len(seen) > MAX_PARTS)
        key: tuple[object, ...] = (_name(expr) or expr.at, type(expr), file, function)
        if key in seen or len(seen) > MAX_PARTS:
            continue
        seen.add(key)
        inner: list[ir.Expr] = list(children(expr))
        if type(expr) is ir.Attribute:
            inner = []
            waiting += _stored(project, expr.name)
        elif type(expr) is ir.Call:
            inner = [*expr.args, *(word.value for word in expr.keywords)]
            edges = project.call_graph.targets(file, function, expr)
            for edge in edges:
                body = project.function(edge.target).body
                returned = [one.value for one in statements(body) if type(one) is ir.Return and one.value is not None]
                waiting += [Part(one, edge.target.file, edge.target.index) for one in returned]
            if not edges:
                # a function that is not known says by its name what it gives
                inner.append(expr.func)
        elif type(expr) is ir.Name:
            waiting += _bound(project, expr.id, file, function)
        waiting += [Part(one, file, function) for one in inner]


def _bound(project: Project, name: str, file: str, function: int) -> Iterator[Part]:
    """What a variable is given in its function, by its callers, or in the module."""
    given = list(_assigned(body_of(project, file, function), name))
    yield from (Part(one, file, function) for one in given)
    if function < 0 or given:
        return
    ref = FunctionRef(file, function)
    definition = project.function(ref)
    position = next((i for i, one in enumerate(definition.parameters) if one.name == name), None)
    if position is None:
        yield from _bound(project, name, file, definition.parent)
        return
    default = definition.parameters[position].default
    for caller in project.callers(ref):
        passed, _ = find_argument(caller.site.call, name, position - (definition.owner >= 0) + caller.shift)
        if passed is not None:
            yield Part(passed, caller.file, caller.site.function)
        elif default is not None:
            yield Part(default, file, definition.parent)


def _assigned(body: tuple[ir.Stmt, ...], name: str) -> Iterator[ir.Expr]:
    for statement in statements(body):
        if type(statement) is ir.AugAssign and _holds(statement.target, name):
            yield statement.value
        elif type(statement) is ir.Assign and statement.value is not None:
            for target in statement.targets:
                if _holds(target, name):
                    yield from _part_of(target, statement.value, name)


def _holds(target: ir.Expr, name: str) -> bool:
    return any(type(one) is ir.Name and one.id == name for one in below(target))


def _part_of(target: ir.Expr, value: ir.Expr, name: str) -> Iterator[ir.Expr]:
    """What a name gets of a value that is taken apart: that which stands in its place, if that is written out."""
    shown = type(target) is ir.ListDisplay and type(value) is ir.ListDisplay
    if shown and len(target.items) == len(value.items):  # type: ignore[union-attr]
        for one, part in zip(target.items, value.items, strict=True):  # type: ignore[union-attr]
            if _holds(one, name):
                yield from _part_of(one, part, name)
    else:
        yield value


def _stored(project: Project, name: str) -> Iterator[Part]:
    """What is put into attributes of a name anywhere: an object's own, or those of others."""
    for file, store in project.outside_stores(name):
        if store.value is not None:
            yield Part(store.value, file, store.function)
    for file in project.python_files:
        if not project.stores_attribute(file, name):
            continue
        for function in range(-1, len(project.module(file).functions)):
            for statement in statements(body_of(project, file, function)):
                target = statement.target if type(statement) is ir.AugAssign else None
                targets = statement.targets if type(statement) is ir.Assign else (target,)
                if any(type(one) is ir.Attribute and one.name == name for one in targets):
                    if statement.value is not None:  # type: ignore[union-attr]
                        yield Part(statement.value, file, function)  # type: ignore[union-attr]


def _name(expr: ir.Expr) -> str:
    return expr.name if type(expr) is ir.Attribute else expr.id if type(expr) is ir.Name else ""
