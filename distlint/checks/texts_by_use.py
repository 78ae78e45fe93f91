"""Sets of data of which only the way in which a program uses it says that strings are in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from distlint.checks.execution import body_of
from distlint.checks.spread_names import called_name
from distlint.link.text_values import Texts
from distlint.link.walking import below, expressions_of, statements
from distlint.model import python as ir

_NAMED = re.compile(r"(?:^|_)(?:name|word|char|character|str|text|string)$|classname", re.IGNORECASE)
"""What only strings are called."""
_METHODS = frozenset(
    {"lower", "upper", "strip", "lstrip", "rstrip", "split", "startswith", "endswith", "title", "casefold", "encode"}
)
"""Methods that of all that comes out of files only strings have."""
_NUMBERS = frozenset({"int", "len", "float", "round", "range", "hash", "ord", "arange", "bool"})


def by_use(texts: Texts, item: str, body: tuple[ir.Expr, ...]) -> Callable[[ir.Expr, str, int], bool]:
    """A test whether the items of a set are used as strings.

    ``item`` is what they are called where they are gone through, and ``body`` what is done there with them.
    """

    def shows(made: ir.Expr, file: str, function: int) -> bool:
        parts = list(_source(texts, made, file, function))
        if any(type(part) is ir.Call and called_name(part) in _NUMBERS for part in parts):
            return False
        if any(type(part) is ir.Name and part.id in _NUMBERS for part in parts):  # map(int, rows)
            return False
        keys = {key for part in parts for key in [_key(part)] if key}
        if not keys:
            return False  # of rows alone nobody knows what they hold
        if _NAMED.search(item) or any(_NAMED.search(key) for key in keys):
            return True
        is_item = (
            any(_is_text(part, lambda one: type(one) is ir.Name and one.id == item) for part in body) if item else False
        )
        return is_item or any(_is_text(part, lambda one: _key(one) in keys) for part in _all_in(texts, file))

    return shows


def _source(texts: Texts, made: ir.Expr, file: str, function: int) -> Iterator[ir.Expr]:
    """The parts of what a set is made of, its variables followed once."""
    for part in below(made):
        yield part
        if type(part) is ir.Name:
            known = texts.local(part, file, function)
            if known is not part:
                yield from below(known)


def _key(expr: ir.Expr) -> str:
    """The name of the field that an expression reads out of a row; ``""`` for others."""
    key: ir.Expr | None = None
    if type(expr) is ir.Subscript:
        key = expr.index
    elif type(expr) is ir.Call and called_name(expr) == "get" and expr.args:
        key = expr.args[0]
    return key.value if type(key) is ir.Constant and type(key.value) is str else ""


def _is_text(expr: ir.Expr, wanted: Callable[[ir.Expr], bool]) -> bool:
    """Whether an expression uses something as a string: by a method, or compared with one."""
    if type(expr) is ir.Call and type(expr.func) is ir.Attribute and expr.func.name in _METHODS:
        return wanted(expr.func.base)
    if type(expr) is ir.Operation and set(expr.operators) <= {"==", "!="}:
        texts = any(type(one) is ir.Constant and type(one.value) is str for one in expr.operands)
        return texts and any(wanted(one) for one in expr.operands)
    return False


def _all_in(texts: Texts, file: str) -> Iterator[ir.Expr]:
    for function in range(-1, len(texts.project.module(file).functions)):
        for statement in statements(body_of(texts.project, file, function)):
            for expr in expressions_of(statement):
                yield from below(expr)
