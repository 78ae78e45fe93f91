"""Loops that send and loops that receive, of which one counts the pieces of something and the other only the whole ones.

A batch cut into pieces of a size has one more of them than whole pieces fit into it, unless nothing is left over.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

from distlint.checks.meetings import Suspicion
from distlint.checks.message_rows import PASSING, SENDING, peer_of
from distlint.model.finding import Related
from distlint.rehearsal.notes import PIECES, REMAINDERS
from distlint.rehearsal.performance import Performance
from distlint.rehearsal.stage import Event, Stage
from distlint.rehearsal.trace import Attempt, Branch, Frame, Laps, Round

MAX_LOOPS = 64


def counted_otherwise(performance: Performance) -> Iterator[Suspicion]:
    """A finding for each loop over whole pieces that meets, on another process, one over all pieces."""
    if not performance.complete:
        return
    asked = set().union(*(stage.kept.get(REMAINDERS, ()) for stage in performance.stages))
    for stage in performance.stages:
        pieces: dict[Hashable, tuple[Hashable, Hashable]] = stage.kept.get(PIECES, {})
        for loop in _loops(stage.trace) if pieces else ():
            found = pieces.get(loop.key)
            if found is None or found[1] in asked:
                continue
            for event in _passing(loop):
                other = _whole_pieces(performance, stage, event, found[0])
                if other is not None:
                    round_, met = other
                    yield Suspicion(
                        round_.span,
                        f"this loop counts whole pieces only, and `{met.name}` meets one call for each piece on rank {stage.rank}: "
                        "where something is left over, one of them waits for ever",
                        (
                            Related(loop.span, "this loop goes through all pieces"),
                            Related(event.span, "the other side is here"),
                        ),
                        met.name,
                    )
                    break


def _whole_pieces(performance: Performance, stage: Stage, event: Event, key: Hashable) -> tuple[Round, Event] | None:
    """The loop over whole pieces on the other side of a message."""
    for other in performance.stages:
        if other.rank != peer_of(event):
            continue
        for loop in _loops(other.trace):
            for one in _passing(loop) if loop.key == key else ():
                if peer_of(one) == stage.rank and (one.name in SENDING) is not (event.name in SENDING):
                    return loop, one
    return None


def _passing(loop: Round) -> list[Event]:
    """The messages that a loop passes in each turn; none where a test decides about them."""
    return [node for node in loop.body if isinstance(node, Event) and node.name in PASSING]


def _loops(nodes: list[Any], depth: int = 0) -> Iterator[Round]:
    """The loops of a trace that are not followed turn by turn."""
    found = 0
    for node in nodes if depth < 12 else ():
        inner: list[list[Any]] = []
        if isinstance(node, Round):
            yield node
            inner = [node.body]
        elif isinstance(node, Frame):
            inner = [node.body]
        elif isinstance(node, Laps):
            inner = node.turns[:1]
        elif isinstance(node, Branch):
            inner = node.arms
        elif isinstance(node, Attempt):
            inner = [node.body, node.final]
        for body in inner:
            for one in _loops(body, depth + 1):
                found += 1
                if found > MAX_LOOPS:
                    return
                yield one
