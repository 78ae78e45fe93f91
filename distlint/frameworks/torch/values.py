"""What PyTorch's functions tell of a process, how long the things are that they make, and what is the same everywhere."""

from __future__ import annotations

from distlint.model.framework import GeneratorSpec

TYPED = {
    "Tensor": "float32",
    "FloatTensor": "float32",
    "DoubleTensor": "float64",
    "HalfTensor": "float16",
    "BFloat16Tensor": "bfloat16",
    "LongTensor": "int64",
    "IntTensor": "int32",
    "ShortTensor": "int16",
    "CharTensor": "int8",
    "ByteTensor": "uint8",
    "BoolTensor": "bool",
}
"""Constructors of older programs, of data or of sizes (``torch.cuda.LongTensor([1])``), by the type that they make."""

RANK_SOURCES = (
    ("torch.distributed.get_rank", "rank"),
    ("torch.distributed.get_node_local_rank", "local-rank"),
    ("torch.distributed.get_world_size", "world"),
    ("torch.distributed.is_initialized", "initialized"),
    ("torch.distributed.is_available", "initialized"),
    ("torch.distributed.is_torchelastic_launched", "initialized"),
    ("torch.distributed.get_group_rank", "group-rank"),
    ("torch.distributed.new_group().rank", "group-rank"),
    ("torch.distributed.group.WORLD.rank", "rank"),
    *(
        (f"torch.distributed.{module}{maker}().{name}", "group-rank")
        for module in ("device_mesh.", "tensor.", "_tensor.", "")
        for maker in ("init_device_mesh", "DeviceMesh")
        for name in ("get_local_rank", "get_rank", "get_coordinate")
    ),
    ("torch.cuda.device_count", "devices"),
    ("torch_xla.core.xla_model.get_ordinal", "rank"),
    ("torch_xla.core.xla_model.get_local_ordinal", "local-rank"),
    ("torch_xla.core.xla_model.is_master_ordinal", "main"),
    ("torch_xla.core.xla_model.xrt_world_size", "world"),
    ("torch_xla.runtime.global_ordinal", "rank"),
    ("torch_xla.runtime.local_ordinal", "local-rank"),
    ("torch_xla.runtime.world_size", "world"),
    ("horovod.torch.rank", "rank"),
    ("horovod.torch.local_rank", "local-rank"),
    ("horovod.torch.size", "world"),
    *(
        (f"{package}.{name}", kind)
        for package in (
            "lightning.Trainer()",
            "lightning.pytorch.Trainer()",
            "pytorch_lightning.Trainer()",
            "lightning.Fabric()",
            "lightning.fabric.Fabric()",
            "lightning_fabric.Fabric()",
        )
        for name, kind in (
            ("is_global_zero", "main"),
            ("strategy.is_global_zero", "main"),
            ("strategy.global_rank", "rank"),
            ("strategy.local_rank", "local-rank"),
            ("global_rank", "rank"),
            ("local_rank", "local-rank"),
            ("world_size", "world"),
        )
    ),
    *(
        (f"{package}.LightningModule().{name}", kind)
        for package in ("lightning", "lightning.pytorch", "pytorch_lightning")
        for name, kind in (
            ("global_rank", "rank"),
            ("local_rank", "local-rank"),
            ("trainer.is_global_zero", "main"),
            ("trainer.global_rank", "rank"),
            ("trainer.local_rank", "local-rank"),
            ("trainer.strategy.is_global_zero", "main"),
            ("trainer.strategy.global_rank", "rank"),
            ("trainer.strategy.local_rank", "local-rank"),
            ("trainer.world_size", "world"),
        )
    ),
    ("$RANK", "rank"),
    ("$LOCAL_RANK", "local-rank"),
    ("$WORLD_SIZE", "world"),
    ("$LOCAL_WORLD_SIZE", "per-node"),
    ("$GROUP_RANK", "node"),
    ("$GROUP_WORLD_SIZE", "nodes"),
)

