"""Who calls a function of the project, and what it gives for the parameters, for questions over the ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from distlint.checks.divergence_state import DIFFERS, Divergence
from distlint.checks.rank_names import PER_PROCESS, counts_processes
from distlint.link.abstract import Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.callers import Caller
from distlint.link.modules import ClassRef, FunctionRef
from distlint.link.walking import statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.checks.divergence_trace import Ground, Tracer

MAX_SITES = 12


def is_local(tracer: Tracer, func: ir.Expr, ground: Ground) -> bool:
    """Whether a called name is a variable of the function, which hides what the module binds."""
    if type(func) is not ir.Name:
        return False
    if func.id in ground.local:
        return True
    function = ground.function
    while function >= 0:
        definition = tracer.project.module(ground.file).functions[function]
        if func.id in tracer.project.flow(ground.file, function).bound:
            return True
        if any(parameter.name == func.id for parameter in definition.parameters):
            return True
        function = definition.parent
    target = tracer.project.modules.lookup(func.id, ground.file)
    return target is None and func.id in tracer.project.flow(ground.file, -1).bound


def callers(tracer: Tracer, ref: FunctionRef, ground: Ground) -> list[Caller]:
    """The calls that come to a function: of one object's method where that object is known."""
    definition = tracer.project.function(ref)
    found = list(tracer.project.callers(ref))
    if definition.owner >= 0 and definition.name in ("__call__", "forward"):
        found += _of_called_objects(tracer, ClassRef(ref.file, definition.owner), ref)
    started = [caller for caller in found if caller.starter in PER_PROCESS]
    found = started or [one for one in found if (one.file, one.site.function) != (ref.file, ref.index)]
    if ground.own is None or definition.owner < 0 or definition.name == "__init__" or ground.own.part:
        return found
    return [caller for caller in found if _may_be_called_on(tracer, caller, ground.own)]


def _may_be_called_on(tracer: Tracer, caller: Caller, own: Instance) -> bool:
    func = caller.site.call.func
    base = func.base if type(func) is ir.Attribute and func.name != "__call__" else func
    asked = tracer.evaluator.ask(base, caller.file, caller.site.function)
    known = [option for option in options_of(asked) if isinstance(option, Instance)]
    if not known and type(func) is ir.Attribute:
        asked = tracer.evaluator.ask(func, caller.file, caller.site.function)
        known = [option for option in options_of(asked) if isinstance(option, Instance)]
    return not known or any(option.identity == own.identity or option.part == ("self",) for option in known)


def _of_called_objects(tracer: Tracer, owner: ClassRef, ref: FunctionRef) -> list[Caller]:
    """The calls of objects of a class, by the names that its objects are bound to."""
    found = []
    for wanted in sorted(_names_of_objects(tracer, owner)):
        for site in tracer.project.sites(wanted)[:MAX_SITES]:
            edges = tracer.project.call_graph.targets(site.file, site.site.function, site.site.call)
            if any(edge.target == ref for edge in edges):
                found.append(Caller(site.file, site.site))
    return found


def _names_of_objects(tracer: Tracer, owner: ClassRef) -> set[str]:
    """The names and attributes to which statements bind new objects of a class, and parameters that such names go to."""
    if owner in tracer.object_names:
        return tracer.object_names[owner]
    names: set[str] = set()
    tracer.object_names[owner] = names
    for site in tracer.project.sites(tracer.project.class_(owner).name):
        module = tracer.project.module(site.file)
        body = module.functions[site.site.function].body if site.site.function >= 0 else module.body
        for statement in statements(body):
            if isinstance(statement, ir.Assign) and statement.value is site.site.call:
                for target in statement.targets:
                    if type(target) is ir.Name:
                        names.add(target.id)
                    elif type(target) is ir.Attribute:
                        names.add(target.name)
    return names


def given_by(tracer: Tracer, caller: Caller, ref: FunctionRef, position: int) -> Any:
    """What a caller gives for a parameter; ``None`` where it leaves it to the default."""
    from distlint.checks.divergence_trace import Argument

    definition = tracer.project.function(ref)
    parameter = definition.parameters[position]
    bound = definition.owner >= 0 and "staticmethod" not in {
        one.id for one in definition.decorators if type(one) is ir.Name
    }
    at = position - bound + caller.shift
    call = caller.site.call
    span = ir.unpack(call.at, caller.file)
    if at == -1 and caller.starter in PER_PROCESS:
        return Argument(None, known=Divergence(DIFFERS, "the rank", (span,)))
    given, certain = find_argument(call, parameter.name, at if parameter.kind != "keyword" else None)
    if given is None:
        return None if certain else Argument(None)
    if caller.starter == "Process" and type(given) is ir.Name:
        if counts_processes(tracer.project, given.id, caller):
            return Argument(None, known=Divergence(DIFFERS, "the rank", (span,)))
    ground = tracer.ground(caller.file, caller.site.function)
    return Argument(given, ground, tracer.project.flow(caller.file, caller.site.function).before(call.at))


def dealt_parameter(tracer: Tracer, ref: FunctionRef, position: int) -> Divergence | None:
    """A parameter for which a library gives each rank something of its own: the batch of a hook."""
    definition = tracer.project.function(ref)
    if definition.owner < 0 or not tracer.sources.handed:
        return None
    bases = None
    for base, method, place, why in tracer.sources.handed:
        if method == definition.name and place == position:
            bases = bases or tracer.project.modules.external_bases(ClassRef(ref.file, definition.owner))
            if base in bases:
                return Divergence(DIFFERS, why, (ir.unpack(definition.parameters[position].at, ref.file),))
    return None
