"""Dictionaries whose keys are attributes as well, in the rehearsal of a run that is known: settings of OmegaConf and its kin.

Seen with omegaconf 2.3.0, easydict 1.13 and ml-collections 1.1.0: what is merged later counts, lists are replaced as a whole, words of a
command line are YAML. A value that refers to another one (``${lr}``) is not known.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from distlint.link.documents import EXPONENT
from distlint.model import python as ir
from distlint.rehearsal.configured import settings_at, text_as
from distlint.rehearsal.entities import ClassValue
from distlint.rehearsal.known_files import TextFile, plain
from distlint.rehearsal.options import command_words
from distlint.rehearsal.tables import table_of
from distlint.rehearsal.unknowns import UNKNOWN, Opaque
from distlint.rehearsal.values import Given, Items, Table, Thing

if TYPE_CHECKING:
    from distlint.rehearsal.calls import Calls
    from distlint.rehearsal.stage import Scope, Stage

_DICTIONARIES = frozenset(
    {"easydict.EasyDict", "munch.Munch", "munch.munchify", "addict.Dict", "addict.addict.Dict", "box.Box"}
)
"""Classes, and a function, that make dictionaries of this kind."""
_OTHERS = frozenset({"ml_collections.ConfigDict", "ml_collections.config_dict.ConfigDict", "omegaconf.DictConfig"})
"""Classes whose objects are no dictionaries of Python's own."""
_OMEGACONF = "omegaconf.OmegaConf."
_PLAIN = frozenset({"to_container", "to_object"})
_NOTHING = frozenset({"set_struct", "set_readonly", "resolve", "register_new_resolver", "register_resolver"})
_AS_PLAIN = frozenset({"to_dict", "toDict", "unmunchify"})
_MERGES = frozenset({"merge_with", "merge_with_dotlist", "merge_with_cli", "merge_update"})
_METHODS = _AS_PLAIN | _MERGES | {"copy_and_resolve_references"}
_REFERENCE = "${"
MAX_DEPTH = 12
"""Settings inside settings."""


class Settings(Table):
    """A dictionary of this kind; all dictionaries in it are of this kind too."""

    __slots__ = ()
    is_dict = False

    def like(self, items: dict[Any, Any], *, is_open: bool) -> Table:
        """Another one with these items."""
        return type(self)(items, is_open=is_open)

    def keeps(self, player: Calls, name: str, value: Any) -> bool:
        """Every attribute is a key."""
        player.put(self.items, name, value, self.made_in)
        return True

    def attribute(self, player: Calls, name: str) -> Any:
        """What stands under a key of this name; ``NotImplemented`` for methods."""
        if name not in self.items:
            return NotImplemented if hasattr(dict, name) or name in _METHODS else UNKNOWN
        found = player.item(self, name)
        if type(found) is Table:
            found = self.items[name] = settings_of(player, found, type(self))
        return found

    def has(self, name: str) -> bool | None:
        """Whether it has an attribute; ``None`` where that is not known."""
        if name in self.items or hasattr(dict, name) or name in _METHODS:
            return True
        return None if self.open or self.missing is not None else False

    def own_method(self, player: Calls, name: str, given: Given, call: ir.Call, scope: Scope) -> Any:
        """What plain dictionaries don't have."""
        if name in _AS_PLAIN and not [*given.values()]:
            return as_plain(player.stage, self)
        if name in ("copy", "copy_and_resolve_references") and not [*given.values()]:
            return settings_of(player, self, type(self))
        if name in _MERGES:
            words = name.removeprefix("merge_with")
            others = [_from_words(player, given.positional, call, scope)] if words.startswith("_") else given.positional
            found = merged(player, [self, *others]) if not given.open and not given.keywords else UNKNOWN
            if isinstance(found, Settings) and not player.stage.doubts(self):
                self.items, self.open = found.items, found.open
            else:
                self.opens(*given.values())
                self.items.clear()
            return None
        return NotImplemented


class SettingsDictionary(Settings):
    """One whose class is derived from ``dict``."""

    __slots__ = ()
    is_dict = True


def called(player: Calls, name: str, given: Given, call: ir.Call, scope: Scope) -> Any:
    """What a function or class gives that makes settings of this kind or works with them; ``NotImplemented`` for others."""
    if given.open:
        return NotImplemented
    if name in _DICTIONARIES or name in _OTHERS:
        made = table_of(player, given.positional, Given([], given.keywords))
        return settings_of(player, made, SettingsDictionary if name in _DICTIONARIES else Settings)
    if not name.startswith(_OMEGACONF):
        return NotImplemented
    function, values = name.removeprefix(_OMEGACONF), given.positional
    if function in _NOTHING:
        return None
    if function in ("from_cli", "from_dotlist"):
        return _from_words(player, values, call, scope)
    if function == "merge":
        return merged(player, values)
    if function == "unsafe_merge":
        return NotImplemented
    first = values[0] if values else given.get("obj", 0, None)
    if function in ("create", "structured"):
        return _created(player, first, call, scope)
    if function == "load":
        path = plain(first)
        found = settings_at(player, path, call, scope) if isinstance(path, str) else UNKNOWN
        if isinstance(first, TextFile):
            found = text_as(player, first.text, call, scope)
        return settings_of(player, as_numbers(found)) if isinstance(found, Table) else NotImplemented
    if not isinstance(first, Settings):
        return NotImplemented
    if function in _PLAIN:
        return as_plain(player.stage, first)
    if function == "select" and len(values) > 1:
        return _selected(player, first, values[1], given.get("default", None, None))
    if function == "update" and len(values) > 2:
        _put(player, first, values[1], settings_of(player, values[2]) if isinstance(values[2], Table) else values[2])
        return None
    return True if function in ("is_config", "is_dict") else NotImplemented


