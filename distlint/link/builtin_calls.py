"""What Python's built-in functions give, without calling them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from distlint.link.abstract import (
    Abstract,
    Frame,
    Instance,
    LambdaValue,
    PartialValue,
    Reference,
    leaf,
    node_of,
    options_of,
    several,
)
from distlint.link.holders import is_held_in, is_kind_of
from distlint.link.items import elements
from distlint.link.library_calls import argument_values
from distlint.link.modules import ClassRef, External
from distlint.link.namespaces import attributes_of
from distlint.link.objects import attribute_of
from distlint.link.paths import PathText
from distlint.link.trees import merged
from distlint.model import python as ir
from distlint.model.document import Entry, Leaf, Mapping, Node, Sequence, node_value
from distlint.model.span import Span
from distlint.model.value import State, known, unknown

if TYPE_CHECKING:
    from distlint.link.evaluate import Evaluator
    from distlint.link.flow import Env

_LONGEST = 200
"""A ``range`` with more items is not written out."""

_NUMBERS: dict[str, Callable[..., Any]] = {
    "int": int,
    "float": float,
    "bool": bool,
    "abs": abs,
    "round": round,
    "len": len,
    "max": max,
    "min": min,
    "sum": sum,
    "pow": lambda base, exponent: base**exponent if abs(exponent) <= 64 else None,
}


def call_builtin(
    evaluator: Evaluator, name: str, call: ir.Call, frame: Frame, state: Env, span: Span
) -> Abstract | None:
    """The result of a built-in function by its name; ``None`` for one that we don't model."""
    if name == "dict":
        return dict_call(evaluator, call, frame, state, span)
    if name in _COLLECTIONS and len(call.args) <= 1:
        if not call.args:
            return Sequence((), span, kind=name)
        return _collected(name, evaluator.evaluate(call.args[0], frame, state), span)
    if name in ("range", "zip", "enumerate"):
        return _iterated(evaluator, name, call, frame, state, span)
    if name == "isinstance" and len(call.args) == 2:
        return _is_instance(evaluator, call, frame, state, span)
    if name == "hasattr" and len(call.args) == 2:
        return _has_attribute(evaluator, call, frame, state, span)
    if name == "callable" and call.args:
        value = evaluator.evaluate(call.args[0], frame, state)
        sure = isinstance(value, Reference | LambdaValue | PartialValue)
        return Leaf(known(True, span), span) if sure else None
    if name == "getattr" and len(call.args) >= 2:
        return _getattr(evaluator, call, frame, state, span)
    if name == "staticmethod" and len(call.args) == 1:
        return evaluator.evaluate(call.args[0], frame, state)
    if name == "type" and len(call.args) == 1 and not call.keywords:
        return _type_of(evaluator.evaluate(call.args[0], frame, state), span)
    if name == "vars" and len(call.args) == 1:
        return attributes_of(evaluator, call.args[0], frame, state, span)
    if name == "str" and len(call.args) == 1:
        text = argument_values(evaluator, call, frame, state, span)[0]
        return leaf(text.map(lambda v: v if isinstance(v, PathText) else str(v)), span)
    if name in _NUMBERS and call.args and not call.keywords:
        return _number(evaluator, name, call, frame, state, span)
    return None


def _type_of(value: Abstract, span: Span) -> Abstract | None:
    """The class of a plain value (``type(settings[key])(text)``)."""
    only = value.value.only if type(value) is Leaf and value.value.is_known else None
    return (
        Reference(External(f"builtins.{type(only).__name__}"), span) if type(only) in (bool, int, float, str) else None
    )


def _number(evaluator: Evaluator, name: str, call: ir.Call, frame: Frame, state: Env, span: Span) -> Abstract | None:
    first = evaluator.evaluate(call.args[0], frame, state)
    if isinstance(first, Instance):
        return None
    if name == "len" and isinstance(first, Sequence):
        return Leaf(unknown("of unknown length", span) if first.open else known(len(first.items), span), span)
    if name == "len" and isinstance(first, Mapping):
        items = elements(first)
        return Leaf(unknown("of unknown length", span) if items is None else known(len(items), span), span)
    values = argument_values(evaluator, call, frame, state, span)
    result = values[0]
    if len(values) == 1:
        if name in ("int", "float") and any(isinstance(option, str) and len(option) > 40 for option in result.options):
            return Leaf(unknown("too long a number", span), span)
        return leaf(result.map(_NUMBERS[name]), span)
    for value in values:
        if not value.is_known:
            return leaf(value if value.is_unknown else unknown("one of several", span), span)
    confidence = min(value.confidence for value in values)
    spans = tuple(dict.fromkeys(s for value in values for s in value.spans))
    try:
        return Leaf(known(_NUMBERS[name](*(value.only for value in values)), *spans, confidence=confidence), span)
    except (ArithmeticError, TypeError, ValueError):
        return Leaf(unknown("not computable", span), span)


def dict_call(evaluator: Evaluator, call: ir.Call, frame: Frame, state: Env, span: Span) -> Abstract:
    """``dict(...)`` of a mapping, of pairs, and of keyword arguments."""
    result = Mapping((), span)
    for argument in call.args:
        inner = evaluator.evaluate(argument, frame, state)
        result = merged(result, (), inner if isinstance(inner, Mapping) else _from_pairs(inner, span), span)
    keywords = evaluator.keyword_mapping(call, frame, state, span)
    return merged(result, (), keywords, span)


