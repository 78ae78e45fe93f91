"""What comes out of models in the rehearsal of a program, and which wrappers it leads back to."""

from __future__ import annotations

from typing import Any

from distlint.frameworks.torch.rehearsed_recording import is_recorded
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.libraries import Arguments
from distlint.rehearsal.stage import Event
from distlint.rehearsal.unknowns import Opaque, Source
from distlint.rehearsal.values import Given, Items, Made, Table, Tensor, combined, source_of

FETCHED = "layers whose parameters are fetched each time that they are used"
REDUCED = "layers whose gradients are reduced in parts of equal size"
"""Under this name a process remembers them, with the engines that do so (``is_training`` says of which use)."""
IN_PLACE = "wrapped in place"
"""Under this name a process remembers the modules that are sharded without a wrapper around them."""


class Output(Made):
    """What came out of a model of which no more is known; each of its parts did."""

    __slots__ = ("needs", "span", "through")

    def __init__(
        self, span: Span, sign: Any, source: Source | None, through: tuple[Any, ...], *, needs: bool | None = True
    ) -> None:
        super().__init__("output of a model")
        self.sign = sign
        self.source = source
        self.span = span
        self.through = through
        self.needs = needs
        """Whether its parts need gradients."""

    def _tensor(self, key: Any) -> Tensor:
        found = Tensor(
            () if key in ("loss", 0) and key == "loss" else None, "", self.span, combined("part", [self, key])
        )
        found.source = self.source
        found.through = self.through
        found.gradient = self.needs
        return found

    def attribute(self, player: Any, name: str, expr: ir.Expr, scope: Any) -> Any:
        """A field of it, or a method of the tensor that it may be."""
        return (
            self._tensor(name) if name in ("loss", "logits", "last_hidden_state", "hidden_states") else NotImplemented
        )

    def method(self, player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
        """It may be a tensor itself."""
        return player.models.method(player, self._tensor(""), name, given, call, scope)

    def part(self, player: Any, index: Any, span: Span) -> Any:
        """A part of it."""
        return self._tensor(index)


def came_out(player: Any, value: Any, through: tuple[Any, ...], given: Given, span: Span, depth: int = 0) -> Any:
    """Marks what came out of a wrapped model."""
    if isinstance(value, Tensor):
        value.sharded = False  # parameters are whole while the model is called
        value.through = (*value.through, *(one for one in through if one not in value.through))
        return value
    if isinstance(value, Items) and value.items is not None and depth < 2:
        value.items = [came_out(player, one, through, given, span, depth + 1) for one in value.items]
        return value
    if type(value) is tuple and depth < 2:
        return tuple(came_out(player, one, through, given, span, depth + 1) for one in value)
    if isinstance(value, Table) and depth < 2:
        for key, one in value.items.items():
            value.items[key] = came_out(player, one, through, given, span, depth + 1)
        return value
    if isinstance(value, Opaque):
        source = value.source or source_of([*given.values(), *given.rest])
        return Output(span, value.sign, source, through, needs=is_recorded(player))
    if isinstance(value, Output):
        value.through = (*value.through, *through)
    return value


def note(player: Any, name: str, call: ir.Call, scope: Any, group: Any = None) -> None:
    """Records an operation that an object makes with the other processes."""
    event = Event(name, call, scope.file, scope.function, Arguments())
    event.group = group if group is not None else player.stage.everyone
    event.seen["what"] = name
    player.stage.record(event)


def passed(player: Any, module: Any, given: Given, call: ir.Call, scope: Any) -> Any:
    """Notes the forward pass of a module whose parameters lie in parts; gives what its results lead back to, if it is sharded in place."""
    if id(module) in player.stage.kept.get(FETCHED, ()):
        note(player, "forward", call, scope)
    engine = player.stage.kept.get(REDUCED, {}).get(id(module))
    if engine is not None and player.stage.parted and engine.is_training(player, module):
        # where all processes use it nobody waits: all have its gradient
        note(player, "forward", call, scope)
    wrapper = player.stage.kept.get(IN_PLACE, {}).get(id(module))
    if wrapper is not None and wrapper.group is not None:
        note(player, "forward", call, scope, wrapper.group)
    return () if wrapper is None else (wrapper,)
