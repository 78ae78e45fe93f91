"""How sure it is that a process of a rehearsal comes where it is followed.

What is followed perhaps only, as one way of a test that is not known or any turn of a loop, may be sure all the same for what was made on
the same way: an object that a turn makes has what the same turn puts into it.
"""

from __future__ import annotations

from typing import Any


class Certainty:
    """The ways, tests and loops around what is followed that make it unsure, by a number for each time that one is entered."""

    def __init__(self) -> None:
        self.contexts: list[int] = []
        self._ways = 0
        self._written: dict[tuple[int, str], tuple[object, list[tuple[tuple[int, ...], Any]]]] = {}

    @property
    def unsure(self) -> int:
        """How many things around make it unsure that the process comes here."""
        return len(self.contexts)

    @unsure.setter
    def unsure(self, many: int) -> None:
        del self.contexts[many:]
        while len(self.contexts) < many:
            self._ways += 1
            self.contexts.append(self._ways)

    def is_sure_for(self, made_in: tuple[int, ...]) -> bool:
        """Whether the process certainly comes here if it came to where something was made."""
        return made_in[: len(self.contexts)] == tuple(self.contexts)

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
