"""Messages between two processes: a replay of who sends, who receives, and who waits for whom."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from distlint.checks.meeting_arguments import is_number
from distlint.checks.meetings import ALONE, Suspicion
from distlint.model.finding import Related
from distlint.rehearsal.performance import Performance
from distlint.rehearsal.stage import Event, Stage
from distlint.rehearsal.values import Group, Work

MAX_TURNS = 20_000
_SENDING = ("send", "isend")
_PASSING = ("send", "recv", "isend", "irecv")


class _Step(NamedTuple):
    """What a process does next: a call, or waiting for one that is under way."""

    event: Event
    work: Work | None = None


def peer_of(event: Event) -> Any:
    """The other process of a message."""
    name = "dst" if event.name in _SENDING else "src"
    value = event.values.get(name)
    if value is None and event.values.get(f"group_{name}") is not None:
        group = event.group
        number = event.values[f"group_{name}"]
        fits = group is not None and group.ranks is not None and is_number(number) and 0 <= number < len(group.ranks)
        return group.ranks[number] if fits and group is not None and group.ranks is not None else None
    return value


def wrong_peers(performance: Performance) -> Iterator[Suspicion]:
    """A process sends to itself, or to one that does not exist."""
    for stage in performance.stages:
        for event in stage.events:
            peer = peer_of(event)
            if event.name not in _PASSING or not is_number(peer) or not event.sure:
                continue
            word = "to" if event.name in _SENDING else "from"
            if peer == stage.rank and event.group is stage.everyone:
                yield Suspicion(event.span, f"rank {stage.rank} calls `{event.name}` {word} itself", (), event.name)
            elif peer < 0 or peer >= performance.world:
                exists = (
                    "there is no such rank" if performance.told or peer < 0 else "the job has ranks below that only"
                )
                yield Suspicion(
                    event.span,
                    f"rank {stage.rank}, the {_which(stage.rank, performance.world)}, "
                    f"calls `{event.name}` {word} rank {peer}, but {exists}",
                    (),
                    event.name,
                )


def _which(rank: int, world: int) -> str:
    return "first" if rank == 0 else "last" if rank == world - 1 else f"one of {world}"


def _steps(stage: Stage) -> list[_Step] | None:
    """What a process does in order; ``None`` where that is not certain."""
    waits: dict[int, list[Work]] = {}
    for index, work, _ in stage.waits:
        waits.setdefault(index, []).append(work)
    steps: list[_Step] = []
    for index in range(len(stage.events) + 1):
        steps.extend(_Step(work.event, work) for work in waits.get(index, ()))
        if index == len(stage.events):
            break
        event = stage.events[index]
        if event.name in _PASSING:
            tag = event.values.get("tag")
            if not event.sure or not is_number(peer_of(event)) or not is_number(tag) or event.group is None:
                return None
        elif event.name in ALONE or not event.sure or event.values.get("async_op") not in (None, False):
            continue
        steps.append(_Step(event))
    return steps


class _Replay:
    """The processes take turns until all are through, or none can go on."""

    def __init__(self, performance: Performance, rows: list[list[_Step]]) -> None:
        self.performance = performance
        self.rows = rows
        self.at = [0] * len(rows)
        self.posted: dict[tuple[int, int, int, str, Any], list[Event]] = {}
        self.matched: dict[int, Event] = {}
        self.pairs: list[tuple[Event, Event]] = []
        self.announced: set[int] = set()
        self.confused = False

    def run(self) -> None:
        for _ in range(MAX_TURNS):
            if not any(self._advance(rank) for rank in range(len(self.rows))):
                return
        self.confused = True

    def _advance(self, rank: int) -> bool:
        if self.at[rank] >= len(self.rows[rank]):
            return False
        step = self.rows[rank][self.at[rank]]
        event = step.event
        if step.work is not None:
            passed = event.name not in _PASSING or id(event) in self.matched
        elif event.name in _PASSING:
            self._post(rank, event)
            passed = event.name in ("isend", "irecv") or id(event) in self.matched
        else:
            return self._meet(event)
        if passed:
            self.at[rank] += 1
        return passed

    def _key(self, rank: int, event: Event, *, own: bool) -> tuple[int, int, int, str, Any]:
        peer, tag = peer_of(event), event.values["tag"]
        sends = (event.name in _SENDING) is own
        pair = (rank, peer) if event.name in _SENDING else (peer, rank)
        return (*pair, tag, "send" if sends else "recv", _group_key(event.group))

    def _post(self, rank: int, event: Event) -> None:
        if id(event) in self.announced:
            return
        self.announced.add(id(event))
        waiting = self.posted.get(self._key(rank, event, own=False), [])
        if waiting:
            other = waiting.pop(0)
            self.matched[id(event)] = other
            self.matched[id(other)] = event
            self.pairs.append((event, other) if event.name in _SENDING else (other, event))
        else:
            self.posted.setdefault(self._key(rank, event, own=True), []).append(event)

    def _meet(self, event: Event) -> bool:
        """A call that all of a group make: all have to have come to one."""
        group = event.group
        members = range(len(self.rows)) if group is None or group.ranks is None else group.ranks
        standing = []
        for rank in members:
            if rank >= len(self.rows) or self.at[rank] >= len(self.rows[rank]):
                return False
            step = self.rows[rank][self.at[rank]]
            if step.work is not None or step.event.name in _PASSING:
                return False
            standing.append(step.event)
        if len({one.name for one in standing}) > 1:
            self.confused = True
            return False
        for rank in members:
            self.at[rank] += 1
        return True

    def stuck(self) -> list[tuple[int, Event]]:
        """The processes that wait for a message that never comes, each with its call."""
        found = []
        for rank, row in enumerate(self.rows):
            if self.at[rank] < len(row):
                event = row[self.at[rank]].event
                if event.name in _PASSING:
                    found.append((rank, event))
        return found


def _group_key(group: Group | None) -> Any:
    return group.ranks if group is not None else None


def _replayed(performance: Performance) -> _Replay | None:
    if not performance.complete or performance.stages[0].alone:
        return None
    if not any(event.name in _PASSING for stage in performance.stages for event in stage.events):
        return None
    rows = [_steps(stage) for stage in performance.stages]
    known = [row for row in rows if row is not None]
    if len(known) != len(rows) or next(iter(wrong_peers(performance)), None) is not None:
        return None
    replay = _Replay(performance, known)
    replay.run()
    return None if replay.confused else replay


def stuck_messages(performance: Performance) -> Iterator[Suspicion]:
    """Processes wait for messages that nobody sends, or nobody takes."""
    if not performance.told:
        for wrong in wrong_peers(performance):
            # peers that exist in smaller jobs only: what was found there is not contradicted
            yield wrong._replace(weak=True)
    replay = _replayed(performance)
    stuck = replay.stuck() if replay is not None else []
    if not stuck or replay is None:
        return
    rank, event = stuck[0]
    word = "to" if event.name in _SENDING else "from"
    peer = peer_of(event)
    other = next((one for one in stuck if one[0] == peer), None)
    tag = _tagged(event)
    if other is not None:
        there, counterpart = other
        its_word = "to" if counterpart.name in _SENDING else "from"
        message = (
            f"rank {rank} waits in `{event.name}` {word} rank {peer}{tag} while rank {there} waits in "
            f"`{counterpart.name}` {its_word} rank {peer_of(counterpart)}{_tagged(counterpart)}: neither can go on"
        )
        related: tuple[Related, ...] = (Related(counterpart.span, f"rank {there} stands here"),)
    else:
        does = "receive" if event.name in _SENDING else "send"
        message = f"rank {rank} waits in `{event.name}` {word} rank {peer}{tag}, which never comes to {does} it"
        related = ()
    yield Suspicion(event.span, message, related, event.name)


def _tagged(event: Event) -> str:
    return f" with tag {event.values['tag']}" if event.values.get("tag") else ""


def different_messages(performance: Performance) -> Iterator[Suspicion]:
    """What is received has not the size or type of what is sent."""
    replay = _replayed(performance)
    for sent, taken in replay.pairs if replay is not None else ():
        one, two = sent.seen.get("tensor"), taken.seen.get("tensor")
        if not isinstance(one, dict) or not isinstance(two, dict):
            continue
        shapes = (one["shape"], two["shape"])
        known = all(shape is not None and all(isinstance(size, int) for size in shape) for shape in shapes)
        differs = ""
        if known and math.prod(shapes[0]) != math.prod(shapes[1]):
            differs = f"a tensor of shape {shapes[0]} is sent, but one of shape {shapes[1]} is there to take it"
        elif one["dtype"] and two["dtype"] and one["dtype"] != two["dtype"]:
            differs = f"a tensor of {one['dtype']} is sent, but one of {two['dtype']} is there to take it"
        if differs:
            yield Suspicion(taken.span, differs, (Related(sent.span, "it is sent here"),), taken.name)
