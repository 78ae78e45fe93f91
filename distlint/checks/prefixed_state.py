"""A state that was taken of a wrapped model and is loaded into one without a wrapper, or the other way round: no name in it fits.

Parameters: ``wrapped`` (what made a wrapped object, as the rule names it: ``pkg.Class``, ``pkg.Class().prepare``), ``bare`` (what gives
the model or its state without the wrapper), ``outer`` (wrappers around the wrapped, whose attribute ``.module`` it is), ``inner`` (the
wrapped's own attribute that is the model), ``into-wrapped`` and ``into-bare`` (the message of either direction), ``models`` with
``layers`` (classes of networks), ``save`` and ``load`` (functions: the position of the path), ``strict`` (whether loads are looked at
that ask for all names, or those that do not).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from distlint.checks.execution import body_of, handles_errors_around
from distlint.checks.model_states import MAX_CALLERS, ModelStates, Read, Taken, is_same_path, names_prefix
from distlint.checks.moved_files import moved_paths
from distlint.checks.preparing import is_module
from distlint.checks.protocol_things import Things
from distlint.checks.registry import CheckContext, check
from distlint.link.abstract import Frame, Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.modules import ClassRef, FunctionRef
from distlint.link.project import CallSite, Project
from distlint.link.walking import calls_in, guards_of, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related


class _Saved(NamedTuple):
    """What a call saves, where that stands, and under which path."""

    value: ir.Expr
    frame: Frame
    path: str


@check("prefixed-state")
def prefixed_state(context: CheckContext) -> Iterator[Finding]:
    """A finding for each load of a state whose names have a prefix that the model's lack, or lack one that these have."""
    project: Project = context.project
    things = Things(project, (), (), context.parameters.get("outer", ()))
    states = ModelStates(things, lambda one: _kind_of(context, things, one), context.parameters["load"])
    saved: list[_Saved] | None = None
    for site in project.sites("load_state_dict"):
        call, function = site.site.call, site.site.function
        func = call.func
        given, _ = find_argument(call, "state_dict", 0)
        if type(func) is not ir.Attribute or given is None or not _is_strict(call, wanted=context.parameters["strict"]):
            continue
        frame = things.evaluator.frame(site.file, function)
        into = states.kind_of(func.base, frame)
        body = body_of(project, site.file, function)
        if into is None or handles_errors_around(body, call.at) or _is_called_between(project, site, func.base):
            continue
        if any(names_prefix(guard.test) for guard in guards_of(body, call.at) or ()):
            continue
        origins = states.origins(given, frame, things.evaluator.state(frame, given.at))
        if not origins:
            continue
        found: list[Taken] = []
        for origin in origins:
            if isinstance(origin, Taken):
                found.append(origin)
            else:
                saved = list(_saved(context, states)) if saved is None else saved
                found += _written(things, states, saved, origin)
        if found and all(one.wrapped is (not into) for one in found):
            yield _finding(context, site, found[0], into=into)


def _is_called_between(project: Project, site: CallSite, model: ir.Expr) -> bool:
    """Whether a method loads into an attribute that the method which calls it fills more than once: before or behind the wrapper?"""
    function = project.module(site.file).functions[site.site.function] if site.site.function >= 0 else None
    if function is None or function.owner < 0 or type(model) is not ir.Attribute:
        return False
    owner = ClassRef(site.file, function.owner)
    stores = [method for method, _, _ in project.attribute_stores(owner).get(model.name, ()) if method.index >= 0]
    often = {method for method in stores if stores.count(method) > 1}
    return any(
        call.func.name == function.name
        for method in often
        for call in calls_in(project.function(method).body)
        if type(call.func) is ir.Attribute
    )


def _finding(context: CheckContext, site: CallSite, state: Taken, *, into: bool) -> Finding:
    message = context.parameters["into-wrapped" if into else "into-bare"]
    if not context.parameters["strict"]:
        message += ", so with `strict=False` nothing is loaded"
    return context.finding(message, site.span, related=[Related(state.span, "the state is taken here")])


def _is_strict(call: ir.Call, *, wanted: bool) -> bool:
    strict, certain = find_argument(call, "strict", 1)
    if strict is None:
        return certain and wanted
    return type(strict) is ir.Constant and strict.value is wanted


