"""Batches that a program draws by hand, and every rank draws the same ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.checks.derivations import RANK_WORDS, Part, derivation_without_rank
from distlint.checks.execution import body_of
from distlint.checks.loaders import trains
from distlint.checks.made_of import made_of
from distlint.link.abstract import Instance, options_of
from distlint.link.modules import ClassRef, External
from distlint.link.walking import expressions_below, last_name, statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.checks.registry import CheckContext
    from distlint.link.project import Project

PLACING = frozenset({"to", "cuda", "pin_memory", "type", "contiguous", "device"})
"""Methods and keywords whose arguments say where a batch goes, and not what is in it."""


def drawn_batches(context: CheckContext, file: str) -> Iterator[tuple[Part, str, Part]]:
    """The draws of a file's training loops that have nothing to do with the rank.

    Each with the library whose random numbers it takes (``""``: it has a seeded generator), and the forward pass that gets the batch.
    """
    project: Project = context.project
    for function in range(-1, len(project.module(file).functions)):
        for loop in statements(body_of(project, file, function)):
            if not isinstance(loop, ir.For | ir.While) or not trains(project, file, loop.body):
                continue
            for call in expressions_below(loop.body):
                if type(call) is ir.Call and call.args and is_wrapped(context, call, file, function):
                    draw = _draw(context, call.args[0], file, function)
                    if draw is not None:
                        yield *draw, Part(call, file, function)


def is_wrapped(context: CheckContext, call: ir.Call, file: str, function: int) -> bool:
    """Whether a call is the forward pass of a wrapped model."""
    if type(call.func) is not ir.Name and type(call.func) is not ir.Attribute:
        return False
    options = options_of(context.project.evaluator(None).ask(call.func, file, function))
    if not options or not all(isinstance(one, Instance) and not one.part for one in options):
        return False
    # a model that is wrapped only where there are several processes is wrapped wherever ranks could draw the same
    return any(
        isinstance(one.callee, External) and one.callee.name in context.parameters["wrappers"]
        for one in options
        if isinstance(one, Instance)
    )


def _draw(context: CheckContext, batch: ir.Expr, file: str, function: int) -> tuple[Part, str] | None:
    """The draw of the rows that a batch is made of, where nothing in it has to do with the rank.

    And the library whose random numbers it takes; ``""`` for a generator that is seeded on the way.
    """
    parts = list(made_of(context.project, Part(batch, file, function), placing=PLACING))
    if any(part.fixed or RANK_WORDS.search(word(part.expr)) for part in parts):
        return None
    draws = [
        one for one in parts if type(one.expr) is ir.Call and last_name(one.expr.func) in context.parameters["draws"]
    ]
    picks = any(type(one.expr) is ir.Subscript or last_name(one.expr) == "index_select" for one in parts)
    if not draws or not picks or any(_may_part(context.project, one) for one in parts):
        return None
    draw = draws[0]
    generators = [one.value for one in draw.expr.keywords if one.name == "generator"] or [draw.expr.func]  # type: ignore[union-attr]
    source = made_of(context.project, Part(generators[0], draw.file, draw.function), placing=PLACING)
    if any(_is_seeded(context, part.expr) for part in source):
        return draw, ""
    root = (context.project.modules.dotted(draw.expr.func, draw.file) or "").partition(".")[0]  # type: ignore[union-attr]
    own = any(one.name == "generator" for one in draw.expr.keywords)  # type: ignore[union-attr]
    return (draw, root) if root and not own else None


def _may_part(project: Project, part: Part) -> bool:
    """Whether an object of the project is made that may have to do with the rank, as a sampler that deals out what was drawn."""
    if type(part.expr) is not ir.Call or type(project.modules.resolve(part.expr.func, part.file)) is not ClassRef:
        return False
    options = options_of(project.evaluator(None).ask(part.expr, part.file, part.function))
    return any(isinstance(one, Instance) and derivation_without_rank(project, one) is None for one in options)


def _is_seeded(context: CheckContext, expr: ir.Expr) -> bool:
    """Whether a generator is made with a seed, or given one."""
    return type(expr) is ir.Call and last_name(expr.func) in context.parameters["generators"] and bool(expr.args)


def word(expr: ir.Expr) -> str:
    """The name that an expression is, or that of a variable of the environment."""
    return (
        expr.value
        if type(expr) is ir.Constant and type(expr.value) is str and expr.value.isupper()
        else last_name(expr)
    )
