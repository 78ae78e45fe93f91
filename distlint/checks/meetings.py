"""Which calls of the processes of a rehearsal belong together: the same call on each of them, or calls that come in the same turn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from distlint.model.finding import Related
from distlint.model.span import Span
from distlint.rehearsal.performance import Performance
from distlint.rehearsal.stage import Event
from distlint.rehearsal.twins import PAIRED

MAX_EVENTS = 2_000
"""Calls of one process that are compared with those of the others."""


class Suspicion(NamedTuple):
    """Something that looks wrong for one number of processes."""

    span: Span
    message: str
    related: tuple[Related, ...] = ()
    symbol: str = ""
    weak: bool = False
    """Whether this only bears out what was found for another number of processes."""
    supposed: bool = False
    """Whether lengths are supposed that cannot be dealt out evenly: what the program has with its defaults has to be such a one."""


class Met(NamedTuple):
    """What one process brings to a call that several make together."""

    rank: int
    event: Event


def meetings(performance: Performance) -> Iterator[tuple[Met, ...]]:
    """Calls that meet, one of each process that is followed and belongs to the group."""
    yield from _by_place(performance)
    yield from _by_turn(performance)


def _by_place(performance: Performance) -> Iterator[tuple[Met, ...]]:
    tables = []
    for stage in performance.stages:
        table: dict[Any, list[Event]] = {}
        for event in stage.events[:MAX_EVENTS]:
            if event.name not in PAIRED:
                table.setdefault(event.place, []).append(event)
        tables.append((stage.rank, table))
    for place, events in tables[0][1].items() if tables else ():
        for turn in range(len(events)):
            met = [
                Met(rank, table[place][turn])
                for rank, table in tables
                if turn < len(table.get(place, ())) and _is_member(rank, table[place][turn])
            ]
            for key in dict.fromkeys(_group(one) for one in met):
                together = tuple(one for one in met if _group(one) == key)
                if len(together) > 1:
                    yield together


def _group(met: Met) -> tuple[tuple[int, ...] | None, int] | None:
    """What tells the group that an operation is for."""
    return met.event.group.key if met.event.group is not None else None


def _is_member(rank: int, event: Event) -> bool:
    group = event.group
    return group is not None and (group.ranks is None or rank in group.ranks)


def _by_turn(performance: Performance) -> Iterator[tuple[Met, ...]]:
    """Calls at different places that come in the same turn, as long as all before them were the same for all."""
    rows = [(stage.rank, _sure(stage.events, stage)) for stage in performance.stages]
    for turn in range(min((len(events) for _, events in rows), default=0)):
        met = [Met(rank, events[turn]) for rank, events in rows]
        if len({one.event.name for one in met}) > 1:
            return
        if len({one.event.place for one in met}) > 1:
            yield tuple(met)


def _sure(events: list[Event], stage: Any) -> list[Event]:
    """The calls over all processes that certainly come first."""
    found = []
    for event in events[:MAX_EVENTS]:
        if event.name in PAIRED:
            continue
        if not event.sure or event.repeated or event.group is None:
            break
        if event.group is stage.everyone:
            found.append(event)
    return found


def listed(values: list[tuple[int, Any]], words: str = "") -> str:
    """``0 on rank 0, 1 on rank 1``: of several the first two that differ."""
    first = values[0]
    other = next((one for one in values[1:] if one[1] != first[1]), values[-1])
    return ", ".join(f"{words}{value} on rank {rank}" for rank, value in (first, other))


def others(met: tuple[Met, ...], why: str) -> tuple[Related, ...]:
    """The places of the calls on the other processes, where these are others."""
    first = met[0].event.span
    spans = dict.fromkeys(one.event.span for one in met[1:] if one.event.span != first)
    return tuple(Related(span, why) for span in spans)
