"""``match`` statements whose patterns take their subject apart, as the tests and assignments that they stand for.

Python's reference, "The match statement" (8.6): a case is taken if its pattern matches, which binds names, and its guard holds then. What
a pattern asks is written here as an ``if``, and what it binds as assignments before the body; a guard reads what is bound before that.
"""

from __future__ import annotations

import ast
import copy
from typing import NamedTuple, TypeVar

MAX_PARTS = 64
"""Patterns inside one pattern that are looked at; what is beyond may match or not."""

_OF_ITSELF = frozenset(
    {"bool", "bytearray", "bytes", "dict", "float", "frozenset", "int", "list", "set", "str", "tuple"}
)
"""Classes whose only positional pattern is matched with the object itself."""
_Node = TypeVar("_Node", bound=ast.AST)
_UNKNOWN = "__matched__"
"""A function that there is not: what it makes of a subject is not known to anyone."""


def is_plain(node: ast.Match) -> bool:
    """Whether each pattern is a value, several of them, or the wildcard."""
    return all(_is_plain(case.pattern) for case in node.cases)


def _is_plain(pattern: ast.pattern) -> bool:
    if isinstance(pattern, ast.MatchAs):
        return pattern.pattern is None and pattern.name is None
    if isinstance(pattern, ast.MatchOr):
        return all(isinstance(part, ast.MatchValue) for part in pattern.patterns)
    return isinstance(pattern, ast.MatchValue | ast.MatchSingleton)


def as_tests(node: ast.Match) -> list[ast.stmt]:
    """The statements that a ``match`` stands for; a subject that has to be worked out is bound to a name that no program can write."""
    subject = node.subject
    first: list[ast.stmt] = []
    if not _is_simple(subject):
        name = f"match {node.lineno}"
        first.append(_at(ast.Assign([_at(ast.Name(name, ast.Store()), subject)], subject), subject))
        subject = _at(ast.Name(name, ast.Load()), node.subject)
    rest: list[ast.stmt] = []
    for case in reversed(node.cases):
        part = _Part([], [])
        _take(case.pattern, subject, part)
        bound = [_assigned(name, value, case.pattern) for name, value in part.bound]
        tests = part.tests
        if case.guard is not None:
            tests = [*tests, _Reading(dict(part.bound)).visit(copy.deepcopy(case.guard)) if bound else case.guard]
        if not tests:
            rest = [*bound, *case.body]
            continue
        test = tests[0] if len(tests) == 1 else _at(ast.BoolOp(ast.And(), tests), case.pattern)
        choice = ast.If(test, [*bound, *case.body], rest)
        choice.lineno, choice.col_offset = case.pattern.lineno, case.pattern.col_offset
        choice.end_lineno, choice.end_col_offset = node.end_lineno, node.end_col_offset
        rest = [choice]
    return [*first, *rest]


class _Part(NamedTuple):
    """What a pattern asks, and the names that it binds to parts of the subject."""

    tests: list[ast.expr]
    bound: list[tuple[str, ast.expr]]


def _is_simple(subject: ast.expr) -> bool:
    """Whether a subject may be read again: a name, an attribute of one, a constant, or a tuple of these."""
    if isinstance(subject, ast.Tuple):
        return all(_is_simple(item) for item in subject.elts)
    if isinstance(subject, ast.Attribute):
        return _is_simple(subject.value)
    return isinstance(subject, ast.Name | ast.Constant)


def _take(pattern: ast.pattern, subject: ast.expr, part: _Part) -> None:
    """Adds what a pattern asks of a subject, and what it binds."""
    if len(part.tests) > MAX_PARTS:
        part.tests.append(_unknown(subject, pattern))
    elif isinstance(pattern, ast.MatchValue):
        part.tests.append(_compared(subject, ast.Eq(), pattern.value, pattern))
    elif isinstance(pattern, ast.MatchSingleton):
        part.tests.append(_compared(subject, ast.Is(), _at(ast.Constant(pattern.value), pattern), pattern))
    elif isinstance(pattern, ast.MatchAs):
        if pattern.pattern is not None:
            _take(pattern.pattern, subject, part)
        if pattern.name is not None:
            part.bound.append((pattern.name, subject))
    elif isinstance(pattern, ast.MatchOr):
        _take_one_of(pattern, subject, part)
    elif isinstance(pattern, ast.MatchSequence):
        _take_sequence(pattern, subject, part)
    elif isinstance(pattern, ast.MatchMapping):
        for key, value in zip(pattern.keys, pattern.patterns, strict=True):
            part.tests.append(_compared(key, ast.In(), subject, value))
            _take(value, _at(ast.Subscript(subject, key, ast.Load()), value), part)
        if pattern.rest is not None:
            part.bound.append((pattern.rest, _unknown(subject, pattern)))
    elif isinstance(pattern, ast.MatchClass):
        _take_class(pattern, subject, part)


