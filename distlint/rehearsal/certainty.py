"""How sure it is that a process of a rehearsal comes where it is followed.

What is followed perhaps only, as one way of a test that is not known or any turn of a loop, may be sure all the same for what was made on
the same way: an object that a turn makes has what the same turn puts into it.
"""

from __future__ import annotations

from typing import Any

from distlint.rehearsal.merging import evened, merged
from distlint.rehearsal.unknowns import UNKNOWN


class Departure:
    """A way that went off from the one that is followed, with what variables that others see held there."""

    def __init__(self, test: Any) -> None:
        self.test = test
        self._held: dict[tuple[int, str], tuple[dict[str, Any], Any]] = {}

    def keep(self, holder: dict[str, Any], name: str, now: Any) -> None:
        """Remembers what a variable holds, unless it was set on this way already."""
        self._held.setdefault((id(holder), name), (holder, now))

    def ends(self) -> None:
        """The ways meet: a variable holds what it did where they parted, or what it was set to since."""
        for (_, name), (holder, then) in self._held.items():
            now = holder.get(name, UNKNOWN)
            common = evened(then, now, [self.test])
            holder[name] = merged(then, now, [self.test]) if common is None else common
        self._held.clear()


class Certainty:
    """The ways, tests and loops around what is followed that make it unsure, by a number for each time that one is entered."""

    def __init__(self) -> None:
        self.contexts: list[int] = []
        self._ways = 0
        self._written: dict[tuple[int, str], tuple[object, list[tuple[tuple[int, ...], Any]]]] = {}
        self._departures: dict[int, Departure] = {}

    @property
    def unsure(self) -> int:
        """How many things around make it unsure that the process comes here."""
        return len(self.contexts)

    @unsure.setter
    def unsure(self, many: int) -> None:
        for way in reversed(self.contexts[many:]) if self._departures else ():
            departure = self._departures.pop(way, None)
            if departure is not None:
                departure.ends()
        del self.contexts[many:]
        while len(self.contexts) < many:
            self._ways += 1
            self.contexts.append(self._ways)

    def is_sure_for(self, made_in: tuple[int, ...]) -> bool:
        """Whether the process certainly comes here if it came to where something was made."""
        return made_in[: len(self.contexts)] == tuple(self.contexts)

    def departs(self, test: Any) -> None:
        """Goes on where a test has sent some way off for good: that one has nothing of what is stored from here on."""
        self.unsure += 1
        self._departures[self.contexts[-1]] = Departure(test)

    def meets_departed(self, many: int) -> None:
        """Comes to where the ways meet again that went off behind the first things around, though it stays unsure why we are here."""
        for way in self.contexts[many:]:
            if way in self._departures:
                self._departures[way].ends()

    def is_sure_on_way(self, made_in: tuple[int, ...]) -> bool:
        """Whether something is certainly done to what was made somewhere, unless a way went off before."""
        off = self._departures
        if not off:
            return self.is_sure_for(made_in)
        here = tuple(way for way in self.contexts if way not in off)
        return tuple(way for way in made_in if way not in off)[: len(here)] == here

    def keeps(self, holder: dict[str, Any], name: str, now: Any) -> None:
        """Remembers what a variable holds for the ways that went off, before it is set."""
        for way in self.contexts:
            if way in self._departures:
                self._departures[way].keep(holder, name, now)

    def doubts(self, thing: Any) -> bool:
        """Whether what is done to a list or dictionary here may not be done, though it is there."""
        return not self.is_sure_for(thing.made_in)

    def made(self, thing: Any) -> Any:
        """The same new list or dictionary, which remembers on which way it is made."""
        thing.made_in = tuple(self.contexts)
        return thing

    def before(self, holder: object, name: str, now: Any) -> Any:
        """What a variable holds if the process does not come here: what it did before the first store on the way that leads here.

        ``now`` is what it holds. What was stored on the same way before, or on a way that went off from it, is gone whenever this is done.
        """
        here = tuple(self.contexts)
        # the holder is kept as well: its address must not be used again while it is a key
        _, stores = self._written.setdefault((id(holder), name), (holder, []))
        found = now
        while stores and stores[-1][0][: len(here)] == here:
            found = stores.pop()[1]
        while stores and here[: len(stores[-1][0])] != stores[-1][0]:
            stores.pop()
        stores.append((here, found))
        return found
