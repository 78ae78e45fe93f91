"""What Colossal-AI does in the rehearsal of a program: batches of loaders that a plugin prepares, and the configuration of its context.

Sources: colossalai 0.3.0 to 0.5.0, ``booster/plugin/dp_plugin_base.py``, ``gemini_plugin.py``, ``hybrid_parallel_plugin.py`` and
``moe_hybrid_parallel_plugin.py``, ``prepare_dataloader``: a ``DistributedSampler`` over the data-parallel ranks, which fills up the last
share, and a ``DataLoader`` of torch; ``initialize.py`` and ``context/config.py`` of 0.3.2, and below ``legacy`` since: a launch keeps the
configuration that it gets as ``global_context.config``, without modules and classes that a file imports.
"""

from __future__ import annotations

import re
from math import ceil, prod
from typing import Any

from packaging.version import Version

from distlint.frameworks.colossalai.config_files import LAUNCHES, LEGACY
from distlint.frameworks.colossalai.plugins import (
    BOOSTER,
    FILES,
    GEMINI,
    HYBRID,
    LOW_LEVEL_ZERO,
    PACKAGE,
    TORCH_DDP,
    TORCH_FSDP,
    constructor,
)
from distlint.model import python as ir
from distlint.rehearsal.attribute_tables import SettingsDictionary, settings_of
from distlint.rehearsal.entities import ClassValue, Library, ModuleValue
from distlint.rehearsal.known_files import file_at, plain
from distlint.rehearsal.models import Models
from distlint.rehearsal.subscripts import Results, part_of_result
from distlint.rehearsal.unknowns import UNKNOWN
from distlint.rehearsal.values import Given, Made, Table

_CONFIGURATION = "configuration of the context"
_CONFIG = re.compile(r"colossalai\.(\w+\.)*global_context\.config")
_FIRST_WITHOUT = Version("0.3.3")
"""The release since which only the functions of ``legacy`` keep a configuration."""
_HYBRID = f"colossalai.booster.plugin.{HYBRID}"
_PREPARES = "prepare_dataloader"
_PARAMETERS = ("dataset", "batch_size", "shuffle", "seed", "drop_last")
_DIVIDING = {
    TORCH_DDP: (),
    TORCH_FSDP: (),
    LOW_LEVEL_ZERO: (),
    GEMINI: ("tp_size",),
    HYBRID: ("tp_size", "pp_size"),
}
"""The arguments of the plugins by which the processes are divided to get the data-parallel ranks."""
_WRAPPERS = ("colossalai.interface.ModelWrapper", "colossalai.interface.model.ModelWrapper")
_OWN_RANKS = ("all_to_all", "ring_attn")
"""Modes of sequence parallelism that have ranks of their own (``hybrid_parallel_plugin.py``, ``__init__``)."""


class Prepared(Made):
    """A loader that a plugin has prepared; ``size`` is its number of batches on each process."""

    __slots__ = ("size",)

    def __init__(self, made: Made, size: Any) -> None:
        super().__init__(made.name, made.call, made.arguments)
        self.file, self.function, self.sign, self.source = made.file, made.function, made.sign, made.source
        self.size = size

    def length(self, player: Any) -> Any:
        """How many batches each process gets."""
        return self.size


class HybridPlugin(Made):
    """A plugin with stages, where there are some (``hybrid_parallel_plugin.py``, ``__init__``: ``stage_manager = None``)."""

    __slots__ = ()

    def attribute(self, player: Any, name: str, expr: ir.Expr, scope: Any) -> Any:
        """What manages the stages: nothing where there is one."""
        stages = self.arguments.get("pp_size", 1, UNKNOWN) if self.arguments is not None else UNKNOWN
        return None if name == "stage_manager" and type(stages) is int and stages == 1 else NotImplemented


class WrappedModel(Made):
    """A model as a plugin gives it back: each makes it a ``ModelWrapper`` (``interface/model.py``, 0.3.0 to 0.5.0)."""

    __slots__ = ()

    def has(self, name: str) -> bool | None:
        """Its own methods, and the model inside."""
        return True if name in ("unwrap", "module") else None

    def is_a(self, name: str) -> bool | None:
        """It is a wrapper, and which other class it is of is not looked at."""
        return True if name in _WRAPPERS else None


class Boosted(Results):
    """What ``boost`` of a booster with a plugin gives; the model in it is wrapped."""

    __slots__ = ()

    def result(self, position: int) -> Made:
        """One of the five, by its place."""
        part = part_of_result(self, position)
        return _as(WrappedModel, part) if position == 0 else part


