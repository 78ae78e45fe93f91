"""The order in which names get their values: an environment chain per function.

There is one small node per assignment, linked to the one before it, and a join where paths meet (``flow_walk`` makes
them). A variable's value at a place is found by walking the chain backwards from there, on demand; nothing is
evaluated before somebody asks.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import field

from distlint.model import python as ir
from distlint.model.record import dataclass

MAX_ROUNDS = 100
"""Rounds of a loop that are walked one by one at most."""

BINDS, CHANGES, INSIDE, HANDS = " =", " []", " []*", " ()"
"""Behind a name in ``Touched.how``: it is bound, the mapping or list behind it is changed, one of its items is (while it has the same
ones), it is handed to a function."""


class Env:
    """The state after one step: what the step did, and the state before it."""

    __slots__ = ("prev",)

    def __init__(self, prev: Env | None) -> None:
        self.prev = prev


class Bind(Env):
    """``name`` gets a value: ``expr`` evaluated before the step, then ``part``.

    ``part`` is empty for the value itself, ``(index,)`` for an unpacked item, ``"*"`` for an element of an iterable,
    ``"enter"`` for what a context manager gives, ``"+"`` and so on for an augmented assignment, ``(start, stop)``
    behind ``":"`` for the rest of an unpacking, ``"?"`` for something that we don't follow. ``expr`` is the statement
    for a nested ``def`` or ``class``. ``at`` is the state in which the expression is evaluated: before its own
    effects (``x = config.pop("a")``).
    """

    __slots__ = ("at", "expr", "name", "part")

    def __init__(
        self,
        prev: Env,
        name: str,
        expr: ir.Expr | ir.Stmt | None,
        part: tuple[int | str, ...] = (),
        at: Env | None = None,
    ) -> None:
        self.prev = prev
        self.at = at or prev
        self.name = name
        self.expr = expr
        self.part = part


class Store(Env):
    """Something inside the object behind ``name`` changes.

    ``path`` are the steps from the name to the changed place (subscripts as expressions, attributes as ``.name``, ``.*`` for one whose
    name is worked out); ``action`` is ``set``, ``setattr`` (``expr`` is its call), a mutating method's name, ``delete``, an augmented
    operator (``+=``), ``call`` (the object was handed to a function, ``expr`` is the call), ``alias`` (something that may be the same
    object changed, with the path ``INSIDE`` one that it was gone over for) or ``unknown``. ``at`` is the state in which ``expr`` is
    evaluated.
    """

    __slots__ = ("action", "at", "expr", "name", "path")

    def __init__(
        self, prev: Env, name: str, path: tuple[ir.Expr | str, ...], action: str, expr: ir.Expr, at: Env | None = None
    ) -> None:
        self.prev = prev
        self.at = at or prev
        self.name = name
        self.path = path
        self.action = action
        self.expr = expr


class Touched(set[str]):
    """Names that a block binds or changes.

    ``how`` says what of them: ``name =``, ``name []``, ``name ()`` or ``name.attribute``.
    """

    def __init__(self) -> None:
        super().__init__()
        self.how: set[str] = set()


class Join(Env):
    """Paths meet: ``branches`` are the states at their ends, ``prev`` the state before they parted.

    ``touched`` are the names that differ.

    ``test`` is the condition that chooses between the first branch and the second, where there is one. ``anywhere``
    marks the start of an exception handler: the branches after the first are single steps of the guarded body, any of
    which may have been the last. ``by`` is the loop or ``try`` statement whose ways meet (a ``try``'s normal end last).
    ``in_rounds`` marks one of a round of ``Rounds``: there are as many as the loop has rounds.
    """

    __slots__ = ("anywhere", "branches", "by", "in_rounds", "test", "touched")

    def __init__(
        self,
        prev: Env,
        branches: list[Env],
        touched: Touched,
        test: ir.Expr | None = None,
        *,
        anywhere: bool = False,
        by: ir.Stmt | None = None,
        in_rounds: bool = False,
    ) -> None:
        self.by = by
        self.in_rounds = in_rounds
        self.prev = prev
        self.branches = branches
        self.touched = touched
        self.test = test
        self.anywhere = anywhere


class Rounds(Env):
    """Behind a loop whose rounds can be told apart once it is known what it goes over.

    ``head`` is the state behind any number of rounds, ``before`` that in which ``iterable`` is evaluated, ``touched`` what the loop
    binds and changes. ``walk`` makes the state behind a round from its number and the state before it.
    """

    __slots__ = ("_ends", "_walk", "before", "head", "iterable", "touched")

    def __init__(
        self, head: Env, before: Env, iterable: ir.Expr, touched: Touched, walk: Callable[[int, Env], Env | None]
    ) -> None:
        self.prev = self.head = head
        self.before = before
        self.iterable = iterable
        self.touched = touched
        self._walk = walk
        self._ends: list[Env] = [before]

    def after(self, count: int) -> Env | None:
        """The state behind so many rounds; ``None`` if they are too many to be walked one by one, or one of them never ends."""
        if count > MAX_ROUNDS:
            return None
        while len(self._ends) <= count:
            end = self._walk(len(self._ends) - 1, self._ends[-1])
            if end is None:
                return None
            self._ends.append(end)
        return self._ends[count]


class Assume(Env):
    """From here on a test is known to have gone one way; it is evaluated in the state before."""

    __slots__ = ("holds", "test")

    def __init__(self, prev: Env, test: ir.Expr, holds: bool) -> None:
        self.prev = prev
        self.test = test
        self.holds = holds


@dataclass(slots=True)
class Flow:
    """The chain of one body.

    ``entry``, ``exit`` (``None`` if the end is never reached), and every ``return`` with its state.

    ``assigned`` are the names that the body binds or changes, ``bound`` those that are its own variables, ``outer``
    those that it declares ``global`` or ``nonlocal``.
    """

    entry: Env
    exit: Env | None
    returns: list[tuple[ir.Return, Env]] = field(default_factory=list)
    assigned: Touched = field(default_factory=Touched)
    bound: set[str] = field(default_factory=set)
    outer: set[str] = field(default_factory=set)
    has_yield: bool = False
    left: list[Env] = field(default_factory=list)
    """The states behind the ``return`` statements, after what their values change."""
    _starts: list[int] = field(default_factory=list)
    _states: list[Env] = field(default_factory=list)

    def before(self, at: ir.Position) -> Env:
        """The state before the statement that holds a position."""
        index = bisect_right(self._starts, at >> 44)
        return self._states[index - 1] if index else self.entry

    def mark(self, at: ir.Position, state: Env) -> None:
        """Remembers the state before the statement that starts at ``at``; called in the order of the text."""
        self._starts.append(at >> 44)
        self._states.append(state)

    def ends(self) -> list[Env]:
        """The states in which the body is left, exceptions apart."""
        return [*self.left, self.exit] if self.exit is not None else list(self.left)
