"""How Colossal-AI is recognised, imported and launched."""

from __future__ import annotations

from distlint.frameworks.colossalai.collectives import COLLECTIVES, MAIN_ONLY
from distlint.frameworks.colossalai.launchers import LAUNCHERS
from distlint.frameworks.colossalai.plugins import BOOSTER, EXPORTS, FILES, HYBRID
from distlint.model.framework import FrameworkSpec, ParserSpec

_DEFAULT_PARSER = (
    # initialize.py (to 0.3.2) and legacy/initialize.py (to 0.5.0), get_default_parser
    ("--config", "str", None),
    ("--host", "str", None),
    ("--port", "int", None),
    ("--world_size", "int", None),
    ("--rank", "int", None),
    ("--local_rank", "int", None),
    ("--backend", "str", "nccl"),
)

SPEC = FrameworkSpec(
    name="colossalai",
    prefix="CAI",
    packages=("colossalai",),
    modules=("colossalai",),
    literals=(b"colossalai",),
    config_keys=(b"colossalai",),
    launchers=LAUNCHERS,
    lazily_exported=EXPORTS,
    parsers=tuple(
        ParserSpec(f"colossalai.{module}get_default_parser", own=_DEFAULT_PARSER)
        for module in ("", "initialize.", "legacy.", "legacy.initialize.")
    ),
    # booster/booster.py, __init__: `self.plugin = plugin` (0.3.0 to 0.5.0)
    records=(*FILES, BOOSTER),
    # the plugin for experts derives from the hybrid one from 0.4.3 on
    exclusive=(frozenset(name for name in FILES if not name.endswith("MoeHybridParallelPlugin")),),
    results=(
        # logging/__init__.py, get_dist_logger (0.2.0 to 0.5.0)
        ("colossalai.logging.get_dist_logger", (), "colossalai.logging.DistributedLogger"),
    ),
    shares=(
        # booster/plugin/hybrid_parallel_plugin.py, __init__ (0.3.2 to 0.5.0)
        (f"colossalai.booster.plugin.{HYBRID}", "dp_size", ("tp_size", "pp_size"), ("sp_size",)),
    ),
    rehearsed="distlint.frameworks.colossalai.rehearsed",
    collectives=COLLECTIVES,
    main_only=MAIN_ONLY,
    rank_sources=tuple(
        (f"colossalai.cluster.{package}DistCoordinator().{name}", kind)
        for package in ("", "dist_coordinator.")
        for name, kind in (
            ("is_master", "main"),
            ("is_node_master", "local-main"),
            ("is_last_process", "last"),
            ("rank", "rank"),
            ("local_rank", "local-rank"),
            ("world_size", "world"),
        )
    ),
)
