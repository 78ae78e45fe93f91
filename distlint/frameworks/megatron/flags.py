"""The options of Megatron-LM and Megatron-DeepSpeed by release: what a flag takes, and under which name it is a setting.

The name of a setting is the destination that the newest release gives its flag (``--no-rope-fusion`` is
``apply_rope_fusion``, which it makes false). Besides, every spelling is a name of its own, for which the written value
counts: ``no_rope_fusion`` is true where it stands there. So conditions may use the name that reads best.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from distlint.knowledge.release_tables import ReleaseTable, section
from distlint.model.record import dataclass
from distlint.model.value import Value, absent, known, unknown

LM, DEEPSPEED = "megatron-lm", "megatron-deepspeed"
"""The flavours that have a command line."""

ANY_RELEASE = "*"
"""Stands for a version of which nothing is known: every release is possible."""

USUAL_DAYS = "2022.12.12+"
"""The states of Megatron-DeepSpeed that count where nothing says which one it is."""

_TABLE = "megatron_arguments"
_NATURAL: Mapping[str, Any] = {"true": False, "false": True}


@dataclass(frozen=True, slots=True)
class Flag:
    """What one release says of one spelling of an option.

    ``action`` is ``store``, ``true`` or ``false`` (a switch, and what it sets) or ``boolean`` (a switch with a second
    spelling that turns ``off``). ``type`` is that of Python which reads each word, ``word`` for one of ``choices``,
    ``frequency`` or ``integers`` for Megatron's own notations, or ``any``. ``nargs`` is as in ``argparse``. ``default``
    is that of the destination. ``flags`` are all spellings. ``perhaps``: not every installation has it.
    """

    name: str
    dest: str
    action: str
    type: str
    nargs: int | str | None
    choices: tuple[Any, ...] | None
    default: Any
    computed: bool
    flags: tuple[str, ...]
    off: bool
    perhaps: bool

    @property
    def is_switch(self) -> bool:
        """Whether it takes no word."""
        return self.action != "store"

    @property
    def sets(self) -> bool:
        """What a switch makes of its destination."""
        return self.action == "true" or (self.action == "boolean" and not self.off)


class FlagTable:
    """The flags of one flavour over all releases."""

    def __init__(self, flavour: str) -> None:
        self.releases = ReleaseTable(section(_TABLE, 0)[flavour])
        self._views: dict[tuple[int, ...], FlagView] = {}
        self._flags: dict[tuple[str, int], Flag] = {}

    def at(self, version: str) -> FlagView:
        """The flags of a version of Megatron Core; of all releases for ``ANY_RELEASE``, from one on for ``0.8+``."""
        if version == ANY_RELEASE:
            indexes = self.releases.all
        elif version.endswith("+"):
            indexes = self.releases.all[self.releases.indexes(version[:-1])[-1] :]
        else:
            indexes = self.releases.indexes(version)
        view = self._views.get(indexes)
        if view is None:
            view = self._views[indexes] = FlagView(self, indexes)
        return view

    def flag(self, name: str, index: int) -> Flag | None:
        """What the release at ``index`` says of a flag, one object where releases agree; ``None`` where it has none."""
        entry = self.releases.entry(name, index)
        if entry is None:
            return None
        key = (name, id(entry))  # entries live as long as the table
        flag = self._flags.get(key)
        if flag is None:
            flag = self._flags[key] = _flag(name, entry)
        return flag


class FlagView:
    """The flags of the releases that a run may use."""

    def __init__(self, table: FlagTable, indexes: tuple[int, ...]) -> None:
        self.table = table
        self.indexes = indexes
        self._found: dict[str, list[Flag | None]] = {}
        self._defaults: dict[str, Value] = {}

    def all_of(self, name: str) -> list[Flag | None]:
        """What each release says of a flag, ``None`` for one that does not have it; the newest one last."""
        found = self._found.get(name)
        if found is None:
            found = self._found[name] = [self.table.flag(name, index) for index in self.indexes]
        return found

    def find(self, name: str) -> Flag | None:
        """A flag as the newest of the releases that has it says it; ``None`` where none does."""
        return next((flag for flag in reversed(self.all_of(name)) if flag is not None), None)

    def names(self) -> Iterator[str]:
        """Every flag that one of the releases has."""
        return (name for name in self.table.releases.names if self.find(name) is not None)

    def default(self, path: str) -> Value:
        """What holds where a setting is not written: absent where nothing does, unknown where releases differ."""
        value = self._defaults.get(path)
        if value is None:
            value = self._defaults[path] = self._default(path)
        return value

    def _default(self, path: str) -> Value:
        values: list[Value] = []
        for position in range(len(self.indexes)):
            values.append(self._default_in(path, position))
        if any(value != values[0] for value in values):
            return unknown("the default depends on the version")
        return values[0]

    def _default_in(self, path: str, position: int) -> Value:
        spelled = [flag for name in _spelled(path) if (flag := self.all_of(name)[position]) is not None]
        for flag in spelled:
            if flag.is_switch and (flag.off or flag.action == "false" or canonical(flag.name) != path):
                return known(False)
        setting = [flag for name in _setting_flags().get(path, ()) if (flag := self.all_of(name)[position]) is not None]
        for flag in (*setting, *spelled):
            return _value(flag)
        return known(False) if is_switch(path) else absent()


def _value(flag: Flag) -> Value:
    if flag.computed:
        return unknown("the default is computed")
    if flag.default is None:
        return known(False) if flag.is_switch else absent()
    return known(flag.default)


@cache
def flag_table(flavour: str) -> FlagTable:
    """The table of ``LM`` or ``DEEPSPEED``."""
    return FlagTable(flavour)


def canonical(flag: str) -> str:
    """The name of the setting that a flag of any release makes."""
    name: str = section(_TABLE, 0)["names"].get(flag) or own_name(flag)
    return name


def own_name(flag: str) -> str:
    """A flag's spelling as a name."""
    return flag.lstrip("-").replace("-", "_")


