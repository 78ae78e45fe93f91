"""Loops that may end before their end by a test that is the same everywhere, as that of the turn with an agreed limit."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

from distlint.model import python as ir
from distlint.rehearsal.stage import Stage
from distlint.rehearsal.trace import Attempt, Branch, End, Frame, Laps, Round


def has_limit(body: list[Any]) -> bool:
    """Whether a comparison that is the same everywhere, as that of the turn with a limit, may end a loop before its end."""
    return next(_limits(body), None) is not None


def _limits(body: list[Any]) -> Iterator[Branch]:
    """Such comparisons."""
    for node in body:
        if isinstance(node, Attempt):
            yield from _limits(node.body)
        if not isinstance(node, Branch):
            continue
        test = node.test
        compares = type(test) is ir.Operation and not {"<", "<=", ">", ">=", "=="}.isdisjoint(test.operators)
        for arm in node.arms:
            if compares and node.source is None and arm and isinstance(arm[-1], End):
                if arm[-1].kind in ("break", "return"):
                    yield node
            yield from _limits(arm)


def limited_unlike(first: Stage, other: Stage) -> bool:
    """Whether two processes go through a loop turn by turn, one of them with more turns, and a limit may end it for both alike.

    Where it is at most the turns of the one with fewer, as where they have agreed on the least, neither makes more than the other. A limit
    that each has worked out for itself is another test on each. Of a loop with many turns only some turn stands in the trace of the process
    that makes so many, and nothing tells whether the limit is the same.
    """
    mine, others = ({(loop.span, loop.chain): loop for loop in _limited(stage.trace)} for stage in (first, other))
    return any(_is_unlike(mine[place], others[place]) for place in mine.keys() & others.keys())


def _is_unlike(one: Laps | Round, other: Laps | Round) -> bool:
    if isinstance(one, Laps) and isinstance(other, Laps):
        return len(one.turns) != len(other.turns) and not _tests(one).isdisjoint(_tests(other))
    return type(one) is not type(other)


def _tests(laps: Laps) -> set[Hashable]:
    """What tells the tests that may end a loop."""
    return {limit.key for turn in laps.turns for limit in _limits(turn)}


def _limited(nodes: list[Any]) -> Iterator[Laps | Round]:
    """The loops of a trace that a limit may end."""
    for node in nodes:
        if isinstance(node, Laps):
            if any(has_limit(turn) for turn in node.turns):
                yield node
            for turn in node.turns:
                yield from _limited(turn)
        elif isinstance(node, Branch):
            for arm in node.arms:
                yield from _limited(arm)
        elif isinstance(node, Frame | Round):
            if isinstance(node, Round) and has_limit(node.body):
                yield node
            yield from _limited(node.body)
        elif isinstance(node, Attempt):
            for inner in (node.body, *node.handlers, node.orelse, node.final):
                yield from _limited(inner)
