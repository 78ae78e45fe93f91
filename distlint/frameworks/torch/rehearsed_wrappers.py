"""Wrapped models in the rehearsal of a program: who meets whom in their making, in forward and in backward passes.

Sources: torch 2.13, ``nn/parallel/distributed.py``, ``distributed/fsdp``, ``distributed/checkpoint/state_dict.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

from distlint.frameworks.torch import rehearsed_accumulated as accumulated
from distlint.frameworks.torch import rehearsed_alone as alone
from distlint.frameworks.torch import rehearsed_apart as apart
from distlint.frameworks.torch import rehearsed_beside as beside
from distlint.frameworks.torch import rehearsed_buffers as buffering
from distlint.frameworks.torch import rehearsed_changes as changes
from distlint.frameworks.torch import rehearsed_checkpoints as checkpoints
from distlint.frameworks.torch import rehearsed_converted as converting
from distlint.frameworks.torch import rehearsed_copies as copies
from distlint.frameworks.torch import rehearsed_empty as empty
from distlint.frameworks.torch import rehearsed_frozen as freezing
from distlint.frameworks.torch import rehearsed_hooks as hooks
from distlint.frameworks.torch import rehearsed_in_place as in_place
from distlint.frameworks.torch import rehearsed_lives as lives
from distlint.frameworks.torch import rehearsed_loads as loads
from distlint.frameworks.torch import rehearsed_mesh as meshes
from distlint.frameworks.torch import rehearsed_modes as modes
from distlint.frameworks.torch import rehearsed_modules as modules
from distlint.frameworks.torch import rehearsed_overflows as overflows
from distlint.frameworks.torch import rehearsed_passes as passes
from distlint.frameworks.torch import rehearsed_pieces as pieces
from distlint.frameworks.torch import rehearsed_plain as plain
from distlint.frameworks.torch import rehearsed_redrawn as redrawn
from distlint.frameworks.torch import rehearsed_reentrant as reentrant
from distlint.frameworks.torch import rehearsed_rounds as rounds
from distlint.frameworks.torch import rehearsed_scaling as scaling
from distlint.frameworks.torch import rehearsed_sharding as sharding
from distlint.frameworks.torch import rehearsed_shards as shards
from distlint.frameworks.torch import rehearsed_some_ways as some_ways
from distlint.frameworks.torch import rehearsed_spread as spread
from distlint.frameworks.torch import rehearsed_stale as stale
from distlint.frameworks.torch import rehearsed_statistics as statistics
from distlint.frameworks.torch import rehearsed_taken as takes
from distlint.frameworks.torch import rehearsed_thawed as thawed
from distlint.frameworks.torch import rehearsed_unfilled as unfilled
from distlint.frameworks.torch import rehearsed_unheard as unheard
from distlint.frameworks.torch import rehearsed_units as units
from distlint.frameworks.torch import rehearsed_waits as waits
from distlint.frameworks.torch.rehearsed_needs import FROZEN
from distlint.frameworks.torch.rehearsed_outputs import IN_PLACE as KEPT
from distlint.frameworks.torch.rehearsed_outputs import came_out, note, passed
from distlint.frameworks.torch.rehearsed_recording import is_silent
from distlint.frameworks.torch.rehearsed_weights import Weight
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.entities import FunctionValue
from distlint.rehearsal.libraries import GRADIENTS_KEPT
from distlint.rehearsal.notes import WEIGHTS
from distlint.rehearsal.unknowns import UNKNOWN
from distlint.rehearsal.values import Given, Made, Tensor, Thing, combined

DATA_PARALLEL = "torch.nn.parallel.DistributedDataParallel"
SHARDED = "torch.distributed.fsdp.FullyShardedDataParallel"
IN_PLACE = ("torch.distributed.fsdp.fully_shard", "torch.distributed._composable.fsdp.fully_shard")
_BY_NAME = ("modules", "named_modules", "children", "named_children", "get_submodule")
_STATES = "torch.distributed.checkpoint.state_dict."
_GETTING = ("get_model_state_dict", "get_optimizer_state_dict", "get_state_dict")
_SETTING = ("set_model_state_dict", "set_optimizer_state_dict", "set_state_dict")


class Wrapped(Made):
    """A model behind a wrapper. ``paused`` while gradients are not summed up; ``group`` is who they are summed over.

    ``doubt`` is how unsure the process was of coming to where they were last told not to be; ``prepared`` says that a library
    has made the wrapper, and gave it to the program.
    """

    __slots__ = (
        "calls",
        "doubt",
        "group",
        "half",
        "inner",
        "inside",
        "made",
        "paused",
        "prepared",
        "sharded",
        "span",
        "whole",
    )

    def __init__(self, name: str, call: ir.Call | None, given: Given | None, inner: Any, group: Any) -> None:
        super().__init__(f"{name}()", call, given)
        self.inner = inner
        self.group = group
        self.paused = 0
        self.calls = 0
        """Forward passes of it, or past it, that are under way."""
        self.doubt = 0
        self.inside = 0
        self.half = False
        """Whether its last forward pass computed in a type that gradients may overflow."""
        self.whole = False
        self.span: Span | None = None
        self.made = 0
        """Operations of the process before it was made."""
        self.sharded = name != DATA_PARALLEL
        self.prepared = False

    def attribute(self, player: Any, name: str, expr: ir.Expr, scope: Any) -> Any:
        """The model inside; a sharded one lends its attributes."""
        if name in ("module", "_fsdp_wrapped_module"):
            return self.inner
        if name == "training":
            return modes.mode_of(player, self)
        if self.sharded and isinstance(self.inner, Thing) and name in self.inner.attributes:
            return self.inner.attributes[name]
        return NotImplemented

    def method(self, player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
        """What the wrapper does itself, and what every module has."""
        if name == "no_sync":
            return NoSync(self)
        if name == "forward":
            return self.called(player, given, call, scope)
        if name == "clip_grad_norm_":
            return Tensor(
                (), "float32", ir.unpack(call.at, scope.file), hash(("norm", player.stage.kept.get("backward")))
            )
        if name in ("join", "summon_full_params", "register_comm_hook"):
            return UNKNOWN
        if name in _BY_NAME:
            found = modules.module_method(player, self, name, given, call, scope)
            if found is not NotImplemented:
                return found
        takes.asked(player, self.inner, name)
        found = modules.module_method(player, self.inner, name, given, call, scope)
        if isinstance(found, modules.Parameters):
            found.family = modules.WRAPPED if not self.sharded and found.family == modules.BARE else ""
        return self if found is self.inner and found is not NotImplemented else found

    def copied(self, duplicated: Callable[[Any], Any]) -> Any:
        """A deep copy wraps a copy of the model."""
        made = copy(self)
        made.inner = duplicated(self.inner)
        return made

    def called(self, player: Any, given: Given, call: ir.Call, scope: Any) -> Any:
        """A forward pass: what comes out leads back to this wrapper, except while it is paused."""
        found, through = self.forwarded(player, given, call, scope)
        return came_out(player, found, through, given, ir.unpack(call.at, scope.file))

    def forwarded(self, player: Any, given: Given, call: ir.Call, scope: Any) -> tuple[Any, tuple[Any, ...]]:
        """A forward pass: what the model inside gives, and what that leads back to: nothing where nothing is recorded."""
        through = passes.begun(player, self, ir.unpack(call.at, scope.file))
        self.half = overflows.is_half(player, self)
        uses = reentrant.begun(player, self)
        self.calls += 1
        try:
            found = player.apply(self.inner, given, call, scope)
        finally:
            self.calls -= 1
            passes.ended(player, through)
            reentrant.ended(player, self, uses, player.stage.kept.get(FROZEN, {}))
        return found, () if is_silent(player) else through


class NoSync(Made):
    """``with model.no_sync()``."""

    __slots__ = ("wrapped",)

    def __init__(self, wrapped: Wrapped) -> None:
        super().__init__("no_sync()")
        self.wrapped = wrapped

    def entered(self, player: Any, span: Span) -> Any:
        """Gradients are kept."""
        self.wrapped.paused += 1
        self.wrapped.doubt = player.stage.unsure
        return UNKNOWN

    def left(self, player: Any, span: Span) -> None:
        """Gradients are summed up again."""
        self.wrapped.paused -= 1


def wrapped(player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
    """What a function gives that wraps models; ``NotImplemented`` for others."""
    if name in (DATA_PARALLEL, SHARDED) and not given.open:
        own = given.get("process_group", 1 if name == SHARDED else None, None)
        mesh = given.get("device_mesh", None, None)
        lives.used(player, name.rpartition(".")[2], UNKNOWN if mesh is not None else own, call, scope)
    if name == DATA_PARALLEL:
        group = player.stage.group_of(given.get("process_group", None, None))
        made = Wrapped(name, call, given, given.get("module", 0, UNKNOWN), group)
        made.span = ir.unpack(call.at, scope.file)
        changes.wrapped(player, made)
        made.made = len(player.stage.events)
        event = next((one for one in reversed(player.stage.events[-2:]) if one.call is call), None)
        weights = modules.weights_of(player, made.inner)
        if event is not None and weights is not None:
            event.seen[WEIGHTS] = tuple(one.shape for one in weights)
        waits.watch(player, made)
        passes.wrapped(player, made, modules.parts_of_model(made.inner))
        thawed.wrapped(player, made, modules.parts_of_model(made.inner))
        beside.wrapped(player, made)
        plain.wrapped(player, made)
        buffering.wrapped(player, made)
        statistics.wrapped(player, made, modules.parts_of_model(made.inner))
        return _evened(player, made, call, scope)
    if name == SHARDED:
        group = player.stage.group_of(given.get("process_group", 1, None))
        if given.get("device_mesh", None, None) is not None:
            group = meshes.group_over(player, given.get("device_mesh", None))
        found = _evened(player, Wrapped(name, call, given, given.get("module", 0, UNKNOWN), group), call, scope)
        found.span = ir.unpack(call.at, scope.file)
        apart.ignored(player, found)
        beside.wrapped(player, found)
        if given.get("use_orig_params", None, False) is False and not given.open:
            units.wrapped(player, found.inner, given, call, scope)
            stale.sharded(player, found)
        spread.spread(player, found.inner, found.group)
        shards.wrapped(player, found)
        pieces.sharded(player, found, modules.parts_of_model(found.inner))
        return found
    if name in IN_PLACE:
        return _in_place(player, name, given, call, scope)
    if name.startswith("torch.distributed.fsdp.") and name.endswith("register_fsdp_forward_method"):
        in_place.opened(player, given.get("module", 0, UNKNOWN))
        return None
    if name == "torch.nn.DataParallel":
        return given.get("module", 0, UNKNOWN)
    if name.endswith("convert_sync_batchnorm"):
        module = given.get("module", 0, UNKNOWN)
        for part in modules.parts_of_model(module):
            if isinstance(part, modules.Layer) and part.kind.startswith("BatchNorm"):
                part.kind = "SyncBatchNorm"
        return module
    if name.startswith(_STATES):
        return _state(player, name[len(_STATES) :], given, call, scope)
    return spread.parallelized(player, name, given, call, scope)


def _evened(player: Any, made: Wrapped, call: ir.Call, scope: Any) -> Wrapped:
    """The constructor sends the parameters of rank 0, and gradients are the same from now on."""
    copies.evened(player, modules.parts_of_model(made.inner))
    freezing.thawed(player, modules.parts_of_model(made.inner))
    converting.rewrapped(player, modules.parts_of_model(made.inner))
    if not made.sharded and made.span is not None:
        copies.sent(player, modules.parts_of_model(made.inner), made.span)
    for position, part in enumerate(modules.parts_of_model(made.inner)):
        if made.arguments is None or made.arguments.get("init_sync", None, True) is True:
            part.sign = hash(("sent", scope.file, call.at, position))
            part.source = None
        part.synced = made.group is player.stage.everyone
    return made


def _in_place(player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
    """``fully_shard``: the module stays what it is, but its passes are made together."""
    module = given.get("module", 0, UNKNOWN)
    group = meshes.group_over(player, given.get("mesh", None, None))
    if lives.now(player.stage) != lives.STARTED:
        lives.started(player.stage)
    wrapper = Wrapped(name, call, given, module, group)
    wrapper.span = ir.unpack(call.at, scope.file)
    stale.sharded(player, wrapper)
    in_place.shard(player, module, wrapper, call, scope)
    apart.ignored(player, wrapper)
    beside.wrapped(player, wrapper)
    spread.spread(player, module, spread.over(player, given.get("mesh", None, None)))
    for part in modules.parts_of_model(module):
        part.synced = group is not None
    player.stage.kept.setdefault(KEPT, {})[id(module)] = wrapper
    return module


def called_thing(
    player: Any, thing: Thing, method: FunctionValue | modules.Layer, given: Given, call: ir.Call, scope: Any
) -> Any:
    """The call of an object of the project: one that is sharded in place is followed as a wrapped one."""
    through = passed(player, thing, given, call, scope)
    empty.called(player, thing, method)
    plain.called(player, thing, method)
    own = [one for one in thing.attributes.values() if isinstance(one, Weight)]
    span = ir.unpack(call.at, scope.file)
    passes.computed(player, own, span, inside=True)

    def forward(past: tuple[Any, ...]) -> Any:
        found = sharding.during(player, through, lambda: player.apply(method, given, call, scope))
        return came_out(player, found, (*through, *past), given, span) if through or past else found

    return passes.past(player, thing, span, forward)


def backward(player: Any, loss: Tensor, call: ir.Call, scope: Any, *, noted: bool = False) -> None:
    """``loss.backward()``: gradients of all processes are summed up, of each wrapped model that the loss came out of.

    ``noted`` says that a description of the call has noted already that the processes meet in it.
    """
    kept = player.stage.kept
    kept["backward"] = kept.get("backward", 0) + 1
    muted = kept.get(GRADIENTS_KEPT, 0)
    sharding.resharded(player)
    scaling.passed_back(player, loss, ir.unpack(call.at, scope.file))
    overflows.passed_back(player, loss)
    waits.reached(player, loss, call, scope)
    unheard.passed_back(player, loss, call, scope)
    copies.passed_back(player, loss)
    beside.passed_back(player)
    alone.passed_back(player, loss)
    takes.passed_back(player, loss)
    rounds.passed_back(player, loss.through)
    if not muted:
        some_ways.passed_back(player, loss, call, scope)
    accumulated.passed_back(player, loss.through, ir.unpack(call.at, scope.file))
    for one in loss.through:
        changes.passed_back(player, one, call, scope)
        if isinstance(one, Wrapped):
            loads.passed_back(player, one, modules.weights_of, call, scope)
            reentrant.passed_back(player, one, call, scope)
            freezing.passed_back(player, one, modules.parts_of_model(one.inner), call, scope)
            plain.passed_back(player, one, call, scope)
            buffering.passed_back(player, one, loss, call, scope)
            redrawn.passed_back(player, one, modules.parts_of_model(one.inner), call, scope)
            converting.passed_back(player, one, modules.parts_of_model(one.inner), call, scope)
        if one.group is not None and not muted and not noted:
            note(player, "backward", call, scope, one.group)
        elif muted:
            player.stage.excused.add((scope.file, call.at))
    if not any(isinstance(one, Wrapped) for one in loss.through):
        kept["gradient"] = loss.source or kept.get("gradient")
    hooks.passed_back(player, call, scope)


def _state(player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
    """Full states of sharded models are gathered by all processes together."""
    if name not in (*_GETTING, *_SETTING):
        return NotImplemented
    unfilled.touched(given.values())
    if name in _SETTING:
        checkpoints.set_state(player, name, given, call, scope)
    model = given.get("model", 0, UNKNOWN)
    options = given.get("options", None, None)
    flags = options.arguments if isinstance(options, Made) else None
    asked = "full_state_dict" if name in _GETTING else "broadcast_from_rank0"
    full = flags is not None and flags.get(asked, 0 if name in _GETTING else 3, False) is True
    is_sharded = any(part.sharded for part in modules.parts_of_model(model)) or (
        isinstance(model, Wrapped) and model.sharded
    )
    if full and (is_sharded or name in _SETTING):
        note(player, name, call, scope)
    return modules.state_of(model) if name in _GETTING else UNKNOWN


def gathered_whole(player: Any, base: Tensor, call: ir.Call, scope: Any) -> Tensor:
    """``parameter.full_tensor()``, or ``redistribute``: what each process holds of it is sent to the others."""
    name = call.func.name if type(call.func) is ir.Attribute else "full_tensor"
    for group in spread.gathering(player, base):
        note(player, name, call, scope, group)
    made = Tensor(base.shape, base.dtype, base.at, combined(name, [base]))
    made.sharded = name != "full_tensor"
    return made
