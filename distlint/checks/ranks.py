"""What expressions are on a given rank of a job: a small evaluation in which the rank is known and most else is not.

The environment variables and library functions that tell a process its rank come from the frameworks' descriptions
(``FrameworkSpec.rank_sources``), so no names of theirs stand here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from distlint.checks import rank_calls, rank_names, rank_objects
from distlint.checks.questions import MAX_ALLOWANCE, Allowance, Questions
from distlint.checks.rank_scope import Closure, Common, Scope
from distlint.checks.rank_values import (
    AROUND,
    BEFORE,
    MANY,
    UNKNOWN,
    binary,
    item_at,
    items_of,
    length_of,
    same,
    sliced,
    truth_of,
    unary,
)
from distlint.link.flow import Env
from distlint.model import python as ir
from distlint.model.record import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from distlint.link.project import Project

MAX_STEPS = 3_000
MAX_DEPTH = 60
MAX_COMPREHENDED = 256
"""Items of a comprehension that are worked out one by one."""

_IN_ENVIRONMENT = frozenset({"rank", "local-rank", "world", "devices", "per-node"})
"""What a launcher tells that a job has: a test whether it is there holds."""

RANK_NAMES = frozenset({"rank", "local_rank", "global_rank", "world_rank"})
"""Parameters and parsed options that hold the rank where nothing else is known of them."""


_MAIN_NAMES = frozenset(
    {"is_main", "is_main_process", "is_master", "is_master_process", "is_rank0", "is_rank_0", "is_rank_zero", "is_root"}
)
_NODE_NAMES = frozenset({"node_rank", "node_id", "machine_rank", "nodeid"})
_TOLD = frozenset({"rank", "local-rank", "main", "local-main", "last"})


@dataclass(frozen=True, slots=True)
class Process:
    """One process of a job: its rank, its rank on its node, and the devices of a node (0: not known).

    ``node`` and ``nodes`` are its node's number and how many there are (-1: not known), ``per_node`` the processes of a
    node where these are told from the devices, ``world`` the processes of the job (0: more than one).
    """

    rank: int
    local_rank: int
    devices: int = 0
    node: int = -1
    nodes: int = -1
    per_node: int = 0
    world: int = 0


FIRST = Process(0, 0)
SECOND = Process(1, 1)
SECOND_NODE = Process(13, 5, 8, node=1, per_node=8)
"""A process of a second node: one for which rank and local rank differ, and are numbers that hardly anything else is."""


class _Names(NamedTuple):
    """What the libraries of a project call that tells where a process is, as ``RankView`` has it."""

    counters: set[str]
    sources: dict[str, str]
    changing: set[str]
    attributes: dict[str, str]
    of_settings: dict[str, str]
    lengths: dict[str, str]

    @classmethod
    def of(cls, project: Project) -> _Names:
        """Those of a project; the same object for all views of it."""
        if cls not in project.kept:
            sources = {name: kind for spec in project.specs for name, kind in spec.rank_sources}
            project.kept[cls] = cls(
                {name for spec in project.specs for name, _ in spec.rank_counters},
                sources,
                {"random.shuffle", *(name for spec in project.specs for name, given in spec.evened if given)},
                _plain_attributes(sources),
                _plain_attributes(sources, besides="told"),
                {name: kind for spec in project.specs for name, kind in spec.lengths},
            )
        found: _Names = project.kept[cls]
        return found


class RankView:
    """Evaluates expressions for one process. ``guess``: names such as ``rank`` count where nothing is known.

    ``variables`` are those of the environment that tell this process where it is (all that are known, by default);
    ``counters`` maps attributes of library objects (by what made them) to the argument that switches them off; such a
    counter stays at 0 on a process where it is off, and ``off`` is set when one was met. ``counted``: the product of two numbers
    of which one is not known counts the processes on the nodes before, so that with the local rank it gives the rank.
    ``steps`` bounds a question: a check that asks many which are seldom about ranks takes fewer.

    What was worked out without a look at the process (``own`` stays false) holds for all of them, and is not worked out again.
    """

    def __init__(
        self,
        project: Project,
        process: Process,
        *,
        guess: bool = True,
        counters: dict[str, str] | None = None,
        variables: Collection[str] | None = None,
        counted: bool = False,
        steps: int = MAX_STEPS,
    ) -> None:
        self.project = project
        self.own = False
        self._process = process
        self._guess = guess
        self._counters = counters or {}
        names = _Names.of(project)
        self._every_counter = names.counters
        self.sources = names.sources
        self.changing = names.changing
        self.attributes = names.attributes
        self._of_settings = names.of_settings
        self.lengths = names.lengths
        self.evaluator = project.evaluator(None)
        self.off = False
        self._variables = variables
        self._counted = counted
        # what others leave open is known to one that counts, and what one with fewer steps leaves open is known to others
        apart = counted or steps < MAX_STEPS
        self._common: Common = Common() if apart else project.kept.setdefault(Common, Common())
        self._outer: dict[tuple[int, int, int], tuple[Any, bool]] = {}
        """Answers to whole questions, those that a bound cut short among them: asked anew they would come out the same."""
        self._questions: Questions[tuple[Any, bool, bool]] = Questions(
            steps, MAX_DEPTH, project.kept.setdefault(Allowance, Allowance(MAX_ALLOWANCE))
        )

    def ask(self, expr: ir.Expr, file: str, function: int) -> Any:
        """The value of an expression of a function on this process, or ``UNKNOWN``."""
        return self.value_in(expr, file, function, self.project.flow(file, function).before(expr.at))

    def value_in(self, expr: ir.Expr, file: str, function: int, state: Env) -> Any:
        """The same in a state of the function that is not the one before the expression."""
        key = (id(expr), function, id(state))
        if key not in self._common.outer and key not in self._outer:
            self._questions.begin()
            self.off = self.own = False
            self.keep((expr, state))
            found = self.value(expr, self.scope(file, function), state)
            answer = (UNKNOWN if found is AROUND else found, self.off)
            (self._outer if self.own else self._common.outer)[key] = answer
        self.own = key in self._outer
        found, self.off = (self._outer if self.own else self._common.outer)[key]
        return found

    def holds(self, expr: ir.Expr, file: str, function: int) -> bool | None:
        """Whether a test holds on this process; ``None`` where that can't be told."""
        return truth_of(self.ask(expr, file, function))

    def length(self, expr: ir.Expr, file: str, function: int) -> int | None:
        """How many items a loop over an expression comes to on this process; ``None`` where that can't be told."""
        return length_of(self.ask(expr, file, function))

    def charge(self, steps: int) -> None:
        """Counts steps that were not asked for as questions (``Questions.charge``)."""
        self._questions.charge(steps)

    def is_spent(self) -> bool:
        """Whether the question has taken as many steps as it may; counts one more."""
        return self._questions.is_spent()

    def scope(self, file: str, function: int) -> Scope:
        """A function of whose call nothing is known."""
        key = (file, function)
        if key not in self._common.scopes:
            self._common.scopes[key] = Scope(file, function)
        return self._common.scopes[key]

    # Expressions -------------------------------------------------------------------------------------------------

    def value(self, expr: ir.Expr, scope: Scope, state: Env) -> Any:
        """The value of an expression in a state of a function."""
        if type(expr) is ir.Constant:
            return expr.value
        key = ("expr", id(expr), id(scope), id(state))
        if key in self._common.answers:
            return self._common.answers[key]
        if not self._questions.knows(key):
            self.keep((expr, scope, state))
        return self.guarded(key, lambda: self._dispatch(expr, scope, state))

    def guarded(self, key: tuple[object, ...], work: Callable[[], Any], around: Any = UNKNOWN) -> Any:
        """The answer to a question, worked out once; ``around`` where it leads back to itself.

        What a key names by its identity has to be kept alive.
        """
        if key in self._common.answers:
            return self._common.answers[key]
        before, own_before = self.off, self.own
        self.off = self.own = False

        def all_of_it() -> tuple[Any, bool, bool]:
            return work(), self.off, self.own

        found, off, own = self._questions.guarded(key, all_of_it, (around, False, False), (UNKNOWN, False, False))
        if not own and self._questions.knows(key):
            self._common.answers[key] = found
        self.off, self.own = before or off, own_before or own
        return found

    def keep(self, thing: object) -> None:
        """Keeps something alive by whose identity answers are remembered."""
        self._common.alive.append(thing)

    def _dispatch(self, expr: ir.Expr, scope: Scope, state: Env) -> Any:
        if type(expr) is ir.Name:
            return rank_names.name(self, expr.id, scope, state)
        if type(expr) is ir.Operation:
            return self._operation(expr, scope, state)
        if type(expr) is ir.Call:
            return rank_calls.call(self, expr, scope, state)
        if type(expr) is ir.Attribute:
            return rank_objects.attribute(self, expr, scope, state)
        if type(expr) is ir.Subscript:
            return self._subscript(expr, scope, state)
        if type(expr) is ir.ListDisplay:
            return self._display(expr, scope, state)
        if type(expr) is ir.DictDisplay:
            return self._dict(expr, scope, state)
        if type(expr) is ir.Conditional:
            test = truth_of(self.value(expr.test, scope, state))
            parts = (expr.body, expr.orelse) if test is None else (expr.body if test else expr.orelse,)
            return same(self.value(part, scope, state) for part in parts)
        if type(expr) is ir.Wrapped and expr.value is not None and expr.kind in ("await", ":="):
            return self.value(expr.value, scope, state)
        if type(expr) is ir.Formatted:
            parts = tuple(self.value(part, scope, state) for part in expr.parts)
            return "".join(map(str, parts)) if all(isinstance(part, str | int) for part in parts) else UNKNOWN
        if type(expr) is ir.Comprehension:
            return self._comprehension(expr, scope, state)
        if type(expr) is ir.Lambda:
            return Closure(expr, scope, state)
        return UNKNOWN

    def _operation(self, expr: ir.Operation, scope: Scope, state: Env) -> Any:
        first = expr.operators[0]
        if first in ("and", "or"):
            return self._logic(first, expr.operands, scope, state)
        if first in ("in", "not in") and self.is_environment(expr.operands[-1], scope.file):
            name = self.value(expr.operands[0], scope, state)
            known = self.sources.get(f"${name}") in _IN_ENVIRONMENT
            return (first == "in") if known else UNKNOWN
        values = [self.value(operand, scope, state) for operand in expr.operands]
        if len(values) == 1:
            return unary(first, values[0])
        if len(values) == 2:
            return self.combined(first, values[0], values[1])
        parts = [
            truth_of(binary(symbol, values[place], values[place + 1])) for place, symbol in enumerate(expr.operators)
        ]
        return False if False in parts else UNKNOWN if None in parts else True

    def combined(self, symbol: str, left: Any, right: Any) -> Any:
        """What an operator gives for two values."""
        if self._counted and symbol in ("*", "+"):
            values, local = (left, right), self._process.local_rank
            if symbol == "*" and UNKNOWN in values and not any(one in (0, local) for one in values):
                return BEFORE
            if symbol == "+" and BEFORE in values and local in values:
                return self.process.rank
        return binary(symbol, left, right)

    def _logic(self, symbol: str, operands: tuple[ir.Expr, ...], scope: Scope, state: Env) -> Any:
        """A short circuit: the operand that decides, else unknown if one of them is."""
        stops = symbol == "or"
        found = [self.value(operand, scope, state) for operand in operands]
        decided = [truth_of(value) for value in found]
        for value, truth in zip(found, decided, strict=True):
            if truth is None:
                break
            if truth is stops:
                return value
        if any(value is stops for value in found):
            return stops
        # `devices or 2` counts as true, but is not known
        return UNKNOWN if None in decided else found[-1]

    def _display(self, expr: ir.ListDisplay, scope: Scope, state: Env) -> Any:
        items: list[Any] = []
        for item in expr.items:
            if type(item) is ir.Starred:
                spread = items_of(self.value(item.value, scope, state))
                if spread is None:
                    return UNKNOWN
                items.extend(spread)
            else:
                items.append(self.value(item, scope, state))
        return tuple(items)

    def _dict(self, expr: ir.DictDisplay, scope: Scope, state: Env) -> Any:
        found: dict[Any, Any] = {}
        for key, value in zip(expr.keys, expr.values, strict=True):
            name = self.value(key, scope, state) if key is not None else UNKNOWN
            if not isinstance(name, str | int | float | None):
                return UNKNOWN
            found[name] = self.value(value, scope, state)
        return found

    def _subscript(self, expr: ir.Subscript, scope: Scope, state: Env) -> Any:
        if type(expr.index) is ir.Slice:
            bounds = (expr.index.lower, expr.index.upper, expr.index.step)
            lower, upper, step = (None if part is None else self.value(part, scope, state) for part in bounds)
            return sliced(self.value(expr.base, scope, state), (lower, upper, step))
        index = self.value(expr.index, scope, state)
        if self.is_environment(expr.base, scope.file):
            return self.variable(index)
        stored = rank_names.stored_item(self, expr, index, scope, state)
        return stored if stored is not None else item_at(self.value(expr.base, scope, state), index)

    def _comprehension(self, expr: ir.Comprehension, scope: Scope, state: Env) -> Any:
        scopes = [scope]
        for target, iterable, tests in expr.generators:
            following = []
            for one in scopes:
                items = items_of(self.value(iterable, one, state))
                if items is None or len(items) * len(scopes) > MAX_COMPREHENDED:
                    return UNKNOWN
                for item in items:
                    inner = one.with_local(rank_names.unpacked(target, item))
                    holds = [truth_of(self.value(test, inner, state)) for test in tests]
                    if False in holds:
                        continue
                    if None in holds:
                        return UNKNOWN
                    following.append(inner)
            scopes = following
        if expr.kind == "dict":
            return UNKNOWN
        return tuple(self.value(expr.element, one, state) for one in scopes)

    # The process -------------------------------------------------------------------------------------------------

    @property
    def process(self) -> Process:
        """The process; what was worked out with it is of no use to others."""
        self.own = True
        return self._process

    def counter(self, name: str) -> str | None:
        """The argument that switches a counter off, for an attribute by what made its object."""
        self.own = self.own or name in self._every_counter
        return self._counters.get(name)

    def is_environment(self, expr: ir.Expr, file: str) -> bool:
        """Whether an expression is the mapping of environment variables."""
        return self.project.modules.dotted(expr, file) == "os.environ"

    def variable(self, name: object) -> Any:
        """An environment variable, as text."""
        kind = self.sources.get(f"${name}", "")
        self.own = self.own or bool(kind)
        if self._variables is not None and name not in self._variables:
            return UNKNOWN
        value = self.source(kind)
        return str(value) if isinstance(value, int) else value

    def source(self, kind: str) -> Any:
        """What a source of a kind tells this process."""
        if not kind:
            return UNKNOWN
        process = self.process
        if kind == "last" and not process.world:
            return False if process.rank == 0 else UNKNOWN
        return {
            "rank": process.rank,
            "local-rank": process.local_rank,
            "main": process.rank == 0,
            "local-main": process.local_rank == 0,
            "last": process.rank == process.world - 1,
            "initialized": True,
            "world": process.world or MANY,
            "devices": process.devices or UNKNOWN,
            "per-node": process.per_node or process.devices or UNKNOWN,
            "node": process.node if process.node >= 0 else UNKNOWN,
            "nodes": process.nodes if process.nodes >= 0 else UNKNOWN,
        }.get(kind, UNKNOWN)

    def guessed(self, name: str) -> Any:
        """What a name such as ``rank`` stands for where nothing else is known of it."""
        if name in RANK_NAMES:
            found: Any = self.process.local_rank if name == "local_rank" else self.process.rank
        elif name in _MAIN_NAMES:
            found = self.process.rank == 0
        elif name in _NODE_NAMES:
            # a process that has the same rank in the job and on its node is taken for one of the first node
            on_first = self.process.node < 0 and self.process.rank == self.process.local_rank
            found = 0 if on_first else UNKNOWN
        else:
            return UNKNOWN
        return found if self._guess or (self._counted and name == "local_rank") else UNKNOWN

    def known_attribute(self, name: str, *, of_settings: bool = False) -> Any:
        """What an attribute of an unknown object tells that libraries give to their objects alone: ``is_main_process``.

        ``of_settings``: the object holds the settings of a program, by its name, and is none that says what to do next (``told``).
        """
        kind = self.attributes.get(name) or (self._of_settings.get(name) if of_settings else None)
        if kind is None:
            return UNKNOWN
        found = self.source(kind)
        return found if self._guess else UNKNOWN


def _plain_attributes(sources: Mapping[str, str], besides: str = "") -> dict[str, str]:
    """The attributes that mean the same on all objects of libraries that have them, and hardly anything else elsewhere.

    Another meaning, of the kind ``besides``, is left out of account.
    """
    found: dict[str, set[str]] = {}
    for name, kind in sources.items():
        if "()." in name and kind != besides:
            found.setdefault(name.rpartition(".")[2], set()).add(kind)
    return {
        name: min(kinds)
        for name, kinds in found.items()
        if len(kinds) == 1 and "_" in name and min(kinds) in _TOLD and name not in RANK_NAMES - {"global_rank"}
    }
