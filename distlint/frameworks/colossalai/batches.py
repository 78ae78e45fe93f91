"""The batches that a pipeline gets: how many samples they have, and whether one is handed over in place of an iterator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distlint.frameworks.colossalai.boosted import BOOST, PLACES, before_boost, maker_of, name_of
from distlint.frameworks.witnessed import rows_of_first
from distlint.link.abstract import Instance, node_of, options_of
from distlint.link.arguments import find_argument
from distlint.link.modules import FunctionRef
from distlint.link.walking import ALL, below, expressions_of, statements
from distlint.model import python as ir
from distlint.model.document import Mapping, node_value
from distlint.model.value import Value, known, unknown

if TYPE_CHECKING:
    from distlint.link.abstract import Abstract
    from distlint.link.evaluate import Evaluator
    from distlint.link.project import CallSite
    from distlint.model.launch import Run

_LOADERS = frozenset({"torch.utils.data.DataLoader", f"{BOOST}[{PLACES.index('dataloader')}]"})
_GOING_OVER = frozenset({"builtins.iter", "builtins.enumerate", "tqdm.tqdm", "tqdm.auto.tqdm"})
_MOST_STEPS = 4
"""So many things one around the other are looked through: iterators, prepared loaders, loaders."""


def batch_size(evaluator: Evaluator, run: Run | None, found: CallSite, expr: ir.Expr | None, value: Abstract) -> Value:
    """How many samples are in what an iterator gives that stands as ``expr`` in a call: one over a loader, or over a list of batches."""
    rows = rows_of_first(evaluator.project, run, found.file, expr) if expr is not None else None
    if expr is not None and rows is not None:
        return known(rows, ir.unpack(expr.at, found.file))
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


def gets_batch(evaluator: Evaluator, value: Abstract) -> Value:
    """Whether something is a batch itself: a dictionary, or what a loader gave."""
    options = options_of(value)
    if all(isinstance(one, Mapping) or (isinstance(one, Instance) and _is_batch(evaluator, one)) for one in options):
        return known(True)
    return unknown("what it is, is not known")


def _is_batch(evaluator: Evaluator, made: Instance) -> bool:
    """Whether an object is what a loop over a loader, or ``next``, takes out of it."""
    whole = Instance(made.callee, made.call, made.frame, made.state)
    name = name_of(evaluator, whole)
    if name == "builtins.next()" and not made.part:
        given = evaluator.argument(made.call, "", 0, made.frame, made.state)
        return given is not None and _is_over_loader(evaluator, maker_of(given))
    if name == "builtins.enumerate()" and made.part == (ALL, 1):
        return _is_over_loader(evaluator, whole)
    return made.part[-1:] == (ALL,) and _is_over_loader(
        evaluator, Instance(made.callee, made.call, made.frame, made.state, made.part[:-1])
    )


def _is_over_loader(evaluator: Evaluator, made: Instance | None) -> bool:
    """Whether something is a loader, or goes over one."""
    for _ in range(_MOST_STEPS):
        if made is None:
            return False
        name = name_of(evaluator, made).removesuffix("()")
        if name in _LOADERS or name.endswith("Plugin().prepare_dataloader"):
            return True
        if name not in _GOING_OVER or made.part:
            return False
        given = evaluator.argument(made.call, "", 0, made.frame, made.state)
        made = maker_of(given)
    return False


def _number(evaluator: Evaluator, made: Instance, default: int | None) -> Value:
    given = evaluator.argument(made.call, "batch_size", 1, made.frame, made.state)
    if given is None:
        return unknown("not given") if default is None else known(default, made.span())
    value = node_value(node_of(given, made.span()))
    expr, _ = find_argument(made.call, "batch_size", 1)
    if value.is_known or expr is None:
        return value
    # what the run was seen to give is told for the place alone
    return evaluator.value(expr, made.frame.file, made.frame.function)


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
