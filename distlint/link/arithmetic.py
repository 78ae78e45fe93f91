"""Operators over what is known: arithmetic, comparisons, boolean operators, and the truth of a test."""

from __future__ import annotations

import itertools
import operator
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from distlint.link.abstract import Abstract, Frame, Instance, LambdaValue, Reference, leaf, lifted, node_of, several
from distlint.link.modules import ClassRef, External
from distlint.link.paths import PathText
from distlint.model import python as ir
from distlint.model.document import Leaf, Mapping, Sequence, node_value
from distlint.model.span import Span
from distlint.model.value import (
    MAX_OPTIONS,
    Confidence,
    State,
    Value,
    concatenated,
    known,
    one_of,
    unknown,
    unknown_text,
)

if TYPE_CHECKING:
    from distlint.link.evaluate import Evaluator
    from distlint.link.flow import Env

_LONGEST_SET = 256
_LARGEST = 1 << 64
_LONGEST = 10_000


def _plus(left: Any, right: Any) -> Any:
    if isinstance(left, (str, list, tuple)) and len(left) + len(right) > _LONGEST:
        raise ValueError("too long")
    return left + right


def _times(left: Any, right: Any) -> Any:
    for one, other in ((left, right), (right, left)):
        if isinstance(one, (str, list, tuple, bytes)) and len(one) * int(other) > _LONGEST:
            raise ValueError("too long")
    return left * right


def _power(left: Any, right: Any) -> Any:
    if abs(right) > 64 or abs(left) > _LARGEST:
        raise ValueError("too large")
    return left**right


def _shift(left: Any, right: Any) -> Any:
    if right > 64:
        raise ValueError("too large")
    return left << right


def _divide(left: Any, right: Any) -> Any:
    return left.joined(right) if isinstance(left, PathText) else left / right


def _modulo(left: Any, right: Any) -> Any:
    if isinstance(left, (str, bytes)):
        return _format(left, right)
    return left % right


def _format(template: str | bytes, given: Any) -> str:
    """``%`` formatting with plain conversions only: a width would let a short text make a long one."""
    plain = template.replace("%%", "") if isinstance(template, str) else ""
    if not plain or len(plain) > 1000 or re.sub(r"%(\(\w+\))?(\.\d)?[sdifrg]", "", plain).count("%"):
        raise TypeError("a format that is not followed")
    given = tuple(given) if isinstance(given, list) else given
    scalars = (str, int, float, bool, type(None))
    if not isinstance(given, scalars) and not (
        isinstance(given, tuple) and all(isinstance(one, scalars) for one in given)
    ):
        raise TypeError("formats something that is not a plain value")
    return str(template % given)


def _of_sets(function: Callable[[Any, Any], Any], kept: Callable[[Any, Any, Any], bool]) -> Callable[[Any, Any], Any]:
    """The same operator over sets, whose values are lists here: Python has none over lists themselves."""

    def operate_on(left: Any, right: Any) -> Any:
        if not (isinstance(left, list) and isinstance(right, list)):
            return function(left, right)
        if max(len(left), len(right)) > _LONGEST_SET:
            raise ValueError("too large")
        found: list[Any] = []
        for one in (*left, *right):
            if kept(one, left, right) and one not in found:
                found.append(one)
        return found

    return operate_on


_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": _plus,
    "-": _of_sets(operator.sub, lambda one, left, right: one in left and one not in right),
    "*": _times,
    "/": _divide,
    "//": operator.floordiv,
    "%": _modulo,
    "**": _power,
    "<<": _shift,
    ">>": operator.rshift,
    "|": _of_sets(operator.or_, lambda one, left, right: True),
    "&": _of_sets(operator.and_, lambda one, left, right: one in left and one in right),
    "^": _of_sets(operator.xor, lambda one, left, right: (one in left) != (one in right)),
}

_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "is": lambda left, right: left is right or (left == right and type(left) is type(right)),
    "is not": lambda left, right: not (left is right or (left == right and type(left) is type(right))),
    "in": lambda left, right: left in right,
    "not in": lambda left, right: left not in right,
}


