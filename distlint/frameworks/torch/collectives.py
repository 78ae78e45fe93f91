"""The collectives of PyTorch, and of Lightning on top of it.

Signatures: torch 2.13.0, ``distributed/distributed_c10d.py``, ``_functional_collectives.py``, ``nn/functional.py``; parameters keep their
positions since torch 1.6. Lightning 2.6: ``fabric/fabric.py``, ``pytorch/trainer/trainer.py``, ``pytorch/core/module.py``.
"""

from __future__ import annotations

from distlint.model.framework import CollectiveSpec

_GROUP_LAST = "group"


def _plain(
    name: str,
    kind: str = "",
    *,
    tensor: tuple[str, int | None] = ("", None),
    output: tuple[str, int | None] = ("", None),
    root: tuple[str, int | None] = ("", None),
    at: int | None = None,
    is_async: bool = True,
) -> CollectiveSpec:
    """A function of ``torch.distributed`` whose group stands at a position, followed by ``async_op`` where it has one."""
    return CollectiveSpec(
        f"torch.distributed.{name}",
        kind or name,
        group=(_GROUP_LAST, at),
        tensor=tensor,
        output=output,
        root=root,
        group_root=(f"group_{root[0]}", None) if root[0] else ("", None),
        async_flag=("async_op", None if at is None else at + 1) if is_async else ("", None),
    )


def _pair(name: str, role: str, *, waits: bool = True, what: str = "tensor", tagged: bool = True) -> CollectiveSpec:
    """A function that one process makes with another."""
    other = "dst" if role == "send" else "src"
    return CollectiveSpec(
        f"torch.distributed.{name}",
        role if tagged else f"{role} objects",
        group=(_GROUP_LAST, 2),
        tensor=(what, 0),
        peer=(other, 1),
        tag=("tag", 3) if tagged else ("", None),
        role=role,
        waits=waits,
    )


_FUNCTIONS = (
    _plain("barrier", at=0),
    CollectiveSpec("torch.distributed.monitored_barrier", "monitored_barrier", group=(_GROUP_LAST, 0)),
    _plain("all_reduce", tensor=("tensor", 0), at=2),
    _plain("all_reduce_coalesced", tensor=("tensors", 0), at=2),
    _plain("broadcast", tensor=("tensor", 0), root=("src", 1), at=2),
    _plain("reduce", tensor=("tensor", 0), root=("dst", 1), at=3),
    _plain("all_gather", output=("tensor_list", 0), tensor=("tensor", 1), at=2),
    _plain("all_gather_coalesced", output=("output_tensor_lists", 0), tensor=("input_tensor_list", 1), at=2),
    _plain("all_gather_into_tensor", "all_gather", output=("output_tensor", 0), tensor=("input_tensor", 1), at=2),
    _plain("_all_gather_base", "all_gather", output=("output_tensor", 0), tensor=("input_tensor", 1), at=2),
    _plain("gather", tensor=("tensor", 0), output=("gather_list", 1), root=("dst", 2), at=3),
    _plain("scatter", output=("tensor", 0), tensor=("scatter_list", 1), root=("src", 2), at=3),
    _plain("reduce_scatter", output=("output", 0), tensor=("input_list", 1), at=3),
    _plain("reduce_scatter_tensor", "reduce_scatter", output=("output", 0), tensor=("input", 1), at=3),
    _plain("_reduce_scatter_base", "reduce_scatter", output=("output", 0), tensor=("input", 1), at=3),
    _plain("all_to_all", output=("output_tensor_list", 0), tensor=("input_tensor_list", 1), at=2),
    _plain("all_to_all_single", "all_to_all", output=("output", 0), tensor=("input", 1), at=4),
    _plain("all_gather_object", output=("object_list", 0), tensor=("obj", 1), at=2, is_async=False),
    _plain("gather_object", tensor=("obj", 0), output=("object_gather_list", 1), root=("dst", 2), at=3, is_async=False),
    _plain("broadcast_object_list", tensor=("object_list", 0), root=("src", 1), at=2, is_async=False),
    _plain(
        "scatter_object_list",
        output=("scatter_object_output_list", 0),
        tensor=("scatter_object_input_list", 1),
        root=("src", 2),
        at=3,
        is_async=False,
    ),
    _pair("send", "send"),
    _pair("isend", "send", waits=False),
    _pair("recv", "receive"),
    _pair("irecv", "receive", waits=False),
    _pair("send_object_list", "send", what="object_list", tagged=False),
    _pair("recv_object_list", "receive", what="object_list", tagged=False),
    CollectiveSpec(
        "torch.distributed.batch_isend_irecv", "batch", tensor=("p2p_op_list", 0), role="batch", waits=False
    ),
)

