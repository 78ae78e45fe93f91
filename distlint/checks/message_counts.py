"""Loops that send and loops that receive, of which one counts the pieces of something and the other only the whole ones.

A batch cut into pieces of a size has one more of them than whole pieces fit into it, unless nothing is left over. The last batch of a
loader that drops nothing may have any size.
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

MAX_LOOPS = 8
"""Loops that make as many turns as each other."""


def counted_otherwise(performance: Performance) -> Iterator[Suspicion]:
    """A finding for each loop over whole pieces that meets, on another process, one over all pieces."""
    if not performance.complete:
        return
    stages = [stage for stage in performance.stages if stage.kept.get(PIECES)]
    asked = set().union(*(stage.kept.get(REMAINDERS, ()) for stage in performance.stages))
    loops = {stage.rank: _loops(stage.trace) for stage in performance.stages} if stages else {}
    for stage in stages:
        for key, (whole, rest) in stage.kept[PIECES].items():
            for loop in loops[stage.rank].get(key, ()) if rest not in asked else ():
                met = next(iter(_meeting(loops, stage, loop, whole)), None)
                if met is not None:
                    yield _suspicion(stage, loop, *met)


def _suspicion(stage: Stage, loop: Round, event: Event, other: Round, met: Event) -> Suspicion:
    related = (
        Related(loop.span, "this loop goes through all pieces"),
        Related(event.span, "the other side is here"),
    )
    message = (
        f"this loop counts whole pieces only, and `{met.name}` meets one call for each piece on rank {stage.rank}: "
        "where something is left over, one of them waits for ever"
    )
    return Suspicion(other.span, message, related, met.name, supposed=True)


def _meeting(
    loops: dict[int, dict[Hashable, list[Round]]], stage: Stage, loop: Round, whole: Hashable
) -> Iterator[tuple[Event, Round, Event]]:
    """The messages of a loop, with the loop over whole pieces and the message on the other side."""
    for event in _passing(loop):
        peer = peer_of(event)
        for other in loops.get(peer, {}).get(whole, ()) if isinstance(peer, int) else ():
            for met in _passing(other):
                if peer_of(met) == stage.rank and (met.name in SENDING) is not (event.name in SENDING):
                    yield event, other, met


def _passing(loop: Round) -> list[Event]:
    """The messages that a loop passes in each turn; none where a test decides about them."""
    return [node for node in loop.body if isinstance(node, Event) and node.name in PASSING]


def _loops(nodes: list[Any]) -> dict[Hashable, list[Round]]:
    """The loops of a trace that are not followed turn by turn, by what tells their number of turns."""
    found: dict[Hashable, list[Round]] = {}
    stack = list(nodes)
    while stack:
        node = stack.pop()
        if isinstance(node, Round):
            rows = found.setdefault(node.key, [])
            if len(rows) < MAX_LOOPS:
                rows.append(node)
            stack += node.body
        elif isinstance(node, Frame):
            stack += node.body
        elif isinstance(node, Laps):
            stack += node.turns[0] if node.turns else ()
        elif isinstance(node, Branch):
            stack += [inner for arm in node.arms for inner in arm]
        elif isinstance(node, Attempt):
            stack += [*node.body, *node.final]
    return {key: sorted(rows, key=lambda one: one.span) for key, rows in found.items()}
