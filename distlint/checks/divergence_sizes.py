"""How many items something has, over the ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distlint.checks import (
    divergence_callers,
    divergence_calls,
    divergence_filled,
    divergence_names,
    divergence_objects,
)
from distlint.checks.divergence_state import DIFFERS, EVEN, THE_SAME, UNKNOWN, Divergence, one_of, together
from distlint.checks.rank_calls import length_of_value
from distlint.checks.rank_values import Many
from distlint.link.arguments import find_argument
from distlint.link.flow import BINDS, Bind, Env, Join, Store
from distlint.link.modules import ClassRef, External, FunctionRef
from distlint.link.walking import below, expressions_of, statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.checks.divergence_trace import Ground, Tracer

_PASSING = frozenset({"list", "tuple", "sorted", "reversed", "enumerate", "iter"})
_CONTAINERS = frozenset({"list", "tuple", "dict", "set", "sorted", "deque"})
_KEEPING = frozenset({"to", "cuda", "cpu", "contiguous", "clone", "detach", "float", "half", "bfloat16", "int", "long"})


def size_of(tracer: Tracer, expr: ir.Expr, ground: Ground, state: Env) -> Divergence:
    """Whether something has the same number of items on all ranks."""
    known = [
        length_of_value(view, value) if not isinstance(value, Many) else None
        for view in tracer.pair
        for value in (tracer.value(view, expr, ground, state),)
    ]
    if None not in known:
        if known[0] == known[1]:
            return THE_SAME
        source = tracer.of(expr, ground, state)
        places = source.places if source.differs and source.why == "the rank" else (ir.unpack(expr.at, ground.file),)
        return Divergence(DIFFERS, "the rank", places)
    if type(expr) is ir.Name:
        return _of_name(tracer, expr.id, ground, state)
    if type(expr) is ir.Attribute:
        return _of_attribute(tracer, expr, ground)
    if type(expr) is ir.ListDisplay and not any(type(item) is ir.Starred for item in expr.items):
        return THE_SAME
    if type(expr) is ir.Call and not any(type(one) is ir.Starred for one in expr.args):
        return _of_call(tracer, expr, ground, state)
    if type(expr) is ir.Comprehension:
        return _of_comprehension(tracer, expr, ground, state)
    if type(expr) is ir.Conditional:
        decided = tracer.decided(expr.test, ground, state)
        if decided is not None:
            return tracer.of(expr.body if decided else expr.orelse, ground, state, size=True)
        return one_of([tracer.of(part, ground, state, size=True) for part in (expr.body, expr.orelse)])
    return UNKNOWN


def _of_name(tracer: Tracer, wanted: str, ground: Ground, state: Env) -> Divergence:
    place: Env | None = state
    changed = False
    for _ in range(divergence_names.MAX_WALK):
        if place is None:
            break
        changes = (
            place.name == wanted if isinstance(place, Store) else isinstance(place, Join) and wanted in place.touched
        )
        if changes and divergence_filled.fills(tracer, place, (wanted, ()), ground):
            return UNKNOWN
        if isinstance(place, Store) and place.name == wanted and place.action not in ("call", "alias", "set"):
            # as many are added or taken on each rank, as far as we look
            changed = True
        if isinstance(place, Bind) and place.name == wanted:
            if isinstance(place.expr, ir.Expr) and not place.part:
                found = tracer.of(place.expr, ground, place.at, size=True)
                return found if found.differs or not changed else UNKNOWN
            return UNKNOWN
        if isinstance(place, Join) and wanted in place.touched:
            if wanted + BINDS in place.touched.how:
                if place.by is not None:
                    return UNKNOWN
                return one_of([_of_name(tracer, wanted, ground, branch) for branch in place.branches])
            changed = True
        place = place.prev
    found = _of_parameter(tracer, wanted, ground) if ground.function >= 0 else UNKNOWN
    return found if found.differs or not changed else UNKNOWN


def is_container(wanted: str, state: Env) -> bool:
    """Whether a name is bound to a list, a mapping or a set that is made on the spot."""
    place: Env | None = state
    for _ in range(divergence_names.MAX_WALK):
        if place is None:
            return False
        if isinstance(place, Bind) and place.name == wanted:
            made = place.expr
            if type(made) is ir.Call and type(made.func) is ir.Name:
                return made.func.id in _CONTAINERS
            return type(made) in (ir.ListDisplay, ir.DictDisplay, ir.Comprehension) and not place.part
        place = place.prev
    return False


def _of_parameter(tracer: Tracer, wanted: str, ground: Ground) -> Divergence:
    """How long what all callers give for a parameter is."""
    ref = FunctionRef(ground.file, ground.function)
    for position, parameter in enumerate(tracer.project.function(ref).parameters):
        if parameter.name != wanted:
            continue
        if ground.given is not None:
            given = [ground.given.get(wanted)]
        else:
            callers = divergence_callers.callers(tracer, ref, ground)
            if len(callers) > divergence_callers.MAX_SITES:
                return UNKNOWN
            given = [divergence_callers.given_by(tracer, caller, ref, position) for caller in callers]
        ways = []
        for one in given:
            if one is None or one.expr is None or one.ground is None or one.state is None:
                return UNKNOWN
            ways.append(tracer.of(one.expr, one.ground, one.state, size=True))
        return one_of(ways) if ways else UNKNOWN
    return UNKNOWN


def _of_attribute(tracer: Tracer, expr: ir.Attribute, ground: Ground) -> Divergence:
    """How long what methods store into an attribute is."""
    ways = []
    for option in divergence_objects.objects(tracer, expr.base, ground):
        if not isinstance(option.callee, ClassRef) or option.part not in ((), ("self",)):
            return UNKNOWN
        stores = divergence_objects.kept_by(tracer, option.callee).get(expr.name, ())
        for store in stores[: divergence_objects.MAX_STORES]:
            if store.value is None or store.part or store.even or not isinstance(store.statement, ir.Assign):
                return UNKNOWN
            if store.method.index < 0:
                return UNKNOWN
            inner = tracer.ground(store.method.file, store.method.index, option)
            state = tracer.project.flow(inner.file, inner.function).before(store.value.at)
            ways.append(tracer.of(store.value, inner, state, size=True))
    return one_of(ways) if ways else UNKNOWN


def _of_function(tracer: Tracer, expr: ir.Call, ground: Ground, state: Env) -> Divergence:
    """How long what a function of the project returns is, or how often its generator yields."""
    ways = []
    for edge in tracer.project.call_graph.targets(ground.file, ground.function, expr):
        definition = tracer.project.function(edge.target)
        if edge.how != "call" or definition.name == "__init__":
            return UNKNOWN
        inner = divergence_calls.inner_ground(tracer, edge.target, expr, None, ground, state)
        if inner is None:
            return UNKNOWN
        flow = tracer.project.flow(edge.target.file, edge.target.index)
        if flow.has_yield:
            for statement in statements(definition.body):
                if isinstance(statement, ir.For) and _yields(statement):
                    ways.append(tracer.of(statement.iterable, inner, flow.before(statement.iterable.at), size=True))
            ways = [way for way in ways if way.differs]
        for returned, before in flow.returns:
            if returned.value is not None:
                ways.append(tracer.of(returned.value, inner, before, size=True))
    return one_of(ways) if ways else UNKNOWN


def _yields(loop: ir.For) -> bool:
    """Whether the body of a loop yields."""
    return any(
        type(part) is ir.Wrapped and part.kind.startswith("yield")
        for statement in statements(loop.body)
        for expr in expressions_of(statement)
        for part in below(expr)
    )


def _of_call(tracer: Tracer, expr: ir.Call, ground: Ground, state: Env) -> Divergence:
    func = expr.func
    if type(func) is ir.Name and expr.args:
        if func.id in _PASSING:
            return tracer.of(expr.args[0], ground, state, size=True)
        if func.id == "zip":
            sizes = [tracer.of(one, ground, state, size=True) for one in expr.args]
            # the shortest of them counts, and whoever asks all ranks for a number has the smallest in mind
            return next((one for one in sizes if one.why == EVEN), together(sizes))
        if func.id == "range":
            return _of_bounds(tracer, expr, ground, state)
    if type(func) is ir.Attribute and func.name in _KEEPING:
        return tracer.of(func.base, ground, state, size=True)
    target = tracer.project.modules.resolve(func, ground.file)
    kind, _, place = (tracer.sources.length_kind(target.name) if isinstance(target, External) else "").partition(":")
    if kind == "like" and int(place) < len(expr.args):
        return tracer.of(expr.args[int(place)], ground, state, size=True)
    if kind == "range":
        return _of_bounds(tracer, expr, ground, state)
    if kind == "sizes":
        return together([tracer.of(one, ground, state) for one in expr.args])
    if kind == "shares":
        return THE_SAME
    if kind == "batches":
        for name, position in (("batch_sampler", 4), ("sampler", 3), ("dataset", 0)):
            given, _ = find_argument(expr, name, position)
            if given is not None and not (type(given) is ir.Constant and given.value is None):
                return tracer.of(given, ground, state, size=True)
    return _of_function(tracer, expr, ground, state) if kind == "" else UNKNOWN


def _of_bounds(tracer: Tracer, expr: ir.Call, ground: Ground, state: Env) -> Divergence:
    """How many numbers a range has: where each rank starts at a number of its own there may be as many for each."""
    found = together([tracer.of(one, ground, state) for one in expr.args])
    return UNKNOWN if len(expr.args) > 1 and found.differs and found.why == "the rank" else found


def _of_comprehension(tracer: Tracer, expr: ir.Comprehension, ground: Ground, state: Env) -> Divergence:
    parts = []
    inner = ground
    for target, iterable, tests in expr.generators:
        parts.append(tracer.of(iterable, inner, state, size=True))
        inner = inner.with_local(divergence_names.targets(tracer, target, iterable, inner, state))
        # how many pass a test of the rank is a question of numbers
        found = [tracer.of(test, inner, state) for test in tests]
        parts.extend(UNKNOWN if one.differs and one.why == "the rank" else one for one in found)
    return together(parts)
