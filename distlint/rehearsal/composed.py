"""Configurations that Hydra composes of a folder's files and the words of a command line, in the rehearsal of a run that is known.

Seen with hydra-core 1.3.2: a configuration without ``_self_`` in its list of defaults comes behind them, a group's file stands below the
group's name unless its head names another package, and a word sets a value or chooses a file of a group. What Hydra refuses is unknown.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from distlint.link.modules import FunctionRef
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.attribute_tables import Settings, as_numbers, merged, parsed_word, put_below, settings_of
from distlint.rehearsal.configured import text_as
from distlint.rehearsal.entities import Library
from distlint.rehearsal.options import command_words
from distlint.rehearsal.unknowns import UNKNOWN
from distlint.rehearsal.values import Given, Items, Table

if TYPE_CHECKING:
    from distlint.rehearsal.calls import Calls
    from distlint.rehearsal.stage import Scope

MAIN = frozenset({"hydra.main", "hydra.main.main"})
"""The decorator whose function gets a configuration when it is called without arguments."""
_INITIALIZE = frozenset({"hydra.initialize", "hydra.initialize.initialize"})
_COMPOSE = frozenset({"hydra.compose", "hydra.compose.compose"})
_FOLDER = "folder of configurations"
_SELF = "_self_"
_PACKAGE = re.compile(r"#\s*@package\s+(\S+)")
_SUFFIX = ".yaml"
MAX_FILES = 40
"""Files that one configuration is composed of."""
MAX_TEXT = 20_000
"""Characters of one of them."""


class _Part(NamedTuple):
    """An entry of a list of defaults: the file ``choice`` of a group, put at ``package``."""

    group: str
    choice: str
    package: str | None = None


class _UnknownError(Exception):
    """Something is not known, or Hydra would refuse it."""


def given_by_hydra(player: Calls, ref: FunctionRef, scope: Scope) -> Given | None:
    """What a function gets that Hydra calls; ``None`` for other functions."""
    stage = player.stage
    for decorator in stage.project.function(ref).decorators:
        if type(decorator) is not ir.Call:
            continue
        module = player.module_scope(ref.file)
        named = player.value(decorator.func, module)
        if not isinstance(named, Library) or named.name not in MAIN:
            continue
        words = command_words(stage, ir.unpack(decorator.at, ref.file))
        values = {one.name: player.value(one.value, module) for one in decorator.keywords if one.name}
        names = ("config_path", "config_name", "version_base")
        values |= {name: player.value(one, module) for name, one in zip(names, decorator.args, strict=False)}
        if words is None or words.items is None:
            return Given([UNKNOWN], {})
        made = composed(player, ref.file, values, words.items[1:], decorator, scope)
        return Given([made], {})
    return None


def called(player: Calls, name: str, given: Given, call: ir.Call, scope: Scope) -> Any:
    """What ``compose`` gives below ``initialize``; ``NotImplemented`` for other functions."""
    if name in _INITIALIZE:
        player.stage.kept[_FOLDER] = (scope.file, given)
    if name not in _COMPOSE or given.open or _FOLDER not in player.stage.kept:
        return NotImplemented
    file, started = player.stage.kept[_FOLDER]
    path = started.get("config_path", 1, None) if not started.open else UNKNOWN
    words = given.get("overrides", 1, Items([]))
    if not isinstance(words, Items) or words.items is None:
        return UNKNOWN
    values = {"config_path": path, "config_name": given.get("config_name", 0, None)}
    return composed(player, file, values, words.items, call, scope)


def composed(player: Calls, file: str, values: dict[str, Any], words: list[Any], call: ir.Call, scope: Scope) -> Any:
    """The configuration that a file of the project asks Hydra for, with the words that change it; unknown where that can't be told."""
    path, name = values.get("config_path"), values.get("config_name")
    if not isinstance(path, str) or path.startswith("/") or not all(isinstance(one, str) for one in words):
        return UNKNOWN
    folder = posixpath.normpath(posixpath.join(posixpath.dirname(file), path))
    try:
        name, words = _named(name, words)
        return _Composer(player, folder, call, scope).composed(name, words)
    except _UnknownError:
        return UNKNOWN


def _named(name: Any, words: list[str]) -> tuple[str, list[str]]:
    """The name of the configuration, and the words that are not about Hydra itself."""
    rest, left = [], iter(words)
    for word in left:
        option, sign, value = word.partition("=")
        if option in ("--config-name", "-cn"):
            name = value if sign else next(left, None)
        elif word.startswith("-") or (not sign and not word.startswith("~")):
            raise _UnknownError
        elif not option.lstrip("+~").startswith(("hydra.", "hydra/")):
            rest.append(word)
    if not isinstance(name, str):
        raise _UnknownError
    return name.removesuffix(_SUFFIX), rest