class ColossalAI(Models):
    """Answers for Colossal-AI."""

    def constant(self, player: Any, name: str) -> Any:
        """The configuration of the context, as the launch has left it."""
        found = player.stage.kept.get(_CONFIGURATION) if _CONFIG.fullmatch(name) is not None else None
        return NotImplemented if found is None else found

    def call(self, player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
        """A hybrid plugin knows whether it has stages; a launch keeps its configuration."""
        if name in LEGACY or (name in LAUNCHES and _keeps_configuration(player, scope)):
            player.stage.kept[_CONFIGURATION] = _configuration(player, given, scope)
        if name != _HYBRID:
            return NotImplemented
        plain = player.made(f"{name}()", None, given, call, scope)
        return _as(HybridPlugin, plain)

    def method(self, player: Any, receiver: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
        """A loader of which the number of batches is known, and models that are wrapped; all else is for others to say."""
        if name == "boost" and player.stage.witness is not None and _has_plugin(receiver):
            return _as(Boosted, player.made(f"{receiver.name}.boost()", receiver, given, call, scope))
        if name != _PREPARES or not isinstance(receiver, Made):
            return NotImplemented
        size = _batches(player, receiver, given, scope)
        if size is None:
            return NotImplemented
        dotted = player.stage.project.modules.canonical(f"{receiver.name}.{name}()")
        return Prepared(player.made(dotted, receiver, given, call, scope), size)


def _as(kind: type[Made], made: Made) -> Any:
    """The same object as one of a kind that knows more of it."""
    new = kind(made.name, made.call, made.arguments)
    new.file, new.function, new.sign, new.source = made.file, made.function, made.sign, made.source
    return new


def _has_plugin(receiver: Any) -> bool:
    """Whether a booster surely got a plugin of Colossal-AI's own."""
    if not isinstance(receiver, Made) or receiver.name != f"{BOOSTER}()" or receiver.arguments is None:
        return False
    plugin = receiver.arguments.get("plugin", 2, None)
    return isinstance(plugin, Made) and plugin.name.removesuffix("()") in FILES


def _keeps_configuration(player: Any, scope: Any) -> bool:
    release = player.stage.project.environments.for_file(scope.file).newest(PACKAGE)
    return release != "" and Version(release) < _FIRST_WITHOUT


def _configuration(player: Any, given: Given, scope: Any) -> Any:
    """What a launch is given, as the dictionary with attributes that is made of it."""
    value = plain(given.get("config", 0, None))
    if isinstance(value, str) and value.endswith(".py"):
        file = file_at(player.stage, value, scope)
        variables = dict(player.module_scope(file).variables) if file is not None else None
        value = (
            None if variables is None else Table({key: one for key, one in variables.items() if _is_setting(key, one)})
        )
    if player.stage.unsure or player.stage.witness is None or not isinstance(value, Table):
        return UNKNOWN
    return settings_of(player, value, SettingsDictionary)


def _is_setting(name: str, value: Any) -> bool:
    return not name.startswith("__") and not isinstance(value, ModuleValue | ClassValue | Library)


def _batches(player: Any, plugin: Made, given: Given, scope: Any) -> int | None:
    """How many batches a prepared loader has on each process; ``None`` where that is not known."""
    ranks = _data_ranks(player, plugin, scope)
    values = {one: given.get(one, place, None) for place, one in enumerate(_PARAMETERS)}
    rows, size, drops = player.length(values["dataset"]), values["batch_size"], values["drop_last"] or False
    known = type(rows) is int and type(size) is int and size > 0 and isinstance(drops, bool)
    if ranks is None or not known or given.open or "distributed_sampler_cls" in given.keywords:
        return None
    share: int = ceil(rows / ranks)
    batches: int = share // size if drops else ceil(share / size)
    return batches


def _data_ranks(player: Any, plugin: Made, scope: Any) -> int | None:
    name = plugin.name.rpartition(".")[2].removesuffix("()")
    if name not in _DIVIDING or plugin.arguments is None or plugin.arguments.open:
        return None
    release = player.stage.project.environments.for_file(scope.file).newest(PACKAGE)
    parameters = constructor(name, release).parameters

    def argument(word: str, default: Any) -> Any:
        place = parameters.index(word) if word in parameters else None
        return plugin.arguments.get(word, place, default)  # type: ignore[union-attr]

    sizes = [argument(word, 1) for word in _DIVIDING[name]]
    if name == HYBRID and argument("enable_sequence_parallelism", False) is not False:
        mode = argument("sequence_parallelism_mode", None)
        sizes.append(UNKNOWN if not (mode is None or isinstance(mode, str)) else 1)
        sizes.append(argument("sp_size", UNKNOWN) if mode in _OWN_RANKS else 1)
    if not all(type(one) is int and one > 0 for one in sizes):
        return None
    world: int = player.stage.world
    ranks, rest = divmod(world, prod(sizes))
    return ranks if rest == 0 else None


MODELS = ColossalAI()
