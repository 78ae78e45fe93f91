"""What Python's built-in functions give over the ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distlint.checks import divergence_calls, divergence_keys, divergence_names, divergence_objects
from distlint.checks.divergence_state import DIFFERS, THE_SAME, UNKNOWN, Divergence, together
from distlint.link.flow import Env
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.checks.divergence_trace import Ground, Tracer

_FOLDING = """
abs all any bool bytes complex dict divmod filter float format frozenset int iter list map max min pow repr reversed
round set slice sorted str sum tuple zip enumerate ord chr bin hex
"""
_OF_ARGUMENTS = frozenset(_FOLDING.split())
"""Built-in functions whose result depends on their arguments alone."""

_ALIKE = frozenset({"isinstance", "issubclass", "type", "callable", "hasattr", "print", "super", "property", "object"})


def built_in(tracer: Tracer, name: str, expr: ir.Call, ground: Ground, state: Env) -> Divergence:
    """What a call of a built-in function gives."""
    if name == "len" and len(expr.args) == 1:
        return tracer.of(expr.args[0], ground, state, size=True)
    if name == "range":
        return divergence_names.element(tracer, expr, (), ground, state)
    if name == "next" and expr.args:
        if len(expr.args) > 1:
            ends = tracer.of(expr.args[0], ground, state, size=True)
            if ends.differs:
                return ends._replace(control=True)
        return tracer.of(expr.args[0], ground, state)
    if name == "getattr" and len(expr.args) >= 2 and type(expr.args[1]) is ir.Constant:
        wanted = ir.Attribute(expr.args[0], str(expr.args[1].value), expr.at)
        tracer.keep(wanted)
        return divergence_objects.attribute(tracer, wanted, ground, state)
    if name in ("id", "hash"):
        parts = together(divergence_calls.arguments(tracer, expr, ground, state))
        text = name == "id" or not all(type(one) is ir.Constant and type(one.value) is int for one in expr.args)
        why = "a number that each process makes for itself"
        return Divergence(DIFFERS, why, (ir.unpack(expr.at, ground.file),)) if text else parts
    if name in _OF_ARGUMENTS:
        found = together(divergence_calls.arguments(tracer, expr, ground, state))
        over = name in divergence_keys.ORDERING and expr.args
        return divergence_keys.gone_over(tracer, expr.args[0], found, ground, state) if over else found
    return THE_SAME if name in _ALIKE else UNKNOWN
