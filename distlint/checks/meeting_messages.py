"""Messages between two processes: nobody takes them, nobody sends them, or they are not what the other side takes."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator

from distlint.checks.meeting_arguments import is_number
from distlint.checks.meetings import Suspicion
from distlint.checks.message_bounds import left_out
from distlint.checks.message_counts import counted_otherwise
from distlint.checks.message_replay import Replay
from distlint.checks.message_rows import OBJECTS, PASSING, SENDING, Step, passes_messages, peer_of, tag_of
from distlint.checks.message_ways import Way, ways_of
from distlint.model.finding import Related
from distlint.rehearsal.performance import Performance
from distlint.rehearsal.stage import Event

_SIDES = frozenset(
    {"left", "right", "up", "down", "top", "bottom", "north", "south", "west", "east", "prev", "next", "lower", "upper"}
)
"""Names of tensors that stand for a direction: what goes out on one side comes in on the other."""
_FEW = 3
"""Times that a call is made in a row which need not be counted for the reader."""


def wrong_peers(performance: Performance) -> Iterator[Suspicion]:
    """A process sends to itself, or to one that does not exist."""
    for stage in performance.stages:
        for event in stage.events:
            peer = peer_of(event)
            if event.name not in PASSING or not is_number(peer) or not event.sure:
                continue
            word = "to" if event.name in SENDING else "from"
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


def is_for_fewer(performance: Performance) -> bool:
    """Whether a program passes messages to processes that a job of this size does not have: it says nothing about smaller ones."""
    return not performance.told and next(wrong_peers(performance), None) is not None


def _is_followed(performance: Performance) -> bool:
    """Whether all is known that processes do to pass messages to each other."""
    whole = performance.complete and not performance.stages[0].alone and passes_messages(performance)
    return whole and next(wrong_peers(performance), None) is None


def _replayed(performance: Performance) -> Iterator[tuple[Way, Replay]]:
    """What becomes of the messages on each way that the processes may go."""
    if not _is_followed(performance):
        return
    for way in ways_of(performance):
        replay = Replay(way.rows)
        if not replay.confused:
            yield way, replay


def stuck_messages(performance: Performance) -> Iterator[Suspicion]:
    """Processes wait for messages that nobody sends, or nobody takes."""
    yield from counted_otherwise(performance)
    seen = set()
    for way, replay in _replayed(performance):
        mixed = next(_mixed(replay), None)
        stuck = replay.stuck()
        found = mixed if mixed is not None else _stuck(way, stuck, replay) if stuck else None
        if found is not None and found.span not in seen:
            seen.add(found.span)
            yield found
        if found is not None and way.part is None:
            return  # what the usual way shows, others show again
    if not seen and _is_followed(performance):
        yield from left_out(performance)


def _mixed(replay: Replay) -> Iterator[Suspicion]:
    """One side passes objects, which are two messages, the other one tensor."""
    for sent, taken in replay.pairs:
        one, two = sent.event, taken.event
        if (one.name in OBJECTS) is not (two.name in OBJECTS):
            pair = (one, two) if one.name in OBJECTS else (two, one)
            verb = "sends" if pair[0] is one else "takes"
            yield Suspicion(
                pair[0].span,
                f"`{pair[0].name}` {verb} two messages, the sizes and the objects, but `{pair[1].name}` of the other side is one tensor",
                (Related(pair[1].span, "the other side of the message"),),
                pair[0].name,
            )


def _stuck(way: Way, stuck: list[tuple[int, Event]], replay: Replay) -> Suspicion:
    rank, event = stuck[0]
    if way.part is not None and way.rank == rank and len(stuck) > 1:
        rank, event = stuck[1]
    word = "to" if event.name in SENDING else "from"
    peer = peer_of(event)
    other = next((one for one in stuck if one[0] == peer), None)
    tag = _tagged(event)
    related: tuple[Related, ...] = ()
    if other is not None:
        there, counterpart = other
        its_word = "to" if counterpart.name in SENDING else "from"
        message = (
            f"rank {rank} waits in `{event.name}` {word} rank {peer}{tag} while rank {there} waits in "
            f"`{counterpart.name}` {its_word} rank {peer_of(counterpart)}{_tagged(counterpart)}: neither can go on"
        )
        related = (
            *_calls(rank, event, replay),
            Related(counterpart.span, f"rank {there} stands here"),
            *_calls(there, counterpart, replay),
        )
    else:
        related = tuple(_calls(rank, event, replay))
        does = "receive" if event.name in SENDING else "send"
        message = f"rank {rank} waits in `{event.name}` {word} rank {peer}{tag}, which never comes to {does} it"
    if way.part is not None:
        who = f"rank {way.rank}" if way.rank >= 0 else "every rank"
        why = f" ({way.part.source.why})" if way.part.source is not None else ""
        message += f" (where the test in line {way.part.span.line} sends {who} that way)"
        related += (Related(way.part.span, f"here {who} may go that way{why}"),)
    return Suspicion(event.span, message, related, event.name)


def _calls(rank: int, event: Event, replay: Replay) -> Iterator[Related]:
    """Where a process calls the function from in which it stands, if others come there from elsewhere: the place alone does not tell."""
    events = [step.event for row in replay.rows for step in row]
    callers = {one.chain[-1:] for one in events if one.span == event.span}
    if len(callers) < 2 or not event.chain:
        return
    times = replay.in_a_row(rank)
    again = f", {times} times in a row" if times > _FEW else ""
    yield Related(event.chain[-1], f"rank {rank} comes to `{event.name}` from here{again}")


def _tagged(event: Event) -> str:
    tag = event.values.get("tag")
    return f" with tag {tag}" if is_number(tag) and tag else ""


def _exchanged(pairs: list[tuple[Step, Step]]) -> Iterator[Suspicion]:
    """Tensors that go by names: the same names on both sides, in another order."""
    rows: dict[Hashable, dict[tuple[str, str], tuple[Event, Event]]] = {}
    for sent, taken in ((sent.event, taken.event) for sent, taken in pairs):
        looks = (sent.seen.get("tensor"), taken.seen.get("tensor"))
        names = tuple(look.get("named", "") if isinstance(look, dict) else "" for look in looks)
        row = rows.setdefault((peer_of(sent), peer_of(taken), tag_of(sent)), {})
        row.setdefault((names[0], names[1]), (sent, taken))
    for row in rows.values():
        outgoing = {name for name, _ in row}
        if outgoing != {name for _, name in row} or "" in outgoing or outgoing & _SIDES:
            continue
        for (one, two), (sent, taken) in row.items():
            if one != two:
                yield Suspicion(
                    taken.span,
                    f"what one side sends as `{one}` the other takes as `{two}`: both pass the same tensors, in another order",
                    (Related(sent.span, "it is sent here"),) if sent.span != taken.span else (),
                    taken.name,
                )
                break


def different_messages(performance: Performance) -> Iterator[Suspicion]:
    """What is received has not the size or type of what is sent, or is another tensor of several."""
    pairs = [pair for _, replay in _replayed(performance) for pair in replay.pairs]
    yield from _exchanged(pairs)
    seen = set()
    for sent, taken in ((sent.event, taken.event) for sent, taken in pairs):
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
        if differs and (sent.span, taken.span) not in seen:
            seen.add((sent.span, taken.span))
            yield Suspicion(taken.span, differs, (Related(sent.span, "it is sent here"),), taken.name)