def _take_one_of(pattern: ast.MatchOr, subject: ast.expr, part: _Part) -> None:
    ways: list[ast.expr] = []
    for one in pattern.patterns:
        way = _Part([], [])
        _take(one, subject, way)
        tests = way.tests or [_at(ast.Constant(value=True), one)]
        ways.append(tests[0] if len(tests) == 1 else _at(ast.BoolOp(ast.And(), tests), one))
        if one is pattern.patterns[0]:
            # each way binds the same names, to parts of its own
            part.bound.extend(
                (name, value if value is subject else _unknown(subject, one)) for name, value in way.bound
            )
    part.tests.append(_at(ast.BoolOp(ast.Or(), ways), pattern))


def _take_sequence(pattern: ast.MatchSequence, subject: ast.expr, part: _Part) -> None:
    items = pattern.patterns
    star = next((place for place, item in enumerate(items) if isinstance(item, ast.MatchStar)), None)
    if isinstance(subject, ast.Tuple) and star is None:
        if len(subject.elts) != len(items):
            part.tests.append(_at(ast.Constant(value=False), pattern))
            return
        for item, value in zip(items, subject.elts, strict=True):
            _take(item, value, part)
        return
    length = _at(ast.Call(_at(ast.Name("len", ast.Load()), pattern), [subject], []), pattern)
    least = _at(ast.Constant(len(items) - (star is not None)), pattern)
    part.tests.append(_compared(length, ast.Eq() if star is None else ast.GtE(), least, pattern))
    for place, item in enumerate(items):
        if isinstance(item, ast.MatchStar):
            if item.name is not None:
                part.bound.append((item.name, _unknown(subject, item)))
            continue
        index = _at(ast.Constant(place if star is None or place < star else place - len(items)), item)
        _take(item, _at(ast.Subscript(subject, index, ast.Load()), item), part)


def _take_class(pattern: ast.MatchClass, subject: ast.expr, part: _Part) -> None:
    kind = pattern.cls
    part.tests.append(_at(ast.Call(_at(ast.Name("isinstance", ast.Load()), pattern), [subject, kind], []), pattern))
    itself = isinstance(kind, ast.Name) and kind.id in _OF_ITSELF
    for value in pattern.patterns:
        _take(value, subject if itself else _unknown(subject, value), part)
    for name, value in zip(pattern.kwd_attrs, pattern.kwd_patterns, strict=True):
        _take(value, _at(ast.Attribute(subject, name, ast.Load()), value), part)


def _unknown(subject: ast.expr, pattern: ast.pattern) -> ast.expr:
    return _at(ast.Call(_at(ast.Name(_UNKNOWN, ast.Load()), pattern), [subject], []), pattern)


def _compared(left: ast.expr, operator: ast.cmpop, right: ast.expr, pattern: ast.pattern) -> ast.expr:
    return _at(ast.Compare(left, [operator], [right]), pattern)


def _assigned(name: str, value: ast.expr, pattern: ast.pattern) -> ast.stmt:
    return _at(ast.Assign([_at(ast.Name(name, ast.Store()), pattern)], value), pattern)


class _Reading(ast.NodeTransformer):
    """Puts in what names are bound to."""

    def __init__(self, bound: dict[str, ast.expr]) -> None:
        self._bound = bound

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """A name that the pattern binds is the part of the subject."""
        return self._bound.get(node.id, node)


def _at(made: _Node, place: ast.AST) -> _Node:
    return ast.copy_location(made, place)
