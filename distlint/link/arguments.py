"""The arguments of a call as they are written."""

from __future__ import annotations

from distlint.model import python as ir


def find_argument(call: ir.Call, name: str, position: int | None) -> tuple[ir.Expr | None, bool]:
    """The expression given for a parameter, and whether its absence is certain.

    It is certain where nothing is spread with ``*`` or ``**``.
    """
    for keyword in call.keywords:
        if keyword.name == name:
            return keyword.value, True
    spread = any(keyword.name is None for keyword in call.keywords)
    if position is not None and position >= 0:
        for index, argument in enumerate(call.args[: position + 1]):
            if type(argument) is ir.Starred:
                return None, False
            if index == position:
                return argument, True
    return None, not spread and not any(type(argument) is ir.Starred for argument in call.args)
