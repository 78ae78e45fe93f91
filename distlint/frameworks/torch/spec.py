"""How PyTorch's own distributed package is recognised, imported and launched."""

from __future__ import annotations

from distlint.frameworks.torch.collectives import COLLECTIVES, LOSSES, MAIN_ONLY, UNEVEN, WRAPPER_GROUPS
from distlint.frameworks.torch.launchers import LAUNCHERS
from distlint.frameworks.torch.values import (
    EVENED,
    GENERATORS,
    HANDED,
    HOOK_OBJECTS,
    LENGTHS,
    PLAIN,
    RANK_SOURCES,
    VARYING,
)
from distlint.model.framework import CallbackSpec, FrameworkSpec, StarterSpec

SPEC = FrameworkSpec(
    name="torch",
    prefix="PT",
    packages=("torch", "torchvision", "torchaudio", "lightning", "flash-attn", "flash_attn"),
    modules=("torch", "lightning", "pytorch_lightning", "flash_attn"),
    literals=(
        # whatever imports these may use what only some releases have
        *(b"import torch", b"from torch", b"torch.distributed", b"lightning", b"flash_attn", b"bitsandbytes"),
        b"DistributedDataParallel",
        b"DistributedSampler",
        b"init_process_group",
        b"FullyShardedDataParallel",
        b"fully_shard",
        # helpers that get their objects from elsewhere name no library at all
        *(b".state_dict(", b".load_state_dict(", b".backward(", b".zero_grad(", b"parameters()", b".no_sync("),
        *(b".barrier(", b".all_reduce(", b".set_epoch(", b".wait_for_everyone(", b".gather_for_metrics("),
        b"torch._six",
        b"LOCAL_RANK",
        b"torch.nn.parallel",
        b"SyncBatchNorm",
        b"torch.multiprocessing",
        b"torchrun",
    ),
    config_keys=(),
    launchers=LAUNCHERS,
    lazily_exported=(
        ("torch.nn.parallel.distributed.DistributedDataParallel", "torch.nn.parallel.DistributedDataParallel"),
        ("torch.utils.data.distributed.DistributedSampler", "torch.utils.data.DistributedSampler"),
        ("torch.utils.data.dataloader.DataLoader", "torch.utils.data.DataLoader"),
        ("torch.distributed.distributed_c10d.init_process_group", "torch.distributed.init_process_group"),
        (
            "torch.distributed.fsdp.fully_sharded_data_parallel.FullyShardedDataParallel",
            "torch.distributed.fsdp.FullyShardedDataParallel",
        ),
        ("torch.distributed._composable.fsdp.fully_shard", "torch.distributed.fsdp.fully_shard"),
        ("torch.multiprocessing.spawn.spawn", "torch.multiprocessing.spawn"),
        ("torch.distributed.launcher.api.LaunchConfig", "torch.distributed.launcher.LaunchConfig"),
    ),
    starters=(
        StarterSpec("torch.multiprocessing.spawn", ("nprocs", 2), default=1),
        StarterSpec("torch.multiprocessing.start_processes", ("nprocs", 2), default=1),
        StarterSpec(
            "torch.distributed.launcher.LaunchConfig",
            ("nproc_per_node", 2),
            nodes=("min_nodes", 0),
            most=("max_nodes", 1),
        ),
        StarterSpec("torch.distributed.run.main", command=("torchrun",)),
        *(
            StarterSpec(name, joining=("torch.distributed.init_process_group", "deepspeed.init_distributed"))
            for name in ("torch.multiprocessing.Process", "multiprocessing.Process")
        ),
    ),
    # lightning 2.6, fabric/plugins/io/torch_io.py: a trainer's makes the folder that it writes to
    file_calls=(("save_checkpoint", "fills", None),),
    callbacks=(CallbackSpec("torch.utils.checkpoint.checkpoint", "function", 0, shift=1),),
    holders=(
        ("torch.nn.parallel.DistributedDataParallel", "module"),
        ("torch.nn.DataParallel", "module"),
        ("torch.distributed.fsdp.FullyShardedDataParallel", "module"),
        ("torch.optim.swa_utils.AveragedModel", "module"),
        ("torch.compile", "_orig_mod"),
    ),
    called_methods=(("torch.nn.Module", "forward"), ("torch.autograd.Function", "forward")),
    rank_counters=tuple((f"{module}.tqdm().n", "disable") for module in ("tqdm", "tqdm.auto", "tqdm.std")),
    collectives=COLLECTIVES,
    losses=LOSSES,
    wrapper_groups=WRAPPER_GROUPS,
    uneven=UNEVEN,
    main_only=MAIN_ONLY,
    rank_sources=RANK_SOURCES,
    lengths=LENGTHS,
    evened=EVENED,
    keeping=(
        *("torch.no_grad", "torch.inference_mode", "torch.enable_grad", "torch.compile", "torch.jit."),
        *("torch.autocast", "torch.amp.", "torch.cuda.amp."),
    ),
    class_makers=("load_from_checkpoint",),
    rehearsed="distlint.frameworks.torch.rehearsed",
    rehearsed_calls=(
        "all_reduce",
        "broadcast",
        "reduce",
        "all_gather",
        "all_gather_into_tensor",
        "gather",
        "scatter",
        "reduce_scatter",
        "reduce_scatter_tensor",
        "all_to_all",
        "all_to_all_single",
        "all_gather_object",
        "gather_object",
        "scatter_object_list",
        "broadcast_object_list",
        "send",
        "recv",
        "isend",
        "irecv",
        "send_object_list",
        "recv_object_list",
        "batch_isend_irecv",
        "new_group",
        "init_process_group",
        "init_device_mesh",
        "fully_shard",
        "barrier",
        "DistributedDataParallel",
        "Fabric",
    ),
    varying=VARYING,
    plain=PLAIN,
    generators=GENERATORS,
    handed=HANDED,
    hook_objects=HOOK_OBJECTS,
)
