"""The optimizer of a trainer in the rehearsal of a program: what the program gives or makes, or the one that the trainer makes by itself.

Source: transformers 5.23.0, ``trainer.py``, ``create_optimizer``: it is made of the parameters that need a gradient when training begins,
and once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from distlint.frameworks.torch import rehearsed_beside as beside
from distlint.frameworks.torch import rehearsed_thawed as thawed
from distlint.frameworks.torch.rehearsed_modules import parts_of_model, with_parts
from distlint.frameworks.torch.rehearsed_optimizers import Optimizer
from distlint.model import python as ir
from distlint.rehearsal.entities import FunctionValue
from distlint.rehearsal.notes import NEVER_STEPPED
from distlint.rehearsal.stage import Event, Fault
from distlint.rehearsal.unknowns import UNKNOWN
from distlint.rehearsal.values import Given, Made, Thing

MAKING = ("create_optimizer", "create_optimizer_and_scheduler")
"""Methods that a class may have of its own; the second one is called by older releases."""


class OwnOptimizer(Optimizer):
    """The optimizer that a trainer makes: ``without`` are the parts of the model that were frozen then, which it does not hold."""

    __slots__ = ("grown", "model", "without")

    def __init__(self, player: Any, model: Any, call: ir.Call) -> None:
        super().__init__("torch.optim.AdamW()", call, Given([], {}))
        now = thawed.frozen_now(player)
        self.model = model
        self.without = {id(one): one for one in parts_of_model(model) if id(one) in now}
        self.grown = False
        """Whether groups are added to it, perhaps."""

    def method(self, player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
        """What an optimizer does; groups may be added."""
        self.grown = self.grown or name == "add_param_group"
        return super().method(player, name, given, call, scope)

    def parts(self, player: Any) -> Iterator[Any]:
        """The layers and parameters that it certainly steps: what came into sight later was a part of what it holds, or of what it left."""
        behind = thawed.trained_behind(player)
        yield from (one for one in with_parts(self.model) if id(one) not in self.without and id(one) not in behind)
        for group in self.added:
            for module in beside.modules_of(player, group):
                yield from with_parts(module)


def optimizer_of(player: Any, parts: dict[str, Any], thing: Thing | None, call: ir.Call, scope: Any) -> Any:
    """The optimizer that a trainer trains with, made now unless it was given one."""
    given = parts.get("optimizers")
    pair = player.items_of(given) if given is not None else [None]
    own = pair[0] if pair else UNKNOWN
    model = parts.get("model", UNKNOWN)
    if thing is None:
        return OwnOptimizer(player, model, call) if own is None and "optimizer_cls_and_kwargs" not in parts else own
    thing.attributes.setdefault("optimizer", own)
    modules = player.stage.project.modules
    method = next((found for name in MAKING if (found := modules.method(thing.cls, name)) is not None), None)
    if method is None:
        made(player, thing, call)
    else:
        found = player.call_function(FunctionValue(method, None, thing), Given([], {}, is_open=True), call, scope)
        if thing.attributes["optimizer"] is None and found is not None:
            thing.attributes["optimizer"] = found
    return thing.attributes["optimizer"]


def made(player: Any, thing: Thing, call: ir.Call) -> Any:
    """``create_optimizer()`` of the library: it makes one where there is none."""
    if thing.attributes.setdefault("optimizer", None) is None:
        thing.attributes["optimizer"] = OwnOptimizer(player, thing.attributes.get("model", UNKNOWN), call)
    return thing.attributes["optimizer"]


def stepped(player: Any, optimizer: Any, call: ir.Call, scope: Any) -> None:
    """The trainer has its optimizer step."""
    if isinstance(optimizer, OwnOptimizer):
        _left_out(player, optimizer, call, scope)
    if isinstance(optimizer, Optimizer):
        thawed.stepped(player, optimizer.parts(player), call, scope, later=optimizer.parts_added_perhaps(player))
    elif isinstance(optimizer, Made) and optimizer.arguments is not None:
        held = beside.modules_of(player, optimizer.arguments.get("params", 0, UNKNOWN))
        thawed.stepped(player, [part for module in held for part in with_parts(module)], call, scope)


def _left_out(player: Any, optimizer: OwnOptimizer, call: ir.Call, scope: Any) -> None:
    """Parameters need a gradient since, but the optimizer was made without them."""
    stage = player.stage
    behind = thawed.trained_behind(player)
    found = next((behind[key] for key in optimizer.without if key in behind), None)
    if found is not None and not optimizer.grown:
        event = Event("step", call, scope.file, scope.function, {})
        event.chain = found.chain
        words = {"made": event.span, "frozen": found.frozen}
        stage.faults.append(Fault(NEVER_STEPPED, found.span, event, words))
