"""The arguments of a call as they are written."""

from __future__ import annotations

from dataclasses import replace

from distlint.link.walking import below
from distlint.model import python as ir
from distlint.model.document import Mapping


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


def without_popped(spread: Mapping, call: ir.Call, expr: ir.Expr) -> Mapping:
    """What ``**expr`` of a call spreads, without what the call's own function and arguments take out first.

    ``KINDS[options.pop("name")](size=options.pop("size"), **options)``: what is called, and the arguments in front, are worked out
    before the dictionary is spread.
    """
    if type(expr) is not ir.Name:
        return spread
    place = next((number for number, one in enumerate(call.keywords) if one.value is expr), 0)
    taken = [
        part.args[0]
        for earlier in (call.func, *call.args, *(one.value for one in call.keywords[:place]))
        for part in below(earlier)
        if type(part) is ir.Call
        and type(part.func) is ir.Attribute
        and part.func.name in ("pop", "popitem")
        and type(part.func.base) is ir.Name
        and part.func.base.id == expr.id
        and part.args
    ]
    if not taken:
        return spread
    keys = {one.value for one in taken if type(one) is ir.Constant}
    entries = tuple(entry for entry in spread.entries if entry.key not in keys)
    if len(keys) < len(taken):
        entries = tuple(replace(entry, certain=False) for entry in entries)
    return Mapping(entries, spread.span, spread.open)
