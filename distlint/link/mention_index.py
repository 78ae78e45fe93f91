"""The mentions of libraries by their names, for rules that ask for some of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distlint.link.library_mentions import Mention


class MentionIndex:
    """The mentions with one meaning, by name; what is found comes in the order in which they were given."""

    def __init__(self, mentions: Iterable[Mention]) -> None:
        self._all = [mention for mention in mentions if len(mention.meanings) == 1]
        self._uses: dict[str, list[int]] = {}
        self._calls: dict[str, list[int]] = {}
        for at, mention in enumerate(self._all):
            if mention.call is not None:
                self._calls.setdefault(mention.name, []).append(at)
            if mention.kind != "call":
                name = mention.name
                while name:
                    self._uses.setdefault(name, []).append(at)
                    name = name.rpartition(".")[0]

    def uses(self, names: Iterable[str]) -> Iterator[Mention]:
        """The imports and dotted expressions that mean one of the names or something inside it."""
        yield from self._found(self._uses, names)

    def calls(self, names: Iterable[str]) -> Iterator[Mention]:
        """The calls of one of the names."""
        yield from self._found(self._calls, names)

    def _found(self, by_name: dict[str, list[int]], names: Iterable[str]) -> Iterator[Mention]:
        for at in sorted({at for name in names for at in by_name.get(name, ())}):
            yield self._all[at]
