"""What a followed call shows to the witness of its run (``witness``)."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.entities import MethodOf
from distlint.rehearsal.iterators import Generated
from distlint.rehearsal.values import Given, Items, Made

if TYPE_CHECKING:
    from distlint.rehearsal.calls import Calls
    from distlint.rehearsal.stage import Scope


def looked_into(player: Calls, callee: Any, given: Given, call: ir.Call, scope: Scope) -> None:
    """Notes what the iterators give next that a library's object gets: that takes it out, and here it is put back."""
    witness = player.stage.witness
    if witness is None or not isinstance(callee, MethodOf) or not isinstance(callee.receiver, Made):
        return
    if any(type(one) is ir.Starred for one in call.args) or any(one.name is None for one in call.keywords):
        return
    expressions = [*call.args, *(one.value for one in call.keywords)]
    for expr, value in zip(expressions, given.values(), strict=False):
        if isinstance(value, Generated) and value.over is None and value.run is not None and not value.partly:
            found, item = player.advance(value)
            if found and value.run is not None:
                value.run = chain([item], value.run)
                witness.gives_next(expr, scope.file, player.stage.made(Items([item])))


def method_called(player: Calls, callee: MethodOf, given: Given, call: ir.Call, scope: Scope) -> None:
    """Notes a method of what a library's class or function made."""
    receiver, name = callee
    if player.stage.witness is not None and isinstance(receiver, Made) and receiver.name.count("()") == 1:
        dotted = player.stage.project.modules.canonical(f"{receiver.name}.{name}")
        player.stage.witness.calls_library(
            dotted, given, call, scope.file, scope.function, is_sure=not player.stage.unsure
        )


def context_passed(player: Any, manager: Made, method: str, span: Span) -> None:
    """Notes that a context of a library is entered or left."""
    stage = player.stage
    if stage.witness is not None:
        dotted = stage.project.modules.canonical(f"{manager.name}.{method}")
        stage.witness.comes_to(dotted, span, is_sure=not stage.unsure)


def places_of(call: ir.Call, scope: Scope) -> dict[int | str, Span]:
    """Where the arguments behind the first one of a call stand, by position or name; nothing where some are spread out."""
    if any(type(one) is ir.Starred for one in call.args):
        return {}
    found: dict[int | str, Span] = {place: ir.unpack(one.at, scope.file) for place, one in enumerate(call.args[1:])}
    found.update({one.name: ir.unpack(one.at, scope.file) for one in call.keywords if one.name is not None})
    return found
