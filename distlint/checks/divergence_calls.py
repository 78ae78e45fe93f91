"""What calls give over the ranks: of libraries, of the project's own functions, of built-in functions, of methods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from distlint.checks import (
    divergence_builtins,
    divergence_callers,
    divergence_files,
    divergence_keys,
    divergence_objects,
    divergence_presence,
    divergence_seeds,
    divergence_yields,
)
from distlint.checks.divergence_callers import callers, dealt_parameter, given_by
from distlint.checks.divergence_state import DIFFERS, EVEN, NONE, THE_SAME, UNKNOWN, Divergence, one_of, together
from distlint.checks.parent_process import is_of_parent
from distlint.checks.rank_values import names_group
from distlint.checks.spread_names import called_name
from distlint.link.abstract import Instance, LambdaValue, PartialValue, Reference, options_of
from distlint.link.arguments import find_argument
from distlint.link.flow import Env
from distlint.link.modules import ClassRef, External, FunctionRef
from distlint.link.walking import calls_in, guards_of
from distlint.model import python as ir
from distlint.rehearsal.moving import LOADING, MOVING, PLACES

if TYPE_CHECKING:
    from distlint.checks.divergence_names import Path
    from distlint.checks.divergence_trace import Ground, Tracer

_SIZES = frozenset({"size", "dim", "numel", "nelement", "element_size", "get_device", "ndimension", "__len__"})


def call(tracer: Tracer, expr: ir.Call, ground: Ground, state: Env) -> Divergence:
    """What a call gives."""
    func = expr.func
    local = divergence_callers.is_local(tracer, func, ground)
    target = None if local else tracer.project.modules.resolve(func, ground.file)
    if isinstance(target, External):
        return _library(tracer, target.name, expr, ground, state)
    if isinstance(target, FunctionRef):
        return _entered(tracer, target, expr, None, ground, state)
    if isinstance(target, ClassRef):
        return _made(tracer, target, expr, ground, state)
    if type(func) is ir.Name and not local and target is None:
        return divergence_builtins.built_in(tracer, func.id, expr, ground, state)
    if type(func) is ir.Attribute:
        return _method(tracer, expr, func, ground, state)
    return _called(tracer, expr, ground, state)


def arguments(tracer: Tracer, expr: ir.Call, ground: Ground, state: Env) -> list[Divergence]:
    """What is known of the arguments of a call that have a part in what it gives: on which device that lies changes no value."""
    args = expr.args[:1] if called_name(expr) in LOADING else expr.args
    given = (*args, *(keyword.value for keyword in expr.keywords if keyword.name not in PLACES))
    return [tracer.of(one, ground, state) for one in given]


# Libraries ------------------------------------------------------------------------------------------------------------


def _library(tracer: Tracer, name: str, expr: ir.Call, ground: Ground, state: Env) -> Divergence:
    span = ir.unpack(expr.at, ground.file)
    sources = tracer.sources
    if name in ("os.environ.get", "os.getenv") and expr.args:
        return sources.variable(expr.args[0], span)
    told = sources.told(name, span)
    if told is not None:
        if told.differs and name in sources.ranks and names_group(expr):
            return told._replace(why="the rank in a group")
        return UNKNOWN if name in sources.varying and _is_of_parent(tracer, expr, ground) else told
    generator = sources.generator(name)
    if generator is not None:
        if _is_of_parent(tracer, expr, ground):
            return UNKNOWN
        given, _ = find_argument(expr, "generator", None)
        if given is not None:
            return _drawn_from(tracer, given, ground, span)
        return divergence_seeds.drawn(tracer, generator, ground.file, span)
    if sources.length_kind(name) == "batches":
        return _loader(tracer, expr, ground, state)
    if name in sources.filled or name in sources.even_arguments:
        return UNKNOWN
    found = together(arguments(tracer, expr, ground, state))
    if name in divergence_files.ASKING and expr.args and not found.differs:
        # whether it is there is the same on all ranks only where nobody makes it just now
        return divergence_files.made_by_one(tracer, expr, expr.args[0], ground) or UNKNOWN
    if sources.is_plain(name):
        return found.through(span)
    return UNKNOWN


def _is_of_parent(tracer: Tracer, expr: ir.Expr, ground: Ground) -> bool:
    """Whether one process alone works an expression out, before it starts the others."""
    return is_of_parent(tracer.project, ground.file, ground.function, expr.at)


def _drawn_from(tracer: Tracer, expr: ir.Expr, ground: Ground, span: Any) -> Divergence:
    """What a generator that is given by an argument draws."""
    for option in divergence_objects.objects(tracer, expr, ground):
        return divergence_seeds.of_generator(tracer, option, ground, span)
    return UNKNOWN


def _loader(tracer: Tracer, expr: ir.Call, ground: Ground, state: Env) -> Divergence:
    """What a loader gives: the data, by the sampler, in an order of its own where it shuffles."""
    parts = []
    for name, position in (("sampler", 3), ("batch_sampler", 4), ("dataset", 0)):
        given, _ = find_argument(expr, name, position)
        if given is not None and not (type(given) is ir.Constant and given.value is None):
            parts.append(tracer.of(given, ground, state))
    shuffle, _ = find_argument(expr, "shuffle", 2)
    if shuffle is not None and tracer.decided(shuffle, ground, state):
        span = ir.unpack(expr.at, ground.file)
        given, _ = find_argument(expr, "generator", None)
        if given is not None:
            parts.append(_drawn_from(tracer, given, ground, span))
        elif tracer.sources.generators:
            parts.append(divergence_seeds.drawn(tracer, tracer.sources.generators[0], ground.file, span))
    return together(parts)


def part_of_call(tracer: Tracer, expr: ir.Call, path: Path, ground: Ground, state: Env) -> Divergence:
    """An item of what a call gives: of a tuple that the project's function returns, or of what a library makes."""
    span = ir.unpack(expr.at, ground.file)
    step = path[0][1]
    known = options_of(tracer.evaluator.ask(expr, ground.file, ground.function))
    if isinstance(step, int) and len(known) == 1 and isinstance(known[0], Instance):
        named = tracer.evaluator.part_of(known[0], step)
        if isinstance(named, Instance):
            dotted = tracer.project.modules.canonical(tracer.evaluator.instance_name(named))
            if dotted in tracer.sources.varying:
                return Divergence(DIFFERS, tracer.sources.varying[dotted], (span,))
        dealt = _dealt(tracer, expr, step, ground)
        if dealt is not None:
            return dealt
    found = part_of_result(tracer, expr, path, ground, state)
    return found if found is not None else divergence_keys.of_whole(path, tracer.of(expr, ground, state))


