"""Where the value of an expression comes from: the library calls, variables of the environment and parameters behind it.

For questions such as "does this test depend on the rank" or "was this loss computed by that engine", where the value itself is
unknown but its ancestry is not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from distlint.link.flow import Bind, Env, Join, Store
from distlint.link.modules import ClassRef, External, FunctionRef
from distlint.link.walking import children
from distlint.model import python as ir
from distlint.model.span import Span

if TYPE_CHECKING:
    from distlint.link.project import Project

MAX_STEPS = 2_000


class Origin(NamedTuple):
    """One source.

    ``kind`` is ``call``, ``attribute`` (of an object, by what made it), ``environment``, ``name`` (a library object) or ``parameter``.
    """

    kind: str
    name: str
    span: Span


def origins_of(project: Project, expr: ir.Expr, file: str, function: int) -> frozenset[Origin]:
    """Everything that an expression's value is computed from, through assignments and the project's own functions."""
    search = _Search(project)
    state = project.flow(file, function).before(expr.at)
    search.expression(expr, file, function, state, 0)
    return frozenset(search.found)


class _Search:
    def __init__(self, project: Project) -> None:
        self.found: set[Origin] = set()
        self._project = project
        self._seen: set[tuple[object, ...]] = set()
        self._steps = 0

    def expression(self, expr: ir.Expr, file: str, function: int, state: Env, depth: int) -> None:
        self._steps += 1
        key = (id(expr), id(state))
        if self._steps > MAX_STEPS or depth > 30 or key in self._seen:
            return
        self._seen.add(key)
        span = ir.unpack(expr.at, file)
        if type(expr) is ir.Name:
            self._name(expr.id, file, function, state, span, depth)
            return
        if type(expr) is ir.Call:
            self._call(expr, file, function, state, span, depth)
        elif type(expr) is ir.Attribute:
            self._attribute(expr, file, function, state, span, depth)
            return
        elif type(expr) is ir.Subscript and self._project.modules.dotted(expr.base, file) == "os.environ":
            if type(expr.index) is ir.Constant:
                self.found.add(Origin("environment", str(expr.index.value), span))
            return
        for part in children(expr):
            self.expression(part, file, function, state, depth + 1)

    def _call(self, call: ir.Call, file: str, function: int, state: Env, span: Span, depth: int) -> None:
        target = self._project.modules.resolve(call.func, file)
        if isinstance(target, External):
            self.found.add(Origin("call", target.name, span))
            if target.name in ("os.environ.get", "os.getenv") and call.args and type(call.args[0]) is ir.Constant:
                self.found.add(Origin("environment", str(call.args[0].value), span))
        elif isinstance(target, FunctionRef):
            self._returns(target, depth)
        elif isinstance(target, ClassRef):
            self.found.update(Origin("call", base, span) for base in self._project.modules.external_bases(target))
        else:
            if type(call.func) is ir.Attribute:
                for name in self._object_names(call.func, file, function, state, span):
                    self.found.add(Origin("call", name, span))
            self._called_object(call.func, file, function, state, span)

    def _called_object(self, func: ir.Expr, file: str, function: int, state: Env, span: Span) -> None:
        """An object that is called itself, such as a model: ``<what made it>.__call__``."""
        from distlint.link.abstract import Instance, options_of

        evaluator = self._project.evaluator(None)
        for option in options_of(evaluator.evaluate(func, evaluator.frame(file, function), state)):
            if isinstance(option, Instance):
                name = self._project.modules.canonical(f"{evaluator.instance_name(option)}.__call__")
                self.found.add(Origin("call", name, span))

    def _returns(self, target: FunctionRef, depth: int) -> None:
        flow = self._project.flow(target.file, target.index)
        for statement, state in flow.returns:
            if statement.value is not None:
                self.expression(statement.value, target.file, target.index, state, depth + 1)

    def _attribute(self, expr: ir.Attribute, file: str, function: int, state: Env, span: Span, depth: int) -> None:
        target = self._project.modules.resolve(expr, file)
        if isinstance(target, External):
            self.found.add(Origin("name", target.name, span))
            return
        for name in self._object_names(expr, file, function, state, span):
            self.found.add(Origin("attribute", name, span))
        self._own_attribute(expr, file, function, depth)
        self.expression(expr.base, file, function, state, depth + 1)

    def _object_names(self, expr: ir.Attribute, file: str, function: int, state: Env, span: Span) -> set[str]:
        from distlint.link.abstract import Instance, options_of

        evaluator = self._project.evaluator(None)
        frame = evaluator.frame(file, function)
        found = set()
        for option in options_of(evaluator.evaluate(expr.base, frame, state)):
            if isinstance(option, Instance):
                found.add(self._project.modules.canonical(f"{evaluator.instance_name(option)}.{expr.name}"))
        return found

    def _own_attribute(self, expr: ir.Attribute, file: str, function: int, depth: int) -> None:
        """``self.name``: what the class's methods assign to it."""
        if type(expr.base) is not ir.Name or function < 0:
            return
        definition = self._project.function(FunctionRef(file, function))
        if definition.owner < 0 or not definition.parameters or definition.parameters[0].name != expr.base.id:
            return
        owner = ClassRef(file, definition.owner)
        method = self._project.modules.method(owner, expr.name)
        if method is not None:
            self._returns(method, depth)
        for where, value, _ in self._project.attribute_stores(owner).get(expr.name, ()):
            if value is not None:
                flow = self._project.flow(where.file, where.index)
                self.expression(value, where.file, where.index, flow.before(value.at), depth + 1)

    def _name(self, name: str, file: str, function: int, state: Env, span: Span, depth: int) -> None:
        place: Env | None = state
        while place is not None:
            if isinstance(place, Bind) and place.name == name:
                self._bind(place, file, function, depth)
                return
            if isinstance(place, Store) and place.name == name and place.action != "call":
                self.expression(place.expr, file, function, place.prev or place, depth + 1)
            if isinstance(place, Join) and name in place.touched:
                key = (id(place), name)
                if key in self._seen:
                    return
                self._seen.add(key)
                for branch in place.branches:
                    self._name(name, file, function, branch, span, depth + 1)
                return
            place = place.prev
        self._outside(name, file, function, span, depth)

    def _bind(self, bind: Bind, file: str, function: int, depth: int) -> None:
        value = bind.expr
        if value is None or bind.prev is None:
            return
        if isinstance(value, ir.AugAssign):
            self.expression(value.value, file, function, bind.prev, depth + 1)
            self.expression(value.target, file, function, bind.prev, depth + 1)
        else:
            self.expression(value, file, function, bind.prev, depth + 1)  # type: ignore[arg-type]

    def _outside(self, name: str, file: str, function: int, span: Span, depth: int) -> None:
        if function >= 0:
            definition = self._project.function(FunctionRef(file, function))
            position = next((i for i, p in enumerate(definition.parameters) if p.name == name), None)
            if position is not None:
                self.found.add(Origin("parameter", name, span))
                self._argument(FunctionRef(file, function), definition, name, position, depth)
                return
            outer = self._project.flow(file, definition.parent)
            self._name(name, file, definition.parent, outer.exit or outer.entry, span, depth + 1)
            return
        target = self._project.modules.lookup(name, file)
        if isinstance(target, External):
            self.found.add(Origin("name", target.name, span))

    def _argument(self, ref: FunctionRef, definition: ir.Function, name: str, position: int, depth: int) -> None:
        from distlint.link.arguments import find_argument

        offset = 1 if definition.owner >= 0 else 0
        callers = self._project.callers(ref)
        for caller in callers if len(callers) <= 8 else ():
            given, _ = find_argument(caller.site.call, name, position - offset + caller.shift)
            if given is not None:
                state = self._project.flow(caller.file, caller.site.function).before(caller.site.call.at)
                self.expression(given, caller.file, caller.site.function, state, depth + 1)
