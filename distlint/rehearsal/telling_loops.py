"""Loops that tell each item something by itself, as what it is named says: all turns of them are followed, as they cost next to nothing."""

from __future__ import annotations

from distlint.link.walking import below, bound_names
from distlint.model import python as ir

MOST_TOLD = 160
"""Turns of such a loop that are followed one by one."""

_MAX_SIZE = 60
"""Expressions of a turn."""

_LOOKING = frozenset({"startswith", "endswith", "any", "all", "isinstance", "split", "lower", "find"})


def only_tells(loop: ir.For) -> bool:
    """Whether each turn of a loop does nothing but set attributes of what it goes through, or ask that to be told."""
    return _tells(loop.body, frozenset(bound_names(loop.target)), [_MAX_SIZE])


def _tells(body: tuple[ir.Stmt, ...], own: frozenset[str], left: list[int]) -> bool:
    for one in body:
        if isinstance(one, ir.If):
            if not (_is_plain(one.test, left) and _tells(one.body, own, left) and _tells(one.orelse, own, left)):
                return False
        elif isinstance(one, ir.Assign):
            targets = [_is_own(target.base, own) for target in one.targets if isinstance(target, ir.Attribute)]
            if len(targets) != len(one.targets) or not all(targets):
                return False
            if one.value is None or not _is_plain(one.value, left):
                return False
        elif isinstance(one, ir.Evaluate):
            call = one.value
            if not isinstance(call, ir.Call) or not isinstance(call.func, ir.Attribute):
                return False
            if not _is_own(call.func.base, own) or not all(_is_plain(part, left) for part in call.args):
                return False
        elif not (isinstance(one, ir.Jump) and one.kind in ("continue", "pass")):
            return False
    return True


def _is_own(expr: ir.Expr, own: frozenset[str]) -> bool:
    """Whether something is what the loop goes through, or a part of it."""
    while isinstance(expr, ir.Attribute):
        expr = expr.base
    return isinstance(expr, ir.Name) and expr.id in own


def _is_plain(expr: ir.Expr, left: list[int]) -> bool:
    """Whether an expression only looks at things."""
    for part in below(expr):
        left[0] -= 1
        if left[0] < 0:
            return False
        if isinstance(part, ir.Call):
            name = part.func.name if isinstance(part.func, ir.Attribute) else getattr(part.func, "id", "")
            if name not in _LOOKING:
                return False
    return True