def is_switch(path: str) -> bool:
    """Whether a name is that of a switch, in any release of either flavour, or of what one sets."""
    flags = {*_spelled(path), *_setting_flags().get(path, ())}
    found = [flag for flavour in (LM, DEEPSPEED) for name in flags if (flag := _newest(flavour, name)) is not None]
    return bool(found) and all(flag.is_switch for flag in found)


def _newest(flavour: str, name: str) -> Flag | None:
    return flag_table(flavour).at(ANY_RELEASE).find(name)


@cache
def setting_names() -> frozenset[str]:
    """Every name that a setting of a command line can have."""
    spelled = (own_name(flag) for flavour in (LM, DEEPSPEED) for flag in flag_table(flavour).releases.names)
    return frozenset((*spelled, *_setting_flags()))


@cache
def _setting_flags() -> Mapping[str, tuple[str, ...]]:
    """Name of a setting → the flags that make it, in any release."""
    found: dict[str, list[str]] = {}
    for flavour in (LM, DEEPSPEED):
        for flag in flag_table(flavour).releases.names:
            flags = found.setdefault(canonical(flag), [])
            if flag not in flags:
                flags.append(flag)
    return {name: tuple(flags) for name, flags in found.items()}


@cache
def _spelled(path: str) -> tuple[str, ...]:
    """The flags whose spelling is a name."""
    return _spellings().get(path, ())


@cache
def _spellings() -> Mapping[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for flavour in (LM, DEEPSPEED):
        for flag in flag_table(flavour).releases.names:
            found.setdefault(own_name(flag), {})[flag] = None
    return {name: tuple(flags) for name, flags in found.items()}


def _flag(name: str, entry: Mapping[str, Any]) -> Flag:
    action = entry.get("action", "store")
    choices = entry.get("choices")
    return Flag(
        name=name,
        dest=entry.get("dest", own_name(name)),
        action=action,
        type=entry.get("type", "str"),
        nargs=entry.get("nargs"),
        choices=None if choices is None else tuple(choices),
        default=entry.get("default", _NATURAL.get(action)),
        computed=entry.get("computed", False),
        flags=tuple(entry.get("flags", (name,))),
        off=entry.get("off", False),
        perhaps=entry.get("perhaps", False),
    )
