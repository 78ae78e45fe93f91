"""How often the number of processes is a factor of a value: 2 for ``rate * world * world``, -1 for ``batch // world``.

``None`` where that can't be told: sums of different degrees, ways that disagree, too much to follow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from distlint.checks.divergence import DivergenceView
from distlint.checks.option_definitions import option_definition
from distlint.checks.ranks import Process
from distlint.checks.world_degree_held import GOING_ROUND, Degree, HeldDegrees, Unseen, agreed, scaled
from distlint.link.abstract import Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.flow import Bind, Env, Join
from distlint.link.modules import ClassRef, FunctionRef, GlobalRef
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.project import Project

MAX_STEPS = 400
MAX_CALLERS = 4
_PROBE = Process(0, 0, world=1009)
"""A process of a job whose size occurs nowhere by chance."""
_TRANSPARENT = frozenset(
    {"int", "float", "round", "max", "min", "abs", "ceil", "floor", "tensor", "sum", "mean", "item", "clone", "detach"}
)


NONE = Degree(0)


class Degrees(HeldDegrees):
    """Finds degrees in a project; an object of one of the ``makers`` holds what it was made with."""

    def __init__(self, project: Project, makers: frozenset[str] = frozenset()) -> None:
        self._project = project
        self._makers = makers
        self._view = DivergenceView.of_project(project).view(_PROBE)
        self._steps = self._visits = 0
        self._active: set[tuple[object, ...]] = set()

    def of(self, expr: ir.Expr, file: str, function: int) -> Degree | None:
        """The degree of an expression of a function (-1: the module)."""
        self._steps = self._visits = 0
        return self._of(expr, file, function, self._project.flow(file, function).before(expr.at))

    def held(self, base: ir.Expr, key: str | tuple[str, ...], file: str, function: int) -> Degree | None:
        """The degree of what a mapping or an object holds under a name, or under one name after the other."""
        self._steps = self._visits = 0
        found = self._held(
            base,
            (key,) if isinstance(key, str) else key,
            file,
            function,
            self._project.flow(file, function).before(base.at),
        )
        return NONE if isinstance(found, Unseen) else found

    def _of(self, expr: ir.Expr, file: str, function: int, state: Env) -> Degree | None:
        self._steps += 1
        key = (id(expr), id(state))
        if self._steps > MAX_STEPS or key in self._active:
            return None
        self._active.add(key)
        try:
            return self._dispatch(expr, file, function, state)
        finally:
            self._active.discard(key)

    def _dispatch(self, expr: ir.Expr, file: str, function: int, state: Env) -> Degree | None:
        if type(expr) is ir.Constant:
            return NONE
        if type(expr) is ir.Operation:
            return self._operation(expr, file, function, state)
        if type(expr) in (ir.Call, ir.Attribute, ir.Subscript) and self._is_world(expr, file, function):
            return Degree(1, (ir.unpack(expr.at, file),))
        if type(expr) is ir.Name:
            return self._name(expr.id, expr, file, function, state)
        if type(expr) is ir.Attribute:
            return self._attribute(expr, file, function, state)
        if type(expr) is ir.Subscript and type(expr.index) is ir.Constant and type(expr.index.value) is str:
            held = self._held(expr.base, (expr.index.value,), file, function, state)
            return NONE if isinstance(held, Unseen) else held
        if type(expr) is ir.Call:
            return self._call(expr, file, function, state)
        if type(expr) is ir.Conditional:
            return agreed([self._of(part, file, function, state) for part in (expr.body, expr.orelse)])
        return NONE

    def _is_world(self, expr: ir.Expr, file: str, function: int) -> bool:
        value = self._view.ask(expr, file, function)
        return type(value) in (int, str) and str(value) == str(_PROBE.world)

    def _operation(self, expr: ir.Operation, file: str, function: int, state: Env) -> Degree | None:
        if any(type(one) is ir.ListDisplay for one in expr.operands):
            return NONE  # as many items as ranks say nothing of what these are
        parts = [self._of(one, file, function, state) for one in expr.operands]
        found = [one for one in parts if one is not None]
        if len(found) != len(parts):
            return None
        if len(found) == 1:
            return found[0] if expr.operators[0] in ("-", "+") else NONE
        if any(one is GOING_ROUND for one in found):
            rest = [one for one in found if one is not GOING_ROUND and one.power]
            return None if rest else GOING_ROUND
        result = found[0]
        for symbol, other in zip(expr.operators, found[1:], strict=False):
            if symbol in ("*", "/", "//"):
                result = result.times(other, 1 if symbol == "*" else -1)
            elif symbol in ("+", "-"):
                if result.power != other.power:
                    return None
            elif other.power or result.power:
                return None
        return result

    def _name(self, name: str, expr: ir.Expr | None, file: str, function: int, state: Env) -> Degree | None:
        place: Env | None = state
        while place is not None:
            if isinstance(place, Bind) and place.name == name:
                return self._bound(place, file, function)
            if isinstance(place, Join) and name in place.touched:
                key = ("join", name, id(place))
                if key in self._active:
                    return GOING_ROUND
                self._active.add(key)
                try:
                    return agreed(
                        [
                            self._name(name, expr, file, function, branch)
                            for branch in self._chosen(place, file, function)
                        ]
                    )
                finally:
                    self._active.discard(key)
            place = place.prev
        return self._outside(name, file, function)

    def _bound(self, bind: Bind, file: str, function: int) -> Degree | None:
        if bind.expr is None or bind.prev is None:
            return NONE
        if isinstance(bind.expr, ir.AugAssign):
            before = self._of(bind.expr.target, file, function, bind.prev)
            factor = self._of(bind.expr.value, file, function, bind.prev)
            return scaled(before, factor, bind.expr.operator)
        if bind.part or not _is_expression(bind.expr):
            inner = bind.expr
            if isinstance(inner, ir.ListDisplay) and bind.part and isinstance(bind.part[0], int):
                if len(bind.part) == 1 and bind.part[0] < len(inner.items):
                    return self._of(inner.items[bind.part[0]], file, function, bind.prev)
            return NONE
        if self._is_world(bind.expr, file, function):  # type: ignore[arg-type]
            return Degree(1, (ir.unpack(bind.expr.at, file),))
        return self._of(bind.expr, file, function, bind.prev)  # type: ignore[arg-type]

    def _outside(self, name: str, file: str, function: int) -> Degree | None:
        if function >= 0:
            definition = self._project.function(FunctionRef(file, function))
            position = next((i for i, p in enumerate(definition.parameters) if p.name == name), None)
            if position is not None:
                return self._parameter(FunctionRef(file, function), definition, position)
            outer = self._project.flow(file, definition.parent)
            return self._name(name, None, file, definition.parent, outer.exit or outer.entry)
        target = self._project.modules.lookup(name, file)
        if isinstance(target, GlobalRef) and (target.file, target.name) != (file, name):
            flow = self._project.flow(target.file, -1)
            return self._name(target.name, None, target.file, -1, flow.exit or flow.entry)
        return NONE

    def _parameter(self, ref: FunctionRef, definition: ir.Function, position: int) -> Degree | None:
        name = definition.parameters[position].name
        offset = 1 if definition.owner >= 0 else 0
        found: list[Degree | None] = []
        callers = self._project.callers(ref)
        if len(callers) > MAX_CALLERS:
            return None
        for caller in callers:
            given, certain = find_argument(caller.site.call, name, position - offset + caller.shift)
            if given is None:
                found.append(self._world_parameter(name) if caller.shift or not certain else NONE)
                continue
            if self._is_world(given, caller.file, caller.site.function) or (caller.shift and self._is_size(name)):
                found.append(Degree(1, (ir.unpack(given.at, caller.file),)))
                continue
            state = self._project.flow(caller.file, caller.site.function).before(given.at)
            found.append(self._of(given, caller.file, caller.site.function, state))
        if not found:
            return self._world_parameter(name)
        return agreed(found)

    def _is_size(self, name: str) -> bool:
        return name in ("world_size", "world", "nprocs", "num_processes")

    def _world_parameter(self, name: str) -> Degree:
        return Degree(1) if self._is_size(name) else NONE

    def _attribute(self, expr: ir.Attribute, file: str, function: int, state: Env) -> Degree | None:
        held = self._held(expr.base, (expr.name,), file, function, state)
        if not isinstance(held, Unseen):
            return held
        if type(expr.base) is ir.Name and expr.base.id == "self" and function >= 0:
            owner = self._project.module(file).functions[function].owner
            return self._own(expr.name, ClassRef(file, owner)) if owner >= 0 else NONE
        options = options_of(self._project.evaluator(None).ask(expr.base, file, function))
        made = [one for one in options if isinstance(one, Instance) and not one.part]
        if len(made) == len(options) == 1 and isinstance(made[0].callee, ClassRef):
            one = made[0]
            found = self._of_object(made[0].callee, expr.name, one.call, one.frame.file, one.frame.function)
            return self._own(expr.name, made[0].callee) if isinstance(found, Unseen) else found
        if self._is_size(expr.name):
            return Degree(1)
        return self._option(expr, file, function)

    def _option(self, read: ir.Attribute, file: str, function: int) -> Degree | None:
        """The degree of what an option of the command line is by default: that of a program that is started plainly."""
        site = option_definition(self._project, read, file, function)
        default = find_argument(site.site.call, "default", None)[0] if site is not None else None
        if site is None or default is None:
            return NONE
        return self._of(
            default, site.file, site.site.function, self._project.flow(site.file, site.site.function).before(default.at)
        )

    def _own(self, name: str, owner: ClassRef) -> Degree | None:
        """The degree of what a method's own object has under a name: what is stored there, or what its property gives."""
        given = self._of_property(owner, name)
        if not isinstance(given, Unseen):
            return given
        found: list[Degree | None] = []
        for where, value, part in self._project.attribute_stores(owner).get(name, ()):
            if value is None or part:
                return NONE
            if self._is_world(value, where.file, where.index):
                found.append(Degree(1, (ir.unpack(value.at, where.file),)))
                continue
            state = self._project.flow(where.file, where.index).before(value.at)
            found.append(self._of(value, where.file, where.index, state))
        return agreed(found) if found else (Degree(1) if self._is_size(name) else NONE)

    def _call(self, call: ir.Call, file: str, function: int, state: Env) -> Degree | None:
        func = call.func
        name = func.name if type(func) is ir.Attribute else func.id if type(func) is ir.Name else ""
        edges = self._project.call_graph.targets(file, function, call)
        if len(edges) == 1 and edges[0].certain:
            ref = edges[0].target
            flow = self._project.flow(ref.file, ref.index)
            returned = [
                self._of(one.value, ref.file, ref.index, at) for one, at in flow.returns if one.value is not None
            ]
            return agreed(returned) if returned else NONE
        if name in _TRANSPARENT and call.args:
            found = [self._of(one, file, function, state) for one in call.args]
            if any(one is None for one in found):
                return None
            known = [one for one in found if one is not None]
            if name == "min" and len(known) > 1:  # a factor with a limit, as in a warm-up, is none of the scale
                return agreed(found)
            return max(known, key=lambda one: abs(one.power))
        if name in _TRANSPARENT and type(func) is ir.Attribute:
            return self._of(func.base, file, function, state)
        return NONE


def _is_expression(thing: object) -> bool:
    return isinstance(thing, ir.Expr)
