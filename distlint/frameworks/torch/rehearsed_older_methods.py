"""Methods of the older wrappers that a module sharded in place is asked for, in the rehearsal of a program.

Source: torch 2.13, ``distributed/fsdp/_fully_shard/_fully_shard.py``: ``fully_shard`` gives the class of a module the methods of
``FSDPModule``, which has none of those below; ``set_requires_gradient_sync``, ``unshard`` and the functions of
``torch.distributed.checkpoint.state_dict`` took their place.
"""

from __future__ import annotations

from typing import Any

from distlint.frameworks.torch.rehearsed_outputs import IN_PLACE
from distlint.model import python as ir
from distlint.rehearsal.notes import OLDER_METHOD
from distlint.rehearsal.stage import Event, Fault
from distlint.rehearsal.values import Made, Thing

INSTEAD = {
    "no_sync": "`set_requires_gradient_sync`",
    "clip_grad_norm_": "`torch.nn.utils.clip_grad_norm_`",
    "summon_full_params": "`unshard`",
    "state_dict_type": "`torch.distributed.checkpoint.state_dict`",
    "set_state_dict_type": "`torch.distributed.checkpoint.state_dict`",
    "optim_state_dict": "`torch.distributed.checkpoint.state_dict`",
    "register_comm_hook": "`set_reduce_scatter_divide_factor` or `set_custom_reduce_scatter`",
    "join": "batches dealt out evenly",
}
"""Methods of ``FullyShardedDataParallel`` and ``DistributedDataParallel``, and what stands for them."""


def asked(player: Any, module: Any, name: str, call: ir.Call, scope: Any) -> None:
    """A method of a module that is none of its class is called; nothing is said where an exception is waited for."""
    stage = player.stage
    if name not in INSTEAD or stage.unsure or stage.alone or any(stage.attempts):
        return
    wrapper = stage.kept.get(IN_PLACE, {}).get(id(module))
    # an attribute of that name may hold what can be called
    if wrapper is None or (isinstance(module, Thing) and (module.open or name in module.attributes)):
        return
    if isinstance(module, Made) and name in module.stored:
        return
    event = Event(name, call, scope.file, scope.function, {})
    event.chain = stage.chain
    words = {"name": name, "instead": INSTEAD[name], "sharded": wrapper.span}
    stage.faults.append(Fault(OLDER_METHOD, event.span, event, words))
