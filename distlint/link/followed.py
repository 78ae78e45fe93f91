"""What a local variable was last set to."""

from __future__ import annotations

from distlint.link.flow import Bind, Env
from distlint.model import python as ir


def followed(expr: ir.Expr, state: Env) -> ir.Expr:
    """What a local variable was last set to, where that is one plain assignment before."""
    for _ in range(8):
        if type(expr) is not ir.Name:
            return expr
        place = binding(expr.id, state)
        if place is None or place.part or place.expr is None:
            return expr
        if isinstance(place.expr, ir.AugAssign) or place.prev is None:
            return expr
        expr, state = place.expr, place.prev  # type: ignore[assignment]
    return expr


def binding(name: str, state: Env) -> Bind | None:
    """The last assignment to a local variable before a place, whichever way the program came there."""
    place: Env | None = state
    while place is not None and not (isinstance(place, Bind) and place.name == name):
        place = place.prev
    return place