def part_of_result(tracer: Tracer, expr: ir.Call, path: Path, ground: Ground, state: Env) -> Divergence | None:
    """A part of what a function of the project returns; ``None`` for other calls."""
    edges = tracer.project.call_graph.targets(ground.file, ground.function, expr)
    if len(edges) != 1 or edges[0].how != "call":
        return None
    own = _receiver(tracer, expr, ground)
    inner = inner_ground(tracer, edges[0].target, expr, own, ground, state)
    return returned(tracer, edges[0].target, inner, path) if inner is not None else None


def _dealt(tracer: Tracer, expr: ir.Call, place: int | None, ground: Ground) -> Divergence | None:
    """What a library gives back for a loader: each rank's own batches."""
    func = expr.func
    if type(func) is not ir.Attribute or func.name not in {name.rpartition(".")[2] for name in tracer.sources.dealt}:
        return None
    for option in divergence_objects.objects(tracer, func.base, ground):
        dotted = tracer.project.modules.canonical(f"{tracer.evaluator.instance_name(option)}.{func.name}")
        why = tracer.sources.dealt.get(dotted)
        if why is None:
            return None
        position = 0 if place is None else place
        if position >= len(expr.args) or (place is None and len(expr.args) != 1):
            return None
        for given in divergence_objects.objects(tracer, expr.args[position], ground):
            made = tracer.project.modules.canonical(tracer.evaluator.instance_name(given)).removesuffix("()")
            if tracer.sources.length_kind(made) == "batches":
                return Divergence(DIFFERS, why, (ir.unpack(expr.at, ground.file),))
        return UNKNOWN
    return None


