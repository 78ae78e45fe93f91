"""Calls of the project's own functions: which argument goes to which parameter, and what comes back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING

from distlint.link.abstract import (
    Abstract,
    Delayed,
    Frame,
    Instance,
    LambdaValue,
    PartialValue,
    Reference,
    lifted,
    node_of,
    options_of,
    several,
)
from distlint.link.arguments import without_popped
from distlint.link.arithmetic import truth
from distlint.link.dictionary_classes import is_dictionary
from distlint.link.flow import Assume, Env
from distlint.link.modules import ClassRef, External, FunctionRef
from distlint.link.partial_calls import completed
from distlint.link.registries import gives_back
from distlint.model import python as ir
from distlint.model.document import Entry, Leaf, Mapping, Sequence
from distlint.model.record import dataclass
from distlint.model.span import Span
from distlint.model.value import known, unknown

if TYPE_CHECKING:
    from distlint.link.evaluate import Evaluator

MAX_CALL_DEPTH = 6
"""Function calls that are entered one inside the other."""


@dataclass(slots=True)
class Given:
    """The arguments of a call.

    ``open_positional`` and ``open_keywords`` say that there may be more, from the last one on.
    """

    positional: list[Delayed] = field(default_factory=list)
    keywords: dict[str, Delayed] = field(default_factory=dict)
    open_positional: bool = False
    open_keywords: bool = False


def given_arguments(evaluator: Evaluator, call: ir.Call, frame: Frame, state: Env) -> Given:
    """The arguments of a call, ``*`` and ``**`` taken apart where what stands behind them is known."""
    given = Given()
    for argument in call.args:
        if given.open_positional:
            break
        if type(argument) is not ir.Starred:
            given.positional.append(Delayed(argument, frame, state))
            continue
        spread = evaluator.evaluate(argument.value, frame, state)
        if isinstance(spread, Sequence) and not spread.open:
            given.positional.extend(Delayed(value=lifted(item)) for item in spread.items)
        else:
            given.open_positional = True
    for keyword in call.keywords:
        if keyword.name is not None:
            given.keywords[keyword.name] = Delayed(keyword.value, frame, state)
            continue
        spread = evaluator.evaluate(keyword.value, frame, state)
        if not isinstance(spread, Mapping):
            given.open_keywords = True
            continue
        spread = without_popped(spread, call, keyword.value)
        given.open_keywords = given.open_keywords or spread.open or not all(entry.certain for entry in spread.entries)
        for entry in spread.entries:
            if entry.certain and isinstance(entry.key, str):
                given.keywords[entry.key] = Delayed(value=lifted(entry.node))
    return given


def keywords_given(evaluator: Evaluator, call: ir.Call, file: str, function: int) -> frozenset[str] | None:
    """The names of the keyword arguments of a call, those that ``**`` spreads among them; ``None`` where these are not known."""
    return _names_given(call, lambda expr: evaluator.ask(expr, file, function))


def keywords_in(evaluator: Evaluator, call: ir.Call, frame: Frame, state: Env | None) -> frozenset[str] | None:
    """The same for one execution of a function; names that are given perhaps are among them."""
    at = state if state is not None else evaluator.state(frame, call.at)
    return _names_given(call, lambda expr: evaluator.ask_in(expr, frame, at))


def _names_given(call: ir.Call, evaluated: Callable[[ir.Expr], Abstract]) -> frozenset[str] | None:
    names = {word.name for word in call.keywords if word.name is not None}
    for word in call.keywords:
        if word.name is None:
            spread = evaluated(word.value)
            if (
                not isinstance(spread, Mapping)
                or spread.open
                or not all(type(one.key) is str for one in spread.entries)
            ):
                return None
            names |= {str(one.key) for one in spread.entries}
    return frozenset(names)


def bound_parameters(
    evaluator: Evaluator, parameters: tuple[ir.Parameter, ...], given: Given, span: Span
) -> dict[str, Delayed]:
    """What each parameter gets; one that is not in the result has its default."""
    bound: dict[str, Delayed] = {}
    missing = Leaf(unknown("behind * or ** in the call", span), span)
    keywords = dict(given.keywords)
    position = 0
    for parameter in parameters:
        if parameter.kind == "var-positional":
            rest = [evaluator.force(one) for one in given.positional[position:]]
            items = tuple(node_of(one, span) for one in rest)
            bound[parameter.name] = Delayed(value=Sequence(items, span, given.open_positional))
        elif parameter.kind == "var-keyword":
            entries = [Entry(name, span, node_of(evaluator.force(one), span)) for name, one in keywords.items()]
            bound[parameter.name] = Delayed(value=Mapping(tuple(entries), span, given.open_keywords))
        elif parameter.kind in ("normal", "positional") and position < len(given.positional):
            bound[parameter.name] = given.positional[position]
            position += 1
        elif parameter.name in keywords and parameter.kind != "positional":
            bound[parameter.name] = keywords.pop(parameter.name)
        elif given.open_keywords or (given.open_positional and parameter.kind != "keyword"):
            bound[parameter.name] = Delayed(value=missing)
    return bound


def call_result(evaluator: Evaluator, call: ir.Call, frame: Frame, state: Env, span: Span) -> Abstract:
    """What a call gives."""
    from distlint.link.method_calls import call_method

    if type(call.func) is ir.Attribute:
        result = call_method(evaluator, call, frame, state, span)
        if result is not None:
            return result
    callees = options_of(evaluator.evaluate(call.func, frame, state))
    return several([_result_of(evaluator, callee, call, frame, state, span) for callee in callees], span)


def _result_of(evaluator: Evaluator, callee: Abstract, call: ir.Call, frame: Frame, state: Env, span: Span) -> Abstract:
    from distlint.link.library_calls import call_library

    if isinstance(callee, Reference) and isinstance(callee.target, External):
        if evaluator.options is not None and not call.args and not call.keywords:
            count = evaluator.options.processes(evaluator.modules.canonical(callee.target.name), span)
            if count is not None:
                return count  # type: ignore[no-any-return]
        found = call_library(evaluator, callee.target.name, call, frame, state, span)
        return found if found is not None else Instance(callee.target, call, frame, state)
    if isinstance(callee, Reference) and isinstance(callee.target, ClassRef):
        if is_dictionary(evaluator, callee.target):
            return call_library(evaluator, "builtins.dict", call, frame, state, span) or Mapping((), span, open=True)
        return Instance(callee.target, call, frame, state)
    if isinstance(callee, Instance):
        method = (
            evaluator.modules.method(callee.callee, "__call__")
            if isinstance(callee.callee, ClassRef) and not callee.part
            else None
        )
        if method is None:
            return Instance(External(evaluator.instance_name(callee)), call, frame, state)
        callee = Reference(method, span, callee)
    if isinstance(callee, PartialValue):
        made = _completed(callee, call, frame)
        if made is not None:
            return Instance(made[0], made[1], frame, state)
    if isinstance(callee, Reference | LambdaValue | PartialValue):
        return entered(evaluator, callee, given_arguments(evaluator, call, frame, state), frame.depth + 1, span)
    return Leaf(unknown("the result of a call that we can't resolve", span), span)


def _completed(callee: PartialValue, call: ir.Call, frame: Frame) -> tuple[External | ClassRef, ir.Call] | None:
    """The class that a partial call stands for, and the call as if it was written in one piece.

    ``None`` where it is no class or library object, or where the first arguments mean something else at the place of the call.
    """
    target = callee.callee.target if isinstance(callee.callee, Reference) else None
    if not isinstance(target, External | ClassRef) or not callee.call.args:
        return None
    together = callee.frame.file == frame.file and callee.frame.function in (-1, frame.function)
    made = completed(callee.call, call, same=together)
    return (target, made) if made is not None else None


def entered(evaluator: Evaluator, callee: Abstract, given: Given, depth: int, span: Span) -> Abstract:
    """What a function of the project, a lambda or a partial call gives for some arguments."""
    if depth > MAX_CALL_DEPTH:
        evaluator.cut()
        return Leaf(unknown("too many calls deep", span), span)
    if isinstance(callee, PartialValue):
        first = given_arguments(evaluator, callee.call, callee.frame, callee.state)
        together = Given(
            [*first.positional[1:], *given.positional],
            {**first.keywords, **given.keywords},
            first.open_positional or given.open_positional,
            first.open_keywords or given.open_keywords,
        )
        return several([entered(evaluator, one, together, depth + 1, span) for one in options_of(callee.callee)], span)
    if isinstance(callee, LambdaValue):
        bound = bound_parameters(evaluator, callee.lambda_.parameters, given, span)
        for parameter in callee.lambda_.parameters:
            if parameter.default is not None:
                bound.setdefault(parameter.name, Delayed(parameter.default, callee.frame, callee.state))
        around = callee.frame
        inner = Frame(
            around.file,
            around.function,
            around.bindings,
            depth,
            around.instance,
            around.bound,
            around.outer,
            {**around.local, **bound},
        )
        evaluator.keep(inner)
        # Variables from outside are looked up when the lambda is called, which may be after everything around it.
        late = evaluator.project.flow(around.file, around.function).exit
        return evaluator.evaluate(callee.lambda_.body, inner, late or callee.state)
    if isinstance(callee, Reference) and isinstance(callee.target, FunctionRef):
        function = evaluator.project.function(callee.target)
        shift = taken(callee, function)
        bindings = bound_parameters(evaluator, function.parameters[shift:], given, span)
        return returned(evaluator, callee, bindings, span, depth)
    if isinstance(callee, Reference) and isinstance(callee.target, External):
        from distlint.link.library_calls import parsed_text

        text = evaluator.force(given.positional[0]) if given.positional else None
        if isinstance(text, Leaf) and isinstance(text.value.only, str):
            found = parsed_text(evaluator.project.documents, callee.target.name, text.value.only, span)
            if found is not None:
                return found
        return Leaf(unknown("the result of a library call", span), span)
    return Leaf(unknown("the result of a call that we can't resolve", span), span)


def taken(callee: Reference, function: ir.Function) -> int:
    """How many parameters a function gets from what it is asked of: the object of a bound method, the class of a class method."""
    if function.owner < 0 or is_static(function):
        return 0
    return int(callee.receiver is not None or decorated(function.decorators, "classmethod"))


def returned(evaluator: Evaluator, callee: Reference, bindings: dict[str, Delayed], span: Span, depth: int) -> Abstract:
    """What a function of the project returns for these arguments."""
    inner = inner_frame(evaluator, callee, bindings, depth)
    if inner is None:
        assert isinstance(callee.target, FunctionRef)  # noqa: S101 - the only kind that has a frame
        return Leaf(unknown(f"the result of `{evaluator.project.function(callee.target).name}`", span), span)
    results: list[Abstract] = []
    for value, state in returns_of(evaluator, inner):
        results.append(Leaf(known(None, span), span) if value is None else evaluator.evaluate(value, inner, state))
    return several(results, span)


def inner_frame(evaluator: Evaluator, callee: Reference, bindings: dict[str, Delayed], depth: int) -> Frame | None:
    """The frame of a call whose result is what the body returns.

    ``None`` for generators, coroutines and decorated functions.
    """
    assert isinstance(callee.target, FunctionRef)  # noqa: S101 - tested by the caller
    target = callee.target
    function = evaluator.project.function(target)
    flow = evaluator.project.flow(target.file, target.index)
    changed = any(
        not is_plain(decorator) and not gives_back(evaluator.project, decorator, callee.target.file)
        for decorator in function.decorators
    )
    if function.is_async or flow.has_yield or changed:
        return None
    inner = Frame(target.file, target.index, bindings, depth, callee.receiver, bound=True, outer=callee.scope)
    evaluator.keep(inner)
    return inner


def frame_of_call(
    evaluator: Evaluator, callee: Abstract, call: ir.Call, frame: Frame, *, generator: bool = False
) -> Frame | None:
    """The frame of a call of a function of the project whose result is what its body returns, or of a ``generator``; else ``None``."""
    if not isinstance(callee, Reference) or not isinstance(callee.target, FunctionRef):
        return None
    target = callee.target
    function = evaluator.project.function(target)
    shift = taken(callee, function)
    given = given_arguments(evaluator, call, frame, evaluator.state(frame, call.at))
    bindings = bound_parameters(evaluator, function.parameters[shift:], given, ir.unpack(call.at, frame.file))
    if not generator:
        return inner_frame(evaluator, callee, bindings, frame.depth + 1)
    inner = Frame(target.file, target.index, bindings, frame.depth + 1, callee.receiver, bound=True, outer=callee.scope)
    evaluator.keep(inner)
    return inner


def returns_of(evaluator: Evaluator, inner: Frame) -> list[tuple[ir.Expr | None, Env]]:
    """The ``return`` values of a call with their states, without those that the arguments rule out."""
    flow = evaluator.project.flow(inner.file, inner.function)
    ends = [(statement.value, state) for statement, state in flow.returns]
    if flow.exit is not None:
        ends.append((None, flow.exit))
    return [end for end in ends if is_feasible(evaluator, inner, end[1])] if len(ends) > 1 else ends


def is_feasible(evaluator: Evaluator, frame: Frame, state: Env) -> bool:
    """Whether a place can be reached, as far as the tests on the way to it are decided."""
    place: Env | None = state
    while place is not None:
        if isinstance(place, Assume) and place.prev is not None:
            decided = truth(evaluator.evaluate(place.test, frame, place.prev))
            if decided is not None and decided is not place.holds:
                return False
        place = place.prev
    return True


def _decorator_name(decorator: ir.Expr) -> str:
    if type(decorator) is ir.Call:
        decorator = decorator.func
    return decorator.name if type(decorator) is ir.Attribute else decorator.id if type(decorator) is ir.Name else ""


def decorated(decorators: tuple[ir.Expr, ...], *names: str) -> bool:
    """Whether one of some decorators stands above a definition."""
    return any(_decorator_name(decorator) in names for decorator in decorators)


def is_static(function: ir.Function) -> bool:
    """Whether a method takes neither an object nor a class first."""
    return decorated(function.decorators, "staticmethod")


_CHANGING = frozenset({"omegaconf.OmegaConf.update", "omegaconf.OmegaConf.unsafe_merge"})


def may_change_argument(call: ir.Expr) -> bool:
    """Whether the last name of what is called is that of such a function."""
    func = call.func if isinstance(call, ir.Call) else None
    return isinstance(func, ir.Attribute) and any(one.endswith(f".{func.name}") for one in _CHANGING)


def changes_argument(callee: Abstract) -> bool:
    """Whether something is a function of a library that changes what it is handed."""
    return isinstance(callee, Reference) and isinstance(callee.target, External) and callee.target.name in _CHANGING


_PLAIN_DECORATORS = frozenset(
    {"staticmethod", "classmethod", "property", "cached_property", "lru_cache", "cache", "wraps", "no_grad", "record"}
)


def is_plain(decorator: ir.Expr) -> bool:
    """Whether a decorator leaves the result of the function as it is."""
    return _decorator_name(decorator) in _PLAIN_DECORATORS
