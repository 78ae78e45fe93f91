"""What a value was computed by: the objects whose calls, or whose methods, stand behind it in a way that gradients flow through."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from distlint.link.abstract import Frame, Instance, LambdaValue, Reference, options_of
from distlint.link.calls import bound_parameters, given_arguments, inner_frame, is_static, returns_of
from distlint.link.flow import Bind, Env, Join, Store
from distlint.link.modules import ClassRef, External, FunctionRef
from distlint.link.walking import children, statements
from distlint.model import python as ir
from distlint.model.document import Mapping, Sequence

if TYPE_CHECKING:
    from distlint.checks.protocol_things import Thing, Things

_CUTTING = frozenset({"detach", "item", "tolist", "numpy", "argmax", "size", "numel"})
"""What gives numbers through which no gradient flows."""

MAX_SOURCES = 600
"""Expressions that are looked at to tell what a value was computed by."""


class Use(NamedTuple):
    """A call of an object, or of a method of it (``method``), that a value was computed by."""

    method: str
    call: ir.Call
    frame: Frame
    instance: Instance


_CHANGES = frozenset({"append", "extend", "insert", "+=", "some"})


class Chain:
    """Looks up what bound a name."""

    def __init__(self, things: Things) -> None:
        self._things = things
        self._seen: set[int] = set()

    def name(self, name: str, frame: Frame, state: Env) -> Iterator[tuple[ir.Expr, Env, Frame]]:
        """The expressions that a name may have got its value from, each with where it stands."""
        place: Env | None = state
        while place is not None:
            if isinstance(place, Bind) and place.name == name:
                value = place.expr
                if isinstance(value, ir.AugAssign):
                    yield value.value, place.at, frame
                    yield from self.name(name, frame, place.prev or place.at)
                elif value is not None and not isinstance(value, ir.Define):
                    yield value, place.at, frame  # type: ignore[misc]
                return
            if isinstance(place, Store) and place.name == name and _puts_in(place):
                yield place.expr, place.at, frame
            if isinstance(place, Join) and name in place.touched:
                if id(place) in self._seen:
                    return
                self._seen.add(id(place))
                for branch in place.branches:
                    yield from self.name(name, frame, branch)
                return
            place = place.prev
        yield from self._outside(name, frame)

    def _outside(self, name: str, frame: Frame) -> Iterator[tuple[ir.Expr, Env, Frame]]:
        given = frame.bindings.get(name)
        if given is not None:
            if given.expr is not None and given.frame is not None and given.state is not None:
                yield given.expr, given.state, given.frame
            return
        if frame.function < 0:
            return
        project = self._things.project
        function = project.function(FunctionRef(frame.file, frame.function))
        if any(one.name == name for one in function.parameters):
            return
        outer = frame.outer or self._things.evaluator.frame(frame.file, function.parent)
        flow = project.flow(outer.file, outer.function)
        yield from self.name(name, outer, flow.exit or (flow.returns[-1][1] if flow.returns else flow.entry))


def _puts_in(place: Store) -> bool:
    """Whether something is put into what a name holds, also into a list in it (``table.setdefault(key, []).append(x)``)."""
    func = place.expr.func if place.action == "unknown" and type(place.expr) is ir.Call else None
    return place.action in _CHANGES or (type(func) is ir.Attribute and func.name in _CHANGES)


def _is_result(instance: Instance) -> bool:
    """Whether something is the result of an object's call (``model(x)``), a value that is followed by itself."""
    return isinstance(instance.callee, External) and instance.callee.name.endswith("()")


