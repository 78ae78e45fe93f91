"""What a ``with`` enters, where tests choose between several contexts: conditional expressions, helpers, generators, exit stacks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.checks.execution import body_of
from distlint.checks.protocol_keys import is_test
from distlint.checks.protocol_things import Things
from distlint.link.abstract import Frame, Instance, Reference, options_of
from distlint.link.arguments import find_argument
from distlint.link.calls import decorated, frame_of_call, returns_of
from distlint.link.flow import Assume, Bind, Env, Join
from distlint.link.modules import FunctionRef
from distlint.link.walking import access_path, below, calls_in, effects_in, expressions_of, guards_of, statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.checks.protocol_model import Pattern, Protocol
    from distlint.link.program import Program

Condition = tuple[ir.Expr, Frame, bool]
"""A test, and the result that is needed of it."""

Choice = tuple[Instance, tuple[Condition, ...]]

MAX_CHOICES = 5
"""Names, helpers and contexts that are gone through to what a ``with`` enters."""

_STACKS = frozenset({"contextlib.ExitStack", "contextlib.AsyncExitStack"})
_EMPTYING = ("close", "aclose", "pop_all", "__exit__")
"""Methods of a stack after which it holds no contexts any more."""


def choices(things: Things, context: ir.Expr, frame: Frame) -> Iterator[Choice]:
    """What a ``with`` may enter: calls, each with the tests that chose it where it is one of several."""
    yield from _chosen(things, context, frame, things.evaluator.state(frame, context.at), 0)


def _chosen(things: Things, context: ir.Expr, frame: Frame, state: Env, depth: int) -> Iterator[Choice]:
    if depth > MAX_CHOICES:
        return
    if type(context) is ir.Conditional and things.evaluator.truth(context.test, frame, state) is None:
        test = _behind_name(context.test, state) if depth else context.test
        for part, holds in ((context.body, True), (context.orelse, False)):
            for made, guard in _chosen(things, part, frame, state, depth + 1):
                yield made, ((test, frame, holds), *guard)
        return
    if type(context) is ir.Name:
        place = _binding(context.id, state)
        if isinstance(place, Bind) and isinstance(place.expr, ir.Conditional | ir.Call) and not place.part:
            if _is_as_before(place.expr, state, place):
                yield from _chosen(things, place.expr, frame, place.at, depth + 1)
                return
        if isinstance(place, Join) and place.test is not None and len(place.branches) == 2:
            yield from _joined(things, context, place, frame, depth)
            return
    if type(context) is ir.Call:
        inside = list(_of_helper(things, context, frame, state, depth))
        if inside:
            yield from inside
            return
        func = context.func
        if type(func) is ir.Conditional or (type(func) is ir.Name and _binding(func.id, state) is not None):
            found = list(_of_callee(things, context, func, frame, state, depth))
            if found:
                yield from found
                return
    for option in options_of(things.evaluator.ask_in(context, frame, state)):
        if isinstance(option, Instance):
            yield option, ()


def _behind_name(test: ir.Expr, state: Env) -> ir.Expr:
    """The test that a variable of a helper holds the result of: the steps of a program do not lead through the helper."""
    place = _binding(test.id, state) if type(test) is ir.Name else None
    if isinstance(place, Bind) and isinstance(place.expr, ir.Operation) and not place.part:
        if is_test(place.expr) and _is_as_before(place.expr, state, place):
            return place.expr
    return test


def _joined(things: Things, context: ir.Name, place: Join, frame: Frame, depth: int) -> Iterator[Choice]:
    """What a variable is that two branches give different values."""
    assert place.test is not None  # noqa: S101 - tested by the caller
    for branch, holds in zip(place.branches, (True, False), strict=True):
        bound = _binding(context.id, branch)
        if isinstance(bound, Bind) and not bound.part and isinstance(bound.expr, ir.Call):
            for made, guard in _chosen(things, bound.expr, frame, bound.at, depth + 1):
                yield made, ((place.test, frame, holds), *guard)


def _of_callee(things: Things, call: ir.Call, func: ir.Expr, frame: Frame, state: Env, depth: int) -> Iterator[Choice]:
    """What a call makes of which tests choose the callee (``(model.no_sync if keep else nullcontext)()``)."""
    if type(func) is ir.Conditional and things.evaluator.truth(func.test, frame, state) is None:
        for part, holds in ((func.body, True), (func.orelse, False)):
            made = ir.Call(part, call.args, call.keywords, call.at)
            things.evaluator.keep(made)
            for one, guard in _chosen(things, made, frame, state, depth + 1):
                yield one, ((func.test, frame, holds), *guard)
        return
    place = _binding(func.id, state) if type(func) is ir.Name else None
    if isinstance(place, Bind) and not place.part and isinstance(place.expr, ir.Conditional | ir.Attribute | ir.Name):
        if _is_as_before(place.expr, state, place):
            yield from _of_bound(things, call, place, frame, depth)
    elif isinstance(place, Join) and place.test is not None and len(place.branches) == 2 and type(func) is ir.Name:
        for branch, holds in zip(place.branches, (True, False), strict=True):
            bound = _binding(func.id, branch)
            if isinstance(bound, Bind) and not bound.part:
                for one, guard in _of_bound(things, call, bound, frame, depth):
                    yield one, ((place.test, frame, holds), *guard)


def _of_bound(things: Things, call: ir.Call, bound: Bind, frame: Frame, depth: int) -> Iterator[Choice]:
    if isinstance(bound.expr, ir.Conditional | ir.Attribute | ir.Name):
        made = ir.Call(bound.expr, call.args, call.keywords, call.at)
        things.evaluator.keep(made)
        yield from _chosen(things, made, frame, bound.at, depth + 1)


def _of_helper(things: Things, call: ir.Call, frame: Frame, state: Env, depth: int) -> Iterator[Choice]:
    """What a function of the project gives, or a generator of it that is a context enters before it yields."""
    evaluator = things.evaluator
    if evaluator.modules.dotted(call.func, frame.file):
        return
    options = options_of(evaluator.ask_in(call.func, frame, state))
    if len(options) != 1 or not isinstance(options[0], Reference) or not isinstance(options[0].target, FunctionRef):
        return
    target = options[0].target
    function = things.project.function(target)
    if decorated(function.decorators, "contextmanager"):
        yield from _of_generator(things, options[0], call, frame, depth)
        return
    inner = frame_of_call(evaluator, options[0], call, frame)
    if inner is None:
        return
    for value, end in returns_of(evaluator, inner):
        guard = tuple((_behind_name(test, end), inner, holds) for test, holds in _assumed(end))
        if value is not None:
            for made, more in _chosen(things, value, inner, end, depth + 1):
                yield made, (*guard, *more)


def _of_generator(things: Things, callee: Reference, call: ir.Call, frame: Frame, depth: int) -> Iterator[Choice]:
    """The contexts around each ``yield`` of a generator, with the tests that lead to it."""
    assert isinstance(callee.target, FunctionRef)  # noqa: S101 - tested by the caller
    function = things.project.function(callee.target)
    inner = frame_of_call(things.evaluator, callee, call, frame, generator=True)
    if inner is None:
        return
    for statement in statements(function.body):
        if not any(_yields(expr) for expr in expressions_of(statement)):
            continue
        conditions: list[Condition] = []
        for one in guards_of(function.body, statement.at) or ():
            if one.test is None or one.kind in ("for", "while"):
                return
            conditions.append((one.test, inner, one.holds))
        around = [
            one for one in statements(function.body) if type(one) is ir.With and ir.encloses(one.at, statement.at)
        ]
        for context in (item for one in around for item, _ in one.items):
            for made, more in _chosen(things, context, inner, things.evaluator.state(inner, context.at), depth + 1):
                yield made, (*conditions, *more)


def _yields(expr: ir.Expr) -> bool:
    return any(type(part) is ir.Wrapped and part.kind == "yield" for part in effects_in(expr))


def _assumed(state: Env) -> list[tuple[ir.Expr, bool]]:
    """The tests that lead to a place, first ones first."""
    found: list[tuple[ir.Expr, bool]] = []
    place: Env | None = state
    while place is not None:
        if isinstance(place, Assume):
            found.append((place.test, place.holds))
        place = place.prev
    return found[::-1]


def _binding(name: str, state: Env) -> Env | None:
    place: Env | None = state
    while place is not None:
        if isinstance(place, Bind) and place.name == name:
            return place
        if isinstance(place, Join) and name in place.touched:
            return place
        place = place.prev
    return None


def _is_as_before(expr: ir.Expr, state: Env, bound: Bind) -> bool:
    """Whether nothing that an expression names got another value since it was put into a variable."""
    names = {part.id for part in below(expr) if type(part) is ir.Name}
    place: Env | None = state
    while place is not None and place is not bound:
        if (isinstance(place, Bind) and place.name in names) or (isinstance(place, Join) and names & place.touched):
            return False
        place = place.prev
    return True


# Exit stacks ---------------------------------------------------------------------------------------------------------


def stacked(things: Things, call: ir.Call, frame: Frame) -> ir.Expr | None:
    """The context that a call hands to an exit stack, which enters it."""
    func = call.func
    if type(func) is not ir.Attribute or func.name != "enter_context" or len(call.args) != 1:
        return None
    return call.args[0] if _is_stack(things, func.base, frame) else None


def entered_later(things: Things, context: ir.Expr, frame: Frame) -> list[ir.Expr]:
    """The contexts that a function hands to the exit stack that a ``with`` leaves."""
    if not _is_stack(things, context, frame):
        return []
    found = [stacked(things, call, frame) for call in calls_in(body_of(things.project, frame.file, frame.function))]
    return [one for one in found if one is not None]


def is_left_in_time(things: Things, call: ir.Call, frame: Frame) -> bool:
    """Whether a ``with`` of the same function leaves the exit stack that a call hands a context to, and nothing else does."""
    assert isinstance(call.func, ir.Attribute)  # noqa: S101 - the caller has found a method of a stack
    stack = access_path(call.func.base)
    body = body_of(things.project, frame.file, frame.function)
    blocks = [item for one in statements(body) if type(one) is ir.With for item in one.items]
    named = any(access_path(one) == stack for item in blocks for one in item if one is not None)
    methods = [one.func for one in calls_in(body) if type(one.func) is ir.Attribute and one.func.name in _EMPTYING]
    return bool(stack[0]) and named and not any(access_path(one.base) == stack for one in methods)


def _is_stack(things: Things, expr: ir.Expr, frame: Frame) -> bool:
    options = options_of(things.evaluator.ask_in(expr, frame))
    return bool(options) and all(isinstance(one, Instance) and things.made_by(one) in _STACKS for one in options)


# Tests ---------------------------------------------------------------------------------------------------------------


def tests_of_choices(things: Things, program: Program, protocol: Protocol) -> Iterator[tuple[ir.Expr, Frame]]:
    """The tests that choose what a ``with`` enters, or what is stored or given to a method where an event asks for a truth value."""
    patterns = [one for every in protocol.events.values() for one in every]
    blocks = any(one.block for one in patterns)
    stores = {name for one in patterns if isinstance(one.value, bool) for name in one.stores}
    told = [one for one in patterns if one.is_told]
    for step in program.steps:
        point = step.point
        context = point.expr if point.kind == "enter" else None
        if told and point.kind == "call" and isinstance(point.expr, ir.Call):
            yield from ((test, step.frame) for test in _told_to(told, point.expr))
        if point.kind == "call" and isinstance(point.expr, ir.Call):
            context = stacked(things, point.expr, step.frame)
        if blocks and context is not None:
            for _, guard in choices(things, context, step.frame):
                yield from ((test, frame) for test, frame, _ in guard)
            for around in guards_of(body_of(things.project, step.frame.file, step.frame.function), context.at) or ():
                if around.test is not None and around.kind in ("if", "exit"):
                    yield around.test, step.frame
        statement = point.statement
        if stores and point.kind == "bind" and isinstance(statement, ir.Assign) and statement.value is not None:
            if any(isinstance(one, ir.Attribute) and one.name in stores for one in statement.targets):
                yield statement.value, step.frame


def _told_to(patterns: list[Pattern], call: ir.Call) -> Iterator[ir.Expr]:
    """The argument of a method by whose truth value some events are told apart."""
    for one in patterns:
        if type(call.func) is ir.Attribute and call.func.name in one.methods:
            given, _ = find_argument(call, *one.words[0][:2])
            if given is not None and type(given) is not ir.Constant:
                yield given
                return
