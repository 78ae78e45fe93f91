"""How many items a generator of the project gives, where not all of them are followed one by one.

That is known of a loop with a known number of turns that gives one item in each of them, or in those whose number leaves a remainder
(``if number % world == rank``). Of a loop over files it is known what differs: how many files each process has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from distlint.link.walking import statements
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.failing import EVEN_FILE, OWN_FILES, drawn_apart
from distlint.rehearsal.iterators import Generated
from distlint.rehearsal.stage import Stage
from distlint.rehearsal.sums import Sum
from distlint.rehearsal.unknowns import Opaque, Source
from distlint.rehearsal.values import combined, source_of

_Yields = Callable[[ir.Stmt], bool]


class Around(NamedTuple):
    """A loop of a generator whose turns are followed one by one, and their number, where that is known."""

    loop: ir.For
    number: Any
    file: str


class Followed(Generated):
    """What a generator function of the project gives.

    ``lone`` is the statement in which alone it hands items out, ``around`` are the loops that it is in, ``settled`` says that the
    number of its items is known, whatever they are.
    """

    __slots__ = ("_parted", "around", "lone", "settled")

    def __init__(self, lone: ir.Stmt | None) -> None:
        super().__init__(None, None, watched=True)
        self.partly = False
        self.lone = lone
        self.around: list[Around] = []
        self.settled = False
        self._parted: Span | None = None
        """What it goes through of which some processes have more, while nothing shows whether these are files."""

    def depends(self, *why: Any) -> None:
        """From here on its items are not known one by one, though their number may be."""
        if self.settled:
            self.partly = True
        else:
            super().depends(*why)

    def gives(self, statement: ir.Stmt, number: Any) -> bool:
        """Says that a statement gives a number of items, where that is known and nothing else has any; whether it is."""
        if statement is not self.lone or self.partly or self.around or not isinstance(number, int | Sum):
            return False
        self.partly = self.settled = True
        self.count = number
        return True

    def stands_for(self, number: Any) -> bool:
        """Says that the next item stands for a number of them, in a turn of the loops around; whether that can be said."""
        if not self.counting or not self.around or self.partly or type(number) is not int or number < 1:
            return False
        self.given += number - 1
        self.many = True
        return True

    def may_repeat(self, loop: ir.For, number: Any) -> bool:
        """Whether one turn of a loop may stand for all: their number is known, nothing ends them early, and all items are asked for."""
        return self.counting and not self.partly and type(number) is int and not _may_stop(loop)

    def repeated(self, before: int, number: int) -> None:
        """One turn of a loop was followed that stands for so many; ``before`` is what was given before it."""
        if not self.partly:
            self.given += (number - 1) * (self.given - before)
            self.many = True

    def depends_on(self, stage: Stage, iterable: Any, length: Any) -> None:
        """It goes on with something whose items are not known, inside the loops around.

        Files that are all as long as each other give more items where they are more.
        """
        if self.around:
            length = drawn_apart(stage, length, ir.unpack(self.around[0].loop.iterable.at, self.around[0].file))
        self.depends(length, *(one.number for one in self.around))
        more = [
            one
            for one in self.around
            if isinstance(one.number, int) and stage.differs(one.loop.iterable, one.file, one.number)
        ]
        if more and not _may_stop(self.around[0].loop):
            self._parted = ir.unpack(more[0].loop.iterable.at, more[0].file)
            self.hands_out(iterable)

    def hands_out(self, value: Any) -> None:
        """What it goes through, or gives, shows whether it is about files of which some processes have more."""
        source = source_of([value]) if self._parted is not None else None
        if source is not None and source.why == EVEN_FILE:
            self.count = Opaque(combined(OWN_FILES, [self.count]), Source(OWN_FILES, self._parted))
            self._parted = None


def lone_statement(body: tuple[ir.Stmt, ...], yields: _Yields) -> ir.Stmt | None:
    """The statement in which alone the body of a generator hands items out; contexts around it do not count."""
    inside = [one for one in body if yields(one)]
    while len(inside) == 1 and isinstance(inside[0], ir.With):
        inside = [one for one in inside[0].body if yields(one)]
    return inside[0] if len(inside) == 1 else None


class Turn(NamedTuple):
    """What a turn of a loop gives: one item; with a ``test`` only where that is true (``kept``) or false."""

    test: ir.Expr | None
    kept: bool


def turn_of(loop: ir.For, yields: _Yields) -> Turn | None:
    """What each turn of a loop gives; ``None`` where that may be something else than one item or none."""
    body, found = loop.body, Turn(None, kept=True)
    if any(yields(one) for one in loop.orelse):
        return None
    for place, first in enumerate(body):
        if isinstance(first, ir.If) and not first.orelse and _skips(first.body):
            body, found = body[:place] + body[place + 1 :], Turn(first.test, kept=False)
            break
        if yields(first):
            break
    if any(isinstance(one, ir.Jump | ir.Return | ir.Try) and not _is_idle(one) for one in statements(body)):
        return None
    inside = [one for one in body if yields(one)]
    if len(inside) == 1 and one_either_way(inside[0], yields):
        return found
    if len(inside) == 1 and isinstance(inside[0], ir.If) and found.test is None:
        if any(yields(one) for one in inside[0].orelse):
            return None
        found, inside = Turn(inside[0].test, kept=True), [one for one in inside[0].body if yields(one)]
    return found if len(inside) == 1 and _gives_one(inside[0]) else None


def dealt_by(loop: ir.For, yields: _Yields) -> tuple[ir.For, Turn] | None:
    """A loop without the test that alone decides whether a turn gives anything, and that test."""
    for place, first in enumerate(loop.body):
        if isinstance(first, ir.If) and not first.orelse and _skips(first.body):
            rest: tuple[ir.Stmt, ...] = ()
            found = Turn(first.test, kept=False)
        elif isinstance(first, ir.If) and not first.orelse and yields(first):
            rest, found = first.body, Turn(first.test, kept=True)
        elif yields(first):
            return None
        else:
            continue
        behind = loop.body[place + 1 :]
        if found.kept and any(yields(one) for one in behind):
            return None
        body = (*loop.body[:place], *rest, *behind)
        return ir.For(loop.target, loop.iterable, body, loop.orelse, loop.at), found
    return None


def one_either_way(statement: ir.Stmt, yields: _Yields) -> bool:
    """Whether a statement gives one item whichever way its tests go, and goes on behind it."""
    if not isinstance(statement, ir.If):
        return _gives_one(statement)
    ways = (statement.body, statement.orelse)
    if any(
        isinstance(one, ir.Jump | ir.Return | ir.Try) and not _is_idle(one) for way in ways for one in statements(way)
    ):
        return False
    given = [[one for one in way if yields(one)] for way in ways]
    return all(len(inside) == 1 and one_either_way(inside[0], yields) for inside in given)


def _is_idle(statement: ir.Stmt) -> bool:
    return isinstance(statement, ir.Jump) and statement.kind in ("pass", "global", "nonlocal", "del")


def _skips(body: tuple[ir.Stmt, ...]) -> bool:
    return len(body) == 1 and isinstance(body[0], ir.Jump) and body[0].kind == "continue"


def _gives_one(statement: ir.Stmt) -> bool:
    """Whether a statement is a plain ``yield``."""
    value = statement.value if isinstance(statement, ir.Evaluate | ir.Assign) else None
    return isinstance(value, ir.Wrapped) and value.kind == "yield"


def _may_stop(loop: ir.For) -> bool:
    """Whether something in a loop may end it, or the generator, before its time."""
    return any(
        isinstance(one, ir.Return) or (isinstance(one, ir.Jump) and one.kind in ("break", "raise"))
        for one in statements(loop.body)
    )
