"""The collectives of Colossal-AI: the booster and its coordinator.

Sources: colossalai 0.5.0, ``cluster/dist_coordinator.py`` (``block_all`` is a barrier; ``priority_execution`` lets one rank go first),
``booster/booster.py``. What saving
needs depends on the plugin: that of plain data parallelism writes on one rank without asking the others.
"""

from __future__ import annotations

from distlint.model.framework import CollectiveSpec

_COORDINATORS = ("colossalai.cluster.DistCoordinator()", "colossalai.cluster.dist_coordinator.DistCoordinator()")
_BOOSTERS = ("colossalai.booster.Booster()", "colossalai.booster.booster.Booster()")

COLLECTIVES = (
    *(CollectiveSpec(f"{name}.block_all", "barrier", group=("process_group", 0)) for name in _COORDINATORS),
    *(CollectiveSpec(f"{name}.priority_execution", "barrier", role="first") for name in _COORDINATORS),
    *(
        CollectiveSpec(f"{booster}.{name}", f"booster {name}")
        for booster in _BOOSTERS
        for name in ("boost", "execute_pipeline")
    ),
    CollectiveSpec("colossalai.launch_from_torch", "init_process_group"),
)

MAIN_ONLY = tuple(f"{name}.on_master_only" for name in _COORDINATORS)
