"""What a program reads from a file or text of settings, and what it puts into that later, in the rehearsal of a program."""

from __future__ import annotations

from typing import Any

from distlint.link.library_calls import LOADERS
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.unknowns import UNKNOWN, Opaque
from distlint.rehearsal.values import Given, Made, derived, escape

MAX_PUT = 128
"""Keys that are remembered of one document."""


class Document(Made):
    """A mapping or list of which nothing is known but what the program itself has put into it."""

    __slots__ = ("own", "read")

    def __init__(self, name: str, call: ir.Call | None, given: Given, read: Opaque) -> None:
        super().__init__(name, call, given)
        self.sign, self.source = read.sign, read.source
        self.read = read
        """What tells what was read. Of the whole nothing is known any more once something is put into it."""
        self.own: dict[str, Any] = {}

    def put(self, player: Any, index: Any, value: Any) -> None:
        """What stands under a name from now on; under one that is not known it may be anything."""
        escape(value)
        if isinstance(index, str) and len(self.own) < MAX_PUT:
            player.put(self.own, index, value)
            self.sign = None
        else:
            self._forget()

    def _forget(self) -> None:
        self.own.clear()
        self.read, self.sign = UNKNOWN, None

    def part(self, player: Any, index: Any, span: Span) -> Any:
        """What stands under a name or number."""
        return self.own[index] if isinstance(index, str) and index in self.own else derived("part", [self.read, index])

    def method(self, player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
        """What is asked for by name as well; what changes it in another way leaves nothing known."""
        key = given.positional[0] if given.positional else None
        if name == "get" and isinstance(key, str):
            return self.own[key] if key in self.own else derived("get", [self.read, *given.values()])
        if name == "update" and not given.positional and not given.open:
            for word, value in given.keywords.items():
                self.put(player, word, value)
            return None
        if name in ("update", "setdefault", "pop", "clear", "popitem"):
            self._forget()
        return NotImplemented


def read(player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
    """What a function gives that reads settings; ``NotImplemented`` for others."""
    if name not in LOADERS or given.open:
        return NotImplemented
    plain = player.made(f"{name}()", None, given, call, scope)
    found = Document(plain.name, call, given, Opaque(plain.sign, plain.source))
    found.file, found.function = plain.file, plain.function
    return found


__all__ = ["Document", "read"]