def settings_of(player: Calls, value: Any, kind: type[Settings] = Settings, depth: int = 0) -> Any:
    """A value with all dictionaries in it as settings of their own."""
    stage = player.stage
    if isinstance(value, str):
        return Opaque() if _REFERENCE in value else value
    if isinstance(value, Items) and value.items is not None and depth < MAX_DEPTH:
        items = [settings_of(player, one, kind, depth + 1) for one in value.items]
        return stage.made(Items(items))
    if not isinstance(value, Table):
        return value
    if depth >= MAX_DEPTH or value.perhaps:
        return UNKNOWN
    inner = {key: settings_of(player, one, kind, depth + 1) for key, one in value.items.items()}
    return stage.made(kind(inner, is_open=value.open))


def as_plain(stage: Stage, value: Any) -> Any:
    """A value with all settings in it as plain dictionaries."""
    if isinstance(value, Items) and value.items is not None:
        return stage.made(Items([as_plain(stage, one) for one in value.items]))
    if not isinstance(value, Table):
        return value
    return stage.made(Table({key: as_plain(stage, one) for key, one in value.items.items()}, is_open=value.open))


def merged(player: Calls, values: Iterable[Any]) -> Any:
    """What several settings are together: later ones count, and dictionaries in them are merged themselves."""
    every = [_structured(player, one) for one in values]
    if not every or not all(isinstance(one, Table) for one in every):
        return UNKNOWN
    found = every[0]
    for one in every[1:]:
        found = _merged(found, one)
    return settings_of(player, found)


def _merged(one: Any, other: Any) -> Any:
    if not isinstance(one, Table) or not isinstance(other, Table):
        return other
    # a key that can't be seen may stand for any that is there
    items = {key: Opaque() for key in one.items} if other.open else dict(one.items)
    for key, value in other.items.items():
        items[key] = _merged(one.items.get(key), value)
    return Table(items, is_open=one.open or other.open)


def parsed_word(player: Calls, text: str, call: ir.Call, scope: Scope) -> Any:
    """A word of a command line as the value that it means."""
    found = as_numbers(text_as(player, f"value: {text}", call, scope))
    return found.items.get("value", UNKNOWN) if isinstance(found, Table) and not found.open else UNKNOWN


def put_below(player: Calls, settings: Settings, path: list[str], value: Any) -> None:
    """Sets what a path of keys leads to; dictionaries that lack on the way are made."""
    for key in path[:-1]:
        inner = settings.items.get(key)
        if not isinstance(inner, Settings):
            inner = settings.items[key] = player.stage.made(type(settings)())
        settings = inner
    settings.items[path[-1]] = value


def as_numbers(value: Any) -> Any:
    """What OmegaConf's own reader of YAML makes of a value: ``1e-3``, which is a text to others, is a number."""
    if isinstance(value, Items) and value.items is not None:
        value.items = [as_numbers(one) for one in value.items]
    elif isinstance(value, Table):
        value.items = {key: as_numbers(one) for key, one in value.items.items()}
    elif isinstance(value, str) and EXPONENT.fullmatch(value):
        return float(value)
    return value


def _created(player: Calls, value: Any, call: ir.Call, scope: Scope) -> Any:
    if value is None:
        return player.stage.made(Settings())
    if isinstance(value, str):
        value = as_numbers(text_as(player, value, call, scope))
    found = _structured(player, value)
    return settings_of(player, found) if isinstance(found, Table | Items) else NotImplemented


def _structured(player: Calls, value: Any) -> Any:
    """A record, or a class of records with its defaults, as the dictionary of its fields."""
    if isinstance(value, ClassValue):
        nowhere = ir.Call(ir.Constant(None, 0), (), (), 0)
        value = player.apply(value, Given([], {}), nowhere, player.module_scope(player.stage.entry))
    if not isinstance(value, Thing) or value.open or value.content is not None:
        return value
    names = player.fields_of(value.cls)
    return Table({name: _structured(player, value.attributes.get(name, UNKNOWN)) for name in names})


def _from_words(player: Calls, values: list[Any], call: ir.Call, scope: Scope) -> Any:
    """The settings that words like ``plugin.stage=2`` make; without any given those of the command line."""
    listed = values[0] if values else None
    if listed is None:
        found = command_words(player.stage, ir.unpack(call.at, scope.file))
        words = found.items[1:] if found is not None and found.items is not None else None
    else:
        words = listed.items if isinstance(listed, Items) else None
    if words is None or not all(isinstance(one, str) for one in words):
        return UNKNOWN
    made = player.stage.made(Settings())
    for word in words:
        key, sign, text = word.partition("=")
        if "[" in key or not key:
            return UNKNOWN
        value = parsed_word(player, text, call, scope) if sign and text else "" if sign else None
        put_below(player, made, key.split("."), settings_of(player, value))
    return made


def _selected(player: Calls, settings: Settings, path: Any, default: Any) -> Any:
    found: Any = settings
    for key in path.split(".") if isinstance(path, str) and "[" not in path else (UNKNOWN,):
        if not isinstance(found, Settings) or not isinstance(key, str) or (found.open and key not in found.items):
            return UNKNOWN
        if key not in found.items:
            return default
        found = player.item(found, key)
    return found


def _put(player: Calls, settings: Settings, path: Any, value: Any) -> None:
    if isinstance(path, str) and "[" not in path and not player.stage.doubts(settings):
        put_below(player, settings, path.split("."), value)
    else:
        settings.opens(path, value)
        settings.items.clear()


__all__ = ["Settings", "as_numbers", "called", "merged", "parsed_word", "put_below", "settings_of"]
