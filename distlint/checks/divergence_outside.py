"""Names that a body does not bind itself, over the ranks: parameters, variables of enclosing functions and of modules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from distlint.checks import (
    divergence_callers,
    divergence_failures,
    divergence_frames,
    divergence_names,
    divergence_objects,
)
from distlint.checks.divergence_state import DIFFERS, THE_SAME, UNKNOWN, Divergence, one_of
from distlint.checks.ranks import RANK_NAMES
from distlint.link.modules import ClassRef, External, FunctionRef, GlobalRef
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.checks.divergence_names import Path
    from distlint.checks.divergence_trace import Ground, Tracer

MAX_CALLERS = 8


def outside(tracer: Tracer, wanted: str, path: Path, ground: Ground) -> Divergence:
    """A name that the body did not bind before: a parameter, or something of an enclosing function or the module."""
    if ground.function >= 0:
        ref = FunctionRef(ground.file, ground.function)
        definition = tracer.project.function(ref)
        for position, parameter in enumerate(definition.parameters):
            if parameter.name == wanted:
                return parameter_value(tracer, ref, position, path, ground)
        if definition.parent >= 0:
            around = tracer.ground(ground.file, definition.parent)
            flow = tracer.project.flow(ground.file, definition.parent)
            end = flow.exit or (flow.returns[-1][1] if flow.returns else flow.entry)
            return divergence_names.name(tracer, wanted, path, around, end)
        return module_variable(tracer, GlobalRef(ground.file, wanted), path)
    target = tracer.project.modules.lookup(wanted, ground.file)
    if isinstance(target, GlobalRef):
        return module_variable(tracer, target, path) if target.file != ground.file else UNKNOWN
    if isinstance(target, External):
        return THE_SAME if tracer.sources.is_known(target.name) else UNKNOWN
    return THE_SAME if isinstance(target, FunctionRef | ClassRef) else UNKNOWN


def module_variable(tracer: Tracer, target: GlobalRef, path: Path) -> Divergence:
    """A variable of a module after the module ran, with what functions leave in it."""
    found = tracer.project.modules.lookup(target.name, target.file)
    if not isinstance(found, GlobalRef):
        known = isinstance(found, External) and tracer.sources.is_known(found.name)
        return THE_SAME if known or isinstance(found, FunctionRef | ClassRef) else UNKNOWN
    if found != target:
        return module_variable(tracer, found, path)
    flow = tracer.project.flow(target.file, -1)
    ground = tracer.ground(target.file, -1)
    ways = []
    if target.name in flow.assigned:
        ways.append(divergence_names.name(tracer, target.name, path, ground, flow.exit or flow.entry))
    for index in tracer.project.global_writers(target.file).get(target.name, ())[:MAX_CALLERS]:
        inner = tracer.project.flow(target.file, index)
        if target.name in inner.outer:
            ways += [
                divergence_names.name(tracer, target.name, path, tracer.ground(target.file, index), end)
                for end in inner.ends()
            ]
            if index in divergence_failures.signal_handlers(tracer, target.file):
                at = tracer.project.function(FunctionRef(target.file, index)).name_at
                return Divergence(DIFFERS, "the moment at which a signal arrives", (ir.unpack(at, target.file),), True)
    return one_of(ways) if ways else UNKNOWN


def parameter_value(tracer: Tracer, ref: FunctionRef, position: int, path: Path, ground: Ground) -> Divergence:
    """What a parameter, or a place below it, is: what the known call gives, or any of the callers."""
    definition = tracer.project.function(ref)
    parameter = definition.parameters[position]
    if divergence_objects.is_own(definition, position):
        return divergence_objects.of_own(tracer, ref, path, ground)
    dealt = divergence_callers.dealt_parameter(tracer, ref, position)
    if dealt is not None:
        return dealt
    if ground.given is not None:
        given = ground.given.get(parameter.name)
        return _argument(tracer, given, path) if given is not None else _default(tracer, ref, parameter)
    made, is_known = divergence_frames.made_with(tracer, ref, position, ground.own)
    if is_known:
        return _argument(tracer, made, path) if made is not None else _default(tracer, ref, parameter)
    callers = divergence_callers.callers(tracer, ref, ground)
    if not callers or len(callers) > MAX_CALLERS:
        guessed = not callers and parameter.name in RANK_NAMES and not path
        at = ir.unpack(parameter.at, ref.file)
        return Divergence(DIFFERS, "the rank", (at,)) if guessed else UNKNOWN
    ways = []
    for caller in callers:
        given = divergence_callers.given_by(tracer, caller, ref, position)
        ways.append(_argument(tracer, given, path) if given is not None else _default(tracer, ref, parameter))
    return one_of(ways)


def _argument(tracer: Tracer, given: Any, path: Path) -> Divergence:
    if given.expr is None or given.ground is None or given.state is None:
        found: Divergence = given.known
        return found
    return divergence_objects.member(tracer, given.expr, path, given.ground, given.state)


def _default(tracer: Tracer, ref: FunctionRef, parameter: ir.Parameter) -> Divergence:
    if parameter.default is None:
        return UNKNOWN
    outer = tracer.project.function(ref).parent
    return tracer.here(parameter.default, tracer.ground(ref.file, outer))
