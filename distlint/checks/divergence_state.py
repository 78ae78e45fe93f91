"""What is known of an expression over the ranks, and how such knowledge is put together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from distlint.model.span import Span

SAME, DIFFERS, NOT_KNOWN, NOTHING = "same", "differs", "unknown", "nothing"

EVEN = "a collective gives it to all ranks"
"""Why something is the same that was not before."""

SENT = "another rank sent it"
"""Why nothing is known of what is made with it: processes that hand values on may all have the same in the end."""

MAX_PLACES = 4


class Divergence(NamedTuple):
    """What is known of an expression over the ranks.

    ``state`` is ``same``, ``differs`` or ``unknown``; ``why`` says in words for a message what makes it differ (``the
    rank``, ``the clock of each process``), ``places`` are the spans that this rests on, the source first. ``control``
    says that not the values themselves differ but the way by which one of them is chosen.
    """

    state: str
    why: str = ""
    places: tuple[Span, ...] = ()
    control: bool = False

    @property
    def differs(self) -> bool:
        """Whether it is shown to differ between ranks."""
        return self.state == DIFFERS

    @property
    def is_same(self) -> bool:
        """Whether it is shown to be the same on all ranks."""
        return self.state == SAME

    def through(self, span: Span) -> Divergence:
        """The same with one more place on the way."""
        if not self.differs or span in self.places or len(self.places) >= MAX_PLACES:
            return self
        return self._replace(places=(*self.places, span))


THE_SAME = Divergence(SAME)
EVENED = Divergence(SAME, EVEN)
UNKNOWN = Divergence(NOT_KNOWN)
RECEIVED = Divergence(NOT_KNOWN, SENT)
NONE = Divergence(NOTHING)
"""What the way back of a loop adds: nothing."""


def together(parts: Iterable[Divergence]) -> Divergence:
    """Something that is made of several parts: it differs if one of them does, and no other one came from another rank."""
    found = THE_SAME
    differing: Divergence | None = None
    for part in parts:
        if part.why == SENT:
            return RECEIVED
        if part.state == DIFFERS:
            differing = differing or part
        elif part.state == NOT_KNOWN or (part.why and found.state != NOT_KNOWN):
            found = part
    return differing or found


def one_of(ways: Iterable[Divergence]) -> Divergence:
    """What comes by one of several ways that all ranks take alike.

    Where one of them leads over a collective, whoever wrote it knows when that is needed.
    """
    given = [way for way in ways if way.state != NOTHING]
    if not given:
        return NONE
    differing = next((way for way in given if way.differs), None)
    if differing is None or any(way.why == SENT for way in given):
        return together(given)
    return UNKNOWN if any(way.why == EVEN for way in given) else differing
