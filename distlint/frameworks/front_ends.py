"""Programs for training that start torchrun or accelerate themselves: ms-swift, LLaMA-Factory, axolotl, Composer.

How many processes they start: ``swift/cli/main.py`` of ms-swift 4, ``llamafactory/launcher.py`` of LLaMA-Factory 0.9,
``axolotl/cli/utils/train.py`` of axolotl 0.13, ``composer/cli/launcher.py`` of Composer 0.32.
"""

from __future__ import annotations

from dataclasses import replace

from distlint.frameworks.torch.launchers import PROVIDES
from distlint.model.framework import FrameworkSpec, LauncherSpec, OptionSpec, StarterSpec

_COUNTS = (("nodes", "NNODES"), ("processes-per-node", "NPROC_PER_NODE"))

_SWIFT = LauncherSpec(
    name="swift",
    commands=(),
    options=(),
    provides=PROVIDES,
    abbreviations=False,
    inherits=(*_COUNTS, ("node-rank", "NODE_RANK"), ("address", "MASTER_ADDR"), ("port", "MASTER_PORT")),
    default_port=29500,
    elsewhere=("--use_ray",),
)


def _swift(program: str, module: str, *commands: str) -> tuple[LauncherSpec, ...]:
    return tuple(
        replace(
            _SWIFT,
            name=program,
            commands=((program, command),),
            implied=f"{module}.{command}",
        )
        for command in commands
    )


SWIFT = (
    *_swift("swift", "swift.cli", "pt", "sft", "rlhf", "infer"),
    *_swift("megatron", "swift.cli._megatron", "pt", "sft", "rlhf", "export"),
)

LLAMAFACTORY = LauncherSpec(
    name="llamafactory-cli",
    commands=(("llamafactory-cli", "train"), ("lmf", "train"), ("python", "-m", "llamafactory.cli", "train")),
    options=(),
    provides=PROVIDES,
    abbreviations=False,
    default_processes=None,
    inherits=(*_COUNTS, ("node-rank", "NODE_RANK"), ("address", "MASTER_ADDR"), ("port", "MASTER_PORT")),
    devices=("CUDA_VISIBLE_DEVICES",),
    implied="llamafactory.launcher",
    elsewhere=("USE_RAY",),
)

AXOLOTL = LauncherSpec(
    name="axolotl",
    commands=(("axolotl", "train"),),
    options=(
        OptionSpec("launcher", ("--launcher",)),
        OptionSpec("processes", ("--num_processes", "--num-processes")),
        OptionSpec("nodes", ("--num_machines", "--num-machines", "--nnodes")),
        OptionSpec("processes-per-node", ("--nproc_per_node", "--nproc-per-node")),
    ),
    provides=PROVIDES,
    abbreviations=False,
    default_processes=None,
    total_processes=True,
    devices=("CUDA_VISIBLE_DEVICES",),
    single_when=(("launcher", "python"),),
    implied="axolotl.cli.train",
    elsewhere=("--use-ray", "--use_ray", "--cloud"),
)

COMPOSER = LauncherSpec(
    name="composer",
    commands=(("composer",), ("python", "-m", "composer.cli.launcher")),
    options=(
        OptionSpec("processes-per-node", ("-n", "--nproc")),
        OptionSpec("processes", ("--world_size",)),
        OptionSpec("stdout", ("--stdout",)),
        OptionSpec("stderr", ("--stderr",)),
        OptionSpec("verbose", ("-v", "--verbose"), 0),
        OptionSpec("module", ("-m", "--module_mode"), 0),
        OptionSpec("no-python", ("-c", "--command_mode"), 0),
        OptionSpec("base-rank", ("--base_rank",)),
        OptionSpec("node-rank", ("--node_rank",)),
        OptionSpec("address", ("--master_addr",)),
        OptionSpec("port", ("--master_port",)),
    ),
    provides=frozenset(
        {"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT"}
    ),
    default_processes=None,
    total_processes=True,
    inherits=(("processes", "WORLD_SIZE"), ("processes-per-node", "LOCAL_WORLD_SIZE")),
    devices=("CUDA_VISIBLE_DEVICES",),
)

# ``lightning/pytorch/trainer/trainer.py`` 2.5, ``lightning/fabric/fabric.py`` 2.5, ``ray/air/config.py`` 2.40.
_LIGHTNING = tuple(
    StarterSpec(name, ("devices", position), nodes=("num_nodes", None))
    for name, position in (
        ("lightning.pytorch.Trainer", None),
        ("lightning.Trainer", None),
        ("pytorch_lightning.Trainer", None),
        ("lightning.fabric.Fabric", 2),
        ("lightning.Fabric", 2),
        ("lightning_fabric.Fabric", 2),
    )
)
_RAY = tuple(
    StarterSpec(name, ("num_workers", position), default=1, total=True)
    for name, position in (
        ("ray.train.ScalingConfig", 1),
        ("ray.air.ScalingConfig", 1),
        ("ray.air.config.ScalingConfig", 1),
    )
)

SPEC = FrameworkSpec(
    name="front-ends",
    prefix="",
    packages=(),
    modules=("lightning", "pytorch_lightning", "lightning_fabric", "ray"),
    literals=(b"ScalingConfig(",),
    starters=(*_LIGHTNING, *_RAY),
    launchers=(*SWIFT, LLAMAFACTORY, AXOLOTL, COMPOSER),
)
