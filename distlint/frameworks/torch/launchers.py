"""``torchrun``, and its older form that tells a script its local rank by an option.

Options as in ``torch/distributed/run.py`` and ``torch/distributed/launch.py`` up to torch 2.15; which of them a
release has is in ``knowledge/launcher_options.json.gz``.
"""

from __future__ import annotations

from dataclasses import replace

from distlint.model.framework import LauncherSpec, OptionSpec

_OPTIONS = (
    OptionSpec("nodes", ("--nnodes",)),
    OptionSpec("processes-per-node", ("--nproc-per-node",)),
    OptionSpec("node-rank", ("--node-rank",)),
    OptionSpec("address", ("--master-addr",)),
    OptionSpec("port", ("--master-port",)),
    OptionSpec("rdzv-backend", ("--rdzv-backend",)),
    OptionSpec("rdzv-endpoint", ("--rdzv-endpoint",)),
    OptionSpec("rdzv-id", ("--rdzv-id",)),
    OptionSpec("rdzv-conf", ("--rdzv-conf",)),
    OptionSpec("standalone", ("--standalone",), 0),
    OptionSpec("max-restarts", ("--max-restarts",)),
    OptionSpec("monitor-interval", ("--monitor-interval",)),
    OptionSpec("start-method", ("--start-method",)),
    OptionSpec("event-log-handler", ("--event-log-handler",)),
    OptionSpec("role", ("--role",)),
    OptionSpec("module", ("-m", "--module"), 0),
    OptionSpec("no-python", ("--no-python",), 0),
    OptionSpec("run-path", ("--run-path",), 0),
    OptionSpec("log-dir", ("--log-dir",)),
    OptionSpec("redirects", ("-r", "--redirects")),
    OptionSpec("tee", ("-t", "--tee")),
    OptionSpec("local-ranks-filter", ("--local-ranks-filter",)),
    OptionSpec("duplicate-stdout-filters", ("--duplicate-stdout-filters",)),
    OptionSpec("duplicate-stderr-filters", ("--duplicate-stderr-filters",)),
    OptionSpec("local-addr", ("--local-addr",)),
    OptionSpec("logs-specs", ("--logs-specs",)),
    OptionSpec("numa-binding", ("--numa-binding",)),
    OptionSpec("signals-to-handle", ("--signals-to-handle",)),
    OptionSpec("shutdown-timeout", ("--shutdown-timeout",)),
    OptionSpec("virtual-local-rank", ("--virtual-local-rank",), 0),
    OptionSpec("log-line-prefix-template", ("--log-line-prefix-template",)),
    OptionSpec("print-completion", ("--print-completion",)),
    OptionSpec("help", ("-h", "--help"), 0),
)

PROVIDES = frozenset(
    {
        "RANK",
        "LOCAL_RANK",
        "WORLD_SIZE",
        "LOCAL_WORLD_SIZE",
        "GROUP_RANK",
        "GROUP_WORLD_SIZE",
        "ROLE_RANK",
        "ROLE_NAME",
        "ROLE_WORLD_SIZE",
        "MASTER_ADDR",
        "MASTER_PORT",
        "OMP_NUM_THREADS",
        "TORCHELASTIC_RESTART_COUNT",
        "TORCHELASTIC_MAX_RESTARTS",
        "TORCHELASTIC_RUN_ID",
    }
)

TORCHRUN = LauncherSpec(
    name="torchrun",
    commands=(
        ("torchrun",),
        ("python", "-m", "torch.distributed.run"),
        ("python", "-m", "torch.distributed.elastic_launch"),
    ),
    options=_OPTIONS,
    provides=PROVIDES,
    dashes_equal=True,
    default_port=29500,
    inherits=(("nodes", "PET_NNODES"), ("processes-per-node", "PET_NPROC_PER_NODE")),
    devices=("CUDA_VISIBLE_DEVICES",),
)

TORCH_LAUNCH = replace(
    TORCHRUN,
    name="torch.distributed.launch",
    commands=(("python", "-m", "torch.distributed.launch"),),
    options=(*_OPTIONS, OptionSpec("use-env", ("--use-env",), 0), OptionSpec("logdir", ("--logdir",))),
    appends=("--local_rank", "--local-rank"),
    appends_unless=("use-env",),
    appends_when=(("--local_rank", "torch", "<2.0"), ("--local-rank", "torch", ">=2.0")),
)

LAUNCHERS = (TORCHRUN, TORCH_LAUNCH)
