"""What a name is on one process: walked back to what bound it, to the callers of a function, to other modules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from distlint.checks.rank_scope import Closure, Made, Scope
from distlint.checks.rank_values import (
    AROUND,
    MAX_ITEMS,
    UNKNOWN,
    is_complete,
    item_at,
    part_of,
    same,
    truth_of,
)
from distlint.link.arguments import find_argument
from distlint.link.callers import Caller
from distlint.link.calls import decorated, is_static
from distlint.link.flow import BINDS, Bind, Env, Join, Store
from distlint.link.modules import External, FunctionRef, GlobalRef
from distlint.link.walking import below, expressions_of, statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.checks.ranks import RankView
    from distlint.link.project import Project

MAX_CALLERS = 8

WALKED = 40
"""States of a function that are passed in about the time of one step of a question."""

NOBODY: Any = object()
"""Stands for a parameter of a function that nobody is seen to call."""

PER_PROCESS = frozenset({"spawn", "start_processes", "Process"})
"""Calls that start a function once in each process."""


def name(view: RankView, wanted: str, scope: Scope, state: Env) -> Any:
    """A name in a state of a function."""
    if wanted in scope.local:
        return scope.local[wanted]
    if view.is_spent():
        return UNKNOWN
    changes: list[Store] = []
    place: Env | None = state
    while place is not None:
        if isinstance(place, Store) and place.name == wanted and _changes_items(view, place, scope):
            changes.append(place)
        elif isinstance(place, Bind) and place.name == wanted:
            return _changed(view, _bound(view, place, scope), changes, scope)
        elif isinstance(place, Join) and wanted in place.touched:
            before = _handed_only(view, wanted, place, scope)
            if before is not UNKNOWN:
                return before
            return _changed(view, _joined(view, wanted, place, scope), changes, scope)
        place = place.prev
    return _changed(view, _outside(view, wanted, scope), changes, scope)


def _handed_only(view: RankView, wanted: str, join: Join, scope: Scope) -> Any:
    """A number or text that the ways of a join only hand to functions, which can't change it; else unknown."""
    place: Env | None = join
    walked = 0
    while place is not None and not (isinstance(place, Bind) and place.name == wanted):
        if isinstance(place, Join) and f"{wanted}{BINDS}" in place.touched.how:
            return UNKNOWN
        place = place.prev
        walked += 1
    view.charge(walked // WALKED)
    # asked for at each of the joins behind it, and again on the ways between them
    start = place
    view.keep((scope, start))

    def found() -> Any:
        value = _bound(view, start, scope) if isinstance(start, Bind) else _outside(view, wanted, scope)
        return value if isinstance(value, bool | int | str) else UNKNOWN

    return view.guarded(("handed", wanted, id(scope), id(start)), found)


def unpacked(target: ir.Expr, item: Any) -> dict[str, Any]:
    """The variables that an item of a loop gives."""
    if type(target) is ir.Name:
        return {target.id: item}
    found: dict[str, Any] = {}
    if type(target) is ir.ListDisplay:
        for place, part in enumerate(target.items):
            found.update(unpacked(part, item_at(item, place) if type(part) is not ir.Starred else UNKNOWN))
    elif type(target) is ir.Starred:
        found.update(unpacked(target.value, UNKNOWN))
    return found


def stored_item(view: RankView, expr: ir.Subscript, index: Any, scope: Scope, state: Env) -> Any | None:
    """What a statement before set ``name[index]`` to in this body; ``None`` where there is none."""
    if type(expr.base) is not ir.Name:
        return None
    place: Env | None = state
    while place is not None:
        if isinstance(place, Store) and place.name == expr.base.id and _changes_items(view, place, scope):
            if place.action != "set" or len(place.path) != 1 or isinstance(place.path[0], str):
                return None
            key = view.value(place.path[0], scope, place.at)
            if key is UNKNOWN or index is UNKNOWN:
                return None
            if key == index:
                return view.value(place.expr, scope, place.at)
        elif (isinstance(place, Bind) and place.name == expr.base.id) or (
            isinstance(place, Join) and expr.base.id in place.touched
        ):
            return None
        place = place.prev
    return None


def _changes_items(view: RankView, store: Store, scope: Scope) -> bool:
    """Whether a step may change the items of what stands behind the name."""
    if store.action == "call":
        # a function that is handed a list of numbers seldom changes it
        call = store.expr
        return isinstance(call, ir.Call) and view.project.modules.dotted(call.func, scope.file) in view.changing
    return store.action != "alias" and not (store.path and isinstance(store.path[0], str))


def _changed(view: RankView, before: Any, changes: list[Store], scope: Scope) -> Any:
    """A list or mapping after what was done to it; numbers and texts stay as they are."""
    if not changes or not (isinstance(before, tuple | dict) or before is AROUND):
        return before
    for store in reversed(changes):
        call = store.expr
        if store.action == "append" and isinstance(before, tuple) and isinstance(call, ir.Call) and not store.path:
            if len(call.args) != 1 or len(before) >= MAX_ITEMS:
                return UNKNOWN
            before = (*before, view.value(call.args[0], scope, store.at))
        elif store.action == "set" and isinstance(before, dict) and len(store.path) == 1:
            step = store.path[0]
            key = UNKNOWN if isinstance(step, str) else view.value(step, scope, store.at)
            if not isinstance(key, str | int | None):
                return UNKNOWN
            before = {**before, key: view.value(store.expr, scope, store.at)}
        else:
            return UNKNOWN
    return before


def _bound(view: RankView, bind: Bind, scope: Scope) -> Any:
    if bind.expr is None or bind.prev is None:
        return UNKNOWN
    if isinstance(bind.expr, ir.Define):
        if bind.expr.kind != "function":
            return UNKNOWN
        return Closure(FunctionRef(scope.file, bind.expr.index), scope, bind.prev)
    if isinstance(bind.expr, ir.AugAssign):
        before = view.value(bind.expr.target, scope, bind.prev)
        return view.combined(bind.expr.operator, before, view.value(bind.expr.value, scope, bind.prev))
    found = view.value(bind.expr, scope, bind.at)  # type: ignore[arg-type]
    if not bind.part:
        return found
    # a loop over items that are all alike
    if bind.part[0] == "*" and isinstance(found, tuple) and found and is_complete(found):
        return same([part_of(item, bind.part[1:]) for item in found])
    return part_of(found, bind.part)


def _joined(view: RankView, wanted: str, join: Join, scope: Scope) -> Any:
    view.keep((join, scope))
    return view.guarded(("join", wanted, id(join), id(scope)), lambda: _ways(view, wanted, join, scope), AROUND)


def _ways(view: RankView, wanted: str, join: Join, scope: Scope) -> Any:
    """What a name is at the end of any of the ways that meet."""
    branches = join.branches
    if join.test is not None and len(branches) == 2 and join.prev is not None:
        test = truth_of(view.value(join.test, scope, join.prev))
        if test is not None:
            branches = [branches[0] if test else branches[1]]
    if isinstance(join.by, ir.Try) and len(branches) > 1 and not _is_marked(wanted, branches[-1]):
        # where the guarded statements give something known they did not fail
        normal = name(view, wanted, scope, branches[-1])
        if normal is not UNKNOWN and normal is not AROUND and normal is not None:
            return normal
    return same(name(view, wanted, scope, branch) for branch in branches)


def _is_marked(wanted: str, state: Env) -> bool:
    """Whether a name is set to a constant, as a mark of what happened."""
    place: Env | None = state
    while place is not None:
        if isinstance(place, Bind) and place.name == wanted:
            return type(place.expr) is ir.Constant
        place = place.prev
    return True


def _outside(view: RankView, wanted: str, scope: Scope) -> Any:
    if scope.function >= 0:
        ref = FunctionRef(scope.file, scope.function)
        definition = view.project.function(ref)
        for position, parameter in enumerate(definition.parameters):
            if parameter.name == wanted:
                return _parameter(view, ref, definition, position, scope)
        if definition.parent < 0:
            return variable(view, GlobalRef(scope.file, wanted))
        outer = view.project.flow(scope.file, definition.parent)
        around = view.scope(scope.file, definition.parent)
        return name(view, wanted, around, outer.exit or (outer.returns[-1][1] if outer.returns else outer.entry))
    target = view.project.modules.lookup(wanted, scope.file)
    if isinstance(target, FunctionRef):
        flow = view.project.flow(target.file, -1)
        return Closure(target, view.scope(target.file, -1), flow.exit or flow.entry)
    if isinstance(target, External) and target.name in view.sources:
        return Closure(target, scope, view.project.flow(scope.file, -1).entry)
    if not isinstance(target, GlobalRef):
        return UNKNOWN
    if (target.file, target.name) == (scope.file, wanted):
        return _set_by_functions(view, target)
    return variable(view, target)


def variable(view: RankView, target: GlobalRef) -> Any:
    """A variable of a module after the module ran."""
    return view.guarded(("variable", target), lambda: _after_module(view, target))


def _after_module(view: RankView, target: GlobalRef) -> Any:
    flow = view.project.flow(target.file, -1)
    first = name(view, target.name, view.scope(target.file, -1), flow.exit or flow.entry)
    writers = view.project.global_writers(target.file).get(target.name, ())
    declared = any(target.name in view.project.flow(target.file, index).outer for index in writers)
    if not declared:
        return first
    later = _set_by_functions(view, target)
    # what starts as a placeholder is read after it was set
    return later if first is None or first is UNKNOWN or first == -1 else same([first, later])


def _set_by_functions(view: RankView, target: GlobalRef) -> Any:
    """What functions that declare a variable ``global`` leave in it."""
    return same(
        name(view, target.name, view.scope(target.file, index), end)
        for index in view.project.global_writers(target.file).get(target.name, ())[:MAX_CALLERS]
        if target.name in view.project.flow(target.file, index).outer
        for end in view.project.flow(target.file, index).ends()
    )


# Parameters -----------------------------------------------------------------------------------------------------------


def _parameter(view: RankView, ref: FunctionRef, definition: ir.Function, position: int, scope: Scope) -> Any:
    parameter = definition.parameters[position]
    bound = definition.owner >= 0 and not is_static(definition)
    if bound and position == 0:
        return scope.own if scope.own is not None else UNKNOWN
    if scope.given is not None:
        if parameter.name in scope.given:
            return scope.given[parameter.name]
        return _default(view, ref, definition, parameter)
    asked = view.guarded(
        ("parameter", ref, parameter.name), lambda: _from_callers(view, ref, definition, position - bound)
    )
    return view.guessed(parameter.name) if asked is NOBODY else asked


def _from_callers(view: RankView, ref: FunctionRef, definition: ir.Function, position: int) -> Any:
    """What the callers of a function give for a parameter; ``NOBODY`` where none is seen."""
    callers = view.project.callers(ref)
    started = [caller for caller in callers if caller.starter in PER_PROCESS]
    used = started or [caller for caller in callers if not _is_own(caller, ref)]
    if len(used) > MAX_CALLERS:
        return UNKNOWN
    return same(_from_caller(view, caller, ref, definition, position) for caller in used) if used else NOBODY


def _is_own(caller: Caller, ref: FunctionRef) -> bool:
    return (caller.file, caller.site.function) == (ref.file, ref.index)


def _from_caller(view: RankView, caller: Caller, ref: FunctionRef, definition: ir.Function, position: int) -> Any:
    """What a caller gives for a parameter."""
    parameter = definition.parameters[position + (definition.owner >= 0 and not is_static(definition))]
    at = position + caller.shift
    if at == -1 and caller.starter in PER_PROCESS:
        return view.process.local_rank
    call = caller.site.call
    given, certain = find_argument(call, parameter.name, at if parameter.kind != "keyword" else None)
    if given is None:
        return _default(view, ref, definition, parameter) if certain else UNKNOWN
    if caller.starter == "Process" and type(given) is ir.Name and counts_processes(view.project, given.id, caller):
        return view.process.local_rank
    state = view.project.flow(caller.file, caller.site.function).before(call.at)
    return view.value(given, view.scope(caller.file, caller.site.function), state)


def _default(view: RankView, ref: FunctionRef, definition: ir.Function, parameter: ir.Parameter) -> Any:
    if parameter.default is None:
        return UNKNOWN
    outer = view.project.flow(ref.file, definition.parent)
    return view.value(parameter.default, view.scope(ref.file, definition.parent), outer.before(parameter.default.at))


def counts_processes(project: Project, wanted: str, caller: Caller) -> bool:
    """Whether a name at a call that starts a process is the variable of a loop that counts the processes."""
    where = caller.site.function
    module = project.module(caller.file)
    body = module.functions[where].body if where >= 0 else module.body
    for statement in statements(body):
        loops: list[tuple[ir.Expr, ir.Expr]] = []
        if type(statement) is ir.For and ir.encloses(statement.at, caller.site.call.at):
            loops.append((statement.target, statement.iterable))
        for expr in expressions_of(statement):
            for part in below(expr):
                if type(part) is ir.Comprehension and ir.encloses(part.at, caller.site.call.at):
                    loops.extend((target, iterable) for target, iterable, _ in part.generators)
        for target, iterable in loops:
            func = iterable.func if type(iterable) is ir.Call else None
            if type(target) is ir.Name and target.id == wanted and type(func) is ir.Name and func.id == "range":
                return True
    return False


def is_property(function: ir.Function) -> bool:
    """Whether a method is read like an attribute."""
    return decorated(function.decorators, "property", "cached_property")


__all__ = ["PER_PROCESS", "Made", "counts_processes", "is_property", "name", "stored_item", "unpacked", "variable"]
