"""Averages over the ranks of means that each rank has worked out over another number of terms.

Parameters: ``summing`` (functions that bring a tensor together over the ranks), ``loaders`` with their ``signature``, ``samplers`` (last
names of classes that part the data).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.checks.derivations import Part, derivation, holders
from distlint.checks.execution import body_of
from distlint.checks.loaders import argument_of, loader_classes, loaders_in
from distlint.checks.own_parts import own_items, takes_own_in
from distlint.checks.reduced_figures import MAX_DEPTH, Means, divisions, has_group, operation_of, reached, root_of
from distlint.checks.registry import CheckContext, check
from distlint.checks.spread_names import called_name, mentions, names_world
from distlint.checks.tally_parts import bare
from distlint.checks.world_degree import Degrees
from distlint.link.abstract import Instance
from distlint.link.arguments import find_argument
from distlint.link.followed import binding, followed
from distlint.link.walking import bound_names, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related

if TYPE_CHECKING:
    from distlint.link.flow import Env
    from distlint.link.project import CallSite, Project

_TESTS = frozenset({"==", "!=", "<", ">", "<=", ">=", "&", "|", "not", "~"})
_TESTING = frozenset(
    {"eq", "ne", "lt", "gt", "le", "ge", "isnan", "isfinite", "logical_and", "logical_not", "logical_or", "not_equal"}
)
_COUNTING = frozenset({"sum", "count_nonzero"})
_VIEWS = frozenset(
    {"item", "float", "long", "int", "to", "cpu", "cuda", "detach", "reshape", "view", "flatten", "bool", "double"}
)


@check("uneven-means")
def uneven_means(context: CheckContext) -> Iterator[Finding]:
    """A finding for each such average."""
    project: Project = context.project
    for site in project.calls_to(set(context.parameters["summing"])):
        tensor, _ = find_argument(site.site.call, "tensor", 0)
        if tensor is None or not root_of(tensor) or has_group(site.site.call):
            continue
        for mean in Means(context, losses=False).of(tensor, site.file, site.site.function):
            counted = _uneven(context, mean)
            # What is made of the result is asked last: it goes through whole functions.
            if counted is not None and _is_average(project, site):
                yield context.finding(
                    "this averages the means of the ranks as if each were one over as many terms, but each rank counts its own",
                    site.span,
                    related=[
                        Related(ir.unpack(mean.expr.at, mean.file), "this is a mean over what one rank has"),
                        Related(
                            ir.unpack(counted.at, mean.file), "how many terms it has depends on the data of the rank"
                        ),
                    ],
                )
                break


def _is_average(project: Project, site: CallSite) -> bool:
    """Whether what a call brings together is divided by the number of ranks once, by the call itself or behind it."""
    operation = operation_of(site.site.call)
    if operation != "SUM":
        return operation == "AVG"
    tensor, _ = find_argument(site.site.call, "tensor", 0)
    for region, around in reached(project, site.file, site.site.function, {root_of(tensor)}):
        for expr, _ in divisions(region.body(project)):
            concerned = mentions(expr, region.names) or any(one.at == expr.at for one in around)
            if concerned and names_world(expr):
                degree = Degrees(project).of(expr, region.file, region.function)
                return degree is not None and degree.power == -1
    return False


def _uneven(context: CheckContext, mean: Part) -> ir.Expr | None:
    """What the terms of a mean are counted by, where that is the rank's own data: the rows of its part that pass a test."""
    project: Project = context.project
    body = body_of(project, mean.file, mean.function)
    counter = bare(mean.expr.operands[1])  # type: ignore[union-attr]
    if type(counter) is not ir.Name:
        return None
    for statement in statements(body):
        if type(statement) is not ir.AugAssign or counter.id not in bound_names(statement.target):
            continue
        if not _is_tested(project, Part(statement.value, mean.file, mean.function)):
            continue
        loops = [one for one in holders(body, statement.at) if type(one) is ir.For]
        if any(_goes_through_part(context, loop.iterable, mean) for loop in loops):
            return statement.value
    return None