_GROUPS = (
    # every process of the job makes them, whether it will be in the group or not
    CollectiveSpec("torch.distributed.init_process_group", "init_process_group"),
    CollectiveSpec(
        "torch.distributed.new_group",
        "new_group",
        lone_argument=("use_local_synchronization", True),
        tensor=("ranks", 0),
    ),
    CollectiveSpec("torch.distributed.new_subgroups", "new_subgroups"),
    CollectiveSpec("torch.distributed.new_subgroups_by_enumeration", "new_subgroups"),
    CollectiveSpec("torch.distributed.split_group", "split_group", group=("parent_pg", 0)),
    *(
        CollectiveSpec(f"torch.distributed.{module}{name}", "init_device_mesh")
        for module in ("device_mesh.", "tensor.", "_tensor.", "")
        for name in ("init_device_mesh", "DeviceMesh")
    ),
)

_FUNCTIONAL = (
    *(
        CollectiveSpec(
            f"torch.distributed._functional_collectives.{name}",
            f"{kind} (functional)",
            tensor=("self", 0),
            group=("group", at),
        )
        for name, kind, at in (
            ("all_reduce", "all_reduce", 2),
            ("broadcast", "broadcast", 2),
            ("all_gather_tensor", "all_gather", 2),
            ("all_gather_single", "all_gather", 2),
            ("reduce_scatter_tensor", "reduce_scatter", 3),
            ("all_to_all_single", "all_to_all", 3),
        )
    ),
    *(
        CollectiveSpec(
            f"torch.distributed.nn.functional.{name}", kind, tensor=(first, 0), group=("group", at), root=root
        )
        for name, kind, first, at, root in (
            ("broadcast", "broadcast", "tensor", 2, ("src", 1)),
            ("gather", "gather", "tensor", 2, ("dst", 1)),
            ("scatter", "scatter", "tensors", 2, ("src", 1)),
            ("reduce", "reduce", "tensor", 3, ("dst", 1)),
            ("reduce_scatter", "reduce_scatter", "output", 3, ("", None)),
            ("all_gather", "all_gather", "tensor", 1, ("", None)),
            ("all_to_all", "all_to_all", "output_tensor_list", 2, ("", None)),
            ("all_to_all_single", "all_to_all", "output", 4, ("", None)),
            ("all_reduce", "all_reduce", "tensor", 2, ("", None)),
        )
    ),
)

_TENSORS = (
    CollectiveSpec(
        "torch.distributed.tensor.distribute_tensor",
        "distribute_tensor",
        tensor=("tensor", 0),
        group=("device_mesh", 1),
    ),
    CollectiveSpec("torch.distributed.tensor.distribute_tensor().full_tensor", "full_tensor"),
    CollectiveSpec("torch.distributed.tensor.distribute_tensor().redistribute", "redistribute"),
)

_DDP = "torch.nn.parallel.DistributedDataParallel"
_FSDP = "torch.distributed.fsdp.FullyShardedDataParallel"

_WRAPPERS = (
    # the constructor compares the shapes of the parameters of all processes, and sends those of rank 0
    CollectiveSpec(_DDP, "DistributedDataParallel()", group=("process_group", None)),
    CollectiveSpec(f"{_DDP}()()", "forward", lone_argument=("broadcast_buffers", False), buffers=True),
    CollectiveSpec(f"{_DDP}().forward", "forward", lone_argument=("broadcast_buffers", False), buffers=True),
    CollectiveSpec(f"{_FSDP}()()", "forward"),
    CollectiveSpec(f"{_FSDP}().forward", "forward"),
    CollectiveSpec(f"{_FSDP}().clip_grad_norm_", "clip_grad_norm_"),
    CollectiveSpec(f"{_FSDP}().state_dict", "state_dict"),
    CollectiveSpec(f"{_FSDP}.summon_full_params", "summon_full_params"),
    CollectiveSpec(f"{_FSDP}().summon_full_params", "summon_full_params"),
    CollectiveSpec(f"{_FSDP}.full_optim_state_dict", "optim_state_dict"),
    CollectiveSpec(f"{_FSDP}.optim_state_dict", "optim_state_dict"),
    CollectiveSpec(f"{_FSDP}.sharded_optim_state_dict", "optim_state_dict"),
    CollectiveSpec(f"{_FSDP}.scatter_full_optim_state_dict", "scatter_full_optim_state_dict"),
    CollectiveSpec("torch.distributed.optim.ZeroRedundancyOptimizer().step", "sharded step"),
    CollectiveSpec(
        "torch.distributed.optim.ZeroRedundancyOptimizer().consolidate_state_dict", "consolidate_state_dict"
    ),
)

