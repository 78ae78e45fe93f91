"""What stands for hardware and for other processes when Colossal-AI runs on a CPU: each with its reason.

Nothing of Colossal-AI's own checks is replaced. Numbers of processes and ranks are real to it; what processes would send each other
is not.
"""

from __future__ import annotations

import contextlib
import inspect
from typing import Any


class Nothing:
    """A stream, an event or a kernel: everything can be called, and nothing happens."""

    def __init__(self, *args: object, **keywords: object) -> None: ...

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **keywords: Nothing()

    def __call__(self, *args: object, **keywords: object) -> Nothing:
        """Does nothing."""
        return Nothing()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: object) -> None: ...


def processes(world: int, rank: int) -> None:
    """Torch's fake process group in place of the one that a launch function asks for."""
    import torch.distributed as dist
    from torch.distributed import distributed_c10d
    from torch.testing._internal.distributed.fake_pg import FakeStore

    start, backend = dist.init_process_group, dist.get_backend

    def started(*args: object, **keywords: object) -> None:
        start(backend="fake", store=FakeStore(), rank=rank, world_size=world)

    def named(group: Any = None) -> str:
        # meshes look the device up by the backend's name
        found = str(backend(group))
        return "gloo" if found == "fake" else found

    for module in (dist, distributed_c10d):
        module.init_process_group = started
        module.get_backend = named
        module.barrier = lambda *args, **keywords: None


def devices() -> None:
    """The CPU in the part of a GPU: tensors stay where they are, streams and events do nothing."""
    import torch

    still = ["set_device", "synchronize", "empty_cache", "manual_seed", "manual_seed_all"]
    still += ["reset_peak_memory_stats", "reset_max_memory_allocated"]
    for name in still:
        setattr(torch.cuda, name, lambda *args, **keywords: None)
    for name in ("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved"):
        setattr(torch.cuda, name, lambda *args, **keywords: 0)
    torch.cuda.current_device = lambda: torch.device("cpu")
    torch.cuda.Stream = torch.cuda.Event = Nothing
    torch.cuda.stream = lambda stream: contextlib.nullcontext()
    torch.cuda.current_stream = Nothing
    torch.Tensor.record_stream = lambda self, stream: None
    torch.Tensor.pin_memory = torch.Tensor.cuda = torch.nn.Module.cuda = lambda self, *args, **keywords: self
    for owner in (torch.Tensor, torch.nn.Module):
        owner.to = _on_cpu(owner.to)


def _on_cpu(to: Any) -> Any:
    import torch

    def moved(value: Any) -> Any:
        named = isinstance(value, str) and value.startswith("cuda")
        return torch.device("cpu") if named or type(value) is int or _is_gpu(value) else value

    def stay(self: Any, *args: Any, **keywords: Any) -> Any:
        return to(self, *map(moved, args), **{name: moved(value) for name, value in keywords.items()})

    return stay


def _is_gpu(value: object) -> bool:
    import torch

    return isinstance(value, torch.device) and value.type == "cuda"


def accelerator() -> None:
    """Colossal-AI's CPU accelerator under the name of a GPU, since ZeRO asserts one; what it can't do does nothing."""
    import torch
    from colossalai.accelerator.cpu_accelerator import CpuAccelerator

    for name, method in list(vars(CpuAccelerator).items()):
        if inspect.isfunction(method) and "not supported for cpu" in inspect.getsource(method):
            setattr(CpuAccelerator, name, lambda self, *args, **keywords: None)
    CpuAccelerator.name = property(lambda self: "cuda")
    CpuAccelerator.get_current_device = CpuAccelerator.current_device = lambda self: torch.device("cpu")
    CpuAccelerator.get_rng_state = lambda self, device=None: torch.get_rng_state()
    CpuAccelerator.set_rng_state = lambda self, state, device=None: torch.set_rng_state(state)
    CpuAccelerator.stream = lambda self, stream: contextlib.nullcontext()
    for name in ("Stream", "Event", "current_stream", "default_stream"):
        setattr(CpuAccelerator, name, Nothing)
    for name in ("memory_allocated", "max_memory_allocated"):
        setattr(CpuAccelerator, name, lambda self, device=None: 0)


def kernels() -> None:
    """Compiled kernels of optimizers, which need a compiler and a GPU."""
    from colossalai.kernel import kernel_loader

    for name, loader in vars(kernel_loader).items():
        if isinstance(loader, type) and name.endswith("Loader"):
            loader.load = Nothing


def gradients() -> None:
    """An all-reduce of DDP that ends: the fake group's gives no tensor back."""
    import torch
    from torch.nn.parallel import DistributedDataParallel

    make = DistributedDataParallel.__init__

    # torch reads the annotations of a hook, and ours are texts
    def reduced(state, bucket):  # type: ignore[no-untyped-def]
        future = torch.futures.Future()
        future.set_result(bucket.buffer())
        return future

    def made(self: Any, *args: Any, **keywords: Any) -> None:
        make(self, *args, **keywords)
        self.register_comm_hook(None, reduced)

    DistributedDataParallel.__init__ = made
