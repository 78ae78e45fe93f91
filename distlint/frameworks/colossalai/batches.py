"""How many samples the batches have that a pipeline gets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distlint.frameworks.colossalai.boosted import BOOST, PLACES, before_boost, maker_of, name_of
from distlint.link.abstract import Instance, node_of
from distlint.link.modules import FunctionRef
from distlint.link.walking import below, expressions_of, statements
from distlint.model import python as ir
from distlint.model.document import node_value
from distlint.model.value import Value, known, unknown

if TYPE_CHECKING:
    from distlint.link.abstract import Abstract
    from distlint.link.evaluate import Evaluator
    from distlint.link.project import CallSite

_MOST_STEPS = 4
"""So many things one around the other are looked through: iterators, prepared loaders, loaders."""


def batch_size(evaluator: Evaluator, found: CallSite, expr: ir.Expr | None, value: Abstract) -> Value:
    """How many samples are in what an iterator over a loader gives, which stands as ``expr`` in a call."""
    value = _before_generator(evaluator, found, expr) or value
    for _ in range(_MOST_STEPS):
        made = maker_of(value)
        if made is None:
            break
        name = name_of(evaluator, made).removesuffix("()")
        given: Abstract | None = None
        if name == "builtins.iter":
            given = evaluator.argument(made.call, "", 0, made.frame, made.state)
        elif name == f"{BOOST}[{PLACES.index('dataloader')}]":
            given = before_boost(evaluator, value, "dataloader")
        elif name.endswith("Plugin().prepare_dataloader"):
            return _number(evaluator, made, None)
        elif name == "torch.utils.data.DataLoader":
            return _number(evaluator, made, 1)
        if given is None:
            break
        value = given
    return unknown("which loader it is, is not known")


def _number(evaluator: Evaluator, made: Instance, default: int | None) -> Value:
    given = evaluator.argument(made.call, "batch_size", 1, made.frame, made.state)
    if given is None:
        return unknown("not given") if default is None else known(default, made.span())
    return node_value(node_of(given, made.span()))


def _before_generator(evaluator: Evaluator, found: CallSite, expr: ir.Expr | None) -> Abstract | None:
    """What a generator of the project goes over, if it gives the batches of that one by one; ``None`` for anything else."""
    project, file, function = evaluator.project, found.file, found.site.function
    if type(expr) is ir.Name:
        bound = [
            one.value
            for one in statements(project.body(file, function))
            if type(one) is ir.Assign and any(type(t) is ir.Name and t.id == expr.id for t in one.targets)
        ]
        expr = bound[0] if len(bound) == 1 else None
    target = project.modules.resolve(expr.func, file) if type(expr) is ir.Call else None
    if type(expr) is not ir.Call or not isinstance(target, FunctionRef):
        return None
    if not project.flow(target.file, target.index).has_yield:
        return None
    names = [one.name for one in project.function(target).parameters]
    over = _gone_over(project.body(target.file, target.index))
    if over not in names:
        return None
    return evaluator.argument(expr, over, names.index(over), evaluator.frame(file, function))


def _gone_over(body: tuple[ir.Stmt, ...]) -> str:
    """The variable that the only loop of a body goes over, where nothing is cut out of what it gives; else ``""``."""
    loops = [one for one in statements(body) if isinstance(one, ir.For | ir.While)]
    loop = loops[0] if len(loops) == 1 else None
    if type(loop) is not ir.For or type(loop.iterable) is not ir.Name:
        return ""
    parts = (part for one in statements(loop.body) for expr in expressions_of(one) for part in below(expr))
    return "" if any(type(part) is ir.Slice for part in parts) else loop.iterable.id
