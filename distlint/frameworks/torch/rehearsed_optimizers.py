"""Optimizers, schedulers and scalers in the rehearsal of a program: learning rates and losses on their way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from distlint.frameworks.torch import rehearsed_accumulated as accumulated
from distlint.frameworks.torch import rehearsed_alone as alone
from distlint.frameworks.torch import rehearsed_apart as apart
from distlint.frameworks.torch import rehearsed_beside as beside
from distlint.frameworks.torch import rehearsed_closures as closures
from distlint.frameworks.torch import rehearsed_overflows as overflows
from distlint.frameworks.torch import rehearsed_resumed as resumed
from distlint.frameworks.torch import rehearsed_rounds as rounds
from distlint.frameworks.torch import rehearsed_scaling as scaling
from distlint.frameworks.torch import rehearsed_stale as stale
from distlint.frameworks.torch import rehearsed_statistics as statistics
from distlint.frameworks.torch import rehearsed_taken as takes
from distlint.frameworks.torch import rehearsed_thawed as thawed
from distlint.frameworks.torch import rehearsed_under_way as under_way
from distlint.frameworks.torch import rehearsed_unfilled as unfilled
from distlint.frameworks.torch import rehearsed_unheard as unheard
from distlint.frameworks.torch.rehearsed_modules import with_parts
from distlint.frameworks.torch.rehearsed_shapes import fresh
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.unknowns import UNKNOWN, Opaque
from distlint.rehearsal.values import Given, Items, Made, Table, Tensor, source_of

OPTIMIZERS = "torch.optim."
SCHEDULERS = "torch.optim.lr_scheduler."
SCALERS = ("torch.cuda.amp.GradScaler", "torch.amp.GradScaler", "torch.amp.grad_scaler.GradScaler")

_FOLLOWING = "ReduceLROnPlateau()"
"""A scheduler that is told a figure in each step, and no epoch."""
_MOST_GROUPS = 64

UNSCALED = "gradients unscaled"
"""Under this name a process remembers where gradients were divided by the loss scale, and so looked at for overflows."""


class Optimizer(unfilled.Entries):
    """An optimizer. Its settings are the same everywhere unless a scheduler follows what differs (``source``)."""

    __slots__ = ("added", "held", "hooks", "perhaps")

    def __init__(self, name: str, call: ir.Call, given: Given) -> None:
        super().__init__(name, call, given)
        self.hooks: list[Any] = []
        """What it calls in front of each step."""
        self.held: tuple[Any, ...] | None = None
        """The parameters that an iterator gave it."""
        self.added: list[Any] = []
        """The groups that were certainly added later."""
        self.perhaps: list[tuple[tuple[Any, ...], Any]] = []
        """Groups that are added where tests that are not known say so, with what these are (``Stage.way``)."""

    def attribute(self, player: Any, name: str, expr: ir.Expr, scope: Any) -> Any:
        """Its groups of parameters, of which there may be several."""
        if name == "state":
            return unfilled.View(self)
        if name == "__init__":
            stale.refilled(player, self)  # it begins anew
        if name != "param_groups":
            return NotImplemented
        stale.groups_asked(player, self, scope)
        sign = None if self.source is not None else ("settings of an optimizer", self.call.at if self.call else 0)
        group = Table({"lr": Opaque(sign, self.source)}, is_open=True)
        return Groups(group)

    def method(self, player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
        """A step takes the loss that a closure gives; the rest gives nothing."""
        if name == "register_step_pre_hook":
            self.hooks.append(given.get("hook", 0, UNKNOWN))
            return UNKNOWN
        if name == "step":
            if self.arguments is not None:
                scaling.used(player, "step", self.arguments.get("params", 0), call, scope)
                apart.stepped(player, self.arguments.get("params", 0), call, scope)
                beside.stepped(player, self, call, scope)
                alone.stepped(player, self, call, scope)
                if not self.hooks:
                    thawed.stepped(player, self.parts(player), call, scope, later=self.parts_added_perhaps(player))
            _steps(player, self, call, scope)
            for hook in self.hooks:
                player.apply(hook, Given([self, (), Table()], {}), call, scope)
            under_way.read_by(player, list(beside.modules_held(player, self)), ir.unpack(call.at, scope.file))
            closure = given.get("closure", 0, None)
            if closure is None:
                return None
            before = len(player.stage.events)
            loss = player.apply(closure, Given([], {}), call, scope)
            closures.called(player, self, loss, before, call, scope)
            return loss
        if name == "add_param_group":
            stale.refilled(player, self)
            self._add(player, given.get("param_group", 0, UNKNOWN))
        if name == "load_state_dict":
            resumed.loaded(player, self, call, scope)
            unfilled.loaded(player, self, given.get("state_dict", 0, UNKNOWN))
        if name == "state_dict" and not given.values():
            return unfilled.taken(player, self, call, scope)
        if name == "zero_grad":
            scaling.plain(player)
            takes.dropped(player.stage)
            under_way.dropped(player.stage)
        if name in ("zero_grad", "add_param_group", "load_state_dict"):
            return None
        self.handled += 1
        return NotImplemented

    def _add(self, player: Any, group: Any) -> None:
        """A group is added: what an iterator gives is taken at once."""
        if isinstance(group, Table):
            stale.takes_all(player, group)
        if player.stage.unsure and len(self.perhaps) < _MOST_GROUPS:
            self.perhaps.append((player.stage.way, group))
        elif len(self.added) < _MOST_GROUPS:
            self.added.append(group)
            stale.added(player, self, group)

    def parts(self, player: Any) -> Iterator[Any]:
        """The layers and parameters that it certainly steps."""
        for module in beside.modules_held(player, self):
            yield from with_parts(module)

    def parts_added_perhaps(self, player: Any) -> Iterator[tuple[tuple[Any, ...], Any]]:
        """Those of groups that are added where tests that are not known say so, each with what these are (``Stage.way``)."""
        for way, group in self.perhaps:
            for module in beside.modules_of(player, group):
                for part in with_parts(module):
                    yield way, part


def _steps(player: Any, optimizer: Optimizer, call: ir.Call, scope: Any) -> None:
    """An optimizer takes the gradients, asked by the program or by a scaler."""
    for about in (rounds, accumulated, resumed, stale, takes, unfilled, unheard):
        about.stepped(player, optimizer, call, scope)


class Groups(Made):
    """The groups of parameters of an optimizer."""

    __slots__ = ("group",)

    def __init__(self, group: Table) -> None:
        super().__init__("param_groups")
        self.group = group

    def item(self, player: Any) -> Any:
        """One of them."""
        return self.group

    def part(self, player: Any, index: Any, span: Span) -> Any:
        """One of them."""
        return self.group

    def length(self, player: Any) -> Any:
        """As many everywhere."""
        return Opaque(("number of groups",))


class Scheduler(resumed.Resumed):
    """A scheduler of learning rates."""

    __slots__ = ("optimizer",)

    def __init__(self, name: str, call: ir.Call, given: Given) -> None:
        super().__init__(f"{name}()", call, given)
        self.optimizer = given.get("optimizer", 0, UNKNOWN)
        self.handled = int("last_epoch" in given.keywords)

    def method(self, player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
        """What it follows decides the rates."""
        if name == "step":
            source = source_of(given.values())
            if isinstance(self.optimizer, Optimizer) and source is not None:
                self.optimizer.source = source
            if self.name.endswith(_FOLLOWING):
                made = ir.unpack(self.call.at, self.file) if self.call is not None else None
                statistics.followed(player, source, made, call, scope)
            elif given.values():
                self.handled += 1  # it is told where it is
            resumed.stepped(player, self, call, scope)
            return None
        if name in ("get_last_lr", "get_lr"):
            rate = self.optimizer.source if isinstance(self.optimizer, Optimizer) else None
            return Items([Opaque(None if rate is not None else ("rate", name), rate)])
        if name == "load_state_dict":
            resumed.loaded(player, self, call, scope)
            return None
        self.handled += 1
        return NotImplemented


class Scaler(resumed.Resumed):
    """A scaler of losses."""

    __slots__ = ("phases",)

    def __init__(self, name: str, call: ir.Call, given: Given, strangers: int) -> None:
        super().__init__(name, call, given)
        self.phases = scaling.Phases(strangers)

    def attribute(self, player: Any, name: str, expr: ir.Expr, scope: Any) -> Any:
        """What it keeps for itself is not followed."""
        overflows.looked_into(player, name)
        return NotImplemented

    def method(self, player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
        """A scaled loss is one; a step may be left out, which is the same everywhere if the gradients are."""
        first = given.get("outputs", 0, UNKNOWN)
        overflows.looked_into(player, name)
        if name == "unscale_" and self.arguments is not None and self.arguments.get("enabled", None, True) is True:
            player.stage.kept[UNSCALED] = ir.unpack(call.at, scope.file)
        elif name in ("step", "update"):
            player.stage.kept.pop(UNSCALED, None)
        if name in ("unscale_", "step", "update"):
            optimizer = given.get("optimizer", 0, None)
            if name != "update" and isinstance(optimizer, Optimizer):
                held = list(beside.modules_held(player, optimizer))
                under_way.read_by(player, held, ir.unpack(call.at, scope.file))
            if name == "step":
                overflows.stepped(player, self, optimizer, call, scope)
            if name == "step" and isinstance(optimizer, Optimizer):
                beside.stepped(player, optimizer, call, scope)
                alone.stepped(player, optimizer, call, scope)
                _steps(player, optimizer, call, scope)
            scaling.asked(player, self, self.phases, name, optimizer, call, scope)
            if name == "step" and scaling.is_on(self):
                resumed.stepped(player, self, call, scope)
            self.handled += int(name == "update" and bool(given.values()))
            if name == "update":
                scaling.updated(player, self, self.phases, given, call, scope)
            else:
                scaling.looked(player, self.phases)
        if name == "scale":
            if not isinstance(first, Tensor):
                return first
            made = fresh("scale", first.shape, first.dtype, [first], first.at)
            return scaling.scaled(self, made, ir.unpack(call.at, scope.file))
        if name == "load_state_dict":
            resumed.loaded(player, self, call, scope)
        if name in ("step", "update", "unscale_", "load_state_dict"):
            return None
        if name in ("get_scale", "is_enabled"):
            return Opaque(("scale",))
        self.handled += 1
        return NotImplemented


def made(player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
    """What a class gives that makes one of these; ``NotImplemented`` for others."""
    last = name.rpartition(".")[2]
    found: Any = NotImplemented
    if name in SCALERS:
        found = Scaler(f"{name}()", call, given, player.stage.strangers)
    elif last[:1].isupper() and name.startswith(SCHEDULERS):
        found = Scheduler(name, call, given)
    elif last[:1].isupper() and name.startswith(OPTIMIZERS):
        found = Optimizer(f"{name}()", call, given)
        stale.made(player, found)
    if found is not NotImplemented:
        found.file = scope.file
    return found
