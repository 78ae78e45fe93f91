"""What the processes of a rehearsal learn of each other, although each of them is followed by itself."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from distlint.rehearsal.listings import Folders


class Shared:
    """What the processes of a rehearsal learn of each other: which values, known to each of them, differ between them.

    A process that is followed cannot know what the others have at the same place. What may be of interest is noted;
    where the notes of the processes turn out to differ, they are all followed once more, and then it is known.
    """

    def __init__(
        self,
        differing: frozenset[Hashable] = frozenset(),
        wanted: frozenset[Hashable] = frozenset(),
        twins: Mapping[Hashable, Hashable] | None = None,
    ) -> None:
        self.differing = differing
        self.twins = twins or {}
        """Places of operations that meet those of other processes at another place, with that one (``rehearsal.twins``)."""
        self._noted: dict[Hashable, dict[int, list[Hashable]]] = {}
        self._passed: dict[Hashable, set[int]] = {}
        self.absent: dict[Hashable, set[int]] = {}
        """The ranks that certainly have no value at a place where one is needed (``rehearsal.absent``)."""
        self.wanted = wanted
        """Such places that not all processes are known to lack a value at."""
        self.present: set[Hashable] = set()
        """Those of them at which some process has one."""
        self._sent: dict[Hashable, list[Hashable]] = {}
        self._received: dict[tuple[int, Hashable], int] = {}
        self.folders = Folders()

    def note(self, rank: int, place: Hashable, sign: Hashable) -> bool:
        """Notes what a process has at a place, and says whether others are known to have something else there."""
        self._noted.setdefault(place, {}).setdefault(rank, []).append(sign)
        return place in self.differing

    def passes(self, rank: int, place: Hashable) -> bool:
        """Notes that a process comes to a place, and says whether some are known not to."""
        self._passed.setdefault(("passed", place), set()).add(rank)
        return ("passed", place) in self.differing

    def send(self, place: Hashable, sign: Hashable) -> None:
        """Notes what tells an object that a process sends to all others."""
        self._sent.setdefault(place, []).append(sign)

    def receive(self, rank: int, place: Hashable) -> Hashable:
        """What tells the object that a process gets there; its place where the sender was not followed yet.

        Loops come to a place more than once: the first object that is received is the first one that was sent.
        """
        turn = self._received.get((rank, place), 0)
        self._received[rank, place] = turn + 1
        return next(iter(self._sent.get(place, ())[turn : turn + 1]), place)

    def found(self, ranks: int) -> frozenset[Hashable]:
        """The places at which processes have different things, or that only some of so many come to."""
        return frozenset(place for place, passed in self._passed.items() if len(passed) < ranks) | frozenset(
            place
            for place, rows in self._noted.items()
            if any(
                one != other
                for row in rows.values()
                for one, other in zip(row, next(iter(rows.values())), strict=False)
            )
        )
