"""What leaves a function of the project where something that it reads can't be read, however often it tries.

Each call that reads fails whenever it is made, and the ways from there on are followed: through handlers, to the end of loops that try
again (``for`` with ``else: raise``, a counter, the last exception raised behind the loop), into functions that are handed what to read.
Tests go either way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from distlint.checks.rank_paths import ANYTHING, catches
from distlint.checks.spread_names import called_name, forward, mentions
from distlint.link.modules import ClassRef, FunctionRef
from distlint.link.walking import below, blocks_of, expressions_of, last_name, statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.project import Project

READING = frozenset(
    {
        "open",
        "load",
        "load_file",
        "read_text",
        "read_bytes",
        "imread",
        "safe_load",
        "loadtxt",
        "genfromtxt",
    }
)
"""Last names of functions that read what may not be there, or be something else."""
CONVERTING = frozenset({"loads", "int", "float"})
"""Those that convert what was read. A number may be converted for other reasons: they count only where a call is looked at itself."""
MAX_DEPTH = 4
MAX_STEPS = 600
"""Statements of one question."""

Names = tuple[str, ...]
"""The name of an exception's class, and those of its bases."""
_READ: Names = (ANYTHING,)


class Outcome(NamedTuple):
    """A way on which statements end: ``how`` is ``next``, ``return``, ``raise``, ``break`` or ``continue``.

    ``failed`` says that something could not be read on that way; ``names`` is what is raised.
    """

    how: str
    failed: bool
    names: Names = ()


class _Known(dict[tuple[FunctionRef, bool], frozenset[Outcome]]):
    """The ways on which functions end, by whether what they are called for counts alone."""


def lasting_failures(project: Project, ref: FunctionRef) -> frozenset[Names]:
    """The exceptions that leave a function where something that it reads can't be read."""
    ends = _ends(project, ref, 0, _Budget())
    return frozenset(one.names for one in ends if one.how == "raise" and one.failed)


class _Budget:
    def __init__(self) -> None:
        self.steps = 0

    def is_spent(self) -> bool:
        """Whether the question has taken as many steps as it may; counts one more."""
        self.steps += 1
        return self.steps > MAX_STEPS


def _ends(project: Project, ref: FunctionRef, depth: int, budget: _Budget) -> frozenset[Outcome]:
    known: _Known = project.kept.setdefault(_Known, _Known())
    key = (ref, depth == 0)
    if key not in known:
        if depth > MAX_DEPTH or budget.is_spent():
            return frozenset({Outcome("return", False)})
        known[key] = frozenset({Outcome("return", False)})  # what calls itself ends as if it were not there
        known[key] = frozenset(_Body(project, ref, depth, budget).ends())
    return known[key]


