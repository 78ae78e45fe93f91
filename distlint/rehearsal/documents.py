"""What a program reads from a file or text of settings, and what it puts into that later, in the rehearsal of a program."""

from __future__ import annotations

from typing import Any

from distlint.link.library_calls import LOADERS
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.values import Given, Made, derived, escape

MAX_PUT = 128
"""Keys that are remembered of one document."""


class Document(Made):
    """A mapping or list of which nothing is known but what the program itself has put into it."""

    __slots__ = ("own",)

    def __init__(self, name: str, call: ir.Call | None, given: Given) -> None:
        super().__init__(name, call, given)
        self.own: dict[str, Any] = {}

    def put(self, player: Any, index: Any, value: Any) -> None:
        """What stands under a name from now on; under one that is not known it may be anything."""
        escape(value)
        if isinstance(index, str) and len(self.own) < MAX_PUT:
            player.put(self.own, index, value)
        elif not isinstance(index, int):
            self.own.clear()

    def part(self, player: Any, index: Any, span: Span) -> Any:
        """What stands under a name or number."""
        return self.own[index] if isinstance(index, str) and index in self.own else derived("part", [self, index])

    def method(self, player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
        """What is asked for by name as well; what fills, empties or changes it leaves nothing known."""
        if name == "get" and given.positional and isinstance(given.positional[0], str):
            if given.positional[0] in self.own:
                return self.own[given.positional[0]]
        elif name == "update" and not given.positional and not given.open:
            for key, value in given.keywords.items():
                self.put(player, key, value)
            return None
        elif name in ("update", "setdefault", "pop", "clear", "popitem"):
            self.own.clear()
        return NotImplemented


def read(player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
    """What a function gives that reads settings; ``NotImplemented`` for others."""
    if name not in LOADERS or given.open:
        return NotImplemented
    plain = player.made(f"{name}()", None, given, call, scope)
    found = Document(plain.name, call, given)
    found.file, found.function, found.sign, found.source = plain.file, plain.function, plain.sign, plain.source
    return found


__all__ = ["Document", "read"]
