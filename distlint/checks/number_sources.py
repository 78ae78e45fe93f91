"""What a number is worked out from, expression by expression: through variables, parameters, fields and properties, items, and calls.

Each expression goes with the frame that it is evaluated in, so that a function or an object that a program uses twice is taken apart
for each use. Nothing of the order of statements is looked at: all that is put into a variable of a body counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from distlint.checks.derivations import Part
from distlint.checks.execution import body_of
from distlint.checks.preparing import texts_of
from distlint.link.abstract import Abstract, Frame, Instance, PartialValue, Reference, options_of
from distlint.link.arguments import find_argument
from distlint.link.calls import MAX_CALL_DEPTH, bound_parameters, decorated, frame_of_call, given_arguments, taken
from distlint.link.evaluate import Evaluator
from distlint.link.modules import ClassRef, External, FunctionRef, GlobalRef
from distlint.link.objects import fields_of, frame_of_method
from distlint.link.walking import statements
from distlint.model import python as ir

_MAX_CALLERS = 8
_MAX_ITEMS = 40
_PROPERTIES = ("property", "cached_property")
_KEEPING = frozenset({"types.SimpleNamespace", "argparse.Namespace", "dataclasses.replace"})
"""Library functions whose results have their keyword arguments for attributes."""


class Step(NamedTuple):
    """An expression in the frame that it is evaluated in."""

    expr: ir.Expr
    frame: Frame

    @property
    def file(self) -> str:
        """The file that it stands in."""
        return self.frame.file

    @property
    def function(self) -> int:
        """The function that it stands in, -1 for a module."""
        return self.frame.function


def step_of(evaluator: Evaluator, part: Part | Step) -> Step:
    """An expression of a function, with the frame of one of which no caller is known."""
    return part if isinstance(part, Step) else Step(part.expr, evaluator.frame(part.file, part.function))


def inside(evaluator: Evaluator, step: Step) -> Iterator[Step]:
    """What an expression certainly is worked out from, one step further: what merely lies beside it is left out."""
    expr, inner = step.expr, list[ir.Expr]()
    if type(expr) is ir.Name or type(expr) is ir.Attribute:
        yield from stores(evaluator, step)
    elif type(expr) is ir.Operation:
        inner += expr.operands
    elif type(expr) is ir.Conditional:
        inner += (expr.body, expr.orelse)
    elif type(expr) is ir.ListDisplay:
        inner += expr.items
    elif type(expr) is ir.Lambda:
        inner += (expr.body, *(one.default for one in expr.parameters if one.default is not None))
    elif type(expr) is ir.Call:
        target = called(evaluator, step)
        if target is not None:
            yield from returned(evaluator, target)
        elif measured(expr) is None:
            inner += (expr.func, *expr.args, *(word.value for word in expr.keywords))
    elif type(expr) is ir.Subscript:
        found = list(items(evaluator, Step(expr.base, step.frame), expr.index))
        yield from found
        inner += () if found else (expr.base, expr.index)
    yield from (Step(one, step.frame) for one in inner)


def measured(expr: ir.Expr) -> ir.Expr | None:
    """What an expression is the length of: ``len(x)``, ``len(list(x))``, ``x.__len__()``, ``sum(1 for _ in x)``; ``None`` for any other."""
    if type(expr) is not ir.Call:
        return None
    only = expr.args[0] if len(expr.args) == 1 and not expr.keywords else None
    if type(expr.func) is ir.Attribute:
        return expr.func.base if expr.func.name == "__len__" and not expr.args else None
    name = expr.func.id if type(expr.func) is ir.Name else ""
    if name == "len" and only is not None:
        is_copy = type(only) is ir.Call and type(only.func) is ir.Name and only.func.id in ("list", "tuple")
        return only.args[0] if type(only) is ir.Call and is_copy and len(only.args) == 1 else only
    if name == "sum" and type(only) is ir.Comprehension and len(only.generators) == 1:
        _, over, tests = only.generators[0]
        return over if type(only.element) is ir.Constant and only.element.value == 1 and not tests else None
    return None


def called(evaluator: Evaluator, step: Step) -> Frame | None:
    """The frame of the function or method of the project that a call runs, if it can be no other; for ``len(x)`` that of ``x.__len__``."""
    call = step.expr
    if type(call) is not ir.Call or step.frame.depth >= MAX_CALL_DEPTH:
        return None
    if measured(call) is not None:
        only = _only(evaluator, Step(call.args[0], step.frame)) if len(call.args) == 1 else None
        return method_frame(evaluator, only, "__len__") if isinstance(only, Instance) else None
    found = _only(evaluator, Step(call.func, step.frame))
    if isinstance(found, Instance):
        return method_frame(evaluator, found, "__call__")
    if not isinstance(found, Reference) or not isinstance(found.target, FunctionRef):
        return None
    inner = frame_of_call(evaluator, found, call, step.frame)
    return inner if inner is not None else evaluator.frame(found.target.file, found.target.index)


def method_frame(evaluator: Evaluator, instance: Instance, name: str) -> Frame | None:
    """The frame of a method that the project defines for an object, whatever it is given."""
    owner = instance.callee
    method = evaluator.modules.method(owner, name) if isinstance(owner, ClassRef) and not instance.part else None
    return frame_of_method(evaluator, method, instance, owner) if method is not None else None  # type: ignore[arg-type]


def frame_of_partial(evaluator: Evaluator, value: PartialValue) -> Frame | None:
    """The frame of a function of the project of which some parameters are given, each by an expression of its own."""
    options = options_of(value.callee)
    only = options[0] if len(options) == 1 else None
    if any(type(one) is ir.Starred for one in value.call.args) or any(one.name is None for one in value.call.keywords):
        return None
    if not isinstance(only, Reference) or not isinstance(only.target, FunctionRef):
        return None
    target, function = only.target, evaluator.project.function(only.target)
    given = given_arguments(evaluator, value.call, value.frame, value.state)
    given.positional = given.positional[1:]
    parameters = function.parameters[taken(only, function) :]
    bindings = bound_parameters(evaluator, parameters, given, ir.unpack(value.call.at, value.frame.file))
    frame = Frame(target.file, target.index, bindings, value.frame.depth + 1, only.receiver, outer=only.scope)
    evaluator.keep(frame)
    return frame


def returned(evaluator: Evaluator, frame: Frame) -> Iterator[Step]:
    """What a function gives."""
    for statement in statements(body_of(evaluator.project, frame.file, frame.function)):
        if type(statement) is ir.Return and statement.value is not None:
            yield Step(statement.value, frame)


def _only(evaluator: Evaluator, step: Step) -> Abstract | None:
    options = options_of(evaluator.ask_in(step.expr, step.frame))
    return options[0] if len(options) == 1 else None


# What is stored -------------------------------------------------------------------------------------------------------


def stores(evaluator: Evaluator, step: Step) -> Iterator[Step]:
    """What is put into a variable, an attribute or a parameter."""
    name = texts_of(step.expr)
    found = list(_stored_here(evaluator, step, name)) if name else []
    yield from found
    if found:
        return
    if type(step.expr) is ir.Attribute:
        yield from _of_attribute(evaluator, step, step.expr)
    elif type(step.expr) is ir.Name:
        yield from _of_name(evaluator, step, step.expr.id)


def _stored_here(evaluator: Evaluator, step: Step, name: str) -> Iterator[Step]:
    """What the body around an expression stores under its name."""
    for statement in statements(body_of(evaluator.project, step.file, step.function)):
        if type(statement) is ir.AugAssign and texts_of(statement.target) == name:
            yield Step(statement.value, step.frame)
        if type(statement) is not ir.Assign or statement.value is None:
            continue
        for target in statement.targets:
            if texts_of(target) == name:
                yield Step(statement.value, step.frame)
            elif type(target) is ir.ListDisplay:
                place = next((at for at, one in enumerate(target.items) if texts_of(one) == name), None)
                if place is not None and not any(type(one) is ir.Starred for one in target.items[:place]):
                    yield from items(
                        evaluator, Step(statement.value, step.frame), ir.Constant(place, statement.value.at)
                    )


def _of_name(evaluator: Evaluator, step: Step, name: str) -> Iterator[Step]:
    frame, project = step.frame, evaluator.project
    if frame.function < 0:
        target = evaluator.modules.lookup(name, frame.file)
        if isinstance(target, GlobalRef) and target.file != frame.file:
            yield from _stored_here(
                evaluator, Step(ir.Name(target.name, step.expr.at), evaluator.frame(target.file, -1)), target.name
            )
        return
    bound = frame.bindings.get(name)
    if bound is not None:
        if bound.expr is not None and bound.frame is not None:
            yield Step(bound.expr, bound.frame)
        return
    definition = project.module(frame.file).functions[frame.function]
    position = next((at for at, one in enumerate(definition.parameters) if one.name == name), None)
    if position is None:
        yield Step(step.expr, frame.outer or evaluator.frame(frame.file, definition.parent))
        return
    default = definition.parameters[position].default
    if frame.bound:
        if default is not None:
            yield Step(default, evaluator.frame(frame.file, definition.parent))
        return
    shift = 1 if definition.owner >= 0 else 0
    for caller in project.callers(FunctionRef(frame.file, frame.function))[:_MAX_CALLERS]:
        given, _ = find_argument(caller.site.call, name, position - shift + caller.shift)
        if given is not None:
            yield Step(given, evaluator.frame(caller.file, caller.site.function))


def _of_attribute(evaluator: Evaluator, step: Step, expr: ir.Attribute) -> Iterator[Step]:
    for one in options_of(evaluator.ask_in(expr.base, step.frame)):
        if not isinstance(one, Instance) or one.part not in ((), ("self",)):
            continue
        if isinstance(one.callee, ClassRef):
            yield from _field(evaluator, one, expr.name)
        elif isinstance(one.callee, External) and one.callee.name in _KEEPING:
            given, _ = find_argument(one.call, expr.name, None)
            if given is not None:
                yield Step(given, one.frame)


def _field(evaluator: Evaluator, instance: Instance, name: str) -> Iterator[Step]:
    """What an attribute of an object of the project is: what a property gives, a field, and what is stored in it."""
    project, owner = evaluator.project, instance.callee
    assert isinstance(owner, ClassRef)  # noqa: S101 - tested by the caller
    method = evaluator.modules.method(owner, name)
    if method is not None:
        if decorated(project.function(method).decorators, *_PROPERTIES) and instance.frame.depth < MAX_CALL_DEPTH:
            yield from returned(evaluator, frame_of_method(evaluator, method, instance, owner))
        return
    fields = fields_of(evaluator, owner)
    place = next((at for at, one in enumerate(fields) if one.name == name), None)
    if place is not None and not instance.part:
        given, _ = find_argument(instance.call, name, place)
        default = fields[place].default
        if given is not None:
            yield Step(given, instance.frame)
        elif default is not None:
            declared = fields[place].owner
            yield Step(default, evaluator.frame(declared.file, project.class_(declared).parent))
    set_in = project.attribute_stores(owner).get(name, ())
    for where, value, _ in set_in:
        if value is not None and where.index < 0 and place is None:
            yield Step(value, evaluator.frame(where.file, -1))
    for where in dict.fromkeys(where for where, _, _ in set_in if where.index >= 0):
        yield from _stored_as(evaluator, frame_of_method(evaluator, where, instance, owner), name)
    for file, store in project.outside_stores(name):
        frame = evaluator.frame(file, store.function)
        if any(
            isinstance(one, Instance) and one.identity == instance.identity
            for one in options_of(evaluator.ask_in(store.base, frame))
        ):
            place_of = ir.Attribute(store.base, name, store.at)
            yield from _stored_here(evaluator, Step(place_of, frame), texts_of(place_of))


def _stored_as(evaluator: Evaluator, frame: Frame, name: str) -> Iterator[Step]:
    """What a method stores into an attribute of its own object."""
    parameters = evaluator.project.function(FunctionRef(frame.file, frame.function)).parameters
    own = ir.Attribute(ir.Name(parameters[0].name, parameters[0].at), name, parameters[0].at)
    yield from _stored_here(evaluator, Step(own, frame), texts_of(own))


# Items ----------------------------------------------------------------------------------------------------------------


def items(evaluator: Evaluator, base: Step, key: ir.Expr) -> Iterator[Step]:
    """What stands under a constant key or number in a dictionary, list or row that is written down; nothing where it is not known."""
    if type(key) is not ir.Constant:
        return
    waiting, seen = [base], set[tuple[str, int, ir.Position, int]]()
    while waiting and len(seen) < _MAX_ITEMS:
        step = waiting.pop()
        place = (step.file, step.function, step.expr.at, id(step.frame))
        if place in seen:
            continue
        seen.add(place)
        yield from _set_in(evaluator, step, key.value)
        expr = step.expr
        if type(expr) is ir.DictDisplay:
            pairs = zip(expr.keys, expr.values, strict=True)
            yield from (
                Step(two, step.frame) for one, two in pairs if type(one) is ir.Constant and one.value == key.value
            )
        elif type(expr) is ir.ListDisplay:
            if type(key.value) is int and -len(expr.items) <= key.value < len(expr.items):
                yield Step(expr.items[key.value], step.frame)
        elif type(expr) is ir.Call and evaluator.modules.dotted(expr.func, step.file) in ("dict", "builtins.dict"):
            yield from (Step(word.value, step.frame) for word in expr.keywords if word.name == key.value)
        elif type(expr) in (ir.Name, ir.Attribute):
            waiting += stores(evaluator, step)
        elif type(expr) is ir.Call:
            target = called(evaluator, step)
            waiting += returned(evaluator, target) if target is not None else ()


def _set_in(evaluator: Evaluator, step: Step, key: object) -> Iterator[Step]:
    """What the body around a variable stores under a key of it."""
    name = texts_of(step.expr)
    for statement in statements(body_of(evaluator.project, step.file, step.function)) if name else ():
        if type(statement) is not ir.Assign or statement.value is None:
            continue
        for target in statement.targets:
            if type(target) is ir.Subscript and type(target.index) is ir.Constant and target.index.value == key:
                if texts_of(target.base) == name:
                    yield Step(statement.value, step.frame)