def combine(function: Callable[[Any, Any], Any], left: Value, right: Value, span: Span) -> Value:
    """The value of an operator over two values; unknown where the operator fails or there are too many combinations."""
    if left.state not in (State.KNOWN, State.ONE_OF) or right.state not in (State.KNOWN, State.ONE_OF):
        return left if left.state not in (State.KNOWN, State.ONE_OF) else right
    results = []
    for one, other in itertools.product(left.options, right.options):
        try:
            results.append(function(one, other))
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            return unknown(f"not computable: {error}", span)
    if len(results) > MAX_OPTIONS * MAX_OPTIONS:
        return unknown("too many possibilities", span)
    spans = tuple(dict.fromkeys((*left.spans, *right.spans)))
    return one_of(results, spans, min(left.confidence, right.confidence))


def operate(evaluator: Evaluator, expr: ir.Operation, frame: Frame, state: Env, span: Span) -> Abstract:
    """The value of a unary, binary or boolean operation or a comparison chain."""
    if len(expr.operands) == 1:
        return _unary(evaluator, expr, frame, state, span)
    first = expr.operators[0]
    if first in ("and", "or"):
        return _boolean(evaluator, expr, frame, state, span)
    if first in _COMPARISONS:
        return _comparison(evaluator, expr, frame, state, span)
    left, right = (evaluator.evaluate(operand, frame, state) for operand in expr.operands)
    if first == "|" and isinstance(left, Mapping) and isinstance(right, Mapping):
        from distlint.link.trees import merged

        return merged(left, (), right, span)
    if first == "+" and isinstance(left, Sequence) and isinstance(right, Sequence):
        return Sequence((*left.items, *right.items), span, left.open or right.open)
    one, other = (node_value(node_of(side, span)) for side in (left, right))
    if first in _JOINING and (one.is_unknown or other.is_unknown) and (_is_text(one) or _is_text(other)):
        return Leaf(_joined(first, one, other, span), span)
    return leaf(combine(_BINARY.get(first, _unsupported), one, other, span), span)


_CONVERSION = re.compile(r"%(?:\(\w+\))?[-+ #0-9.]*[a-zA-Z]")
_JOINING = frozenset({"+", "/", "%"})
"""Operators that give a text or a path where one side is a text."""


def _is_text(value: Value) -> bool:
    return value.ends is not None or (value.is_known and isinstance(value.only, str))


def _joined(symbol: str, left: Value, right: Value, span: Span) -> Value:
    """What is known of a text of which a part is not: ``folder + ".bin"``, ``folder / name``, ``"epoch_%d" % epoch``."""
    if symbol == "+":
        return concatenated((left, right), span)
    if symbol == "/":
        return concatenated((unknown("a folder"), right), span) if _is_text(right) else unknown("a path", span)
    if not isinstance(left.only, str) or "%%" in left.only:
        return unknown("a format that is not followed", span)
    pieces = _CONVERSION.split(left.only)
    return unknown_text(pieces[0], pieces[-1], span)


def _unsupported(left: Any, right: Any) -> Any:
    raise TypeError("an operator that is not followed")


def _unary(evaluator: Evaluator, expr: ir.Operation, frame: Frame, state: Env, span: Span) -> Abstract:
    operand = evaluator.evaluate(expr.operands[0], frame, state)
    if expr.operators[0] == "not":
        decided = truth(operand)
        if decided is None:
            value = node_value(node_of(operand, span))
            return Leaf(value.map(lambda v: not v) if value.state is State.ONE_OF else unknown("not known", span), span)
        return leaf(
            node_value(node_of(operand, span), None).map(lambda _: not decided)
            if isinstance(operand, Leaf)
            else one_of([not decided], (span,)),
            span,
        )
    value = node_value(node_of(operand, span))
    if expr.operators[0] == "-":
        return leaf(value.map(operator.neg), span)
    return leaf(value.map(operator.inv if expr.operators[0] == "~" else operator.pos), span)


def _boolean(evaluator: Evaluator, expr: ir.Operation, frame: Frame, state: Env, span: Span) -> Abstract:
    """``and`` gives its first false operand, ``or`` its first true one.

    Where that can't be told, any that are possible.
    """
    deciding = expr.operators[0] == "or"
    possible: list[Abstract] = []
    for index, operand in enumerate(expr.operands):
        value = evaluator.evaluate(operand, frame, state)
        decided = truth(value)
        if decided is deciding or index == len(expr.operands) - 1:
            possible.append(value)
            break
        if decided is None:
            possible.append(value)
    return several(possible, span)