class Sources:
    """Walks back from a value to the calls of objects behind it."""

    def __init__(self, things: Things) -> None:
        self.found: dict[Thing, Use] = {}
        self._things = things
        self._evaluator = things.evaluator
        self._seen: set[tuple[int, int, int]] = set()
        self._alive: list[object] = []

    def expression(self, expr: ir.Expr, frame: Frame, state: Env, depth: int) -> None:
        """Goes into what an expression was computed by."""
        key = (id(expr), id(frame), id(state))
        if key in self._seen or len(self._seen) > MAX_SOURCES or depth > 25:
            return
        self._seen.add(key)
        self._alive.append((expr, frame, state))
        if type(expr) is ir.Name:
            for value, at, inside in Chain(self._things).name(expr.id, frame, state):
                self.expression(value, inside, at, depth + 1)
        elif type(expr) is ir.Call:
            self._call(expr, frame, state, depth)
        elif type(expr) is ir.Attribute:
            self._attribute(expr, frame, state, depth)
        elif type(expr) is ir.Comprehension:
            self.expression(expr.element, frame, state, depth + 1)
            for _, iterable, _ in expr.generators:
                self.expression(iterable, frame, state, depth + 1)
        elif type(expr) is ir.Conditional:
            self.expression(expr.body, frame, state, depth + 1)
            self.expression(expr.orelse, frame, state, depth + 1)
        else:
            for part in children(expr):
                self.expression(part, frame, state, depth + 1)

    def _call(self, call: ir.Call, frame: Frame, state: Env, depth: int) -> None:
        func = call.func
        if type(func) is ir.Attribute and func.name in _CUTTING:
            return
        if self._is_silent(call, frame):
            return
        if self._wraps(call, frame, state):
            return
        entered = False
        if not self._things.evaluator.modules.dotted(func, frame.file):
            for option in options_of(self._evaluator.ask_in(func, frame, state)):
                if isinstance(option, Instance):
                    self._object(option, call, frame, state)
                elif isinstance(option, Reference) and isinstance(option.target, FunctionRef):
                    entered = self._function(option, call, frame, state, depth) or entered
                elif isinstance(option, LambdaValue):
                    self.expression(option.lambda_.body, option.frame, option.state, depth + 1)
                    self._arguments(call, frame, state, depth)
            if type(func) is ir.Attribute:
                self._method(func, call, frame, state)
                self.expression(func.base, frame, state, depth + 1)
        if not entered:
            self._arguments(call, frame, state, depth)

    def _wraps(self, call: ir.Call, frame: Frame, state: Env) -> bool:
        """Whether a call makes a wrapper: what that is made of computes nothing there."""
        made = options_of(self._evaluator.ask_in(call, frame, state))
        return bool(made) and all(
            isinstance(one, Instance) and one.call is call and self._things.is_wrapper(one) for one in made
        )

    def _arguments(self, call: ir.Call, frame: Frame, state: Env, depth: int) -> None:
        for part in (*call.args, *(keyword.value for keyword in call.keywords)):
            self.expression(part, frame, state, depth + 1)

    def _object(self, option: Instance, call: ir.Call, frame: Frame, state: Env) -> None:
        """An object that is called itself: ``model(x)``, ``model.forward(x)``, ``model.module(x)``."""
        steps = [part for part in option.part if isinstance(part, str)]
        if steps and steps[-1] == ".forward":
            option = Instance(option.callee, option.call, option.frame, option.state, option.part[:-1])
        one = self._things.peeled(option)
        if not self._things.is_repeated(one) and not _is_result(one):
            self.found.setdefault(one.identity, Use("", call, frame, one))

    def _method(self, func: ir.Attribute, call: ir.Call, frame: Frame, state: Env) -> None:
        for option in options_of(self._evaluator.ask_in(func.base, frame, state)):
            if isinstance(option, Instance):
                one = self._things.peeled(option)
                if func.name == "module" and self._things.is_wrapper(one):
                    continue  # what is called is the model inside
                if _is_result(one):
                    continue
                if not self._things.is_repeated(one):
                    self.found.setdefault(one.identity, Use(func.name, call, frame, one))

    def _function(self, option: Reference, call: ir.Call, frame: Frame, state: Env, depth: int) -> bool:
        assert isinstance(option.target, FunctionRef)  # noqa: S101 - tested by the caller
        function = self._things.project.function(option.target)
        if depth > 12:
            return False
        shift = 1 if option.receiver is not None and function.owner >= 0 and not is_static(function) else 0
        given = given_arguments(self._evaluator, call, frame, state)
        bindings = bound_parameters(self._evaluator, function.parameters[shift:], given, ir.unpack(call.at, frame.file))
        inner = inner_frame(self._evaluator, option, bindings, 0)
        if inner is None:
            return False
        for value, at in returns_of(self._evaluator, inner):
            if value is not None:
                self.expression(value, inner, at, depth + 1)
        return True

    def _attribute(self, expr: ir.Attribute, frame: Frame, state: Env, depth: int) -> None:
        if expr.name in ("data", "shape", "dtype", "device"):
            return
        for option in options_of(self._evaluator.ask_in(expr, frame, state)):
            if isinstance(option, Instance) and isinstance(option.callee, External | ClassRef):
                if not isinstance(option.callee, ClassRef):
                    self._call(option.call, option.frame, option.state, depth + 1)
            elif isinstance(option, Mapping | Sequence):
                continue
        self.expression(expr.base, frame, state, depth + 1)

    def _is_silent(self, call: ir.Call, frame: Frame) -> bool:
        """Whether a call stands in a ``with`` under which no gradients are kept."""
        project = self._things.project
        module = project.module(frame.file)
        body = module.body if frame.function < 0 else module.functions[frame.function].body
        for statement in statements(body):
            if type(statement) is ir.With and ir.encloses(statement.at, call.at):
                if any(ir.encloses(one.at, call.at) for one in statement.body):
                    for context, _ in statement.items:
                        made = context.func if type(context) is ir.Call else context
                        if project.modules.dotted(made, frame.file) in self._things.silent:
                            return True
        if frame.function >= 0:
            for decorator in module.functions[frame.function].decorators:
                made = decorator.func if type(decorator) is ir.Call else decorator
                if project.modules.dotted(made, frame.file) in self._things.silent:
                    return True
        return False
