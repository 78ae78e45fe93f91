"""Functions that a library calls with what the command line says, in the rehearsal of a run of which everything is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from distlint.link.command_parameters import Commands
from distlint.link.modules import FunctionRef
from distlint.model import python as ir
from distlint.model.document import Leaf
from distlint.model.span import whole_line
from distlint.rehearsal.composed import given_by_hydra
from distlint.rehearsal.entities import FunctionValue
from distlint.rehearsal.unknowns import Opaque
from distlint.rehearsal.values import Given, Made, is_known

if TYPE_CHECKING:
    from distlint.rehearsal.calls import Calls
    from distlint.rehearsal.stage import Scope, Stage

DECORATORS = ("click.", "rich_click.", "typer.", "hydra.main")
"""What the decorators of such functions start with: these leave them as they are for whoever calls them."""


def commanded(player: Calls, function: FunctionValue, given: Given, scope: Scope) -> Given:
    """What a command gets: its options, or a configuration; what other functions get is what they are given."""
    ref, stage = function.ref, player.stage
    if (
        stage.witness is None
        or stage.run is None
        or function.receiver is not None
        or not _is_left_to_library(stage, ref, given)
    ):
        return given
    by_hydra = given_by_hydra(player, ref, scope)
    if by_hydra is not None:
        return by_hydra
    commands = Commands.of(stage.project)
    if commands.command(ref) is None:
        return given
    keywords: dict[str, Any] = {}
    for parameter in stage.project.function(ref).parameters:
        found = commands.value(stage.run, ref, parameter.name, whole_line(ref.file))
        if isinstance(found, Leaf) and found.value.is_known and is_known(found.value.only):
            keywords[parameter.name] = found.value.only
        elif found is not None:
            keywords[parameter.name] = Opaque(("option", parameter.name))
    return Given([], keywords)


def _is_left_to_library(stage: Stage, ref: FunctionRef, given: Given) -> bool:
    """Whether what calls a function gives it no arguments of its own."""
    plain = not given.positional and not given.open and set(given.keywords) <= {"standalone_mode", "prog_name"}
    return (plain and bool(stage.project.function(ref).decorators)) or (given.open and not given.keywords)


def started(player: Calls, callee: Any, call: ir.Call, scope: Scope) -> None:
    """``app()``: the command of an application that the run starts is followed."""
    func, stage = call.func, player.stage
    if stage.witness is None or stage.run is None or call.args or type(func) is not ir.Name:
        return
    if not isinstance(callee, Made | FunctionValue):
        return
    if isinstance(callee, FunctionValue) and not stage.project.function(callee.ref).decorators:
        return
    ref = Commands.of(stage.project).chosen(stage.run, scope.file, func.id)
    if ref is not None:
        player.apply(FunctionValue(ref), Given([], {}), call, scope)


__all__ = ["DECORATORS", "commanded", "started"]