_CHECKPOINTS = tuple(
    CollectiveSpec(
        f"torch.distributed.checkpoint.{name}", kind, group=("process_group", None), lone_argument=("no_dist", True)
    )
    for name, kind in (
        ("save", "checkpoint save"),
        ("async_save", "checkpoint save"),
        ("save_state_dict", "checkpoint save"),
        ("load", "checkpoint load"),
        ("load_state_dict", "checkpoint load"),
    )
)

_LIGHTNING = (
    tuple(
        CollectiveSpec(f"{package}.Fabric().{name}", kind, role=role)
        for package in ("lightning", "lightning.fabric", "lightning_fabric")
        for name, kind, role in (
            ("barrier", "barrier", "collective"),
            ("broadcast", "fabric broadcast", "collective"),
            ("all_gather", "fabric all_gather", "collective"),
            ("all_reduce", "fabric all_reduce", "collective"),
            ("save", "fabric save", "collective"),
            ("backward", "backward", "collective"),
            ("rank_zero_first", "barrier", "first"),
        )
    )
    + tuple(
        CollectiveSpec(f"{package}.Trainer().{name}", f"Lightning {name}")
        for package in ("lightning", "lightning.pytorch", "pytorch_lightning")
        for name in ("save_checkpoint", "fit", "validate", "test", "predict")
    )
    + tuple(
        CollectiveSpec(f"{package}.Trainer().strategy.{name}", kind)
        for package in ("lightning", "lightning.pytorch", "pytorch_lightning")
        for name, kind in (
            ("barrier", "barrier"),
            ("reduce", "strategy reduce"),
            ("broadcast", "strategy broadcast"),
            ("all_gather", "strategy all_gather"),
            ("reduce_boolean_decision", "strategy reduce_boolean_decision"),
        )
    )
    + tuple(
        # what a module or callback reaches through itself
        CollectiveSpec(f"{package}.LightningModule().{name}", kind)
        for package in ("lightning", "lightning.pytorch", "pytorch_lightning")
        for name, kind in (
            ("all_gather", "module all_gather"),
            ("manual_backward", "backward"),
            ("trainer.save_checkpoint", "Lightning save_checkpoint"),
            ("trainer.strategy.barrier", "barrier"),
            ("trainer.strategy.reduce", "strategy reduce"),
            ("trainer.strategy.broadcast", "strategy broadcast"),
            ("trainer.strategy.all_gather", "strategy all_gather"),
            ("trainer.strategy.reduce_boolean_decision", "strategy reduce_boolean_decision"),
        )
    )
)

COLLECTIVES = (*_FUNCTIONS, *_GROUPS, *_FUNCTIONAL, *_TENSORS, *_WRAPPERS, *_CHECKPOINTS, *_LIGHTNING)

LOSSES = (_DDP, _FSDP)

WRAPPER_GROUPS = ((_DDP, "process_group", None), (_FSDP, "process_group", 1), (_FSDP, "device_mesh", None))
"""Source: torch 2.13, ``nn/parallel/distributed.py`` and ``distributed/fsdp/fully_sharded_data_parallel.py``, ``__init__``."""

UNEVEN = (f"{_DDP}().join", "torch.distributed.algorithms.join.Join", "torch.distributed.algorithms.Join")

MAIN_ONLY = tuple(
    f"{module}.rank_zero_only"
    for module in (
        "lightning.fabric.utilities.rank_zero",
        "lightning.fabric.utilities",
        "lightning.pytorch.utilities.rank_zero",
        "lightning.pytorch.utilities",
        "lightning_fabric.utilities.rank_zero",
        "lightning_utilities.core.rank_zero",
        "pytorch_lightning.utilities.rank_zero",
        "pytorch_lightning.utilities.distributed",
        "pytorch_lightning.utilities",
    )
)
