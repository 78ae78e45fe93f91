"""GPT-NeoX's ``deepy.py``, a script of the repository: it reads configurations and starts a script through DeepSpeed.

How many processes it starts stands in the configurations that it is given, not on its command line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from distlint.model.framework import FileOptions, LauncherSpec, OptionSpec

if TYPE_CHECKING:
    from distlint.model.document import Document
    from distlint.model.launch import Argument, LaunchOption
    from distlint.model.value import Value


def _options_in_files(
    options: Mapping[str, LaunchOption],
    arguments: Sequence[Argument],
    environment: Mapping[str, Value],
    find: Callable[[Value], Document | None],
) -> FileOptions:
    from distlint.frameworks.megatron.neox import launcher_options

    return launcher_options(options, arguments, environment, find)


DEEPY = LauncherSpec(
    name="deepy",
    commands=(("python", "deepy.py"), ("deepy.py",)),
    options=(
        OptionSpec("hostfile", ("-H", "--hostfile")),
        OptionSpec("conf-dir", ("-d", "--conf_dir")),
        OptionSpec("wandb-group", ("--wandb_group",)),
        OptionSpec("wandb-team", ("--wandb_team",)),
        OptionSpec("autotuning", ("--autotuning",)),
    ),
    provides=frozenset({"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_SIZE", "MASTER_ADDR", "MASTER_PORT"}),
    appends=("--local_rank",),
    default_nodes=None,
    default_processes=None,
    default_port=29500,
    counting="slots",
    devices=("CUDA_VISIBLE_DEVICES",),
    options_in_files=_options_in_files,
)

LAUNCHERS = (DEEPY,)
