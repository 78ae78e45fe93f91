"""What a parameter is when its function is entered: what each of the callers gives for it, or its default."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distlint.link.abstract import (
    NEVER_CALLED,
    Abstract,
    Frame,
    Instance,
    LambdaValue,
    Reference,
    node_of,
    options_of,
    separate,
)
from distlint.link.arguments import find_argument
from distlint.link.calls import given_arguments, is_static
from distlint.link.changes import in_doubt
from distlint.link.modules import ClassRef, FunctionRef
from distlint.link.objects import attribute_of, attributes
from distlint.link.receivers import entered_midway, handed_object, own_object
from distlint.link.stores import changed_names
from distlint.model import python as ir
from distlint.model.document import Entry, Leaf, Mapping, Sequence
from distlint.model.span import Span
from distlint.model.value import unknown

if TYPE_CHECKING:
    from distlint.link.evaluate import Evaluator

MAX_CALLERS = 8
"""A parameter with more callers than this is unknown."""


def parameter_value(
    evaluator: Evaluator,
    function: ir.Function,
    parameter: ir.Parameter,
    position: int,
    frame: Frame,
    span: Span,
    names: tuple[str, ...],
) -> Abstract:
    """What a parameter, or an attribute of it by path, is when the function is entered: what its callers give for it."""
    if function.owner >= 0 and position == 0 and not is_static(function):
        own = frame.instance or own_object(evaluator, function, frame, span)
        midway = entered_midway(evaluator, FunctionRef(frame.file, frame.function), own, names, span)
        return attributes(evaluator, own, names, span) if midway is None else midway
    if frame.bound:
        return attributes(evaluator, _default(evaluator, parameter, frame, span), names, span)
    if evaluator.options is not None and function.owner < 0 and function.parent < 0:
        told = evaluator.options.parameter(FunctionRef(frame.file, frame.function), parameter.name, span)
        if told is not None:
            return attributes(evaluator, told, names, span)
    offset = 1 if function.owner >= 0 and not is_static(function) else 0
    callers = evaluator.project.callers(FunctionRef(frame.file, frame.function))
    if not callers and function.owner >= 0 and not is_static(function):
        handed = _handed(evaluator, function, parameter, position, frame)
        if handed is not None:
            return attributes(evaluator, handed, names, span)
    if not callers or len(callers) > MAX_CALLERS:
        reason = "is called from too many places" if callers else NEVER_CALLED
        return Leaf(unknown(f"parameter `{parameter.name}`: the function {reason}", span), span)
    results = []
    for caller in callers:
        outer = evaluator.frame(caller.file, caller.site.function)
        if caller.looked_up and looks_up_another(
            evaluator, caller.site.call, FunctionRef(frame.file, frame.function), outer
        ):
            continue
        at = position - offset + caller.shift
        found = _from_caller(evaluator, caller.site.call, function, parameter, at, outer, span, names)
        if caller.is_begun and (found is None or parameter.kind.startswith("var-")):
            found = Leaf(unknown(f"parameter `{parameter.name}` may be given later", span), span)
        if found is None:
            found = attributes(evaluator, _default(evaluator, parameter, frame, span), names, span)
        results.append(found)
    if not results:
        return Leaf(unknown(f"parameter `{parameter.name}`: the function {NEVER_CALLED}", span), span)
    return separate(results, span)


def looks_up_another(evaluator: Evaluator, call: ir.Call, ref: FunctionRef, outer: Frame) -> bool:
    """Whether what a call looks up in a table is known to be another function, or another class than that of a method."""
    wanted: tuple[object, ...] = (ref,)
    owner = evaluator.project.function(ref).owner
    if owner >= 0:
        wanted = (*wanted, ClassRef(ref.file, owner))
    options = options_of(evaluator.ask_in(call.func, outer, evaluator.state(outer, call.at)))
    return all(
        isinstance(one, LambdaValue) or (isinstance(one, Reference) and one.target not in wanted) for one in options
    )


def _handed(
    evaluator: Evaluator, function: ir.Function, parameter: ir.Parameter, position: int, frame: Frame
) -> Instance | None:
    """What a library hands to a method that overrides a hook of its class (``FrameworkSpec.hook_objects``)."""
    project = evaluator.project
    bases: frozenset[str] | None = None
    for spec in project.specs:
        for base, start, place, made in spec.hook_objects:
            if place != position or not function.name.startswith(start):
                continue
            if bases is None:
                bases = frozenset(project.modules.external_bases(ClassRef(frame.file, function.owner)))
            if base in bases:
                return handed_object(evaluator, parameter, made, frame.file)
    return None


def _from_caller(
    evaluator: Evaluator,
    call: ir.Call,
    function: ir.Function,
    parameter: ir.Parameter,
    at: int,
    outer: Frame,
    span: Span,
    names: tuple[str, ...],
) -> Abstract | None:
    """What a caller gives for a parameter; ``None`` if it leaves it to the default."""
    state = evaluator.state(outer, call.at)
    if parameter.kind == "var-keyword":
        taken = {p.name for p in function.parameters}
        given = given_arguments(evaluator, call, outer, state)
        written = {one.name: ir.unpack(one.at, outer.file) for one in call.keywords if one.name is not None}
        entries = [
            Entry(n, written.get(n, span), node_of(evaluator.force(d), written.get(n, span)))
            for n, d in given.keywords.items()
            if n not in taken
        ]
        return Mapping(tuple(entries), span, given.open_keywords)
    if parameter.kind == "var-positional":
        given = given_arguments(evaluator, call, outer, state)
        return Sequence(
            tuple(node_of(evaluator.force(d), span) for d in given.positional[at:]), span, given.open_positional
        )
    expr, _ = find_argument(call, parameter.name, at if parameter.kind != "keyword" else None)
    if expr is not None:
        return attribute_of(evaluator, expr, names, outer, state, span)
    found = evaluator.argument(call, parameter.name, at if parameter.kind != "keyword" else None, outer, state)
    return attributes(evaluator, found, names, span) if found is not None else None


def _default(evaluator: Evaluator, parameter: ir.Parameter, frame: Frame, span: Span) -> Abstract:
    if parameter.default is None:
        if parameter.kind == "var-keyword":
            return Mapping((), span)
        if parameter.kind == "var-positional":
            return Sequence((), span)
        return Leaf(unknown(f"parameter `{parameter.name}` is not given", span), span)
    function = evaluator.project.function(FunctionRef(frame.file, frame.function))
    outer = frame.outer or evaluator.frame(frame.file, function.parent)
    value = evaluator.evaluate(parameter.default, outer, evaluator.state(outer, parameter.default.at))
    if isinstance(value, Mapping | Sequence) and parameter.name in changed_names(function.body):
        # The default is one object for all calls.
        return in_doubt(value, (), span)
    return value
