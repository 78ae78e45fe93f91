"""GPT-NeoX's ``deepy.py``, a script of the repository: it reads configurations and starts a script through DeepSpeed.

How many processes it starts stands in the configurations that it is given, not on its command line.
"""

from __future__ import annotations

from distlint.model.framework import LauncherSpec

DEEPY = LauncherSpec(
    name="deepy",
    commands=(("python", "deepy.py"), ("deepy.py",)),
    options=(),
    provides=frozenset({"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_SIZE", "MASTER_ADDR", "MASTER_PORT"}),
    appends=("--local_rank",),
    default_nodes=None,
    default_processes=None,
    default_port=29500,
)

LAUNCHERS = (DEEPY,)