class _Body:
    """Follows the statements of one function."""

    def __init__(self, project: Project, ref: FunctionRef, depth: int, budget: _Budget) -> None:
        self._project = project
        self._ref = ref
        self._depth = depth
        self._budget = budget
        definition = project.function(ref)
        self._body = definition.body
        given = {one.name for one in definition.parameters if one.name not in ("self", "cls")}
        self._given = forward(definition.body, given)
        self._under_way: list[tuple[str, Names]] = []
        """The exceptions that handlers are busy with, each with the name that it is bound to."""
        self._held = _held(definition.body)

    def ends(self) -> set[Outcome]:
        """The ways on which the function ends."""
        found = self._block(self._body, False)
        return {one._replace(how="return") if one.how == "next" else one for one in found}

    def _block(self, body: tuple[ir.Stmt, ...], failed: bool) -> set[Outcome]:
        found: set[Outcome] = set()
        flags = {failed}
        for statement in body:
            following: set[bool] = set()
            for flag in flags:
                for one in self._statement(statement, flag):
                    if one.how == "next":
                        following.add(one.failed)
                    else:
                        found.add(one)
            flags = following
        return found | {Outcome("next", flag) for flag in flags}

    def _statement(self, statement: ir.Stmt, failed: bool) -> set[Outcome]:
        if self._budget.is_spent():
            return {Outcome("next", False)}
        if type(statement) is ir.Try:
            return self._attempt(statement, failed)
        before = self._evaluated(statement, failed)
        found = {one for one in before if one.how != "next"}
        for flag in {one.failed for one in before if one.how == "next"}:
            found |= self._after(statement, flag)
        return found

    def _after(self, statement: ir.Stmt, failed: bool) -> set[Outcome]:
        """What follows the expressions of a statement."""
        if type(statement) is ir.Return:
            return {Outcome("return", failed)}
        if type(statement) is ir.Jump:
            if statement.kind == "raise":
                return {Outcome("raise", failed, self._raised(statement))}
            return {Outcome(statement.kind if statement.kind in ("break", "continue") else "next", failed)}
        if type(statement) is ir.For:
            return self._loop(statement.body, statement.orelse, failed, endless=False)
        if type(statement) is ir.While:
            endless = type(statement.test) is ir.Constant and bool(statement.test.value)
            return self._loop(statement.body, statement.orelse, failed, endless=endless)
        if type(statement) is ir.With:
            return self._suppressed(statement, self._block(statement.body, failed))
        blocks = blocks_of(statement)
        found = {one for block in blocks for one in self._block(block, failed)}
        return found or {Outcome("next", failed)}

    def _evaluated(self, statement: ir.Stmt, failed: bool) -> set[Outcome]:
        """What the expressions of a statement come to: the first call that certainly fails ends it."""
        flags = {failed}
        found: set[Outcome] = set()
        for call in (part for one in expressions_of(statement) for part in below(one) if type(part) is ir.Call):
            name = called_name(call)
            if name in READING or (not self._depth and name in CONVERTING):
                if not self._depth or self._is_given(call):
                    return {*found, Outcome("raise", True, _READ)}
            edges = self._project.call_graph.targets(self._ref.file, self._ref.index, call)
            if len(edges) != 1 or not edges[0].certain or edges[0].how != "call" or not self._is_given(call):
                continue
            ends = _ends(self._project, edges[0].target, self._depth + 1, self._budget)
            found |= {one for one in ends if one.how == "raise" and one.failed}
            going = {one.failed for one in ends if one.how == "return"}
            if not going:
                return found
            flags = {flag or more for flag in flags for more in going}
        return found | {Outcome("next", flag) for flag in flags}

    def _is_given(self, call: ir.Call) -> bool:
        """Whether a call is handed what its function was handed."""
        parts = [*call.args, *(word.value for word in call.keywords)]
        if type(call.func) is ir.Attribute:
            parts.append(call.func.base)
        return any(mentions(one, self._given) for one in parts)

    def _loop(
        self, body: tuple[ir.Stmt, ...], orelse: tuple[ir.Stmt, ...], failed: bool, *, endless: bool
    ) -> set[Outcome]:
        found: set[Outcome] = set()
        turns = [failed]
        seen = {failed}
        while turns:
            for one in self._block(body, turns.pop()):
                if one.how in ("next", "continue"):
                    if one.failed not in seen:
                        seen.add(one.failed)
                        turns.append(one.failed)
                else:
                    found.add(one._replace(how="next") if one.how == "break" else one)
        if not endless:
            found |= {one for flag in seen for one in self._block(orelse, flag)}
        return found

    def _attempt(self, statement: ir.Try, failed: bool) -> set[Outcome]:
        found: set[Outcome] = set()
        for one in self._block(statement.body, failed):
            if one.how == "next":
                found |= self._block(statement.orelse, one.failed)
            elif one.how == "raise":
                found |= self._handled(statement, one)
            else:
                found.add(one)
        if not statement.final:
            return found
        after: set[Outcome] = set()
        for one in found:
            for last in self._block(statement.final, one.failed):
                after.add(one if last.how == "next" else last)
        return after

    def _handled(self, statement: ir.Try, raised: Outcome) -> set[Outcome]:
        """What handlers make of an exception; where something can't be read, any of them may be the one that takes it."""
        taking = [
            (bound, body)
            for kind, bound, body in statement.handlers
            if any(catches(kind, name) for name in raised.names)
        ]
        if raised.names != _READ:
            taking = taking[:1]
        if not taking:
            return {raised}
        found: set[Outcome] = set()
        for bound, body in taking:
            self._under_way.append((bound, raised.names))
            found |= self._block(body, raised.failed)
            self._under_way.pop()
        return found

    def _suppressed(self, statement: ir.With, ends: set[Outcome]) -> set[Outcome]:
        """What comes out of a context that may swallow exceptions (``contextlib.suppress``)."""
        kinds = [
            kind
            for context, _ in statement.items
            if type(context) is ir.Call and called_name(context) == "suppress"
            for kind in context.args
        ]
        return {
            Outcome("next", one.failed)
            if one.how == "raise" and any(catches(kind, name) for kind in kinds for name in one.names)
            else one
            for one in ends
        }

    def _raised(self, statement: ir.Jump) -> Names:
        """What a ``raise`` raises: the exception under way, one that was kept, or one of a class."""
        value = statement.values[0] if statement.values else None
        if value is None:
            return self._under_way[-1][1] if self._under_way else ("",)
        if type(value) is ir.Name:
            for bound, names in reversed(self._under_way):
                if bound == value.id:
                    return names
            if value.id in self._held:
                return _READ
        made = value.func if type(value) is ir.Call else value
        target = self._project.modules.resolve(made, self._ref.file)
        if isinstance(target, ClassRef):
            return names_of(self._project, target)
        return (last_name(made),)


def names_of(project: Project, owner: ClassRef) -> Names:
    """The names of a class and of all that it derives from."""
    found = []
    for one in project.modules.ancestry(owner):
        definition = project.class_(one)
        found += [definition.name, *(last_name(base) for base in definition.bases)]
    return tuple(dict.fromkeys(filter(None, found)))


def _held(body: tuple[ir.Stmt, ...]) -> frozenset[str]:
    """The variables in which handlers keep an exception for later."""
    bound = {name for one in statements(body) if type(one) is ir.Try for _, name, _ in one.handlers if name}
    return frozenset(
        target.id
        for one in statements(body)
        if type(one) is ir.Assign and type(one.value) is ir.Name and one.value.id in bound
        for target in one.targets
        if type(target) is ir.Name
    )