def _from_pairs(value: Abstract, span: Span) -> Mapping | None:
    entries: dict[Any, Entry] = {}
    for item in elements(value) or ():
        pair = elements(item)
        key = node_value(pair[0]) if pair is not None and len(pair) == 2 else unknown("no pair")
        if pair is None or not key.is_known or not isinstance(key.only, str | int | float | bool):
            return None
        entries[key.only] = Entry(key.only, key.spans[0] if key.spans else span, pair[1])
    return Mapping(tuple(entries.values()), span) if elements(value) is not None else None


_COLLECTIONS = frozenset({"list", "tuple", "set", "frozenset", "sorted", "reversed", "iter"})


def _collected(name: str, value: Abstract, span: Span) -> Abstract | None:
    """A list of what an iterable gives, in its order or sorted."""
    items = elements(value)
    if items is None:
        return value if isinstance(value, Sequence) and name != "set" else None
    if name == "reversed":
        items = items[::-1]
    if name in ("sorted", "set", "frozenset"):
        values = [node_value(item) for item in items]
        if not all(one.is_known and isinstance(one.only, str | int | float) for one in values):
            return None
        try:
            pairs = sorted(zip((one.only for one in values), range(len(items)), strict=True))
        except TypeError:
            return None
        if name != "sorted":
            first = dict(reversed(pairs))
            pairs = [(only, index) for only, index in pairs if first[only] == index]
        items = [items[index] for _, index in pairs]
    return Sequence(tuple(items), span, kind=name if name in ("list", "tuple", "set") else "")


def _iterated(evaluator: Evaluator, name: str, call: ir.Call, frame: Frame, state: Env, span: Span) -> Abstract | None:
    if call.keywords or not call.args:
        return None
    if name == "range":
        values = argument_values(evaluator, call, frame, state, span)
        if len(values) > 3 or not all(value.is_known and type(value.only) is int for value in values):
            return None
        bounds = [value.only for value in values]
        if 0 in bounds[2:] or len(range(*bounds)) > _LONGEST:
            return None
        return Sequence(tuple(Leaf(known(number, span), span) for number in range(*bounds)), span)
    columns = [elements(evaluator.evaluate(argument, frame, state)) for argument in call.args]
    if name == "enumerate":
        if len(columns) != 1 or columns[0] is None:
            return None
        columns = [[Leaf(known(index, span), span) for index in range(len(columns[0]))], columns[0]]
    rows: list[Node] = []
    rows.extend(Sequence(tuple(row), span) for row in zip(*(column or () for column in columns), strict=False))
    return Sequence(tuple(rows), span) if all(column is not None for column in columns) else None


_KINDS: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "float": (float,),
    "bool": (bool,),
    "list": (list,),
    "tuple": (tuple,),
    "dict": (dict,),
}


def _is_instance(evaluator: Evaluator, call: ir.Call, frame: Frame, state: Env, span: Span) -> Abstract | None:
    """``isinstance`` of a plain value, a mapping or a list and built-in types; unknown for anything else."""
    asked = call.args[1].items if type(call.args[1]) is ir.ListDisplay else (call.args[1],)
    names: list[str] = []
    for one in asked:
        target = evaluator.evaluate(one, frame, state)
        if not isinstance(target, Reference):
            return None
        names.append(
            getattr(target.target, "name", "").removeprefix("builtins.")
            if not isinstance(target.target, ClassRef)
            else ""
        )
    results = [
        _is_kind(option, names) if not isinstance(option, Instance) else is_kind_of(evaluator, option, names)
        for option in options_of(evaluator.evaluate(call.args[0], frame, state))
    ]
    if any(result is None for result in results):
        return None
    return several([Leaf(known(result, span), span) for result in results], span)


def _is_kind(value: Abstract, names: list[str]) -> bool | None:
    if isinstance(value, Mapping):
        return True if "dict" in names else False if all(name in _KINDS for name in names) else None
    if isinstance(value, Sequence):
        return None if {"list", "tuple", "set"} & set(names) or not all(name in _KINDS for name in names) else False
    if isinstance(value, Leaf) and value.value.state is State.KNOWN:
        if all(name in _KINDS or name == "" for name in names) and not isinstance(value.value.only, PathText):
            return any(isinstance(value.value.only, _KINDS.get(name, ())) for name in names)
        if value.value.only is None:
            return False
    return None


def _has_attribute(evaluator: Evaluator, call: ir.Call, frame: Frame, state: Env, span: Span) -> Abstract | None:
    """``hasattr`` of an object that is wrapped around another one; ``None`` for anything else."""
    name = node_value(node_of(evaluator.evaluate(call.args[1], frame, state), span)).only
    options = options_of(evaluator.evaluate(call.args[0], frame, state))
    held = isinstance(name, str) and all(is_held_in(evaluator, one, name) for one in options)
    return Leaf(known(True, span), span) if held and options else None


def _getattr(evaluator: Evaluator, call: ir.Call, frame: Frame, state: Env, span: Span) -> Abstract:
    name = node_value(node_of(evaluator.evaluate(call.args[1], frame, state), span))
    if not name.is_known or not isinstance(name.only, str):
        return Leaf(unknown("an attribute whose name is not known", span), span)
    found = attribute_of(evaluator, call.args[0], (name.only,), frame, state, span)
    bases = options_of(evaluator.evaluate(call.args[0], frame, state))
    if bases and all(is_held_in(evaluator, base, name.only) for base in bases):
        return found
    if len(call.args) == 3 and any(isinstance(option, Instance) for option in options_of(found)):
        return Leaf(unknown("an attribute that may be missing", span), span)
    return found