LENGTHS = (
    *((f"torch.{name}", "sizes") for name in ("rand", "randn", "zeros", "ones", "empty")),
    ("torch.full", "size:0"),
    ("torch.randint", "size:2"),
    ("torch.arange", "range"),
    ("torch.randperm", "range"),
    *(
        (f"torch.{name}", "like:0")
        for name in ("tensor", "as_tensor", "zeros_like", "ones_like", "rand_like", "randn_like")
    ),
    ("torch.utils.data.TensorDataset", "like:0"),
    ("torch.utils.data.Subset", "like:1"),
    ("torch.utils.data.SequentialSampler", "like:0"),
    ("torch.utils.data.SubsetRandomSampler", "like:0"),
    ("torch.utils.data.DistributedSampler", "shares"),
    ("torch.utils.data.DataLoader", "batches"),
    ("tqdm.tqdm", "like:0"),
    ("tqdm.auto.tqdm", "like:0"),
    ("tqdm.trange", "range"),
    ("numpy.arange", "range"),
    ("numpy.array", "like:0"),
    ("numpy.random.permutation", "range"),
)
"""As ``FrameworkSpec.lengths`` has them."""

EVENED = (
    *(
        (f"torch.distributed.{name}", given)
        for name, given in (
            ("all_reduce", "tensor:0"),
            ("all_reduce_coalesced", "tensors:0"),
            ("broadcast", "tensor:0"),
            ("broadcast_object_list", "object_list:0"),
            ("all_gather", "tensor_list:0"),
            ("all_gather_into_tensor", "output_tensor:0"),
            ("all_gather_object", "object_list:0"),
        )
    ),
    *(
        (f"torch.distributed.{name}", "")
        for name in (
            "nn.all_reduce",
            "nn.all_gather",
            "nn.broadcast",
            "nn.functional.all_reduce",
            "nn.functional.all_gather",
            "nn.functional.broadcast",
            "_functional_collectives.all_reduce",
            "_functional_collectives.all_gather_tensor",
            "_functional_collectives.broadcast",
        )
    ),
    ("torch_xla.core.xla_model.mesh_reduce", ""),
    ("torch_xla.core.xla_model.all_reduce", ""),
    ("horovod.torch.allreduce", ""),
    ("horovod.torch.allgather", ""),
    ("horovod.torch.broadcast", ""),
    ("horovod.torch.broadcast_object", ""),
    *(
        (f"{package}.{holder}.strategy.{name}", "")
        for package in ("lightning", "lightning.pytorch", "pytorch_lightning")
        for holder in ("Trainer()", "LightningModule().trainer")
        for name in ("reduce", "broadcast", "all_gather", "reduce_boolean_decision")
    ),
)
"""As ``FrameworkSpec.evened`` has them."""

SHARE = "the part of the data that each rank gets"
"""Why what comes of a distributed sampler differs between the ranks."""
_MEMORY = "the memory of each process's own device"

VARYING = (
    ("torch.utils.data.DistributedSampler", SHARE),
    *(
        (f"torch.cuda.{name}", _MEMORY)
        for name in (
            "memory_allocated",
            "max_memory_allocated",
            "memory_reserved",
            "max_memory_reserved",
            "mem_get_info",
            "memory_stats",
            "utilization",
            "temperature",
        )
    ),
    ("torch.cuda.current_device", "the device of each process"),
    ("torch.initial_seed", "the seed of each process"),
    ("torch.seed", "the seed of each process"),
    ("torch.cuda.Event().elapsed_time", "the clock of each process"),
)
"""As ``FrameworkSpec.varying`` has them."""

PLAIN = (
    "torch.nn.",
    "torch.linalg.",
    "torch.special.",
    "torch.utils.data.",
    "torch.optim.",
    "torchvision.",
    *(
        f"torch.{name}"
        for name in (
            "abs",
            "all",
            "any",
            "allclose",
            "amax",
            "amin",
            "arange",
            "argmax",
            "argmin",
            "as_tensor",
            "cat",
            "clamp",
            "cumsum",
            "div",
            "dot",
            "empty_like",
            "eq",
            "equal",
            "exp",
            "eye",
            "flatten",
            "from_numpy",
            "full",
            "ge",
            "gt",
            "isfinite",
            "isinf",
            "isnan",
            "isclose",
            "le",
            "linspace",
            "log",
            "logical",
            "lt",
            "matmul",
            "max",
            "mean",
            "median",
            "min",
            "mm",
            "mul",
            "nan_to_num",
            "ne",
            "norm",
            "ones",
            "pow",
            "prod",
            "quantile",
            "relu",
            "reshape",
            "round",
            "sigmoid",
            "sign",
            "softmax",
            "sort",
            "split",
            "sqrt",
            "square",
            "stack",
            "std",
            "sub",
            "sum",
            "tanh",
            "tensor",
            "topk",
            "unique",
            "var",
            "where",
            "zeros",
            "no_grad",
            *TYPED,
        )
    ),
    *(f"torch.cuda.{name}" for name in TYPED),
)
"""As ``FrameworkSpec.plain`` has them."""

