"""What processes do in order, as far as messages between two of them are concerned: calls, and waiting for those under way."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from distlint.checks.meeting_arguments import is_number
from distlint.checks.trace_lines import matters
from distlint.rehearsal.performance import Performance
from distlint.rehearsal.stage import Event, Stage
from distlint.rehearsal.trace import Hole, Waited
from distlint.rehearsal.twins import PAIRED
from distlint.rehearsal.values import signature

if TYPE_CHECKING:
    from distlint.rehearsal.trace import Step as Node

SENDING = ("send", "isend", "send_object_list")
PASSING = (*SENDING, "recv", "irecv", "recv_object_list")
OBJECTS = ("send_object_list", "recv_object_list")
"""Each of these is two messages: the sizes, and then the objects."""

_AT_ONCE = ("isend", "irecv")


class Step(NamedTuple):
    """What a process does next: a call, or waiting for one that is under way.

    ``turn`` counts the times that a call was made, ``part`` the messages that one call is.
    """

    event: Event
    turn: int = 0
    waits: bool = False
    part: int = 0

    @property
    def message(self) -> tuple[int, int, int]:
        """Tells the messages of one process apart."""
        return (id(self.event), self.turn, self.part)

    @property
    def blocks(self) -> bool:
        """Whether a process goes on only once the message has come or gone."""
        return self.waits or self.event.name not in _AT_ONCE


Row = list[Step]


def peer_of(event: Event) -> Any:
    """The other process of a message."""
    name = "dst" if event.name in SENDING else "src"
    value = event.values.get(name)
    if value is None and event.values.get(f"group_{name}") is not None:
        group = event.group
        number = event.values[f"group_{name}"]
        fits = group is not None and group.ranks is not None and is_number(number) and 0 <= number < len(group.ranks)
        return group.ranks[number] if fits and group is not None and group.ranks is not None else None
    return value


def tag_of(event: Event) -> Hashable:
    """What tells the tag of a message; ``None`` where nothing does."""
    return signature(event.values.get("tag"))


def is_told(event: Event) -> bool:
    """Whether it is known where a message goes, or comes from."""
    return is_number(peer_of(event)) and tag_of(event) is not None and event.group is not None


def of_events(stage: Stage) -> Row | None:
    """What a process certainly does in order; ``None`` where a message is not certain."""
    waits: dict[int, list[Node]] = {}
    for index, work, _ in stage.waits:
        waits.setdefault(index, []).append(Waited(work))
    nodes: list[Node] = []
    for index, event in enumerate(stage.events):
        nodes.extend(waits.get(index, ()))
        if event.sure:
            nodes.append(event)
        elif event.name in PASSING:
            return None
    nodes.extend(waits.get(len(stage.events), ()))
    return of_nodes(nodes, None)


def of_nodes(nodes: Iterable[Node], stage: Stage | None) -> Row | None:
    """What a process does on one way; ``None`` where a message is not certain, or a call of the process is not seen into."""
    row: Row = []
    turns: dict[int, int] = {}
    for node in nodes:
        if isinstance(node, Hole):
            if stage is not None and matters(node, stage):
                return None
        elif isinstance(node, Waited):
            event = node.work.event
            if id(event) in turns:
                row.append(Step(event, turns[id(event)], waits=True))
        elif isinstance(node, Event):
            if node.name in PASSING and not is_told(node):
                return None
            together = node.name not in PASSING
            turn = turns[id(node)] = turns.get(id(node), -1) + 1
            if together and (node.name in PAIRED or node.values.get("async_op") not in (None, False)):
                continue
            row.extend(Step(node, turn, part=part) for part in range(2 if node.name in OBJECTS else 1))
    return row


def are_comparable(rows: list[Row]) -> bool:
    """Whether the tags between each two processes can be told apart: all of them are known, or one tells them all."""
    tags: dict[tuple[int, int], set[Hashable]] = {}
    unknown = set()
    for rank, row in enumerate(rows):
        for event in (step.event for step in row if step.event.name in PASSING):
            pair = (rank, peer_of(event)) if event.name in SENDING else (peer_of(event), rank)
            tags.setdefault(pair, set()).add(tag_of(event))
            if not is_number(event.values.get("tag")):
                unknown.add(pair)
    return all(len(tags[pair]) == 1 for pair in unknown)


def passes_messages(performance: Performance) -> bool:
    """Whether processes pass messages at all."""
    return any(event.name in PASSING for stage in performance.stages for event in stage.events)
