"""Comprehensions over what is known item by item."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from distlint.link.abstract import Abstract, Delayed, Frame, lifted, node_of
from distlint.link.flow import Env
from distlint.link.items import elements, part_of_value
from distlint.model import python as ir
from distlint.model.document import Entry, Leaf, Mapping, Node, Sequence, node_value
from distlint.model.span import Span
from distlint.model.value import unknown

if TYPE_CHECKING:
    from distlint.link.evaluate import Evaluator

MAX_ROUNDS = 100
"""Rounds over all ``for`` clauses together; more leave the result open."""


class NotFollowedError(Exception):
    """The comprehension has more items than we follow, or some that can't be told."""


def comprehended(evaluator: Evaluator, expr: ir.Comprehension, frame: Frame, state: Env, span: Span) -> Abstract:
    """The list or mapping that a comprehension makes; open where not all of its items are known."""
    items: list[Node] = []
    entries: list[Entry] = []
    is_open = False
    try:
        for inner in _rounds(evaluator, expr.generators, frame, state, span):
            if expr.kind != "dict" or type(expr.element) is not ir.ListDisplay:
                items.append(node_of(evaluator.evaluate(expr.element, inner, state), span))
                continue
            key_expr, value_expr = expr.element.items
            key = node_value(node_of(evaluator.evaluate(key_expr, inner, state), span))
            if key.is_known and isinstance(key.only, str | int | float | bool):
                node = node_of(evaluator.evaluate(value_expr, inner, state), span)
                entries = [entry for entry in entries if entry.key != key.only]
                # a name out of a list of names is no place where anything is set
                at = key.spans[0] if key.spans and _is_of_pair(expr, key_expr) else ir.unpack(key_expr.at, frame.file)
                entries.append(Entry(key.only, at, node))
            else:
                is_open = True
    except NotFollowedError:
        is_open = True
        items.clear()
        entries = [Entry(entry.key, entry.key_span, _doubtful(entry.node), False) for entry in entries]
    if expr.kind == "dict":
        return Mapping(tuple(entries), span, is_open)
    return Sequence(tuple(items), span, is_open)


def _is_of_pair(expr: ir.Comprehension, key: ir.Expr) -> bool:
    """Whether a key is one part of what is gone over (``for key, value in settings.items()``), so that it stands beside its value."""
    targets = (target for target, _, _ in expr.generators if type(target) is ir.ListDisplay)
    return type(key) is not ir.Name or any(
        type(part) is ir.Name and part.id == key.id for target in targets for part in target.items
    )


def _doubtful(node: Node) -> Node:
    return Leaf(unknown("may be replaced by an item that we can't see", node.span), node.span)


def _rounds(
    evaluator: Evaluator,
    generators: tuple[tuple[ir.Expr, ir.Expr, tuple[ir.Expr, ...]], ...],
    frame: Frame,
    state: Env,
    span: Span,
    budget: list[int] | None = None,
) -> Iterator[Frame]:
    """A frame with the variables of each round."""
    if not generators:
        yield frame
        return
    budget = budget if budget is not None else [MAX_ROUNDS]
    target, iterable, tests = generators[0]
    items = elements(evaluator.evaluate(iterable, frame, state))
    if items is None:
        raise NotFollowedError
    for item in items:
        budget[0] -= 1
        if budget[0] < 0:
            raise NotFollowedError
        local = dict(frame.local)
        assign(evaluator, target, lifted(item), local, span)
        inner = replace(frame, local=local)
        evaluator.keep(inner)
        decided = [evaluator.truth(test, inner, state) for test in tests]
        if any(one is False for one in decided):
            continue
        if any(one is None for one in decided):
            raise NotFollowedError
        yield from _rounds(evaluator, generators[1:], inner, state, span, budget)


def assign(evaluator: Evaluator, target: ir.Expr, value: Abstract, local: dict[str, Delayed], span: Span) -> None:
    """Enters what the variables of a loop get from one item; raises ``NotFollowedError`` for ``*rest``."""
    if type(target) is ir.Name:
        local[target.id] = Delayed(value=value)
    elif type(target) is ir.ListDisplay:
        for index, part in enumerate(target.items):
            if type(part) is ir.Starred:
                raise NotFollowedError
            assign(evaluator, part, part_of_value(evaluator, value, index, span), local, span)