# The project's own ----------------------------------------------------------------------------------------------------


def _receiver(tracer: Tracer, expr: ir.Call, ground: Ground) -> Instance | None:
    """The object whose method is called, or that is called itself."""
    base = expr.func.base if type(expr.func) is ir.Attribute else expr.func
    found = divergence_objects.objects(tracer, base, ground)
    return found[0] if len(found) == 1 else None


def inner_ground(
    tracer: Tracer, target: FunctionRef, expr: ir.Call, own: Instance | None, ground: Ground, state: Env
) -> Ground | None:
    from distlint.checks.divergence_trace import MAX_ENTERED, Argument, Ground

    definition = tracer.project.function(target)
    if ground.depth >= MAX_ENTERED or definition.is_async:
        return None
    if any(type(one) is ir.Starred for one in expr.args) or any(k.name is None for k in expr.keywords):
        return tracer.ground(target.file, target.index, own)
    shift = 1 if divergence_objects.is_own(definition, 0) else 0
    given: dict[str, Any] = {}
    for parameter, argument in zip(definition.parameters[shift:], expr.args, strict=False):
        if parameter.kind == "var-positional":
            break
        given[parameter.name] = Argument(argument, ground, state)
    given |= {str(keyword.name): Argument(keyword.value, ground, state) for keyword in expr.keywords}
    for parameter in definition.parameters:
        if parameter.kind.startswith("var"):
            given[parameter.name] = Argument(None)
    key = ("call", target, id(expr), id(ground), id(state))
    tracer.keep((expr, ground, state))
    return tracer.entered(key, lambda: Ground(target.file, target.index, given, own, depth=ground.depth + 1))


def _entered(
    tracer: Tracer, target: FunctionRef, expr: ir.Call, own: Instance | None, ground: Ground, state: Env
) -> Divergence:
    inner = inner_ground(tracer, target, expr, own, ground, state)
    return returned(tracer, target, inner) if inner is not None else UNKNOWN


def returned(tracer: Tracer, target: FunctionRef, ground: Ground, path: Path = ()) -> Divergence:
    """What a function of the project returns."""
    definition = tracer.project.function(target)
    if definition.is_async:
        return UNKNOWN
    key = ("returned", target, id(ground), path)
    return tracer.guarded(key, lambda: _returned(tracer, target, definition, ground, path))


def _returned(tracer: Tracer, target: FunctionRef, definition: ir.Function, ground: Ground, path: Path) -> Divergence:
    flow = tracer.project.flow(target.file, target.index)
    if flow.has_yield:
        return divergence_yields.given(tracer, definition, ground, path)
    ways: list[Divergence] = []
    kinds: list[Any] = []
    choice = THE_SAME
    for statement, state in flow.returns:
        reached: bool | None = True
        for guard in guards_of(definition.body, statement.at) or ():
            if guard.test is None or guard.kind == "for":
                reached = None
                continue
            decided = tracer.decided(guard.test, ground, flow.before(guard.test.at))
            if decided is None:
                reached = None
                found = divergence_presence.of_test(tracer, guard.test, ground, flow.before(guard.test.at))
                if found.differs and not choice.differs:
                    choice = found.through(ir.unpack(guard.test.at, ground.file))
            elif decided is not guard.holds:
                reached = False
                break
        if reached is False:
            continue
        value = statement.value
        ways.append(THE_SAME if value is None else divergence_objects.member(tracer, value, path, ground, state))
        kinds.append(divergence_presence.kind_of(value, path) if value is not None else None)
        if reached:
            break
    else:
        if flow.exit is not None:
            ways.append(THE_SAME)
            kinds.append(repr(None))
    if choice.differs and len({"None" if kind is None else kind for kind in kinds}) > 1:
        # what some ranks got from the others is what these give as well, if they gave it away before
        return UNKNOWN if any(way.why == EVEN for way in ways) else choice._replace(control=True)
    return one_of(ways) if ways else THE_SAME