GENERATORS = (
    GeneratorSpec(
        "torch",
        draws=tuple(
            f"torch.{name}"
            for name in (
                "rand",
                "randn",
                "randint",
                "randperm",
                "rand_like",
                "randn_like",
                "randint_like",
                "normal",
                "bernoulli",
                "multinomial",
                "poisson",
                "utils.data.random_split",
                "utils.data.RandomSampler",
                "utils.data.SubsetRandomSampler",
            )
        ),
        seeds=(
            "torch.manual_seed",
            "torch.random.manual_seed",
            "torch.cuda.manual_seed_all",
            "accelerate.utils.set_seed",
            "transformers.set_seed",
            "transformers.trainer_utils.set_seed",
            "transformers.enable_full_determinism",
            "lightning.seed_everything",
            "lightning.pytorch.seed_everything",
            "pytorch_lightning.seed_everything",
        ),
        makers=("torch.Generator",),
    ),
    GeneratorSpec(
        "numpy",
        seeds=(
            "numpy.random.seed",
            "accelerate.utils.set_seed",
            "transformers.set_seed",
            "transformers.trainer_utils.set_seed",
            "transformers.enable_full_determinism",
            "lightning.seed_everything",
            "lightning.pytorch.seed_everything",
            "pytorch_lightning.seed_everything",
        ),
        draws=tuple(
            f"numpy.random.{name}"
            for name in (
                "rand",
                "randn",
                "randint",
                "random",
                "random_sample",
                "uniform",
                "normal",
                "choice",
                "permutation",
                "binomial",
                "poisson",
                "exponential",
                "standard_normal",
            )
        ),
        makers=("numpy.random.default_rng", "numpy.random.RandomState", "numpy.random.Generator"),
    ),
    GeneratorSpec(
        "python",
        seeds=(
            "random.seed",
            "accelerate.utils.set_seed",
            "transformers.set_seed",
            "transformers.trainer_utils.set_seed",
            "transformers.enable_full_determinism",
            "lightning.seed_everything",
            "lightning.pytorch.seed_everything",
            "pytorch_lightning.seed_everything",
        ),
        draws=tuple(
            f"random.{name}"
            for name in (
                "random",
                "randint",
                "randrange",
                "uniform",
                "choice",
                "choices",
                "sample",
                "gauss",
                "normalvariate",
                "betavariate",
                "expovariate",
                "getrandbits",
                "triangular",
            )
        ),
        makers=("random.Random",),
    ),
)
"""As ``FrameworkSpec.generators`` has them; a loader shuffles with the first."""

_BATCH = "the batch that each rank gets"

HANDED = tuple(
    (f"{package}.LightningModule", method, 1, _BATCH)
    for package in ("lightning", "lightning.pytorch", "pytorch_lightning")
    for method in ("training_step", "validation_step", "test_step", "predict_step")
)
"""As ``FrameworkSpec.handed`` has them."""

HOOK_OBJECTS = tuple(
    (f"{package}.{base}", start, place, f"{package}.{given}")
    for package in ("lightning", "lightning.pytorch", "pytorch_lightning")
    for base in ("Callback", "callbacks.Callback", "callbacks.ModelCheckpoint", "callbacks.callback.Callback")
    for start in ("on_", "setup", "teardown")
    for place, given in ((1, "Trainer"), (2, "LightningModule"))
)
"""As ``FrameworkSpec.hook_objects`` has them (lightning 2.6: ``pytorch/callbacks/callback.py``)."""
