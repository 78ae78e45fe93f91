"""A replay of messages between two processes: who sends, who receives, and who waits for whom."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import takewhile
from typing import Any

from distlint.checks.message_rows import PASSING, SENDING, Row, Step, peer_of, tag_of
from distlint.rehearsal.entities import Group
from distlint.rehearsal.stage import Event

MAX_TURNS = 20_000

_Message = tuple[int, tuple[int, int, int]]
"""The rank of a process, and what tells its messages apart."""


class Replay:
    """The processes take turns until all are through, or none can go on."""

    def __init__(self, rows: list[Row]) -> None:
        self.rows = rows
        self.at = [0] * len(rows)
        self.posted: dict[Hashable, list[tuple[_Message, Step]]] = {}
        self.matched: set[_Message] = set()
        self.pairs: list[tuple[Step, Step]] = []
        """A message that is sent, and the call that takes it."""
        self.announced: set[_Message] = set()
        self.confused = False
        self._run()

    def _run(self) -> None:
        for _ in range(MAX_TURNS):
            if not sum(self._advance(rank) for rank in range(len(self.rows))):
                return
        self.confused = True

    def _advance(self, rank: int) -> bool:
        if self.at[rank] >= len(self.rows[rank]):
            return False
        step = self.rows[rank][self.at[rank]]
        if step.event.name not in PASSING:
            if not step.waits:
                return self._meet(step.event)
        else:
            if not step.waits:
                self._post(rank, step)
            if step.blocks and (rank, step.message) not in self.matched:
                return False
        self.at[rank] += 1
        return True

    def _key(self, rank: int, event: Event, *, own: bool) -> Hashable:
        peer = peer_of(event)
        sends = (event.name in SENDING) is own
        pair = (rank, peer) if event.name in SENDING else (peer, rank)
        return (*pair, tag_of(event), "send" if sends else "recv", _group_key(event.group))

    def _post(self, rank: int, step: Step) -> None:
        message = (rank, step.message)
        if message in self.announced:
            return
        self.announced.add(message)
        waiting = self.posted.get(self._key(rank, step.event, own=False), [])
        if waiting:
            other, theirs = waiting.pop(0)
            self.matched |= {message, other}
            self.pairs.append((step, theirs) if step.event.name in SENDING else (theirs, step))
        else:
            self.posted.setdefault(self._key(rank, step.event, own=True), []).append((message, step))

    def _meet(self, event: Event) -> bool:
        """A call that all of a group make: all have to have come to one."""
        group = event.group
        members = range(len(self.rows)) if group is None or group.ranks is None else group.ranks
        standing = []
        for rank in members:
            if rank >= len(self.rows) or self.at[rank] >= len(self.rows[rank]):
                return False
            step = self.rows[rank][self.at[rank]]
            if step.waits or step.event.name in PASSING:
                return False
            standing.append(step.event)
        if len({one.name for one in standing}) > 1:
            self.confused = True
            return False
        for rank in members:
            self.at[rank] += 1
        return True

    def in_a_row(self, rank: int) -> int:
        """How often a process has come to the call at which it stands without passing other messages in between."""
        row = [step.event for step in self.rows[rank][: self.at[rank] + 1] if step.event.name in PASSING]
        return sum(1 for _ in takewhile(lambda one: one.place == row[-1].place, reversed(row)))

    def stuck(self) -> list[tuple[int, Event]]:
        """The processes that wait for a message that never comes, each with its call."""
        found = []
        for rank, row in enumerate(self.rows):
            if self.at[rank] < len(row):
                event = row[self.at[rank]].event
                if event.name in PASSING:
                    found.append((rank, event))
        return found


def _group_key(group: Group | None) -> Any:
    return group.ranks if group is not None else None
