"""Objects that a function is entered with though no call says which: ``self`` of a method, and what a library hands to a hook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distlint.link.abstract import NOTHING, Abstract, Frame, Instance, Reference, several
from distlint.link.modules import ClassRef, External, FunctionRef
from distlint.link.objects import fields_of, frame_of_method
from distlint.model import python as ir
from distlint.model.span import Span

if TYPE_CHECKING:
    from distlint.link.evaluate import Evaluator

MAX_CALLS = 4
"""A method that is called at more places is taken to be called on any object."""


def own_object(evaluator: Evaluator, function: ir.Function, frame: Frame, span: Span) -> Instance | Reference:
    """What ``self`` (or ``cls``) is in a method that nobody is known to call.

    In a run it is the one object of the class, where all calls of the method are of that.
    """
    owner = ClassRef(frame.file, function.owner)
    if any(type(one) is ir.Name and one.id == "classmethod" for one in function.decorators):
        return Reference(owner, span)
    if evaluator.options is not None and evaluator.options.has_run:
        receiver = only_receiver(evaluator, owner, FunctionRef(frame.file, frame.function))
        if receiver is not None:
            return receiver
    key = ("self", owner.file, owner.index)
    if key not in evaluator.objects:
        call = ir.Call(ir.Name(function.qualname, function.at), (), (), function.at)
        evaluator.objects[key] = _made_outside(evaluator, owner, call, frame.file, ("self",))
    return evaluator.objects[key]


def handed_object(evaluator: Evaluator, parameter: ir.Parameter, name: str, file: str) -> Instance:
    """An object of a library class that the library hands over for a parameter; the same one each time."""
    key = ("handed", id(parameter), name)
    if key not in evaluator.objects:
        evaluator.keep(parameter)
        call = ir.Call(ir.Name(parameter.name, parameter.at), (), (), parameter.at)
        evaluator.objects[key] = _made_outside(evaluator, External(name), call, file, ())
    return evaluator.objects[key]


def _made_outside(
    evaluator: Evaluator, made_of: ClassRef | External, call: ir.Call, file: str, part: tuple[int | str, ...]
) -> Instance:
    return Instance(made_of, call, evaluator.frame(file, -1), evaluator.project.flow(file, -1).entry, part)


def only_receiver(evaluator: Evaluator, owner: ClassRef, method: FunctionRef) -> Instance | None:
    """The object of a dataclass on which all calls of a method are made in the evaluator's run; ``None`` where that can't be told.

    A preset that is chosen by an option is one: ``PRESETS[args.preset].build()``.
    """
    if not fields_of(evaluator, owner):
        return None
    found = evaluator.guarded(("receiver", method), lambda: _receiver(evaluator, owner, method))
    return found if isinstance(found, Instance) else None


def _receiver(evaluator: Evaluator, owner: ClassRef, method: FunctionRef) -> Abstract:
    callers = evaluator.project.callers(method)
    if len(callers) > MAX_CALLS:
        return NOTHING
    found: dict[object, Instance] = {}
    for caller in callers:
        func = caller.site.call.func
        if type(func) is not ir.Attribute or caller.shift or caller.looked_up:
            return NOTHING
        outer = evaluator.frame(caller.file, caller.site.function)
        value = evaluator.evaluate(func.base, outer, evaluator.state(outer, caller.site.call.at))
        if not isinstance(value, Instance) or value.part or value.callee != owner:
            return NOTHING
        found[value.identity] = value
    return next(iter(found.values())) if len(found) == 1 else NOTHING


def entered_midway(
    evaluator: Evaluator, method: FunctionRef, own: Instance | Reference, names: tuple[str, ...], span: Span
) -> Abstract | None:
    """An attribute of ``self`` where a method is entered, if all that call it are methods that set the attribute.

    It is then what those have set so far, not what they leave: ``self.restore()`` between two assignments to ``self.model``
    sees the first. ``None`` for any other method.
    """
    if not names or not isinstance(own, Instance) or not isinstance(own.callee, ClassRef):
        return None
    setting = {one for one, _, _ in evaluator.project.attribute_stores(own.callee).get(names[0], ())}
    if method in setting:
        return None
    callers = evaluator.project.callers(method)
    if not callers or len(callers) > MAX_CALLS:
        return None
    found: list[Abstract] = []
    for caller in callers:
        outer = FunctionRef(caller.file, caller.site.function)
        name = _called_on_itself(evaluator, caller.site.call, outer) if outer in setting else ""
        if not name or caller.shift or caller.looked_up:
            return None
        inner = frame_of_method(evaluator, outer, own, own.callee)
        found.append(evaluator.in_chain(name, inner, evaluator.state(inner, caller.site.call.at), span, names))
    return several(found, span)


def _called_on_itself(evaluator: Evaluator, call: ir.Call, method: FunctionRef) -> str:
    """The name of the object of a method that a call in it is made on (``self``); nothing for calls on anything else."""
    function = evaluator.project.function(method)
    own = function.parameters[0].name if function.owner >= 0 and function.parameters else ""
    base = call.func.base if type(call.func) is ir.Attribute else None
    return own if type(base) is ir.Name and base.id == own else ""
