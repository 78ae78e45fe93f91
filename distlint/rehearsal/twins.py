"""Calls at different places in which the processes of a rehearsal meet: one on the way of some ranks, the other on that of the rest.

What a collective gives is told by its place, which is the same on all processes, as a rule. Where the processes go different ways to
the same operations, the places are twins: they are found out once the processes were followed, for when they are followed once more.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from distlint.rehearsal.stage import Event, Stage

PAIRED = frozenset({"send", "recv", "isend", "irecv", "send_object_list", "recv_object_list", "destroy_process_group"})
"""Operations that do not meet the same one on all processes."""

MOST = 500
"""Operations of a process that are compared."""


def twins(stages: Sequence[Stage]) -> Mapping[Hashable, Hashable]:
    """The places where processes meet those of the first rank at another place, with that one.

    Only where all processes make the same operations of a group in the same order, and each place always meets the same one.
    """
    rows = [_by_group(stage) for stage in stages]
    found: dict[Hashable, set[Hashable]] = {}
    for group in rows[0] if rows else ():
        own = [row[group] for row in rows if group in row]
        if len({tuple(event.name for event in events) for events in own}) == 1:
            for met in zip(*own, strict=True):
                for event in met[1:]:
                    found.setdefault(event.place, set()).add(met[0].place)
    return {place: one for place, others in found.items() if len(others) == 1 for one in others if one != place}


def _by_group(stage: Stage) -> dict[Any, list[Event]]:
    """What a process makes together with others, by the group."""
    found: dict[Any, list[Event]] = {}
    for event in stage.events[:MOST]:
        if event.name not in PAIRED and event.group is not None:
            found.setdefault(event.group.key, []).append(event)
    return found
