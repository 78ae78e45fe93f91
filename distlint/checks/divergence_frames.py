"""By which calls a value comes about, for questions over the ranks: what one call was given says nothing of another one.

A function that each rank calls with its own number, and once more with one that all of them have, gives something else each time. The
evaluator says of an object in which frame it was made; here that is told as the ground on which the question stands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from distlint.link.arguments import find_argument
from distlint.link.modules import ClassRef, FunctionRef

if TYPE_CHECKING:
    from distlint.checks.divergence_trace import Ground, Tracer
    from distlint.link.abstract import Frame, Instance

MAX_WAY = 40
"""Calls, one in the other, among which a frame is looked for."""


def ground_of_frame(tracer: Tracer, frame: Frame, ground: Ground) -> Ground:
    """Where something was made that is asked for on a ground: a call on the way there, or the one that its frame was entered by."""
    on_way = _on_way(ground, frame.file, frame.function)
    if on_way is not None:
        return on_way
    if frame.bound and frame.bindings and frame.depth < MAX_WAY:
        return tracer.entered(("frame", id(frame), id(ground)), lambda: _entered(tracer, frame, ground))
    return ground_of(tracer, ground, frame.file, frame.function)


def ground_of(tracer: Tracer, ground: Ground, file: str, function: int) -> Ground:
    """The call of a function on the way to a ground, where one is known to lead there, else the function for all of its callers."""
    on_way = _on_way(ground, file, function)
    if on_way is not None:
        return on_way
    own = ground.own
    if own is not None and function >= 0 and isinstance(own.callee, ClassRef):
        owner = tracer.project.function(FunctionRef(file, function)).owner
        if owner >= 0 and ClassRef(file, owner) in tracer.project.modules.ancestry(own.callee):
            return tracer.ground(file, function, own)
    return tracer.ground(file, function)


def made_with(tracer: Tracer, ref: FunctionRef, position: int, own: Instance | None) -> tuple[Any, bool]:
    """What the call that made an object gives for a parameter of its ``__init__``, and whether that call is known at all."""
    from distlint.checks.divergence_trace import Argument

    if own is None or own.part or not isinstance(own.callee, ClassRef):
        return None, False
    definition = tracer.project.function(ref)
    if definition.name != "__init__" or tracer.project.modules.method(own.callee, "__init__") != ref:
        return None, False
    parameter = definition.parameters[position]
    if parameter.kind.startswith("var"):
        return None, False
    given, certain = find_argument(own.call, parameter.name, position - 1 if parameter.kind != "keyword" else None)
    if given is None:
        return None, certain
    outer = ground_of_frame(tracer, own.frame, tracer.ground(own.frame.file, own.frame.function))
    return Argument(given, outer, own.state), True


def _on_way(ground: Ground, file: str, function: int) -> Ground | None:
    row, seen = [ground], {id(ground)}
    for one in row:
        if (one.file, one.function) == (file, function):
            return one
        for given in (one.given or {}).values():
            # whoever gives an argument is a caller
            if given.ground is not None and id(given.ground) not in seen and len(row) < MAX_WAY:
                seen.add(id(given.ground))
                row.append(given.ground)
    return None


def _entered(tracer: Tracer, frame: Frame, ground: Ground) -> Ground:
    from distlint.checks.divergence_trace import Argument, Ground

    tracer.keep((frame, ground))
    given = {}
    for name, one in frame.bindings.items():
        known = one.expr is not None and one.frame is not None and one.state is not None
        outer = ground_of_frame(tracer, one.frame, ground) if one.frame is not None else None
        given[name] = Argument(one.expr, outer, one.state) if known else Argument(None)
    return Ground(frame.file, frame.function, given, depth=ground.depth + 1)
