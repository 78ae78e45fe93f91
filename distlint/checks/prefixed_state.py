"""A state that was taken of a wrapped model and is loaded into one without a wrapper, or the other way round: no name in it fits.

Parameters: ``wrapped`` (what made a wrapped object, as the rule names it: ``pkg.Class().prepare``), ``bare`` (what gives the model or its
state without the wrapper), ``models`` with ``layers`` (classes of networks), ``save`` and ``load`` (functions: the position of the path).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from distlint.checks.execution import body_of, handles_errors_around
from distlint.checks.preparing import is_module, texts_of
from distlint.checks.protocol_things import Things
from distlint.checks.registry import CheckContext, check
from distlint.link.abstract import Frame, Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.flow import Env
from distlint.link.project import CallSite, Project
from distlint.link.walking import below
from distlint.model import python as ir
from distlint.model.finding import Finding, Related
from distlint.model.span import Span


class State(NamedTuple):
    """Whose state an expression is: that of a wrapped model or not, and where it was taken."""

    wrapped: bool
    span: Span


@check("prefixed-state")
def prefixed_state(context: CheckContext) -> Iterator[Finding]:
    """A finding for each load of a state whose names have a prefix that the model's lack, or lack one that these have."""
    project: Project = context.project
    things = Things(project, (), (), ())
    saved: list[tuple[str, State]] | None = None
    for site in project.sites("load_state_dict"):
        func = site.site.call.func
        if type(func) is not ir.Attribute or not site.site.call.args or not _is_strict(site.site.call):
            continue
        into = _kind(context, things, func.base, site.file, site.site.function)
        if into is None or handles_errors_around(body_of(project, site.file, site.site.function), site.site.call.at):
            continue
        frame = things.evaluator.frame(site.file, site.site.function)
        given = site.site.call.args[0]
        at = things.evaluator.state(frame, given.at)
        states = list(_states(context, things, given, frame, at, 0))
        for path in _paths(context, things, given, frame, at, 0):
            saved = list(_saved(context, things)) if saved is None else saved
            states += [state for text, state in saved if text == path]
        if states and all(one.wrapped is not into for one in states):
            yield _finding(context, site, states[0], into=into)


def _finding(context: CheckContext, site: CallSite, state: State, *, into: bool) -> Finding:
    message = (
        "the state of a model without its wrapper is loaded into the wrapped one: its names lack the prefix `module.`"
        if into
        else "the state of a wrapped model is loaded into one without the wrapper: all names in it begin with `module.`"
    )
    return context.finding(message, site.span, related=[Related(state.span, "the state is taken here")])


def _is_strict(call: ir.Call) -> bool:
    strict, certain = find_argument(call, "strict", 1)
    return certain if strict is None else type(strict) is ir.Constant and strict.value is True


def _kind(context: CheckContext, things: Things, expr: ir.Expr, file: str, function: int) -> bool | None:
    """Whether a model is a wrapped one; ``None`` where that is not known."""
    options = options_of(things.evaluator.ask(expr, file, function))
    kinds = {_kind_of(context, things, one) if isinstance(one, Instance) else None for one in options}
    return kinds.pop() if len(kinds) == 1 else None


def _kind_of(context: CheckContext, things: Things, instance: Instance) -> bool | None:
    one = things.peeled(instance)
    name = things.evaluator.instance_name(one)
    if any(name == f"{bare}()" for bare in context.parameters["bare"]):
        return False
    for maker in context.parameters["wrapped"]:
        if name.startswith(f"{maker}()"):
            if name.endswith(".module"):
                return False
            return True if _is_model_given(context, things, one) else None
    if is_module(context.project, one, context.parameters["models"], context.parameters["layers"]):
        return False
    return None


def _is_model_given(context: CheckContext, things: Things, wrapped: Instance) -> bool:
    """Whether what was handed over for a prepared object is a network."""
    position = wrapped.part[0] if wrapped.part else 0
    arguments = wrapped.call.args
    if type(position) is not int or len(wrapped.part) > 1 or position >= len(arguments):
        return False
    options = options_of(things.evaluator.ask_in(arguments[position], wrapped.frame, wrapped.state))
    return all(
        isinstance(one, Instance)
        and is_module(context.project, things.peeled(one), context.parameters["models"], context.parameters["layers"])
        for one in options
    )


def _states(context: CheckContext, things: Things, expr: ir.Expr, frame: Frame, at: Env, depth: int) -> Iterator[State]:
    """The states that an expression may be, as far as they are taken in the same program."""
    if depth > 5:
        return
    if type(expr) is ir.Call:
        func = expr.func
        if type(func) is ir.Attribute and func.name == "state_dict" and not expr.args:
            options = options_of(things.evaluator.ask_in(func.base, frame))
            kinds = {_kind_of(context, things, one) if isinstance(one, Instance) else None for one in options}
            kind = kinds.pop() if len(kinds) == 1 else None
            if kind is not None:
                yield State(kind, ir.unpack(expr.at, frame.file))
        elif type(func) is ir.Attribute and func.name == "get_state_dict":
            yield State(wrapped=False, span=ir.unpack(expr.at, frame.file))
    elif type(expr) is ir.Name:
        found = list(things.definitions(expr.id, frame, at))
        for value, state, inside in found if len(found) == 1 else ():
            yield from _states(context, things, value, inside, state, depth + 1)
    elif type(expr) is ir.DictDisplay:
        for value in expr.values:
            yield from _states(context, things, value, frame, at, depth + 1)


def _paths(context: CheckContext, things: Things, expr: ir.Expr, frame: Frame, at: Env, depth: int) -> Iterator[str]:
    """The paths of the files that an expression is loaded from."""
    if depth > 5:
        return
    if type(expr) is ir.Name:
        found = list(things.definitions(expr.id, frame, at))
        for value, state, inside in found if len(found) == 1 else ():
            yield from _paths(context, things, value, inside, state, depth + 1)
    elif type(expr) is ir.Subscript:
        yield from _paths(context, things, expr.base, frame, at, depth + 1)
    elif type(expr) is ir.Call:
        position = context.parameters["load"].get(things.evaluator.modules.dotted(expr.func, frame.file))
        if position is not None and position < len(expr.args):
            yield from _path(things, expr.args[position], frame)


def _path(things: Things, expr: ir.Expr, frame: Frame) -> Iterator[str]:
    for option in options_of(things.evaluator.ask_in(expr, frame)):
        value = getattr(option, "value", None)
        if value is not None and value.is_known:
            yield str(value.only)
            return
    text = texts_of(expr) or "+".join(texts_of(part) or str(getattr(part, "value", "")) for part in below(expr))
    if text:
        yield f"{frame.file}:{text}"


def _saved(context: CheckContext, things: Things) -> Iterator[tuple[str, State]]:
    """The states that the program saves, with the paths."""
    project: Project = context.project
    save = context.parameters["save"]
    for site in project.calls_to(set(save)):
        arguments = site.site.call.args
        position = save[site.name]
        if position >= len(arguments):
            continue
        frame = things.evaluator.frame(site.file, site.site.function)
        states = list(
            _states(context, things, arguments[0], frame, things.evaluator.state(frame, site.site.call.at), 0)
        )
        if len({one.wrapped for one in states}) == 1:
            for path in _path(things, arguments[position], frame):
                yield path, states[0]
