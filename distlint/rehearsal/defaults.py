"""The defaults of parameters, which Python works out where a function is defined: in each turn of a loop anew."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from distlint.model import python as ir


class Defaults:
    """What the defaults of a function's parameters were where it was defined, by name.

    An object of its own, so that a function can be a key whatever its defaults are.
    """

    __slots__ = ("values",)

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = values


def defaults_of(player: Any, parameters: Iterable[ir.Parameter], scope: Any) -> Defaults | None:
    """What the defaults of a function are that is defined now; ``None`` where they are the same for every one."""
    told = {
        each.name: each.default
        for each in parameters
        if each.default is not None and type(each.default) is not ir.Constant
    }
    return Defaults({name: player.value(default, scope) for name, default in told.items()}) if told else None