def _kind_of(context: CheckContext, things: Things, instance: Instance) -> bool | None:
    """Whether an object is a wrapped model, or one without a wrapper; ``None`` where that is not known."""
    one = things.peeled(instance)
    name = things.evaluator.instance_name(one)
    if any(name == f"{bare}()" for bare in context.parameters["bare"]):
        return False
    for maker in context.parameters["wrapped"]:
        if name.startswith(f"{maker}()") and not isinstance(one.callee, ClassRef):
            if name.endswith("." + context.parameters.get("inner", "module")):
                return False
            return True if _is_model_given(context, things, one) else None
    if is_module(context.project, one, context.parameters["models"], context.parameters["layers"]):
        return None if _has_inner(context.project, one) else False
    return None


def _has_inner(project: Project, instance: Instance) -> bool:
    """Whether a class of the project names a layer as wrappers do, or says itself what is in its state."""
    if not isinstance(instance.callee, ClassRef):
        return False
    callee = instance.callee
    if any(project.modules.method(callee, name) is not None for name in ("load_state_dict", "state_dict")):
        return True
    functions = project.module(callee.file).functions
    return any(
        type(target) is ir.Attribute and target.name == "module"
        for index, function in enumerate(functions)
        if function.owner == callee.index
        for statement in statements(body_of(project, callee.file, index))
        if type(statement) is ir.Assign
        for target in statement.targets
    )


def _is_model_given(context: CheckContext, things: Things, wrapped: Instance) -> bool:
    """Whether what was handed over for a wrapped object is a network."""
    position = wrapped.part[0] if wrapped.part else 0
    if type(position) is not int or len(wrapped.part) > 1:
        return False
    arguments = wrapped.call.args
    given = arguments[position] if position < len(arguments) else None
    if given is None and not wrapped.part:
        given, _ = find_argument(wrapped.call, "module", 0)
    if given is None:
        return False
    options = options_of(things.evaluator.ask_in(given, wrapped.frame, wrapped.state))
    return all(
        isinstance(one, Instance)
        and is_module(context.project, things.peeled(one), context.parameters["models"], context.parameters["layers"])
        for one in options
    )


def _saved(context: CheckContext, states: ModelStates) -> Iterator[_Saved]:
    """What the program saves."""
    project: Project = context.project
    save = context.parameters["save"]
    for site in project.calls_to(set(save)):
        arguments, position = site.site.call.args, save[site.name]
        if position >= len(arguments):
            continue
        body = body_of(project, site.file, site.site.function)
        for value, within, path, around in _handed(project, site, arguments[0], arguments[position]):
            text = states.path(path, around)
            yield _Saved(value, within, text)
            for other in moved_paths(project, states, site, text, body) if text else ():
                yield _Saved(value, within, other)


def _handed(
    project: Project, site: CallSite, value: ir.Expr, path: ir.Expr
) -> Iterator[tuple[ir.Expr, Frame, ir.Expr, Frame]]:
    """What is saved and where, each with the place that it stands in: of a helper what its callers hand it."""
    evaluator = project.evaluator(None)
    function = site.site.function
    own = evaluator.frame(site.file, function)
    definition = project.module(site.file).functions[function] if function >= 0 else None
    names = [one.name for one in definition.parameters] if definition is not None else []
    handed = [one.id for one in (value, path) if type(one) is ir.Name and one.id in names]
    callers = project.callers(FunctionRef(site.file, function)) if definition is not None and handed else ()
    if definition is None or not 0 < len(callers) <= MAX_CALLERS:
        yield value, own, path, own
        return
    for caller in callers:
        frame = evaluator.frame(caller.file, caller.site.function)
        found = []
        for one in (value, path):
            given = None
            if type(one) is ir.Name and one.id in handed:
                place = names.index(one.id) - (1 if definition.owner >= 0 else 0) + caller.shift
                given, _ = find_argument(caller.site.call, one.id, place)
            found.append((given, frame) if given is not None else (one, own))
        yield (*found[0], *found[1])


def _written(things: Things, states: ModelStates, saved: list[_Saved], read: Read) -> list[Taken]:
    """The states that a program writes where it reads one; nothing where one of them is not known."""
    found: list[Taken] = []
    for one in saved:
        if not one.path or not is_same_path(one.path, read.path):
            continue
        origins = states.origins(one.value, one.frame, things.evaluator.state(one.frame, one.value.at), read.keys)
        if not origins or not all(isinstance(origin, Taken) for origin in origins):
            return []
        found += [origin for origin in origins if isinstance(origin, Taken)]
    return found
