"""A state that was taken of a wrapped model and is loaded into one without a wrapper, or the other way round: no name in it fits.

Parameters: ``wrapped`` (what made a wrapped object, as the rule names it: ``pkg.Class``, ``pkg.Class().prepare``), ``bare`` (what gives
the model or its state without the wrapper), ``outer`` (wrappers around the wrapped, whose attribute ``.module`` it is), ``inner`` (the
wrapped's own attribute that is the model), ``into-wrapped`` and ``into-bare`` (the message of either direction), ``models`` with
``layers`` (classes of networks), ``save`` and ``load`` (functions: the position of the path), ``strict`` (whether loads are looked at
that ask for all names, or those that do not), ``others`` (more kinds of wrappers: tables with what is other for them).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from distlint.checks.execution import body_of, handles_errors_around
from distlint.checks.fitting_ways import is_asked_for, put_over
from distlint.checks.model_states import Taken, names_prefix
from distlint.checks.registry import CheckContext, check
from distlint.checks.wrapped_states import WrappedStates
from distlint.link.arguments import find_argument
from distlint.link.modules import ClassRef
from distlint.link.project import CallSite, Project
from distlint.link.walking import calls_in, guards_of
from distlint.model import python as ir
from distlint.model.finding import Finding, Related


class Load(NamedTuple):
    """A load of a state no name of which fits."""

    site: CallSite
    state: Taken
    into: bool


@check("prefixed-state")
def prefixed_state(context: CheckContext) -> Iterator[Finding]:
    """A finding for each load of a state whose names have a prefix that the model's lack, or lack one that these have."""
    for words in kinds_of_wrappers(context.parameters):
        states = WrappedStates(context.project, words)
        for load in loads(states, context.project, strict=words["strict"]):
            message = words["into-wrapped" if load.into else "into-bare"]
            if not words["strict"]:
                message += ", so with `strict=False` nothing is loaded"
            related = [Related(load.state.span, "the state is taken here")]
            yield context.finding(message, load.site.span, related=related)


def kinds_of_wrappers(words: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The parameters of a rule for each kind of wrapper that it names."""
    yield words
    for other in words.get("others", ()):
        yield {**words, **other}


def loads(states: WrappedStates, project: Project, *, strict: bool) -> Iterator[Load]:
    """The loads of a state no name of which fits; ``strict``: those that ask for all names, or those that do not."""
    for site in project.sites("load_state_dict"):
        call, function = site.site.call, site.site.function
        func = call.func
        given, _ = find_argument(call, "state_dict", 0)
        if type(func) is not ir.Attribute or given is None or not _is_strict(call, wanted=strict):
            continue
        frame = states.things.evaluator.frame(site.file, function)
        into = states.states.kind_of(func.base, frame)
        body = body_of(project, site.file, function)
        if into is None or handles_errors_around(body, call.at) or _is_called_between(project, site, func.base):
            continue
        if any(names_prefix(guard.test) for guard in guards_of(body, call.at) or ()) or is_asked_for(body, call):
            continue
        over = put_over(body, given, func.base, strict=strict)
        found = [states.taken(one, frame, states.things.evaluator.state(frame, one.at)) for one in over or (given,)]
        if all(found) and all(one.wrapped is (not into) for state in found for one in state):
            yield Load(site, found[0][0], into)


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


def _is_strict(call: ir.Call, *, wanted: bool) -> bool:
    strict, certain = find_argument(call, "strict", 1)
    if strict is None:
        return certain and wanted
    return type(strict) is ir.Constant and strict.value is wanted
