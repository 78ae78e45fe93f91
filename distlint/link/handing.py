"""What a function does to an attribute of an object that it is handed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distlint.link.abstract import Abstract, Delayed, Frame, Reference, options_of, several
from distlint.link.calls import MAX_CALL_DEPTH, is_static
from distlint.link.flow import Store
from distlint.link.modules import FunctionRef
from distlint.link.walking import access_path
from distlint.model import python as ir
from distlint.model.span import Span

if TYPE_CHECKING:
    from distlint.link.evaluate import Evaluator


def attribute_after_call(
    evaluator: Evaluator, name: str, frame: Frame, store: Store, span: Span, names: tuple[str, ...]
) -> Abstract:
    """The attribute ``names`` of ``name`` after the call of a ``call`` step: what the function leaves there, or what it was before."""
    call = store.expr
    assert isinstance(call, ir.Call)  # noqa: S101 - tested by the caller
    assert store.prev is not None  # noqa: S101 - a store always has a predecessor
    rest = names[len(store.path) :]
    before = store.prev
    if frame.depth < MAX_CALL_DEPTH and evaluator.project.is_stored(rest[0]):
        for callee in options_of(evaluator.evaluate(call.func, frame, before)):
            if isinstance(callee, Reference) and isinstance(callee.target, FunctionRef):
                found = _after_entering(evaluator, callee, call, store, frame, span, rest)
                if found is not None:
                    return found
    return evaluator.in_chain(name, frame, before, span, names)


def _after_entering(
    evaluator: Evaluator, callee: Reference, call: ir.Call, store: Store, frame: Frame, span: Span, rest: tuple[str, ...]
) -> Abstract | None:
    assert isinstance(callee.target, FunctionRef)  # noqa: S101 - tested by the caller
    target = callee.target
    function = evaluator.project.function(target)
    if function.skipped or not evaluator.project.stores_attribute(target.file, rest[0]):
        return None
    shift = 1 if callee.receiver is not None and function.owner >= 0 and not is_static(function) else 0
    flow = evaluator.project.flow(target.file, target.index)
    for position, parameter in enumerate(function.parameters[shift:]):
        given = next((k.value for k in call.keywords if k.name == parameter.name), None)
        if given is None and position < len(call.args):
            given = call.args[position]
        if given is None or access_path(given) != (store.name, store.path):
            continue
        ends = flow.ends()
        if parameter.name not in flow.assigned or not ends:
            return None
        bindings = {parameter.name: Delayed(given, frame, store.prev)}
        inner = Frame(target.file, target.index, bindings, frame.depth + 1, callee.receiver, bound=True, outer=callee.scope)
        evaluator.keep(inner)
        return several([evaluator.in_chain(parameter.name, inner, end, span, rest) for end in ends], span)
    return None
