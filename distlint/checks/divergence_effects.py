"""What calls leave in the objects that they are given, over the ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distlint.checks import divergence_calls, divergence_names, divergence_objects
from distlint.checks.divergence_state import EVENED, RECEIVED, UNKNOWN, Divergence, one_of, together
from distlint.link.abstract import PartialValue, Reference, options_of
from distlint.link.arguments import find_argument
from distlint.link.flow import BINDS, CHANGES, Store
from distlint.link.modules import External, FunctionRef
from distlint.link.walking import access_path
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.checks.divergence_names import Path
    from distlint.checks.divergence_trace import Ground, Tracer
    from distlint.link.call_graph import CallEdge


def effect(tracer: Tracer, expr: ir.Call, store: Store, rest: Path, ground: Ground) -> tuple[bool, Divergence] | None:
    """What a call leaves in an object that it was given, and whether nothing of the old is left; ``None`` for nothing."""
    sources = tracer.sources
    place = (store.name, store.path)
    even = sources.evened_argument(expr, ground.file)
    if even is not None:
        return (True, EVENED) if _place_of(even) == place else None
    if sources.is_sent(expr, ground.file, place):
        return True, RECEIVED
    if sources.fills(expr, ground.file, place):
        return True, UNKNOWN
    func = expr.func
    if type(func) is ir.Attribute and access_path(func.base) == place and func.name.endswith("_"):
        given = together(divergence_calls.arguments(tracer, expr, ground, store.at))
        if func.name in ("fill_", "copy_", "zero_"):
            return True, given
        return False, given
    for edge in tracer.project.call_graph.targets(ground.file, ground.function, expr):
        found = _left_in(tracer, edge.target, edge.shift, expr, place, rest, ground, store)
        if found is not None:
            return found
    return (True, UNKNOWN) if _is_kept_collective(tracer, func, ground) else None


def leaves_alone(tracer: Tracer, expr: ir.Call, store: Store, ground: Ground) -> bool:
    """Whether a call does nothing to what it is given at a place but to read it, or to hand it on."""
    place = (store.name, store.path)
    found = effect(tracer, expr, store, (), ground)
    if found is None:
        return True
    targets = tracer.project.call_graph.targets(ground.file, ground.function, expr)
    return bool(targets) and not found[1].differs and not any(_changes(tracer, edge, expr, place) for edge in targets)


def _changes(tracer: Tracer, edge: CallEdge, expr: ir.Call, place: tuple[str, tuple[ir.Expr | str, ...]]) -> bool:
    """Whether a function of the project changes what stands at a place, which is given to it."""
    definition = tracer.project.function(edge.target)
    how = tracer.project.flow(edge.target.file, edge.target.index).assigned.how
    shift = edge.shift - divergence_objects.is_own(definition, 0)
    for position, parameter in enumerate(definition.parameters):
        given, _ = find_argument(expr, parameter.name, position + shift)
        if given is not None and access_path(given) == place:
            changes = (f"{parameter.name}{CHANGES}", f"{parameter.name}.")
            return any(one.startswith(changes) for one in how)
    return True


def _is_kept_collective(tracer: Tracer, func: ir.Expr, ground: Ground) -> bool:
    """Whether what is called may be a library's function that changes what it gets, kept in a variable or an attribute."""
    modules = tracer.project.modules
    if modules.resolve(func, ground.file) is not None:
        return False
    for option in options_of(tracer.evaluator.ask(func, ground.file, ground.function)):
        kept = option.callee if isinstance(option, PartialValue) else option
        if isinstance(kept, Reference) and isinstance(kept.target, External):
            if kept.target.name in tracer.sources.even_arguments or kept.target.name in tracer.sources.filled:
                return True
    return False


def _place_of(expr: ir.Expr) -> tuple[str, tuple[ir.Expr | str, ...]]:
    return access_path(expr.value if type(expr) is ir.Starred else expr)


def _left_in(
    tracer: Tracer,
    target: FunctionRef,
    shift: int,
    expr: ir.Call,
    place: tuple[str, tuple[ir.Expr | str, ...]],
    rest: Path,
    ground: Ground,
    store: Store,
) -> tuple[bool, Divergence] | None:
    """What a function of the project leaves in an object that it is given."""
    flow = tracer.project.flow(target.file, target.index)
    definition = tracer.project.function(target)
    for position, parameter in enumerate(definition.parameters):
        if parameter.name not in flow.assigned:
            continue
        own = divergence_objects.is_own(definition, 0)
        given, _ = find_argument(expr, parameter.name, position - own + shift)
        if given is None or access_path(given) != place:
            continue
        inner = divergence_calls.inner_ground(tracer, target, expr, None, ground, store.prev or store.at)
        if inner is None:
            return None
        if not any(f"{parameter.name}{how}" in flow.assigned.how for how in (" ()", " []")) and not rest:
            return None
        ends = [divergence_names.name(tracer, parameter.name, rest, inner, end) for end in flow.ends()]
        left = one_of(ends) if ends else None
        if left is None or (left.differs and f"{parameter.name}{BINDS}" in flow.assigned.how):
            # what the function makes of its own name stays in there
            return None
        return True, left
    return None
