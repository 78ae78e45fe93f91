"""The divisions that make a loss: in an expression, in the variable that holds it, in a function of the project that gives or gets it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from distlint.checks.call_levels import MAX_MEANT, Levels
from distlint.link.abstract import Frame
from distlint.model import python as ir
from distlint.model.span import Span

Given = Callable[[ir.Expr, Frame], ir.Expr | ir.AugAssign | None]
"""What a variable or an attribute was last given in its own function; ``None`` where that can't be told."""


class Division(NamedTuple):
    """A division, and the execution of the function that it stands in."""

    made: ir.Operation | ir.AugAssign
    frame: Frame

    @property
    def span(self) -> Span:
        """Where it stands."""
        return ir.unpack(self.made.at, self.frame.file)

    @property
    def divisor(self) -> ir.Expr:
        """What is divided by."""
        return self.made.value if isinstance(self.made, ir.AugAssign) else self.made.operands[1]


def divisions(levels: Levels, expr: ir.Expr, frame: Frame, given: Given) -> Iterator[Division]:
    """The division that a value comes from at once, if it comes from one."""
    seen: ir.Expr | ir.AugAssign | None = expr
    for _ in range(MAX_MEANT):
        if isinstance(seen, ir.AugAssign):
            if seen.operator == "/":
                yield Division(seen, frame)
            return
        if seen is None:
            return
        if type(seen) is ir.Operation:
            if seen.operators == ("/",) and len(seen.operands) == 2:
                yield Division(seen, frame)
            return
        last = given(seen, frame)
        if last is not None:
            seen = last
            continue
        meant = levels.meant(seen, frame)
        if meant is None:
            return
        seen, frame = meant
