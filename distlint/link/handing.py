"""What a function does to an attribute of an object that it is handed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distlint.link.abstract import Abstract, Delayed, Frame, Reference, options_of, several
from distlint.link.calls import MAX_CALL_DEPTH, changes_argument, taken
from distlint.link.flow import Store
from distlint.link.modules import FunctionRef
from distlint.link.walking import access_path
from distlint.model import python as ir
from distlint.model.document import Leaf
from distlint.model.span import Span
from distlint.model.value import unknown

if TYPE_CHECKING:
    from distlint.link.evaluate import Evaluator


def attribute_after_call(
    evaluator: Evaluator, before: Abstract, frame: Frame, store: Store, span: Span, names: tuple[str, ...]
) -> Abstract:
    """The attribute ``names`` after the call of a ``call`` step.

    What the function leaves there, or what it was before.
    """
    call = store.expr
    rest = names[len(store.path) :]
    if not isinstance(call, ir.Call) or frame.depth >= MAX_CALL_DEPTH:
        return before
    results = []
    for callee in options_of(evaluator.evaluate(call.func, frame, store.at)):
        found = None
        if isinstance(callee, Reference) and isinstance(callee.target, FunctionRef):
            found = _after_entering(evaluator, callee, call, store, frame, span, rest, before)
        elif changes_argument(callee):
            found = Leaf(unknown("a library's function changes it", span), span)
        results.append(found if found is not None else before)
    return several(results, span)


def _after_entering(
    evaluator: Evaluator,
    callee: Reference,
    call: ir.Call,
    store: Store,
    frame: Frame,
    span: Span,
    rest: tuple[str, ...],
    before: Abstract,
) -> Abstract | None:
    assert isinstance(callee.target, FunctionRef)  # noqa: S101 - tested by the caller
    target = callee.target
    function = evaluator.project.function(target)
    flow = evaluator.project.flow(target.file, target.index)
    parameter, given = _parameter_of(function, callee, call, store)
    if parameter is None or parameter.name not in flow.assigned:
        return None
    if not evaluator.project.stores_attribute(target.file, rest[0]):
        return None
    key = ("handed", target, id(call), id(frame), id(store))
    inner = None if evaluator.is_cut else evaluator.frames.get(key)
    if inner is None:
        bindings = {parameter.name: Delayed(given, frame, store.at)}
        inner = Frame(
            target.file, target.index, bindings, frame.depth + 1, callee.receiver, bound=True, outer=callee.scope
        )
        evaluator.keep((inner, call, frame, store))
        if not evaluator.is_cut:
            evaluator.frames[key] = inner
    inner.bindings[parameter.name].attributes[rest] = before
    return several([evaluator.in_chain(parameter.name, inner, end, span, rest) for end in flow.ends()], span)


def _parameter_of(
    function: ir.Function, callee: Reference, call: ir.Call, store: Store
) -> tuple[ir.Parameter | None, ir.Expr | None]:
    """The parameter that gets the object of the step, and the argument that it gets it by."""
    shift = taken(callee, function)
    for position, parameter in enumerate(function.parameters[shift:]):
        given = next((k.value for k in call.keywords if k.name == parameter.name), None)
        if given is None and position < len(call.args):
            given = call.args[position]
        if given is not None and access_path(given) == (store.name, store.path):
            return parameter, given
    return None, None
