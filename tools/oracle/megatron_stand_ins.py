"""What stands for the hardware and the packages that a machine without GPUs lacks, for the workers that ask Megatron.

Every stand-in is here because Megatron asks for the thing on the way to a check, while the check itself is of the options:

* CUDA: availability, the number and the kind of the devices. ``current_device`` is the CPU, so that the few tensors which are made at
  start land there. The kind is the case's ``capability``, as some checks differ by generation.
* Process groups: torch's fake ones, with as many ranks as the case names; a group of gloo or NCCL becomes a fake one as well.
* ``triton``, ``nltk``, ``tensorboard`` and the like: imported at the top of files, used by kernels and tools only.
* ``typing.override``: Python 3.12 brought it, releases from 0.17 on import it.
* Kernels to compile, persistent worker processes, random states of the GPU: never a matter of options.

Of Transformer Engine only the version is acted (``engine``; absent where it is ``""``), so that what is checked of it passes or fails as it
would: nearly everybody who trains has it. Its layers can not be built here.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import sys
import types
import typing
from collections.abc import Callable
from typing import Any


class Absent(types.ModuleType):
    """A package that is not there: it can be imported, and every name of it is an empty class."""

    __path__: typing.ClassVar[list[str]] = []

    def __init__(self, name: str, version: str) -> None:
        super().__init__(name)
        self.__version__ = version
        self.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        made = _Called(name, (), {})
        setattr(self, name, made)
        return made


class _Called(type):
    """An empty class that serves as a decorator too, with arguments or without."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Called(name, (), {})

    def __call__(cls, *given: Any, **named: Any) -> Any:
        if len(given) == 1 and not named and callable(given[0]):
            return given[0]
        return lambda function: function


IMPORTED_ONLY = {"triton": ("3.0.0", "language", "runtime"), "nltk": ("3.8",)}
"""Packages that are imported at the top of files without a need: version and submodules."""


def packages() -> None:
    """Puts stand-ins where packages are absent. Call it before anything of Megatron is imported."""
    import torch

    # a decorator of functions that are never called here; to load what compiles them takes seconds
    torch.compile = lambda function=None, **_: function or (lambda decorated: decorated)
    if not hasattr(typing, "override"):
        typing.override = lambda function: function
    for name, (version, *below) in IMPORTED_ONLY.items():
        if importlib.util.find_spec(name) is None:
            _stand_in(name, version, below)


def _stand_in(name: str, version: str, below: typing.Iterable[str]) -> None:
    for path in (name, *(f"{name}.{part}" for part in below)):
        module = sys.modules[path] = Absent(path, version)
        above, _, own = path.rpartition(".")
        if above:
            setattr(sys.modules[above], own, module)


def hardware(capability: list[int], devices: int) -> None:
    """Acts that many devices of one kind."""
    import torch

    properties = types.SimpleNamespace(
        name="GPU", major=capability[0], minor=capability[1], total_memory=80 << 30, multi_processor_count=132
    )
    acted: dict[str, Callable[..., Any]] = {
        "is_available": lambda: True,
        "device_count": lambda: devices,
        "current_device": lambda: torch.device("cpu"),
        "set_device": lambda *_: None,
        "get_device_capability": lambda *_: tuple(capability),
        "get_device_properties": lambda *_: properties,
        "synchronize": lambda *_: None,
        "set_stream": lambda *_: None,
        "Stream": lambda *_, **__: None,
    }
    for name, function in acted.items():
        setattr(torch.cuda, name, function)
    torch.Tensor.cuda = torch.nn.Module.cuda = lambda self, *_, **__: self
    for name in ("tensor", "zeros", "ones", "empty", "full"):
        setattr(torch, name, _on_cpu(getattr(torch, name)))


def _on_cpu(make: Callable[..., Any]) -> Callable[..., Any]:
    def made(*given: Any, **named: Any) -> Any:
        if "cuda" in str(named.get("device", "")):
            named["device"] = "cpu"
        return make(*given, **named)

    return made


def ranks(count: int) -> None:
    """Acts that many ranks, of which this process is the first."""
    import torch
    from torch.testing._internal.distributed.fake_pg import FakeStore

    distributed: Any = torch.distributed
    start, new_group = distributed.init_process_group, distributed.new_group

    def started(*_: Any, **__: Any) -> None:
        start("fake", rank=0, world_size=count, store=FakeStore())

    def grouped(*given: Any, **named: Any) -> Any:
        named.pop("pg_options", None)
        return new_group(*given[:1], **{**named, "backend": "fake"})

    distributed.init_process_group, distributed.new_group = started, grouped
    distributed.barrier = lambda *_, **__: None
    if not hasattr(distributed, "ProcessGroupNCCL"):
        distributed.ProcessGroupNCCL = types.SimpleNamespace(Options=types.SimpleNamespace)


def engine(version: str) -> None:
    """Acts that release of Transformer Engine for the checks that ask for its version or for its fused rotary embedding."""
    from packaging.version import Version

    utils = importlib.import_module("megatron.core.utils")
    if version and hasattr(utils, "get_te_version"):
        for module in list(sys.modules.values()):
            if getattr(module, "__name__", "").startswith("megatron") and hasattr(module, "get_te_version"):
                module.get_te_version = lambda: Version(version)
        try:
            rotary = importlib.import_module("megatron.core.models.common.embeddings.rope_utils")
        except ModuleNotFoundError:  # older releases have no fused one to ask for
            return
        for name in ("fused_apply_rotary_pos_emb", "fused_apply_rotary_pos_emb_thd"):
            if getattr(rotary, name, None) is None:
                setattr(rotary, name, lambda *_, **__: None)


def layers() -> None:
    """Lets the layers that need no Transformer Engine stand for those of it, which take settings that these refuse."""
    import torch

    for path in ("torch_norm", "torch_layer_norm", "dot_product_attention"):
        try:
            module = importlib.import_module(f"megatron.core.transformer.{path}")
        except ModuleNotFoundError:
            continue
        for name in ("WrappedTorchNorm", "WrappedTorchLayerNorm"):
            kind = getattr(module, name, None)
            if isinstance(kind, type):
                made = staticmethod(lambda _, config, hidden_size, *__, **___: torch.nn.LayerNorm(hidden_size))
                kind.__new__ = made
        if hasattr(module, "DotProductAttention"):
            module.DotProductAttention.__init__ = lambda self, *_, **__: torch.nn.Module.__init__(self)
    for path in ("grouped_gemm_util", "moe.grouped_gemm_util"):
        try:
            module = importlib.import_module(f"megatron.core.transformer.{path}")
        except ModuleNotFoundError:
            continue
        module.assert_grouped_gemm_is_available = lambda: None
        module.grouped_gemm_is_available = lambda: True
    # a kernel of Apex; whether it is wanted is an option, and it is there wherever Megatron's own images are used
    importlib.import_module("megatron.core.tensor_parallel.layers")._grad_accum_fusion_available = True