def _made(tracer: Tracer, owner: ClassRef, expr: ir.Call, ground: Ground, state: Env) -> Divergence:
    """An object of a class of the project, for what it gives: its items, or what it was made of."""
    given = together(arguments(tracer, expr, ground, state))
    if given.differs:
        return given
    for name in ("__getitem__", "__iter__"):
        method = tracer.project.modules.method(owner, name)
        known = tracer.evaluator.ask(expr, ground.file, ground.function)
        if method is not None and isinstance(known, Instance):
            return returned(tracer, method, tracer.ground(method.file, method.index, known))
    return UNKNOWN


def _called(tracer: Tracer, expr: ir.Call, ground: Ground, state: Env) -> Divergence:
    """A call of a value: a function in a variable, a lambda, an object."""
    ways = []
    for option in options_of(tracer.evaluator.ask(expr.func, ground.file, ground.function)):
        if isinstance(option, Reference) and isinstance(option.target, External):
            ways.append(_library(tracer, option.target.name, expr, ground, state))
        elif isinstance(option, Reference) and isinstance(option.target, FunctionRef):
            own = option.receiver if isinstance(option.receiver, Instance) else None
            ways.append(_entered(tracer, option.target, expr, own, ground, state))
        elif isinstance(option, LambdaValue):
            ways.append(_of_lambda(tracer, option.lambda_, expr, ground, state))
        elif isinstance(option, Instance):
            ways.append(_of_object(tracer, option, expr, ground, state))
        elif isinstance(option, PartialValue):
            ways.append(_of_partial(tracer, option, expr, ground, state))
        else:
            return UNKNOWN
    return one_of(ways) if ways else UNKNOWN


def _of_lambda(tracer: Tracer, known: ir.Lambda, expr: ir.Call, ground: Ground, state: Env) -> Divergence:
    local = {parameter.name: UNKNOWN for parameter in known.parameters}
    for parameter, argument in zip(known.parameters, expr.args, strict=False):
        local[parameter.name] = tracer.of(argument, ground, state)
    local |= {str(keyword.name): tracer.of(keyword.value, ground, state) for keyword in expr.keywords}
    inner = ground.with_local(local)
    tracer.keep(inner)
    flow = tracer.project.flow(ground.file, ground.function)
    return tracer.of(known.body, inner, flow.exit or state)


def _of_partial(tracer: Tracer, known: PartialValue, expr: ir.Call, ground: Ground, state: Env) -> Divergence:
    outer = tracer.ground(known.frame.file, known.frame.function)
    given = together([*arguments(tracer, known.call, outer, known.state), *arguments(tracer, expr, ground, state)])
    return given if given.differs else UNKNOWN


def _of_object(tracer: Tracer, option: Instance, expr: ir.Call, ground: Ground, state: Env) -> Divergence:
    """An object that is called: a module computes from its arguments."""
    given = together(arguments(tracer, expr, ground, state))
    if isinstance(option.callee, ClassRef):
        method = tracer.project.modules.method(option.callee, "__call__")
        if method is not None:
            return _entered(tracer, method, expr, option, ground, state)
        forward = tracer.project.modules.method(option.callee, "forward")
        if forward is not None and _evens_inside(tracer, forward):
            return UNKNOWN
    elif isinstance(option.callee, External) and not tracer.sources.is_known(option.callee.name):
        return UNKNOWN
    return given if given.differs else UNKNOWN


