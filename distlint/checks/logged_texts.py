"""The texts that names of logged values may be, put together of what the call on one way to them gives (``logged_names``)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import product
from typing import TYPE_CHECKING

from distlint.checks.logged_names import MAX_STEPS, Given, resolved
from distlint.link.abstract import options_of
from distlint.model import python as ir
from distlint.model.document import Leaf

if TYPE_CHECKING:
    from distlint.link.project import Project

MAX_TEXTS = 24
"""Texts that a name may be."""
_HOLE = re.compile(r"\{(\w*)\}")


def texts_by_way(project: Project, given: Given, depth: int = 0) -> list[str]:
    """The texts that an expression may be on a way; none where they are not known."""
    told = resolved(project, given)
    expr, place = told.expr, told.place
    if depth > MAX_STEPS:
        return []
    found: list[str] = []
    if type(expr) is ir.Constant:
        return [expr.value] if isinstance(expr.value, str) else []

    def of(one: ir.Expr) -> list[str]:
        if type(one) is ir.Constant:
            return [str(one.value)]
        return texts_by_way(project, told._replace(expr=one), depth + 1)

    if type(expr) is ir.Formatted:
        found = _joined(map(of, expr.parts))
    elif type(expr) is ir.Operation and set(expr.operators) == {"+"}:
        found = _joined(map(of, expr.operands))
    elif type(expr) is ir.Operation and expr.operators == ("%",):
        given_to = expr.operands[1]
        parts = given_to.items if type(given_to) is ir.ListDisplay else (given_to,)
        for text in of(expr.operands[0]):
            found += _filled(re.split("%s", text), [of(one) for one in parts])
    elif type(expr) is ir.Conditional:
        sides = of(expr.body), of(expr.orelse)
        found = [*sides[0], *sides[1]] if all(sides) else []
    elif type(expr) is ir.Call and type(expr.func) is ir.Attribute and expr.func.name in ("format", "join"):
        found = _made_by_method(expr, expr.func, of)
    return found[:MAX_TEXTS] or texts(project, expr, place.file, place.function)


def _made_by_method(call: ir.Call, func: ir.Attribute, of: Callable[[ir.Expr], list[str]]) -> list[str]:
    found: list[str] = []
    for text in of(func.base):
        if func.name == "join":
            items = call.args[0].items if call.args and type(call.args[0]) is ir.ListDisplay else ()
            found += [text.join(each) for each in _ways([of(one) for one in items])] if items else []
            continue
        holes = _HOLE.findall(text)
        words = {one.name: one.value for one in call.keywords}
        given = [
            words.get(hole) if hole and not hole.isdigit() else dict(enumerate(call.args)).get(int(hole or at))
            for at, hole in enumerate(holes)
        ]
        if None not in given:
            found += _filled(_HOLE.sub("\0", text).split("\0"), [of(one) for one in given if one is not None])
    return found


def _filled(pieces: list[str], parts: list[list[str]]) -> list[str]:
    """What comes of a template when its holes are filled."""
    if len(pieces) != len(parts) + 1:
        return []
    return ["".join(map("".join, zip(pieces, (*each, ""), strict=True))) for each in _ways(parts)]


def _joined(parts: Iterable[list[str]]) -> list[str]:
    return ["".join(each) for each in _ways(list(parts))]


def _ways(parts: list[list[str]]) -> list[tuple[str, ...]]:
    """One of each, in all ways, where these are few."""
    number = 1
    for one in parts:
        number *= len(one)
        if number > MAX_TEXTS:
            return []
    return list(product(*parts)) if number else []


def texts(project: Project, expr: ir.Expr, file: str, function: int) -> list[str]:
    """The texts that an expression may be, whoever calls its function."""
    if type(expr) is ir.Constant:
        return [expr.value] if isinstance(expr.value, str) else []
    found = project.evaluator(None).ask(expr, file, function)
    values = [one.value for one in options_of(found) if isinstance(one, Leaf)]
    return [text for value in values for text in value.options if isinstance(text, str)]
