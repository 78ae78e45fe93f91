"""How PyTorch's own distributed package is recognised, imported and launched."""

from __future__ import annotations

from distlint.frameworks.torch.launchers import LAUNCHERS
from distlint.model.framework import FrameworkSpec

SPEC = FrameworkSpec(
    name="torch",
    prefix="PT",
    packages=("torch", "torchvision", "torchaudio"),
    modules=("torch.distributed", "torch.nn.parallel", "torch.multiprocessing"),
    literals=(b"torch.distributed", b"torch import distributed", b"DistributedDataParallel", b"DistributedSampler", b"init_process_group", b"FullyShardedDataParallel", b"fully_shard", b"torch._six", b"torch.load(", b"LOCAL_RANK", b"torch.nn.parallel", b"SyncBatchNorm"),
    config_keys=(),
    words=(r"backward\(", r"DataLoader", r"[sS]ampler", r"barrier", r"set_device", r"\.cuda\(", r"\bDDP\b|\bFSDP\b", r"all_reduce|all_gather|broadcast", r"optim\."),
    launchers=LAUNCHERS,
    lazily_exported=(
        ("torch.nn.parallel.distributed.DistributedDataParallel", "torch.nn.parallel.DistributedDataParallel"),
        ("torch.utils.data.distributed.DistributedSampler", "torch.utils.data.DistributedSampler"),
        ("torch.utils.data.dataloader.DataLoader", "torch.utils.data.DataLoader"),
        ("torch.distributed.distributed_c10d.init_process_group", "torch.distributed.init_process_group"),
        ("torch.distributed.fsdp.fully_sharded_data_parallel.FullyShardedDataParallel", "torch.distributed.fsdp.FullyShardedDataParallel"),
        ("torch.distributed._composable.fsdp.fully_shard", "torch.distributed.fsdp.fully_shard"),
        ("torch.multiprocessing.spawn.spawn", "torch.multiprocessing.spawn"),
    ),
)
