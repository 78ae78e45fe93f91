"""Follows expressions back to what makes them differ between ranks, or the same on all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING, Any

from distlint.checks import (
    divergence_calls,
    divergence_filled,
    divergence_keys,
    divergence_names,
    divergence_objects,
    divergence_sizes,
)
from distlint.checks.divergence_sources import Sources
from distlint.checks.divergence_state import DIFFERS, NONE, THE_SAME, UNKNOWN, Divergence, one_of, together
from distlint.checks.questions import MAX_ALLOWANCE, Allowance, Questions
from distlint.checks.rank_values import UNKNOWN as NO_VALUE
from distlint.checks.rank_values import is_complete, truth_of
from distlint.checks.ranks import Process, RankView
from distlint.link.abstract import Instance
from distlint.link.flow import Env
from distlint.link.modules import ClassRef
from distlint.model import python as ir
from distlint.model.record import dataclass

if TYPE_CHECKING:
    from distlint.link.project import Project

MAX_STEPS = 3_000
MAX_DEPTH = 70
MAX_ENTERED = 8
"""Calls of project functions that are entered one inside the other."""

PROCESSES = (Process(0, 0), Process(1, 1), Process(8, 0, 8), Process(9, 1, 8))
"""Processes on which something has to be the same that is the same on all: of two nodes."""


@dataclass(frozen=True, eq=False, slots=True)
class Argument:
    """What a call gives for a parameter: an expression with where it stands, or what is known of it."""

    expr: ir.Expr | None
    ground: Ground | None = None
    state: Env | None = None
    known: Divergence = UNKNOWN


@dataclass(frozen=True, eq=False, slots=True)
class Ground:
    """A function (-1: the module) in which expressions stand.

    ``given`` is what a known call gives for the parameters, ``own`` the object that a method belongs to, ``local`` the
    variables of comprehensions and lambdas.
    """

    file: str
    function: int
    given: dict[str, Argument] | None = None
    own: Instance | None = None
    local: dict[str, Divergence] = field(default_factory=dict)
    depth: int = 0

    def with_local(self, local: dict[str, Divergence]) -> Ground:
        """The same place with more variables."""
        return Ground(self.file, self.function, self.given, self.own, {**self.local, **local}, self.depth)


class Tracer:
    """Answers for expressions in states of functions; what does not depend on how it was asked is remembered."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.evaluator = project.evaluator(None)
        self.sources = Sources(project)
        self.views = [RankView(project, process) for process in PROCESSES]
        self.pair = [RankView(project, Process(rank, rank, world=2)) for rank in (0, 1)]
        self.kept: dict[ClassRef, dict[str, tuple[divergence_objects.Kept, ...]]] = {}
        self.object_names: dict[ClassRef, set[str]] = {}
        self._grounds: dict[tuple[Any, ...], Ground] = {}
        self._questions: Questions[Divergence] = Questions(
            MAX_STEPS, MAX_DEPTH, project.kept.setdefault(Allowance, Allowance(MAX_ALLOWANCE))
        )

    # Questions ---------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """A new question: the steps are counted anew."""
        self._questions.begin()

    def ground(self, file: str, function: int, own: Instance | None = None) -> Ground:
        """A function of whose calls nothing is known."""
        key = (file, function, own.identity if own is not None else None)
        if key not in self._grounds:
            self._grounds[key] = Ground(file, function, own=own)
        return self._grounds[key]

    def entered(self, key: tuple[Any, ...], make: Callable[[], Ground]) -> Ground:
        """The ground of a call; the same one each time it is asked for."""
        if key not in self._grounds:
            self._grounds[key] = make()
        return self._grounds[key]

    def keep(self, thing: object) -> None:
        """Keeps something alive by whose identity answers are remembered."""
        self._questions.keep(thing)

    def guarded(self, key: tuple[Any, ...], work: Callable[[], Divergence]) -> Divergence:
        """The answer to a question, remembered unless it was cut short by one that is still open."""
        return self._questions.guarded(key, work, NONE, UNKNOWN)

    def of(self, expr: ir.Expr, ground: Ground, state: Env, *, size: bool = False) -> Divergence:
        """What is known of an expression in a state, or (``size``) of how many items it has."""
        if type(expr) is ir.Constant:
            return THE_SAME
        key = ("size" if size else "expr", id(expr), id(ground), id(state))
        if not self._questions.knows(key):
            self.keep((expr, ground, state))
        if size:
            return self.guarded(key, lambda: divergence_sizes.size_of(self, expr, ground, state))
        return self.guarded(key, lambda: self._dispatch(expr, ground, state))

    def here(self, expr: ir.Expr, ground: Ground) -> Divergence:
        """What is known of an expression where it stands in a function."""
        return self.of(expr, ground, self.project.flow(ground.file, ground.function).before(expr.at))

    # What is known on each of some processes ----------------------------------------------------------------------

    def decided(self, test: ir.Expr, ground: Ground, state: Env) -> bool | None:
        """What a test gives on all processes alike; ``None`` where that can't be told or is not so."""
        found = None
        for view in self.views:
            truth = truth_of(self.value(view, test, ground, state))
            if truth is None or (found is not None and truth is not found):
                return None
            found = truth
        return found

    def value(self, view: RankView, expr: ir.Expr, ground: Ground, state: Env) -> Any:
        """The value of an expression on one process."""
        if ground.local:
            return NO_VALUE
        return view.value_in(expr, ground.file, ground.function, state)

    def by_rank(self, expr: ir.Expr, ground: Ground, state: Env) -> Divergence | None:
        """What follows from the values on some processes, where they are known."""
        values: list[Any] = []
        for view in self.views:
            value = self.value(view, expr, ground, state)
            if not is_complete(value):
                return None
            values.append(value)
        if all(type(value) is type(values[0]) and value == values[0] for value in values):
            return THE_SAME
        return Divergence(DIFFERS, "the rank", (ir.unpack(expr.at, ground.file),))

    # Expressions -------------------------------------------------------------------------------------------------

    def _dispatch(self, expr: ir.Expr, ground: Ground, state: Env) -> Divergence:
        kind = type(expr)
        if kind is ir.Name:
            return divergence_names.name(self, expr.id, (), ground, state)  # type: ignore[union-attr]
        if type(expr) is ir.Attribute:
            return divergence_objects.attribute(self, expr, ground, state)
        if type(expr) is ir.Call:
            return divergence_calls.call(self, expr, ground, state)
        if type(expr) is ir.Operation:
            return self._operation(expr, ground, state)
        if type(expr) is ir.Subscript:
            return self._subscript(expr, ground, state)
        if type(expr) is ir.Conditional:
            return self._conditional(expr, ground, state)
        if type(expr) is ir.Comprehension:
            return self.comprehension(expr, expr.element, ground, state)
        if type(expr) is ir.Lambda:
            return THE_SAME
        parts: tuple[ir.Expr | None, ...] = ()
        if type(expr) is ir.ListDisplay:
            parts = expr.items
        elif type(expr) is ir.DictDisplay:
            parts = (*expr.keys, *expr.values)
        elif type(expr) is ir.Formatted:
            parts = expr.parts
        elif type(expr) is ir.Slice:
            parts = (expr.lower, expr.upper, expr.step)
        elif type(expr) is ir.Starred or (type(expr) is ir.Wrapped and expr.kind in ("await", ":=")):
            parts = (expr.value,)
        else:
            return UNKNOWN
        found = together([self.of(part, ground, state) for part in parts if part is not None])
        return UNKNOWN if found.differs and divergence_filled.is_sum_filled(self, expr, ground, state) else found

    def _operation(self, expr: ir.Operation, ground: Ground, state: Env) -> Divergence:
        first = expr.operators[0]
        if first in ("and", "or"):
            return self._logic(expr, ground, state)
        if first in ("is", "is not") or (first in ("==", "!=") and _is_none(expr.operands[-1])):
            return divergence_names.identity(self, expr.operands[0], ground, state)
        if first in ("in", "not in") and self.views[0].is_environment(expr.operands[-1], ground.file):
            return UNKNOWN
        found = together([self.of(operand, ground, state) for operand in expr.operands])
        if found.differs and first in ("in", "not in") and type(expr.operands[0]) is ir.Constant:
            keys = divergence_keys.written_keys(self, expr.operands[-1], ground, state)
            if keys.is_same or (type(expr.operands[-1]) is ir.Subscript and not keys.differs):
                return keys  # of a mapping, or an item that may be one, what stands under a key is not asked for
        if found.differs and divergence_filled.is_sum_filled(self, expr, ground, state):
            return UNKNOWN
        return found.through(ir.unpack(expr.at, ground.file)) if found.differs else found

    def _logic(self, expr: ir.Operation, ground: Ground, state: Env) -> Divergence:
        parts: list[Divergence] = []
        for operand in expr.operands:
            decided = self.decided(operand, ground, state)
            if decided is (expr.operators[0] == "or"):
                # all ranks stop here
                return together(parts) if any(part.differs for part in parts) else THE_SAME
            parts.append(self.of(operand, ground, state))
        return together(parts)

    def _subscript(self, expr: ir.Subscript, ground: Ground, state: Env) -> Divergence:
        if self.views[0].is_environment(expr.base, ground.file):
            return self.sources.variable(expr.index, ir.unpack(expr.at, ground.file))
        if type(expr.base) is ir.Attribute and expr.base.name == "shape":
            return self.of(expr.base.base, ground, state, size=True)
        stored = divergence_names.path_of(expr)
        if type(expr.base) is ir.Call and type(expr.index) is ir.Constant:
            return divergence_objects.member(self, expr.base, (("item", expr.index.value),), ground, state)
        index = self.of(expr.index, ground, state)
        if stored is None or index.differs:
            found = together([index, self.of(expr.base, ground, state)])
        else:
            found = divergence_names.name(self, *stored, ground, state)
        return UNKNOWN if found.differs and divergence_filled.is_cut(self, expr, ground, state) else found

    def _conditional(self, expr: ir.Conditional, ground: Ground, state: Env) -> Divergence:
        decided = self.decided(expr.test, ground, state)
        if decided is not None:
            return self.of(expr.body if decided else expr.orelse, ground, state)
        ways = [self.of(part, ground, state) for part in (expr.body, expr.orelse)]
        test = self.of(expr.test, ground, state)
        if test.differs and not divergence_names.alike(expr.body, expr.orelse):
            return test._replace(control=True).through(ir.unpack(expr.test.at, ground.file))
        return one_of(ways)

    def comprehension(self, expr: ir.Comprehension, element: ir.Expr, ground: Ground, state: Env) -> Divergence:
        """What a comprehension gives for each item, or a part of that: of a mapping the key or the value alone."""
        parts = []
        inner = ground
        for target, iterable, tests in expr.generators:
            parts.append(self.of(iterable, inner, state, size=True))
            inner = inner.with_local(divergence_names.targets(self, target, iterable, inner, state))
            parts.extend(self.of(test, inner, state) for test in tests)
        parts.append(self.of(element, inner, state))
        known = [part for part in parts if part.state != NONE.state]
        # of the number of items nothing need be known
        return together([parts[-1], *(part for part in known if part.differs)])


def _is_none(expr: ir.Expr) -> bool:
    return type(expr) is ir.Constant and expr.value is None
