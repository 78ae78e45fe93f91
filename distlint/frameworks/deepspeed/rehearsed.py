"""What DeepSpeed does in the rehearsal of a program.

Sources: deepspeed 0.19.8, ``runtime/engine.py``, ``comm/comm.py``.
"""

from __future__ import annotations

from typing import Any

from distlint.frameworks.torch import rehearsed_communication as communication
from distlint.frameworks.torch.rehearsed_data import SHARE, Loader
from distlint.frameworks.torch.rehearsed_modules import module_method, parts_of_model
from distlint.frameworks.torch.rehearsed_optimizers import Optimizer
from distlint.frameworks.torch.rehearsed_outputs import came_out, note
from distlint.model import python as ir
from distlint.rehearsal.models import Models
from distlint.rehearsal.unknowns import UNKNOWN, Opaque, Source
from distlint.rehearsal.values import Given, Made, Table

_PARTITIONED = ("save_16bit_model", "save_fp16_model", "_zero3_consolidated_16bit_state_dict", "generate")


class Engine(Made):
    """What trains a model; ``partitioned`` where each process holds a part of every parameter (ZeRO stage 3)."""

    __slots__ = ("inner", "partitioned")

    def __init__(self, call: ir.Call, given: Given) -> None:
        super().__init__("deepspeed.initialize()[0]", call, given)
        self.inner: Any = given.get("model", 1, UNKNOWN)
        self.partitioned = _stage(given.get("config", 8, None)) == 3

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
            return UNKNOWN
        if name in ("step", "zero_grad", "save_checkpoint"):
            return None
        if name in (
            "is_gradient_accumulation_boundary",
            "get_global_grad_norm",
            "get_lr",
            "gradient_accumulation_steps",
        ):
            return Opaque(("engine", name))
        found = module_method(player, self.inner, name, given, call, scope)
        return self if found is self.inner and found is not NotImplemented else found

    def called(self, player: Any, given: Given, call: ir.Call, scope: Any) -> Any:
        """A forward pass; the gradients are the engine's business."""
        if self.partitioned:
            note(player, "forward", call, scope)
        return came_out(player, player.apply(self.inner, given, call, scope), (), given, ir.unpack(call.at, scope.file))


def _stage(config: Any) -> Any:
    """The stage of ZeRO that a configuration in the program names."""
    inner = config.items.get("zero_optimization") if isinstance(config, Table) else None
    return inner.items.get("stage") if isinstance(inner, Table) else None


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
        engine = Engine(call, given)
        for position, part in enumerate(parts_of_model(engine.inner)):
            part.sign, part.source = hash(("sent", scope.file, call.at, position)), None
            part.synced, part.sharded = True, engine.partitioned
        data = given.get("training_data", 4, None)
        loader: Any = None
        if data is not None:
            span = ir.unpack(call.at, scope.file)
            loader = Loader(call, Given([data], {"batch_size": Opaque(("micro batch",))}), span)
            loader.source = Source(SHARE, span)
        optimizer = given.get("optimizer", 2, None)
        if not isinstance(optimizer, Optimizer):
            optimizer = Optimizer("deepspeed.initialize()[1]", call, given)
        return (engine, optimizer, loader, given.get("lr_scheduler", 6, None))


MODELS = DeepSpeed()