class _Composer:
    """Composes one configuration."""

    def __init__(self, player: Calls, folder: str, call: ir.Call, scope: Scope) -> None:
        self._player, self._folder, self._call, self._scope = player, folder, call, scope
        self._span: Span = ir.unpack(call.at, scope.file)
        self._chosen: dict[str, str | None] = {}
        """Files of groups that words choose; ``None`` for groups that they take out."""
        self._taken: set[str] = set()
        self._files = 0

    def composed(self, name: str, words: list[str]) -> Settings:
        """The whole configuration."""
        added, values = [], []
        for word in words:
            key, sign, text = word.partition("=")
            group = key.lstrip("+~")
            if not self._is_group(group):
                values.append((key, sign, text))
            elif key.startswith("+"):
                added.append(_Part(group, text))
            else:
                self._chosen[group] = None if key.startswith("~") else text
        parts = self._of_file("", name, "", 0)
        for part in added:
            parts.extend(self._of_part(part, "", 0))
        if set(self._chosen) - self._taken:
            raise _UnknownError
        found = merged(self._player, [Settings(), *parts])
        if not isinstance(found, Settings):
            raise _UnknownError
        for key, sign, text in values:
            self._set(found, key, text if sign else None)
        return found

    def _set(self, settings: Settings, key: str, text: str | None) -> None:
        path = key.lstrip("+~").split(".")
        holder: Any = settings
        for step in path[:-1]:
            holder = holder.items.get(step) if isinstance(holder, Settings) else None
        is_there = isinstance(holder, Settings) and path[-1] in holder.items
        if not all(path) or "[" in key or "/" in key or (not key.startswith("+") and not is_there):
            raise _UnknownError
        if key.startswith("~"):
            holder.items.pop(path[-1])
            return
        value = parsed_word(self._player, text, self._call, self._scope) if text else ""
        put_below(self._player, settings, path, settings_of(self._player, value))

    def _is_group(self, name: str) -> bool:
        folder = f"{self._folder}/{name}/"
        return any(path.startswith(folder) for path in self._player.stage.project.paths)

    def _of_file(self, group: str, name: str, package: str, depth: int) -> list[Table]:
        """What a file says with its defaults, each at its package, in the order in which they count."""
        self._files += 1
        path = posixpath.normpath(f"{self._folder}/{group}/{name.removesuffix(_SUFFIX)}{_SUFFIX}")
        project = self._player.stage.project
        text = project.text_of(path) if path in project.paths else ""
        if not text or self._files > MAX_FILES or len(text) > MAX_TEXT or depth > MAX_FILES:
            raise _UnknownError
        self._player.stage.configurations.add(path)
        own = as_numbers(text_as(self._player, text, self._call, self._scope))
        if not isinstance(own, Table) or own.open:
            raise _UnknownError
        head = _PACKAGE.match(text.lstrip())
        if head is not None:
            package = {"_global_": "", "_group_": group.replace("/", ".")}.get(head[1], head[1])
        defaults = own.items.pop("defaults", None)
        parts = self._defaults(defaults, group)
        found = []
        for part in parts:
            if part is None:
                found.append(_below(package, own))
            else:
                found.extend(self._of_part(part, package if part.package is None else part.package, depth))
        return found

    def _of_part(self, part: _Part, package: str, depth: int) -> list[Table]:
        if part.group in self._chosen:
            self._taken.add(part.group)
            choice = self._chosen[part.group]
        else:
            choice = part.choice
        if choice is None:
            return []
        if part.package is None and part.group:
            package = part.group.replace("/", ".")
        return self._of_file(part.group, choice, package, depth + 1)

    def _defaults(self, defaults: Any, group: str) -> list[_Part | None]:
        """The entries of a list of defaults; ``None`` stands for the file itself."""
        listed = defaults.items if isinstance(defaults, Items) else [] if defaults is None else None
        if listed is None:
            raise _UnknownError
        found: list[_Part | None] = []
        for one in listed:
            if one == _SELF:
                found.append(None)
            elif isinstance(one, str):
                found.append(_Part(*_inside(group, one)))
            elif isinstance(one, Table) and len(one.items) == 1 and not one.open:
                self._entry(*next(iter(one.items.items())), group, found)
            else:
                raise _UnknownError
        return found if None in found else [*found, None]

    def _entry(self, key: Any, choice: Any, group: str, found: list[_Part | None]) -> None:
        """``optional group@package: choice`` and its like."""
        words = key.split() if isinstance(key, str) else []
        name, at, package = words[-1].partition("@") if words else ("", "", "")
        if "hydra" in name.split("/"):
            return
        chosen = [choice] if isinstance(choice, str) or choice is None else getattr(choice, "items", None)
        if not name or chosen is None or not all(one is None or isinstance(one, str) for one in chosen):
            raise _UnknownError
        name = posixpath.normpath(name.lstrip("/") if name.startswith("/") or not group else f"{group}/{name}")
        where = {"_global_": "", "_here_": group.replace("/", ".")}.get(package, package) if at else None
        if "override" in words[:-1]:
            self._chosen.setdefault(name, chosen[0])
            return
        is_there = [one for one in chosen if one is not None and "${" not in one]
        if len(is_there) != len([one for one in chosen if one is not None]):
            raise _UnknownError
        if not chosen or (None in chosen and name in self._chosen):
            self._taken.add(name)
        for one in is_there:
            path = posixpath.normpath(f"{self._folder}/{name}/{one.removesuffix(_SUFFIX)}{_SUFFIX}")
            if "optional" not in words[:-1] or path in self._player.stage.project.paths:
                found.append(_Part(name, one, where))


def _inside(group: str, name: str) -> tuple[str, str]:
    """The group and name of a file that stands beside another one, or that is named from the top."""
    path = name.lstrip("/") if name.startswith("/") else posixpath.join(group, name)
    head, _, last = posixpath.normpath(path).rpartition("/")
    return head, last


def _below(package: str, table: Table) -> Table:
    """A table at the place of a package."""
    for step in reversed(package.split(".") if package else []):
        table = Table({step: table})
    return table


__all__ = ["MAIN", "called", "composed", "given_by_hydra"]
