"""Project functions that get an object and that a program does not go into: do they hand it on to code that nobody sees?"""

from __future__ import annotations

import sys
from collections.abc import Collection

from distlint.checks.protocol_things import Things
from distlint.link.abstract import Abstract, Frame, Reference, options_of
from distlint.link.calls import decorated
from distlint.link.modules import ClassRef, FunctionRef
from distlint.link.walking import below, calls_in
from distlint.model import python as ir

MAX_DEPTH = 3
"""Functions, one called by the other, that are looked into."""

MAX_CALLS = 60
"""Calls in a function beyond which it is not looked into."""


def stays_inside(
    things: Things, call: ir.Call, frame: Frame, harmless: tuple[str, ...], acting: Collection[str] = ()
) -> bool:
    """Whether what a call gets comes to no code but the project's own, and to library functions that leave it as it is.

    The project's functions that a program does not enter lead to no event, whatever they get; a generator that is a context only if it
    calls nothing that is ``acting``.
    """
    options = options_of(things.evaluator.ask_in(call.func, frame))
    return bool(options) and all(_is_closed(things, one, harmless, 0, acting) for one in options)


def _is_closed(
    things: Things, callee: Abstract, harmless: tuple[str, ...], depth: int, acting: Collection[str] = ()
) -> bool:
    target = callee.target if isinstance(callee, Reference) else None
    modules = things.evaluator.modules
    if isinstance(target, ClassRef):
        if not all(base.startswith(harmless) for base in modules.external_bases(target)):
            return False
        target = modules.method(target, "__init__")
        if target is None:
            return True
    if not isinstance(target, FunctionRef) or depth >= MAX_DEPTH:
        return False
    function = things.project.function(target)
    own = {one.name for one in function.parameters}
    calls = list(calls_in(function.body))
    if len(calls) > MAX_CALLS or function.is_async:
        return False
    if things.project.flow(target.file, target.index).has_yield:
        names = {call.func.name if type(call.func) is ir.Attribute else getattr(call.func, "id", "") for call in calls}
        if not acting or not decorated(function.decorators, "contextmanager") or names & set(acting):
            return False
    inside = things.evaluator.frame(target.file, target.index)
    return all(not _gets(call, own) or _is_harmless(things, call, inside, harmless, depth) for call in calls)


def _gets(call: ir.Call, names: set[str]) -> bool:
    """Whether a call may get, or is one of, what a function was given."""
    given = (call.func, *call.args, *(keyword.value for keyword in call.keywords))
    return any(type(part) is ir.Name and part.id in names for one in given for part in below(one))


def _is_harmless(things: Things, call: ir.Call, frame: Frame, harmless: tuple[str, ...], depth: int) -> bool:
    name = things.evaluator.modules.dotted(call.func, frame.file)
    if name:
        return name.startswith(harmless) or name.partition(".")[0] in sys.stdlib_module_names
    if type(call.func) is ir.Name and things.evaluator.modules.resolve(call.func, frame.file) is None:
        # a built-in function, or the object itself
        return all(one.name != call.func.id for one in things.project.function(_ref(frame)).parameters)
    options = options_of(things.evaluator.ask_in(call.func, frame))
    if options and all(
        isinstance(one, Reference) and isinstance(one.target, FunctionRef | ClassRef) for one in options
    ):
        return all(_is_closed(things, one, harmless, depth + 1) for one in options)
    # a method of what was given, which is no event by its name
    return type(call.func) is ir.Attribute and not any(
        type(part) is ir.Name for one in (*call.args, *(word.value for word in call.keywords)) for part in below(one)
    )


def _ref(frame: Frame) -> FunctionRef:
    return FunctionRef(frame.file, frame.function)