def _is_tested(project: Project, count: Part, depth: int = 0) -> bool:
    """Whether a number counts what passes a test of the data, worked out here or in a function that gives it, perhaps beside others."""
    expr = _plain(count.expr)
    state = project.flow(count.file, count.function).before(expr.at)
    expr = _plain(followed(expr, state))
    if type(expr) is ir.Call and called_name(expr) in _COUNTING:
        inner = expr.args[0] if expr.args else expr.func.base if type(expr.func) is ir.Attribute else None
        return inner is not None and _is_test(project, inner, count)
    call, place = _given_by(expr, state)
    if call is None or depth >= MAX_DEPTH:
        return False
    results = [
        Part(_item(one.value, place), edge.target.file, edge.target.index)
        for edge in project.call_graph.targets(count.file, count.function, call)
        if edge.how == "call"
        for one in statements(body_of(project, edge.target.file, edge.target.index))
        if type(one) is ir.Return and one.value is not None
    ]
    return bool(results) and all(_is_tested(project, one, depth + 1) for one in results)


def _given_by(expr: ir.Expr, state: Env) -> tuple[ir.Call | None, int | None]:
    """The call that gives a value, and the place among what it gives together, if there are several."""
    if type(expr) is ir.Call:
        return expr, None
    if type(expr) is ir.Subscript and type(expr.base) is ir.Call and type(expr.index) is ir.Constant:
        return expr.base, expr.index.value if type(expr.index.value) is int else None
    bound = binding(expr.id, state) if type(expr) is ir.Name else None
    if bound is None or type(bound.expr) is not ir.Call or len(bound.part) != 1 or type(bound.part[0]) is not int:
        return None, None
    return bound.expr, bound.part[0]


def _item(value: ir.Expr, place: int | None) -> ir.Expr:
    """What stands at a place of what a function returns; all of it where that is no tuple."""
    alone = place is None or type(value) is not ir.ListDisplay or place >= len(value.items)
    return value if alone else value.items[place]  # type: ignore[index,union-attr]


def _is_test(project: Project, expr: ir.Expr, mean: Part) -> bool:
    for _ in range(6):
        found = _plain(followed(expr, project.flow(mean.file, mean.function).before(expr.at)))
        if found is expr:
            break
        expr = found
    if type(expr) is ir.Operation:
        return bool(_TESTS & set(expr.operators))
    return type(expr) is ir.Call and called_name(expr) in _TESTING


def _plain(expr: ir.Expr) -> ir.Expr:
    """An expression without the methods around it that leave its numbers as they are."""
    while type(expr) is ir.Call:
        if type(expr.func) is ir.Attribute and expr.func.name in _VIEWS:
            expr = expr.func.base
        elif type(expr.func) is ir.Name and expr.func.id in ("int", "float") and len(expr.args) == 1:
            expr = expr.args[0]
        else:
            break
    return expr


def _takes_part(project: Project, part: Part) -> bool:
    """Whether an expression takes the rank's part of something: every n-th item, or those from one place on up to another."""
    state = project.flow(part.file, part.function).before(part.expr.at)
    if type(part.expr) is ir.Subscript and type(part.expr.index) is ir.Slice:
        ends = (part.expr.index.lower, part.expr.index.upper)
        return takes_own_in(project, part.expr, part.file, part.function, state) or all(
            one is not None and derivation(project, one, part.file, part.function).mentions_rank() for one in ends
        )
    return type(part.expr) in (ir.Comprehension, ir.Call) and takes_own_in(
        project, part.expr, part.file, part.function, state
    )


def _goes_through_part(context: CheckContext, iterable: ir.Expr, mean: Part) -> bool:
    """Whether a loop certainly goes through a part of the data that is the rank's own."""
    project: Project = context.project
    if own_items(project, iterable, mean.file, mean.function) is not None:
        return True
    made = derivation(project, iterable, mean.file, mean.function)
    if made.mentions_rank() and any(_takes_part(project, part) for part in made.parts):
        return True
    loaders = loaders_in(
        project, iterable, mean.file, mean.function, loader_classes(project, context.parameters["loaders"])
    )
    for loader in loaders:
        _, samplers, _ = argument_of(project, loader, "sampler", context.parameters["signature"])
        given, _, _ = argument_of(project, loader, "dataset", context.parameters["signature"])
        parted = any(
            project.evaluator(None).instance_name(one).rpartition(".")[2].removesuffix("()")
            in context.parameters["samplers"]
            for one in samplers
            if isinstance(one, Instance)
        )
        mine = (
            given is not None and derivation(project, given, loader.frame.file, loader.frame.function).mentions_rank()
        )
        if not parted and not mine:
            return False
    return bool(loaders)
