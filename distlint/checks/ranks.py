"""What expressions are on a given rank of a job: a small evaluation in which the rank is known and most else is not.

The environment variables and library functions that tell a process its rank come from the frameworks' descriptions
(``FrameworkSpec.rank_sources``), so no names of theirs stand here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from distlint.checks.rank_values import (
    AROUND,
    MANY,
    UNKNOWN,
    agrees,
    binary,
    converted,
    names_group,
    part_of,
    same,
    truth_of,
    unary,
)
from distlint.link.abstract import Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.flow import Bind, Env, Join, Store
from distlint.link.modules import ClassRef, External, FunctionRef, GlobalRef
from distlint.link.walking import guards_of
from distlint.model import python as ir
from distlint.model.record import dataclass

if TYPE_CHECKING:
    from collections.abc import Collection

    from distlint.link.project import Project

MAX_STEPS = 1_500
MAX_DEPTH = 25
MAX_CALLERS = 8

_IN_ENVIRONMENT = frozenset({"rank", "local-rank", "world", "devices", "per-node"})
"""What a launcher tells that a job has: a test whether it is there holds."""

RANK_NAMES = frozenset({"rank", "local_rank", "global_rank", "world_rank"})
"""Parameters and parsed options that hold the rank where nothing else is known of them."""


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
SECOND_NODE = Process(8, 0, 8)
"""The first process of a second node: the one for which rank and local rank differ."""


class RankView:
    """Evaluates expressions for one process. ``guess``: names such as ``rank`` count where nothing is known.

    ``variables`` are those of the environment that tell this process where it is (all that are known, by default);
    ``counters`` maps attributes of library objects (by what made them) to the argument that switches them off; such a
    counter stays at 0 on a process where it is off, and ``off`` is set when one was met.
    """

    def __init__(
        self,
        project: Project,
        process: Process,
        *,
        guess: bool = True,
        counters: dict[str, str] | None = None,
        variables: Collection[str] | None = None,
    ) -> None:
        self._project = project
        self._process = process
        self._guess = guess
        self._counters = counters or {}
        self._sources = {name: kind for spec in project.specs for name, kind in spec.rank_sources}
        self._variables = variables
        self._evaluator = project.evaluator(None)
        self._active: set[tuple[object, ...]] = set()
        self._steps = 0
        self._depth = 0
        self.off = False

    def ask(self, expr: ir.Expr, file: str, function: int) -> Any:
        """The value of an expression of a function on this process, or ``UNKNOWN``."""
        self._steps = 0
        self.off = False
        found = self._value(expr, file, function, self._project.flow(file, function).before(expr.at))
        return UNKNOWN if found is AROUND else found

    def holds(self, expr: ir.Expr, file: str, function: int) -> bool | None:
        """Whether a test holds on this process; ``None`` where that can't be told."""
        return truth_of(self.ask(expr, file, function))

    # Expressions -------------------------------------------------------------------------------------------------

    def _value(self, expr: ir.Expr, file: str, function: int, state: Env) -> Any:
        self._steps += 1
        key = ("expr", id(expr), id(state))
        if self._steps > MAX_STEPS or self._depth > MAX_DEPTH or key in self._active:
            return UNKNOWN
        self._active.add(key)
        self._depth += 1
        try:
            return self._dispatch(expr, file, function, state)
        finally:
            self._depth -= 1
            self._active.discard(key)

    def _dispatch(self, expr: ir.Expr, file: str, function: int, state: Env) -> Any:
        if type(expr) is ir.Constant:
            return expr.value
        if type(expr) is ir.Name:
            return self._name(expr.id, file, function, state)
        if type(expr) is ir.Operation:
            return self._operation(expr, file, function, state)
        if type(expr) is ir.Call:
            return self._call(expr, file, function, state)
        if type(expr) is ir.Attribute:
            return self._attribute(expr, file, function, state)
        if type(expr) is ir.Subscript:
            return self._subscript(expr, file, function, state)
        if type(expr) is ir.ListDisplay:
            items = tuple(self._value(item, file, function, state) for item in expr.items)
            return UNKNOWN if any(type(item) is ir.Starred for item in expr.items) else items
        if type(expr) is ir.Conditional:
            test = truth_of(self._value(expr.test, file, function, state))
            parts = (expr.body, expr.orelse) if test is None else (expr.body if test else expr.orelse,)
            return same([self._value(part, file, function, state) for part in parts])
        if type(expr) is ir.Wrapped and expr.value is not None and expr.kind in ("await", ":="):
            return self._value(expr.value, file, function, state)
        return UNKNOWN

    def _operation(self, expr: ir.Operation, file: str, function: int, state: Env) -> Any:
        first = expr.operators[0]
        if first in ("and", "or"):
            return self._logic(first, expr.operands, file, function, state)
        values = [self._value(operand, file, function, state) for operand in expr.operands]
        if len(values) == 1:
            return unary(first, values[0])
        if len(values) != 2:
            return UNKNOWN
        if first in ("in", "not in") and self._is_environment(expr.operands[1], file):
            known = self._sources.get(f"${values[0]}") in _IN_ENVIRONMENT
            return (first == "in") if known else UNKNOWN
        return binary(first, values[0], values[1])

    def _logic(self, symbol: str, operands: tuple[ir.Expr, ...], file: str, function: int, state: Env) -> Any:
        """A short circuit: the operand that decides, else unknown if one of them is."""
        stops = symbol == "or"
        decided = [truth_of(self._value(operand, file, function, state)) for operand in operands]
        if stops in decided:
            return stops
        return UNKNOWN if None in decided else not stops

    def _subscript(self, expr: ir.Subscript, file: str, function: int, state: Env) -> Any:
        index = self._value(expr.index, file, function, state)
        if self._is_environment(expr.base, file):
            return self._variable(index)
        base = self._value(expr.base, file, function, state)
        if isinstance(base, tuple) and isinstance(index, int) and -len(base) <= index < len(base):
            return base[index]
        return UNKNOWN

    def _is_environment(self, expr: ir.Expr, file: str) -> bool:
        return self._project.modules.dotted(expr, file) == "os.environ"

    def _variable(self, name: object) -> Any:
        """An environment variable, as text."""
        if self._variables is not None and name not in self._variables:
            return UNKNOWN
        value = self._source(self._sources.get(f"${name}", ""))
        return str(value) if isinstance(value, int) else value

    def _source(self, kind: str) -> Any:
        process = self._process
        return {
            "rank": process.rank,
            "local-rank": process.local_rank,
            "main": process.rank == 0,
            "local-main": process.local_rank == 0,
            "initialized": True,
            "world": process.world or MANY,
            "devices": process.devices or UNKNOWN,
            "per-node": process.per_node or process.devices or UNKNOWN,
            "node": process.node if process.node >= 0 else UNKNOWN,
            "nodes": process.nodes if process.nodes >= 0 else UNKNOWN,
        }.get(kind, UNKNOWN)

    # Calls and attributes ----------------------------------------------------------------------------------------

    def _call(self, call: ir.Call, file: str, function: int, state: Env) -> Any:
        if type(call.func) is ir.Name and call.func.id in ("int", "str", "bool") and len(call.args) == 1:
            return converted(call.func.id, self._value(call.args[0], file, function, state))
        target = self._project.modules.resolve(call.func, file)
        if isinstance(target, External):
            if target.name in ("os.environ.get", "os.getenv") and call.args:
                return self._variable(self._value(call.args[0], file, function, state))
            given = self._sources.get(target.name, "")
            return self._source(given) if not names_group(call) else UNKNOWN
        if isinstance(target, FunctionRef):
            return self._returned(target)
        if type(call.func) is ir.Attribute:
            return self._method(call, call.func, file, function)
        return UNKNOWN

    def _method(self, call: ir.Call, func: ir.Attribute, file: str, function: int) -> Any:
        found = []
        for name, option in self._object_names(func, file, function):
            kind = self._sources.get(name)
            if kind is not None and not names_group(call):
                found.append(self._source(kind))
            elif isinstance(option.callee, ClassRef):
                method = self._project.modules.method(option.callee, func.name)
                found.append(self._returned(method) if method is not None else UNKNOWN)
            else:
                found.append(UNKNOWN)
        return same(found)

    def _object_names(self, expr: ir.Attribute, file: str, function: int) -> list[tuple[str, Instance]]:
        """The attribute by what made each object that its base can be: ``pkg.Class().name``."""
        base = self._evaluator.ask(expr.base, file, function)
        canonical = self._project.modules.canonical
        return [
            (canonical(f"{self._evaluator.instance_name(option)}.{expr.name}"), option)
            for option in options_of(base)
            if isinstance(option, Instance)
        ]

    def _returned(self, target: FunctionRef) -> Any:
        """What a function of the project returns on this process, whatever it is given."""
        definition = self._project.function(target)
        key = ("return", target)
        if definition.skipped or definition.is_async or key in self._active:
            return UNKNOWN
        self._active.add(key)
        try:
            flow = self._project.flow(target.file, target.index)
            found: list[Any] = []
            for statement, state in flow.returns:
                reached = self._reached(definition.body, statement.at, target)
                if reached is False:
                    continue
                value = None
                if statement.value is not None:
                    value = self._value(statement.value, target.file, target.index, state)
                if reached:
                    return same([*found, value])
                found.append(value)
            return same([*found, None] if flow.exit is not None else found)
        finally:
            self._active.discard(key)

    def _reached(self, body: tuple[ir.Stmt, ...], at: ir.Position, where: FunctionRef) -> bool | None:
        guards = guards_of(body, at) or []
        flow = self._project.flow(where.file, where.index)
        decided = [
            None
            if guard.test is None or guard.kind in ("for", "while")
            else agrees(
                truth_of(self._value(guard.test, where.file, where.index, flow.before(guard.test.at))), guard.holds
            )
            for guard in guards
        ]
        return False if False in decided else None if None in decided else True

    def _attribute(self, expr: ir.Attribute, file: str, function: int, state: Env) -> Any:
        target = self._project.modules.resolve(expr, file)
        if isinstance(target, External):
            return self._source(self._sources.get(target.name, ""))
        stored = self._stored(expr, file, function, state)
        if stored is not UNKNOWN:
            return stored
        found = []
        for name, option in self._object_names(expr, file, function):
            if name in self._counters:
                found.append(self._counter(option, self._counters[name]))
            elif name in self._sources:
                found.append(self._source(self._sources[name]))
            elif isinstance(option.callee, ClassRef):
                found.append(self._own_attribute(option.callee, expr.name))
            else:
                found.append(self._parsed(option, expr.name))
        return same(found)

    def _stored(self, expr: ir.Attribute, file: str, function: int, state: Env) -> Any:
        """What a statement before set ``name.attribute`` to in this body."""
        if type(expr.base) is not ir.Name:
            return UNKNOWN
        place: Env | None = state
        while place is not None:
            if isinstance(place, Store) and place.name == expr.base.id and place.path == ("." + expr.name,):
                return (
                    self._value(place.expr, file, function, place.prev or place) if place.action == "set" else UNKNOWN
                )
            if isinstance(place, Bind) and place.name == expr.base.id:
                return UNKNOWN
            place = place.prev
        return UNKNOWN

    def _own_attribute(self, owner: ClassRef, name: str) -> Any:
        method = self._project.modules.method(owner, name)
        if method is not None:
            return self._returned(method)
        found = []
        for where, value, part in self._project.attribute_stores(owner).get(name, ())[:MAX_CALLERS]:
            if value is None:
                return UNKNOWN
            one = self._value(
                value, where.file, where.index, self._project.flow(where.file, where.index).before(value.at)
            )
            found.append(part_of(one, part))
        return same(found)

    def _parsed(self, option: Instance, name: str) -> Any:
        """An option of a parsed command line that is named like a rank."""
        func = option.call.func
        parsing = type(func) is ir.Attribute and func.name.startswith("parse_")
        if not self._guess or name not in RANK_NAMES or not parsing:
            return UNKNOWN
        return self._process.local_rank if name == "local_rank" else self._process.rank

    def _counter(self, option: Instance, switch: str) -> Any:
        """A counter of an object: 0 on a process where the object is switched off."""
        given, _ = find_argument(option.call, switch, None)
        if given is None:
            return UNKNOWN
        is_off = truth_of(self._value(given, option.frame.file, option.frame.function, option.state))
        if is_off:
            self.off = True
            return 0
        return UNKNOWN

    # Names -------------------------------------------------------------------------------------------------------

    def _name(self, name: str, file: str, function: int, state: Env) -> Any:
        place: Env | None = state
        while place is not None:
            if isinstance(place, Bind) and place.name == name:
                return self._bound(place, file, function)
            if isinstance(place, Join) and name in place.touched:
                return self._joined(name, place, file, function)
            place = place.prev
        return self._outside(name, file, function)

    def _bound(self, bind: Bind, file: str, function: int) -> Any:
        if bind.expr is None or bind.prev is None:
            return UNKNOWN
        if isinstance(bind.expr, ir.AugAssign):
            before = self._value(bind.expr.target, file, function, bind.prev)
            return binary(bind.expr.operator, before, self._value(bind.expr.value, file, function, bind.prev))
        return part_of(self._value(bind.expr, file, function, bind.prev), bind.part)  # type: ignore[arg-type]

    def _joined(self, name: str, join: Join, file: str, function: int) -> Any:
        key = ("join", name, id(join))
        if key in self._active:
            return AROUND
        self._active.add(key)
        try:
            branches = join.branches
            if join.test is not None and len(branches) == 2 and join.prev is not None:
                test = truth_of(self._value(join.test, file, function, join.prev))
                if test is not None:
                    branches = [branches[0] if test else branches[1]]
            return same([self._name(name, file, function, branch) for branch in branches])
        finally:
            self._active.discard(key)

    def _outside(self, name: str, file: str, function: int) -> Any:
        if function >= 0:
            definition = self._project.function(FunctionRef(file, function))
            position = next((i for i, p in enumerate(definition.parameters) if p.name == name), None)
            if position is not None:
                return self._parameter(FunctionRef(file, function), definition, name, position)
            outer = self._project.flow(file, definition.parent)
            return self._name(name, file, definition.parent, outer.exit or outer.entry)
        target = self._project.modules.lookup(name, file)
        if isinstance(target, GlobalRef) and (target.file, target.name) != (file, name):
            flow = self._project.flow(target.file, -1)
            return self._name(target.name, target.file, -1, flow.exit or flow.entry)
        return UNKNOWN

    def _parameter(self, ref: FunctionRef, definition: ir.Function, name: str, position: int) -> Any:
        offset = 1 if definition.owner >= 0 else 0
        key = ("parameter", ref, name)
        if key in self._active:
            return UNKNOWN
        self._active.add(key)
        try:
            callers = self._project.callers(ref)
            found = []
            for caller in callers if len(callers) <= MAX_CALLERS else ():
                given, _ = find_argument(caller.site.call, name, position - offset + caller.shift)
                if given is None:
                    return UNKNOWN
                state = self._project.flow(caller.file, caller.site.function).before(caller.site.call.at)
                found.append(self._value(given, caller.file, caller.site.function, state))
        finally:
            self._active.discard(key)
        if not callers and self._guess and name in RANK_NAMES:
            return self._process.local_rank if name == "local_rank" else self._process.rank
        return same(found)
