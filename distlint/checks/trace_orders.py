"""Tests by which processes do what another one tells them: which of their ways goes with which of its ways can't be known."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

from distlint.rehearsal.stage import Event, Stage
from distlint.rehearsal.trace import Branch, Round
from distlint.rehearsal.unknowns import Sent

Tested = tuple[Stage, Sequence[Branch | Round]]
"""A process, and its tests and loops behind which something happens."""

_RECEIVING = frozenset(
    {"recv", "irecv", "recv_object_list", "broadcast", "broadcast_object_list", "scatter", "scatter_object_list"}
)
"""Operations after which a process has what another one has sent, where it is not the root itself."""


def told(first: Tested, other: Tested) -> frozenset[int]:
    """The tests and loops (by ``id``) of each of two processes that the other never makes, and that what was sent decides.

    Where nothing at all is known of such a test, what a process receives in code of its own may decide it.
    """
    return frozenset(id(one) for pair in ((first, other), (other, first)) for one in _of_one(*pair))


def _of_one(mine: Tested, yours: Tested) -> Iterator[Branch | Round]:
    (stage, tests), (beside, others) = mine, yours
    known = {(one.span, one.chain) for one in others} | {one.key for one in others} | beside.tests
    met = {event.place for event in beside.events}
    receives = any(_receives(event, stage.rank) and event.place not in met for event in stage.events)
    # what each process is given a part of its own of may be an order for each of them
    parts = {event.span for event in stage.events if _receives(event, stage.rank)}
    for one in tests:
        if (isinstance(one, Round) and one.count is not None) or not known.isdisjoint(((one.span, one.chain), one.key)):
            continue
        if one.source.span in parts if one.source is not None else _is_told(one.key, receives=receives):
            yield one


def _receives(event: Event, rank: int) -> bool:
    return event.name in _RECEIVING and event.values.get("src") != rank


def _is_told(key: Hashable, *, receives: bool) -> bool:
    """Whether what was sent tells which way a test goes, or how many turns a loop makes; or may do so, for all that is known."""
    sign = key[1] if isinstance(key, tuple) and len(key) == 2 and key[0] == "loop" else key
    return isinstance(sign, Sent) or (receives and isinstance(key, tuple) and key[:1] in (("at",), ("loop at",)))
