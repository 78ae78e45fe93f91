"""Tests by which a process leaves a loop that all the others leave as well, by what they have agreed upon."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from distlint.link.walking import below
from distlint.model import python as ir
from distlint.rehearsal.stage import Event
from distlint.rehearsal.trace import Branch, End

_INSIDE = ("body", "orelse", "final")
_ROWS = ("arms", "handlers", "turns")


def agreed(nodes: list[Any]) -> frozenset[int]:
    """The tests (by ``id``) of what one process has, where what all have made of it is tested next to them.

    ``all_reduce(vote); if mine: break; if vote: break``: who leaves by the first test has voted, so that the others leave by the second.
    """
    return frozenset(id(one) for row in _rows(nodes) for one in _in_row(row))


def _rows(nodes: list[Any]) -> Iterator[list[Any]]:
    waiting = [nodes]
    while waiting:
        row = waiting.pop()
        yield row
        for node in row:
            waiting += [inner for name in _INSIDE if (inner := getattr(node, name, None))]
            waiting += [inner for name in _ROWS for inner in getattr(node, name, ())]


def _in_row(row: list[Any]) -> Iterator[Branch]:
    brought: set[str] = set()
    for place, node in enumerate(row):
        if isinstance(node, Event):
            brought |= {name for one in node.call.args for name in _names(one)}
        elif isinstance(node, Branch) and node.source is not None and brought and _leaves(node):
            rest = [one for one in row[place + 1 :] if isinstance(one, Branch) and one.source is None and _leaves(one)]
            if any(not brought.isdisjoint(_names(one.test)) for one in rest):
                yield node


def _leaves(node: Branch) -> bool:
    return any(arm and isinstance(arm[-1], End) and arm[-1].kind in ("break", "return") for arm in node.arms)


def _names(expr: ir.Expr) -> set[str]:
    return {part.id for part in below(expr) if isinstance(part, ir.Name)}
