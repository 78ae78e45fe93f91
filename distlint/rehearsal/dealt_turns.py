"""Turns of a loop that a test deals out to the processes: what such a turn has is each process's own.

``number % world == rank`` leaves every process as many turns as the others, but for a rest; a test by what an item is
(``crc32(name) % world == rank``) leaves each its own number of them. What a function or a table says of an item (``owner(name) == rank``)
may deal out as many to each.
"""

from __future__ import annotations

from typing import Any

from distlint.link.walking import below
from distlint.model import python as ir
from distlint.rehearsal.failing import SHARE
from distlint.rehearsal.samples import seen_as_own
from distlint.rehearsal.stage import Scope
from distlint.rehearsal.unknowns import Opaque, Source

_ASKED = (("==",), ("!=",))


def take_own(player: Any, target: ir.Expr, test: ir.Expr, scope: Scope) -> Opaque | None:
    """What a loop's target stands for becomes each process's own where a test, or a part of it, deals turns out.

    Gives what tells how many turns a process gets, where that is another number on each.
    """
    names = {one.id for one in below(target) if type(one) is ir.Name and one.id in scope.variables}
    for part in test.operands if type(test) is ir.Operation and test.operators[0] in ("and", "or") else (test,):
        dealing = _dealing(player, part, scope)
        if dealing is None:
            continue
        source = Source(SHARE, player.span(part, scope), indirect=True)
        divides = type(dealing) is ir.Operation
        told = below(dealing.operands[0] if type(dealing) is ir.Operation else dealing)
        asked = {one.id for one in told if type(one) is ir.Name and one.id in names}
        if not divides and not asked:
            continue
        counted = {name for name in asked if _is_number_of_turn(scope.variables[name])}
        for name in sorted(names - counted):
            scope.variables[name] = seen_as_own(scope.variables[name], source)
        return Opaque(None, source) if divides and asked - counted else None
    return None


def _dealing(player: Any, test: ir.Expr, scope: Scope) -> ir.Expr | None:
    """The remainder, or what is said of an item, that a test compares with a number that is another one on each process."""
    if type(test) is not ir.Operation or test.operators not in _ASKED:
        return None
    divided = [one for one in test.operands if type(one) is ir.Operation and one.operators == ("%",)]
    said: list[ir.Expr] = [*divided] or [one for one in test.operands if type(one) in (ir.Call, ir.Subscript)]
    if len(said) != 1:
        return None
    rest = next(one for one in test.operands if one is not said[0])
    if not divided and type(rest) not in (ir.Name, ir.Attribute):
        return None
    value = player.value(rest, scope)
    return said[0] if isinstance(value, int) and player.stage.differs(rest, scope.file, value) else None


def _is_number_of_turn(value: Any) -> bool:
    """Whether a value is the number of a turn: known, or the one of any turn."""
    if isinstance(value, int):
        return True
    return isinstance(value, Opaque) and type(value.sign) is tuple and value.sign[:1] == ("turn",)
