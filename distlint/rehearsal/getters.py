"""Functions that ask what they are given for an item, an attribute or a method: those that ``operator`` makes."""

from __future__ import annotations

from typing import Any

from distlint.model import python as ir
from distlint.rehearsal.unknowns import UNKNOWN
from distlint.rehearsal.values import Given, Made

ASKING = ("itemgetter", "attrgetter", "methodcaller")


class Getter(Made):
    """``operator.itemgetter``, ``attrgetter`` and ``methodcaller``."""

    __slots__ = ()

    def called(self, player: Any, given: Given, call: ir.Call, scope: Any) -> Any:
        """What it asks for: all of it where that is several items or attributes."""
        asked = self.arguments
        if asked is None or asked.open or len(given.positional) != 1:
            return NotImplemented
        value, keys = given.positional[0], asked.positional
        if "method" in self.name:
            name, *rest = keys
            method = player.attribute(value, name, call, scope) if isinstance(name, str) else UNKNOWN
            return player.apply(method, Given(rest, asked.keywords), call, scope)
        found = [
            player.item(value, key) if "item" in self.name else _attribute(player, value, key, call, scope)
            for key in keys
        ]
        return found[0] if len(found) == 1 else tuple(found)


def _attribute(player: Any, value: Any, path: Any, call: ir.Call, scope: Any) -> Any:
    """``value.a.b`` for the path ``"a.b"``."""
    if not isinstance(path, str):
        return UNKNOWN
    for name in path.split("."):
        value = player.attribute(value, name, call, scope)
    return value
