"""Where a rank takes its own part of something by its rank: ``data[rank::world]``, ``range(rank, n, world)``."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from distlint.checks.derivations import derivation
from distlint.link.followed import followed
from distlint.link.walking import below
from distlint.model import python as ir
from distlint.model.span import Span

if TYPE_CHECKING:
    from distlint.link.flow import Env
    from distlint.link.project import Project

_RANK = re.compile(r"(?:^|_)(?:rank|process_index|shard_id|shard_index|worker_id)$", re.IGNORECASE)


def names_own_rank(expr: ir.Expr) -> bool:
    """Whether an expression names the rank."""
    for part in below(expr):
        word = part.id if type(part) is ir.Name else part.name if type(part) is ir.Attribute else ""
        if type(part) is ir.Constant and type(part.value) is str:
            word = part.value
        if word and _RANK.search(word):
            return True
    return False


def takes_own(expr: ir.Expr, is_own: Callable[[ir.Expr], bool] = names_own_rank) -> bool:
    """Whether an expression is every n-th item of something, from the rank on; ``is_own`` says which numbers tell the rank."""
    if type(expr) is ir.Call and type(expr.func) is ir.Name and expr.args:
        if expr.func.id in ("list", "tuple", "iter", "sorted"):
            return takes_own(expr.args[0], is_own)
        if expr.func.id == "range" and len(expr.args) == 3:
            return is_own(expr.args[0])
        if expr.func.id == "islice" and len(expr.args) == 4:
            return is_own(expr.args[1])
    if type(expr) is ir.Subscript and type(expr.index) is ir.Slice:
        index = expr.index
        return index.lower is not None and index.step is not None and is_own(index.lower)
    return type(expr) is ir.Comprehension and len(expr.generators) == 1 and takes_own(expr.generators[0][1], is_own)


def takes_own_in(project: Project, expr: ir.Expr, file: str, function: int, state: Env) -> bool:
    """The same of an expression of a function, or the variable that it names, with other names for the rank."""

    def is_own(part: ir.Expr) -> bool:
        return names_own_rank(part) or derivation(project, part, file, function).mentions_rank()

    return takes_own(followed(expr, state), is_own)


def own_items(project: Project, expr: ir.Expr, file: str, function: int) -> Span | None:
    """Where an expression, or the variable that it names, takes the part of a rank."""
    if type(expr) is ir.Call and type(expr.func) is ir.Name and expr.func.id in ("enumerate", "tqdm") and expr.args:
        expr = expr.args[0]
    made = followed(expr, project.flow(file, function).before(expr.at))
    return ir.unpack(made.at, file) if takes_own(made) else None