def _evens_inside(tracer: Tracer, method: FunctionRef) -> bool:
    """Whether a method itself makes a call that leaves the same on all ranks."""
    sources, body = tracer.sources, tracer.project.function(method).body
    return any(
        sources.evens(inner, method.file)
        or tracer.project.modules.dotted(inner.func, method.file) in sources.even_results
        for inner in calls_in(body)
    )


# Methods --------------------------------------------------------------------------------------------------------------


def _method(tracer: Tracer, expr: ir.Call, func: ir.Attribute, ground: Ground, state: Env) -> Divergence:
    span = ir.unpack(expr.at, ground.file)
    ways = []
    for option in divergence_objects.objects(tracer, func.base, ground):
        if func.name in divergence_files.ASKING_METHODS:
            break
        found = _of_named(tracer, option, expr, func, ground, state)
        if found is None:
            break
        ways.append(found)
    else:
        if ways:
            return one_of(ways)
    if not ways and _is_held(tracer, func, ground):
        return _called(tracer, expr, ground, state)
    if not ways and not expr.args and func.name in tracer.views[0].attributes:
        return Divergence(DIFFERS, "the rank", (span,))
    if func.name in divergence_files.ASKING_METHODS and not expr.args:
        made = divergence_files.made_by_one(tracer, expr, func.base, ground)
        if made is not None:
            return made
    if func.name in _SIZES:
        return tracer.of(func.base, ground, state, size=True)
    if func.name == "keys" and not expr.args and not ways:
        return divergence_keys.keys_of(tracer, func.base, ground, state)
    base = tracer.of(func.base, ground, state)
    if base.differs or func.name in MOVING:
        return base.through(span)
    given = together(arguments(tracer, expr, ground, state))
    return base if given.is_same else given if base.is_same or given.differs is base.differs else UNKNOWN


def _is_held(tracer: Tracer, func: ir.Attribute, ground: Ground) -> bool:
    """Whether what is called like a method is an attribute of an object of the project: a module, a function (``self.criterion(x)``)."""
    objects = divergence_objects.objects(tracer, func.base, ground)
    method = tracer.project.modules.method
    if not objects or any(not isinstance(one.callee, ClassRef) or method(one.callee, func.name) for one in objects):
        return False
    held = options_of(tracer.evaluator.ask(func, ground.file, ground.function))
    return bool(held) and all(isinstance(one, Instance | Reference | LambdaValue | PartialValue) for one in held)


def _of_named(
    tracer: Tracer, option: Instance, expr: ir.Call, func: ir.Attribute, ground: Ground, state: Env
) -> Divergence | None:
    """A method of an object by what made it; ``None`` where only the values count."""
    span = ir.unpack(expr.at, ground.file)
    if isinstance(option.callee, ClassRef) and option.part in ((), ("self",)):
        method = tracer.project.modules.method(option.callee, func.name)
        if method is not None:
            return _entered(tracer, method, expr, option, ground, state)
    made = tracer.evaluator.instance_name(option)
    dotted = tracer.project.modules.canonical(f"{made}.{func.name}")
    told = tracer.sources.told(dotted, span)
    if told is not None:
        return UNKNOWN if dotted in tracer.sources.varying and _is_of_parent(tracer, expr, ground) else told
    dealt = _dealt(tracer, expr, None, ground)
    if dealt is not None:
        return dealt
    callee = made.removesuffix("()")
    if any(callee in one.makers for one in tracer.sources.generators):
        if _is_of_parent(tracer, expr, ground):
            return UNKNOWN
        return divergence_seeds.of_generator(tracer, option, ground, span)
    if dotted in tracer.sources.filled:
        return UNKNOWN
    return None


__all__ = ["NONE", "call", "callers", "dealt_parameter", "given_by", "part_of_call", "returned"]
