"""Loops that count their rounds against a number on which the ranks agreed by a collective."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from distlint.checks.divergence_state import EVEN, Divergence
from distlint.checks.execution import body_of
from distlint.checks.loaders import Loop, lexical_loop
from distlint.checks.spread_names import called_name
from distlint.link.project import Project
from distlint.link.walking import below, expressions_of, statements
from distlint.model import python as ir

Knowing = Callable[[ir.Expr, str, int], Divergence]
"""Says what is known of an expression of a function of a file."""

_COUNTING = frozenset({"enumerate", "zip"})
_COMPARING = frozenset({"<", "<=", ">", ">=", "==", "!="})


def has_agreed_rounds(loop: Loop, file: str, function: int, of: Knowing) -> bool:
    """Whether a loop compares its counter with a number that a collective gave to all ranks.

    Whoever has the ranks agree on a number of rounds, and counts up to it, has seen that they have shares of different length: what the
    loop does beyond that number is no longer known to be more than it does on the other ranks. ``of`` says what is known of an expression
    of a function.
    """
    if type(loop) is not ir.For:
        return False
    counters = _counters(loop)
    bounds = (
        bound for inner in statements(loop.body) for expr in expressions_of(inner) for bound in _bounds(expr, counters)
    )
    return any(of(bound, file, function).why == EVEN for bound in bounds)


def is_over(project: Project, iterable: ir.Expr, file: str, function: int, of: Knowing) -> bool:
    """Whether ``iterable`` is what such a loop goes over."""
    loops = (one for one in statements(body_of(project, file, function)) if type(one) is ir.For)
    return any(one.iterable is iterable and has_agreed_rounds(one, file, function, of) for one in loops)


def compares_rounds(project: Project, test: ir.Expr, file: str, function: int, of: Knowing) -> bool:
    """Whether a test inside a loop compares the loop's counter with such a number."""
    if type(test) is not ir.Operation:
        return False
    loop = lexical_loop(body_of(project, file, function), test.at)
    return type(loop) is ir.For and any(of(one, file, function).why == EVEN for one in _bounds(test, _counters(loop)))


def _counters(loop: ir.For) -> frozenset[str]:
    """The names that count rounds: the first target where ``enumerate`` or ``zip`` gives it, and what is added to in the body."""
    found = {
        one.target.id for one in statements(loop.body) if type(one) is ir.AugAssign and type(one.target) is ir.Name
    }
    first = loop.target.items[0] if type(loop.target) is ir.ListDisplay and loop.target.items else None
    if type(first) is ir.Name and _COUNTING & {
        called_name(one) for one in below(loop.iterable) if type(one) is ir.Call
    }:
        found.add(first.id)
    return frozenset(found)


def _bounds(expr: ir.Expr, counters: frozenset[str]) -> Iterator[ir.Expr]:
    """What an expression compares a counter with."""
    for part in below(expr):
        if type(part) is ir.Operation and len(part.operands) == 2 and part.operators[0] in _COMPARING:
            for one, other in (part.operands, part.operands[::-1]):
                if any(type(name) is ir.Name and name.id in counters for name in below(one)):
                    yield other
