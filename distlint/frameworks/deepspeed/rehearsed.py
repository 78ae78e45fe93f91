"""What DeepSpeed does in the rehearsal of a program.

Sources: deepspeed 0.19.8, ``runtime/engine.py``, ``comm/comm.py``, ``runtime/zero/parameter_offload.py`` (the hooks of each module in a
forward pass fetch its parameters), ``runtime/zero/stage3.py`` (``__avg_scatter_grads``: the gradients that a process has are scattered
with those of the others, so they have to be as many), ``runtime/zero/config.py``.
"""

from __future__ import annotations

from math import prod
from typing import Any

from distlint.frameworks.torch import rehearsed_communication as communication
from distlint.frameworks.torch.rehearsed_data import SHARE, Loader
from distlint.frameworks.torch.rehearsed_modules import Layer, module_method, parts_of_model
from distlint.frameworks.torch.rehearsed_needs import FROZEN
from distlint.frameworks.torch.rehearsed_optimizers import Optimizer
from distlint.frameworks.torch.rehearsed_outputs import FETCHED, REDUCED, came_out, note
from distlint.frameworks.torch.rehearsed_recording import is_silent
from distlint.model import python as ir
from distlint.rehearsal.configured import settings_at
from distlint.rehearsal.models import Models
from distlint.rehearsal.unknowns import UNKNOWN, Opaque, Source
from distlint.rehearsal.values import Given, Made, Table

_PARTITIONED = ("save_16bit_model", "save_fp16_model", "_zero3_consolidated_16bit_state_dict", "generate")
_MICRO = "train_micro_batch_size_per_gpu"
_SIZES = (_MICRO, "train_batch_size", "gradient_accumulation_steps")
"""Methods of an engine that give what the configuration says under the same name."""
_KEPT_WHOLE = 100_000
"""Parameters of at most so many numbers are not parted, where nothing else is said."""


