"""What the checks of figures share: a loop over a rank's own part of the data, quotients, and what their denominators count."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from distlint.checks.loaders import Pass, argument_of
from distlint.checks.spread_names import Region, mentions, scales_by_world
from distlint.checks.world_degree import Degrees
from distlint.link.abstract import Instance, options_of
from distlint.link.walking import below, expressions_of, statements
from distlint.model import python as ir
from distlint.model.finding import Related
from distlint.model.span import Span

if TYPE_CHECKING:
    from distlint.checks.registry import CheckContext
    from distlint.link.project import Project


class Tally(NamedTuple):
    """A loop over a rank's part of the data, and the variables that it adds up.

    ``part`` is where the part is taken; ``loader`` and ``sampler`` are the objects that hand it out, where there are such.
    """

    place: Pass
    loader: Instance | None
    sampler: Instance | None
    names: frozenset[str]
    part: Span

    def identities(self) -> set[object]:
        """What tells the objects that hand out the part."""
        return {one.identity for one in (self.loader, self.sampler) if one is not None}


def related_of(tally: Tally) -> list[Related]:
    """The places that show that a rank sees its own part only."""
    return [
        Related(tally.part, "this hands each rank its own part of the data"),
        Related(ir.unpack(tally.place.iterable.at, tally.place.file), "each rank goes through its part here"),
    ]


def quotients(region: Region, project: Project) -> Iterator[ir.Operation]:
    """The divisions of a function; ``x /= y`` counts as ``x / y``."""
    for statement in statements(region.body(project)):
        if type(statement) is ir.AugAssign and statement.operator == "/":
            yield ir.Operation(("/",), (statement.target, statement.value), statement.at)
        for expr in expressions_of(statement):
            for part in below(expr):
                if type(part) is ir.Operation and part.operators == ("/",) and len(part.operands) == 2:
                    yield part


def scaled_by_ranks(project: Project, region: Region) -> bool:
    """Whether something of the names is divided or multiplied together with the number of processes, whatever that is called."""
    body = region.body(project)
    if scales_by_world(body, region.names):
        return True
    degrees = Degrees(project)
    found = (degrees.of(one, region.file, region.function) for one in _factors(body, region.names))
    return any(one is not None and one.power for one in found)


def _factors(body: tuple[ir.Stmt, ...], names: frozenset[str]) -> Iterator[ir.Expr]:
    """What the names of a body are multiplied with, or divided by."""
    for statement in statements(body):
        if type(statement) is ir.AugAssign and statement.operator in _SCALING and mentions(statement.target, names):
            yield statement.value
        for expr in expressions_of(statement):
            for part in below(expr):
                if type(part) is ir.Operation and set(_SCALING) & set(part.operators) and mentions(part, names):
                    yield from part.operands
                if type(part) is ir.Call and type(part.func) is ir.Attribute and part.func.name in _SCALING_METHODS:
                    yield from part.args if mentions(part.func.base, names) else ()


_SCALING = ("*", "/", "//")
_SCALING_METHODS = frozenset({"div", "div_", "mul", "mul_", "true_divide"})
_AVERAGING = frozenset({"mean", "avg", "average"})


def words_of(call: ir.Call) -> set[str]:
    """The names that stand in a call; ``AVG`` also where a text says that it averages."""
    texts = {part.value for part in below(call) if type(part) is ir.Constant and type(part.value) is str}
    found = {part.name for part in below(call) if type(part) is ir.Attribute} | {
        part.id for part in below(call) if type(part) is ir.Name
    }
    return found | ({"AVG"} if texts & _AVERAGING else set())


def local_count(context: CheckContext, expr: ir.Expr, tally: Tally, region: Region) -> str:
    """What a denominator counts, if it is something of one rank alone."""
    expr = bare(expr)
    if type(expr) is ir.Name and expr.id in tally.names:
        return f"`{expr.id}`, which counts the part of one rank"
    if type(expr) is ir.Call and type(expr.func) is ir.Name and expr.func.id == "len" and len(expr.args) == 1:
        for option in options_of(context.project.evaluator(None).ask(expr.args[0], region.file, region.function)):
            if isinstance(option, Instance) and option.identity in tally.identities():
                what = "samples" if tally.sampler and option.identity == tally.sampler.identity else "batches"
                return f"the number of {what} of one rank"
    return ""


def bare(expr: ir.Expr) -> ir.Expr:
    """An expression without ``max(..., 1)``, ``float`` and ``.item()`` around it."""
    while type(expr) is ir.Call:
        if type(expr.func) is ir.Name and expr.func.id in ("max", "float", "int") and expr.args:
            expr = next((one for one in expr.args if type(one) is not ir.Constant), expr.args[0])
        elif type(expr.func) is ir.Attribute and expr.func.name in ("item", "float") and not expr.args:
            expr = expr.func.base
        else:
            break
    return expr


def length_of_all(context: CheckContext, expr: ir.Expr, region: Region, tally: Tally) -> bool:
    """Whether an expression is the length of the dataset that the loader parts."""
    expr = bare(expr)
    project: Project = context.project
    if type(expr) is ir.Name:
        bound = [
            statement.value
            for statement in statements(region.body(project))
            if type(statement) is ir.Assign
            and statement.value is not None
            and any(type(target) is ir.Name and target.id == expr.id for target in statement.targets)
        ]
        expr = bound[0] if len(bound) == 1 else expr
    if type(expr) is not ir.Call or type(expr.func) is not ir.Name or expr.func.id != "len" or len(expr.args) != 1:
        return False
    counted = expr.args[0]
    evaluator = project.evaluator(None)
    if type(counted) is ir.Attribute and counted.name == "dataset":
        options = options_of(evaluator.ask(counted.base, region.file, region.function))
        wanted = tally.identities()
        return any(isinstance(one, Instance) and one.identity in wanted for one in options)
    if tally.loader is None:
        return False
    _, whole, _ = argument_of(project, tally.loader, "dataset", context.parameters["signature"])
    identities = {one.identity for one in whole if isinstance(one, Instance)}
    options = options_of(evaluator.ask(counted, region.file, region.function))
    return any(isinstance(one, Instance) and one.identity in identities for one in options)