def _comparison(evaluator: Evaluator, expr: ir.Operation, frame: Frame, state: Env, span: Span) -> Abstract:
    operands = [evaluator.evaluate(operand, frame, state) for operand in expr.operands]
    results = []
    for op, left, right in zip(expr.operators, operands, operands[1:], strict=False):
        if op in ("is", "is not", "==", "!=") and _is_object(left) != _is_object(right):
            # An object that a call made is never the constant on the other side (``sampler is not None``).
            plain = right if _is_object(left) else left
            if isinstance(plain, Leaf) and plain.value.is_known and plain.value.only is None:
                results.append(one_of([op in ("is not", "!=")], (span,)))
                continue
        if op in ("in", "not in") and _is_environment(evaluator, right):
            name = node_value(node_of(left, span)).only
            is_set = evaluator.options is not None and isinstance(name, str) and evaluator.options.is_set(name)
            results.append(known(op == "in", span) if is_set else unknown("who starts it may set it", span))
            continue
        same = _same_named(evaluator, left, right)
        if op in ("is", "is not", "==", "!=") and same is not None:
            results.append(known(same is (op in ("is", "==")), span))
            continue
        if op in ("in", "not in") and isinstance(left, Reference) and isinstance(right, Sequence) and not right.open:
            among = [_same_named(evaluator, left, lifted(item)) for item in right.items]
            if True in among or None not in among:
                results.append(known((True in among) is (op == "in"), span))
                continue
        if (
            op in ("in", "not in")
            and isinstance(right, Mapping)
            and not right.open
            and all(e.certain for e in right.entries)
        ):
            key = node_value(node_of(left, span))
            results.append(key.map(lambda k, r=right, o=op: (r.entry(k) is not None) == (o == "in")))  # type: ignore[misc]
            continue
        one, other = (node_value(node_of(side, span)) for side in (left, right))
        results.append(combine(_COMPARISONS[op], one, other, span))
    value = results[0]
    for result in results[1:]:
        value = combine(lambda first, second: first and second, value, result, span)
    return leaf(value, span)


def _is_environment(evaluator: Evaluator, value: Abstract) -> bool:
    """Whether a value is ``os.environ``."""
    if not isinstance(value, Reference) or not isinstance(value.target, External):
        return False
    return evaluator.modules.canonical(value.target.name) == "os.environ"


def _same_named(evaluator: Evaluator, one: Abstract, other: Abstract) -> bool | None:
    """Whether two names mean the same class or function; ``None`` where that is not known: a library may have two names for one thing."""
    if not isinstance(one, Reference) or not isinstance(other, Reference):
        return None
    first, second = one.target, other.target
    if isinstance(first, External) and isinstance(second, External):
        names = [evaluator.modules.canonical(target.name) for target in (first, second)]
        if names[0] == names[1]:
            return True
        return False if names[0].rpartition(".")[2] != names[1].rpartition(".")[2] else None
    return first == second


def _is_object(value: Abstract) -> bool:
    """Whether a value surely is an object that is not ``None``: what a class made, a function, a mapping or a list."""
    return isinstance(value, (Mapping, Sequence, LambdaValue, Reference)) or (
        isinstance(value, Instance) and _made_by_class(value)
    )


def _made_by_class(instance: Instance) -> bool:
    if instance.part:
        return False
    if isinstance(instance.callee, ClassRef):
        return True
    return isinstance(instance.callee, External) and instance.callee.name.rpartition(".")[2][:1].isupper()


def truth(value: Abstract) -> bool | None:
    """Whether a test holds: ``None`` where it may go either way, or where its value is no more than possible."""
    if isinstance(value, Leaf):
        if value.value.state in (State.KNOWN, State.ONE_OF) and value.value.confidence > Confidence.POSSIBLE:
            found = {bool(option) for option in value.value.options}
            return found.pop() if len(found) == 1 else None
        # A text of which an end is known is not empty.
        return True if value.value.ends is not None and any(value.value.ends) else None
    if isinstance(value, Mapping):
        return True if any(e.certain for e in value.entries) else None if value.open or value.entries else False
    if isinstance(value, Sequence):
        return True if value.items else None if value.open else False
    return True if _is_object(value) else None