class Engine(Made):
    """What trains a model; ``partitioned`` where each process holds a part of every parameter (ZeRO stage 3)."""

    __slots__ = ("config", "inner", "kept_whole", "partitioned", "stage", "trains")

    def __init__(self, call: ir.Call, given: Given, config: Any) -> None:
        super().__init__("deepspeed.initialize()[0]", call, given)
        self.inner: Any = given.get("model", 1, UNKNOWN)
        self.config = config
        self.stage = _option(config, "stage", 0)
        self.partitioned = self.stage == 3
        self.trains = False
        """Whether a backward pass was made."""
        self.kept_whole = _option(config, "stage3_param_persistence_threshold", _KEPT_WHOLE)

    def attribute(self, player: Any, name: str, expr: ir.Expr, scope: Any) -> Any:
        """The model inside, and the place of the process."""
        stage = player.stage
        known = {"module": self.inner, "global_rank": stage.rank, "local_rank": stage.rank, "world_size": stage.world}
        return known.get(name, NotImplemented)

    def method(self, player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
        """What the engine does itself, and what every module has."""
        if self.partitioned and name in _PARTITIONED:
            note(player, name, call, scope)
        if name == "forward":
            return self.called(player, given, call, scope)
        if name == "backward":
            kept = player.stage.kept
            kept["backward"] = kept.get("backward", 0) + 1
            self.trains = True
            return UNKNOWN
        if name in ("step", "zero_grad", "save_checkpoint"):
            return None
        if name in (
            "is_gradient_accumulation_boundary",
            "get_global_grad_norm",
            "get_lr",
        ):
            return Opaque(("engine", name))
        if name in _SIZES:
            return self.size(name)
        if name == "zero_optimization_stage" and isinstance(self.stage, int):
            return self.stage
        found = module_method(player, self.inner, name, given, call, scope)
        return self if found is self.inner and found is not NotImplemented else found

    def size(self, name: str) -> Any:
        """A size of batches, or the number that is accumulated, as the configuration says it."""
        items = self.config.items if isinstance(self.config, Table) and not self.config.open else {}
        found = items.get(name)
        return found if type(found) is int else Opaque(("engine", name))

    def is_training(self, player: Any, layer: Layer) -> bool:
        """Whether a use of a layer gives it a gradient in the next backward pass."""
        frozen = player.stage.kept.get(FROZEN, {})
        return self.trains and layer.training and not is_silent(player) and id(layer) not in frozen

    def called(self, player: Any, given: Given, call: ir.Call, scope: Any) -> Any:
        """A forward pass; the gradients are the engine's business."""
        if self.partitioned:
            note(player, "forward", call, scope)
        return came_out(player, player.apply(self.inner, given, call, scope), (), given, ir.unpack(call.at, scope.file))


def _configuration(player: Any, given: Given, call: ir.Call, scope: Any) -> Any:
    """The configuration that ``initialize`` is given, or finds in the option ``deepspeed_config``; a path means the file of the project.

    Source: deepspeed 0.19.8, ``__init__.py``, ``initialize`` (in that order; what is no dict is loaded as a file).
    """
    found = given.get("config", 10, None)
    found = given.get("config_params", 12, None) if found is None else found
    options = given.get("args", 0, None)
    if found is None and isinstance(options, Made):
        found = player.attribute(options, "deepspeed_config", call, scope)
    return settings_at(player, found, call, scope) if isinstance(found, str) else found


def _option(config: Any, name: str, default: int) -> Any:
    """An option of ZeRO in a configuration in the program; ``None`` where it is not known."""
    inner = config.items.get("zero_optimization") if isinstance(config, Table) else None
    if not isinstance(inner, Table):
        return None
    return inner.items.get(name, UNKNOWN if inner.open else default)


def _is_fetched(engine: Engine, part: Any) -> bool:
    """Whether a layer certainly has a parameter that is fetched from all processes each time that the layer is used.

    Of small parameters, which stay whole between the steps, that is not said: only their gradients are told of (``Engine.is_training``).
    """
    limit = engine.kept_whole
    weights = part.own_weights() if isinstance(part, Layer) and engine.partitioned and type(limit) is int else None
    if weights is None or not part.has_parameters:
        return False
    return limit == 0 or any(
        one.shape is not None and all(isinstance(size, int) for size in one.shape) and prod(one.shape) > limit
        for _, one in weights
    )


class DeepSpeed(Models):
    """DeepSpeed's functions."""

    def owns(self, name: str) -> bool:
        """``init_distributed`` starts the processes' group as PyTorch's own function does."""
        return name == "deepspeed.init_distributed"

    def call(self, player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
        """What a function gives."""
        if name == "deepspeed.init_distributed":
            return communication.perform(player, "init_process_group", Given([], {}), call, scope)
        if name != "deepspeed.initialize":
            return NotImplemented
        player.stage.initialized = True
        engine = Engine(call, given, _configuration(player, given, call, scope))
        for position, part in enumerate(parts_of_model(engine.inner)):
            part.sign, part.source = hash(("sent", scope.file, call.at, position)), None
            part.synced, part.sharded = True, engine.partitioned
            if _is_fetched(engine, part):
                player.stage.kept.setdefault(FETCHED, {})[id(part)] = part
            elif engine.partitioned and isinstance(part, Layer) and part.has_parameters:
                player.stage.kept.setdefault(REDUCED, {})[id(part)] = engine
        data = given.get("training_data", 4, None)
        loader: Any = None
        if data is not None:
            span = ir.unpack(call.at, scope.file)
            loader = Loader(call, Given([data], {"batch_size": engine.size(_MICRO)}), span)
            loader.source = Source(SHARE, span)
        optimizer = given.get("optimizer", 2, None)
        if not isinstance(optimizer, Optimizer):
            optimizer = Optimizer("deepspeed.initialize()[1]", call, given)
        return (engine, optimizer, loader, given.get("lr_scheduler", 5, None))


MODELS = DeepSpeed()
