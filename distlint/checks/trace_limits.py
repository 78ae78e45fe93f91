"""Loops that may end before their end by a test that is the same everywhere, as that of the turn with an agreed limit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from distlint.model import python as ir
from distlint.rehearsal.stage import Stage
from distlint.rehearsal.trace import Attempt, Branch, End, Frame, Laps, Round


def has_limit(body: list[Any]) -> bool:
    """Whether a comparison that is the same everywhere, as that of the turn with a limit, may end a loop before its end."""
    for node in body:
        if isinstance(node, Attempt) and has_limit(node.body):
            return True
        if not isinstance(node, Branch):
            continue
        test = node.test
        compares = type(test) is ir.Operation and not {"<", "<=", ">", ">=", "=="}.isdisjoint(test.operators)
        for arm in node.arms:
            leaves = bool(arm) and isinstance(arm[-1], End) and arm[-1].kind in ("break", "return")
            if (leaves and compares and node.source is None) or has_limit(arm):
                return True
    return False


def limited_unlike(first: Stage, other: Stage) -> bool:
    """Whether two processes go through a loop turn by turn, one of them with more turns, and a limit may end it for both alike.

    Where it is at most the turns of the one with fewer, as where they have agreed on the least, neither makes more than the other.
    """
    counts = [{(laps.span, laps.chain): len(laps.turns) for laps in _limited(stage.trace)} for stage in (first, other)]
    return any(counts[1].get(place, count) != count for place, count in counts[0].items())


def _limited(nodes: list[Any]) -> Iterator[Laps]:
    """The loops of a trace that were gone through turn by turn, and that a limit may end."""
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
            yield from _limited(node.body)
        elif isinstance(node, Attempt):
            for inner in (node.body, *node.handlers, node.orelse, node.final):
                yield from _limited(inner)
