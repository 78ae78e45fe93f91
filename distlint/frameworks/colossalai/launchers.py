"""Colossal-AI's launcher. Options as in ``colossalai/cli/launcher`` from 0.3 to 0.5; it hands over to torchrun."""

from __future__ import annotations

from distlint.model.framework import LauncherSpec, OptionSpec

_OPTIONS = (
    OptionSpec("hosts", ("-H", "-host", "--host")),
    OptionSpec("hostfile", ("--hostfile",)),
    OptionSpec("include", ("--include",)),
    OptionSpec("exclude", ("--exclude",)),
    OptionSpec("nodes", ("--num_nodes",)),
    OptionSpec("processes-per-node", ("--nproc_per_node",)),
    OptionSpec("port", ("--master_port",)),
    OptionSpec("address", ("--master_addr",)),
    OptionSpec("extra-launch-args", ("--extra_launch_args",)),
    OptionSpec("ssh-port", ("--ssh-port",)),
    OptionSpec("module", ("-m",)),
)

COLOSSALAI = LauncherSpec(
    name="colossalai",
    commands=(("colossalai", "run"), ("python", "-m", "colossalai.cli", "run")),
    options=_OPTIONS,
    provides=frozenset(
        {"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "OMP_NUM_THREADS"}
    ),
    abbreviations=False,
    default_processes=None,
    default_port=29500,
    counting="hosts",
)

LAUNCHERS = (COLOSSALAI,)
