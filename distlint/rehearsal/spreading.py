"""What an object of the project is where it is spread like a dictionary (``call(**thing)``, ``{**thing}``), in a rehearsal."""

from __future__ import annotations

from typing import Any

from distlint.rehearsal.iterating import is_key
from distlint.rehearsal.values import Table, Thing

MAX_KEYS = 64
"""Keys that an object is asked for."""


def spread(player: Any, value: Any) -> Any:
    """The dictionary that an object holds, or that its ``keys`` and ``__getitem__`` make; every other value as it is."""
    if not isinstance(value, Thing):
        return value
    if value.content is not None:
        return value.content if isinstance(value.content, Table) else value
    modules = player.stage.project.modules
    if any(modules.method(value.cls, name) is None for name in ("keys", "__getitem__")):
        return value
    keys = player.items_of(player.special_method(value, "keys", [], None))
    if keys is None or len(keys) > MAX_KEYS or not all(map(is_key, keys)):
        return value
    return player.stage.made(Table({key: player.special_method(value, "__getitem__", [key], None) for key in keys}))


__all__ = ["spread"]
