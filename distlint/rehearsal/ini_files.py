"""``configparser`` in the rehearsal of a run that is known: parsers are dictionaries of sections, and sections of texts.

Where the run is not known, what a parser reads is only the same on all processes, as it is of any other file (``documents``).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from distlint.model import python as ir
from distlint.model.document import Leaf, Mapping, node_value
from distlint.model.value import known
from distlint.rehearsal.configured import settings_in
from distlint.rehearsal.known_files import TextFile, plain
from distlint.rehearsal.unknowns import UNKNOWN, Opaque
from distlint.rehearsal.values import Given, Items, Table

if TYPE_CHECKING:
    from distlint.rehearsal.calls import Calls
    from distlint.rehearsal.stage import Scope

_CLASSES = ("ConfigParser", "RawConfigParser", "SafeConfigParser")
_DEFAULT = "DEFAULT"
_TRUE, _FALSE = ("1", "yes", "true", "on"), ("0", "no", "false", "off")
_REFERENCE = re.compile(r"%\((\w+)\)s")
MAX_TEXT = 2_000
"""Characters of a value that others are put into."""


def parser(player: Calls, name: str, given: Given, call: ir.Call, scope: Scope) -> Any:
    """A parser that is made without options that change how it reads; ``NotImplemented`` for others, and where the run is not known."""
    stage = player.stage
    if name not in _CLASSES or given.positional or (stage.run is None and not stage.usual):
        return NotImplemented
    raw = name == "RawConfigParser" or given.keywords.get("interpolation", UNKNOWN) is None
    if not set(given.keywords) <= ({"interpolation"} if raw else set()):
        return NotImplemented
    return stage.made(Parser(is_raw=raw))


class Section(Table):
    """A section: what stands under its own keys and those of ``DEFAULT``, as ``configparser`` gives it."""

    __slots__ = ()

    def own_method(self, player: Calls, name: str, given: Given, call: ir.Call, scope: Scope) -> Any:
        """What asks for a value as a number or truth value."""
        if name == "get" and given.positional and not given.open and isinstance(given.positional[0], str):
            return self.option(given.positional[0], "get", given.get("fallback", 1, None))
        if name in _AS and given.positional and not given.open:
            return self.option(given.positional[0], name, given.get("fallback", 1, None))
        return NotImplemented

    def option(self, key: Any, name: str, fallback: Any) -> Any:
        """A value by the method that asks for it, or what is given where there is none."""
        if not isinstance(key, str) or (self.open and key.lower() not in self.items):
            return UNKNOWN
        if key.lower() not in self.items:
            return fallback
        value = self.items[key.lower()]
        if name == "get" or not isinstance(value, str):
            return value if name == "get" else Opaque()
        try:
            return _AS[name](value)
        except (ValueError, OverflowError):
            return UNKNOWN


class Parser(Table):
    """A parser: its sections by name, ``DEFAULT`` among them."""

    __slots__ = ("is_raw",)

    def __init__(self, *, is_raw: bool) -> None:
        super().__init__({_DEFAULT: Section()})
        self.is_raw = is_raw

    def own_method(self, player: Calls, name: str, given: Given, call: ir.Call, scope: Scope) -> Any:
        """What reads files, and what asks for sections and their values; ``NotImplemented`` for what a dictionary does as well."""
        if given.open or player.stage.doubts(self):
            return NotImplemented
        values = given.positional
        if name in ("read", "read_file", "read_string"):
            return self._read(player, name, given, call, scope)
        if name == "sections":
            return UNKNOWN if self.open else player.stage.made(Items([one for one in self.items if one != _DEFAULT]))
        if name in ("read_dict", "set", "add_section", "remove_section", "remove_option"):
            self.opens(name, *given.values())
            self.items.clear()
            return None
        section = self.items.get(values[0]) if values and isinstance(values[0], str) else None
        if not isinstance(section, Section):
            return UNKNOWN if name in _ASKING and (self.open or values) else NotImplemented
        if name == "items":
            return player.stage.made(Items([(key, value) for key, value in section.items.items()]))
        if name == "options":
            return player.stage.made(Items(list(section.items)))
        if name == "has_section":
            return values[0] != _DEFAULT
        if name == "has_option" and len(values) == 2 and isinstance(values[1], str):
            return UNKNOWN if section.open else values[1].lower() in section.items
        if (name == "get" or name in _AS) and len(values) > 1:
            return section.option(values[1], name, given.keywords.get("fallback", UNKNOWN))
        return NotImplemented

    def _read(self, player: Calls, name: str, given: Given, call: ir.Call, scope: Scope) -> Any:
        """The sections of a file, with the values of ``DEFAULT`` in each."""
        root = _file(player, given, call, scope) if name == "read" else _text(player, given, call, scope)
        if root is None or len(self.items) > 1 or self.open:
            self.opens("read", *given.values())
            self.items.clear()
            return UNKNOWN
        if name == "read":
            player.stage.configurations.add(root.span.file)
        sections = {one.key: one.node for one in root.entries if isinstance(one.node, Mapping)}
        shared = _texts(sections.pop(_DEFAULT, None))
        for name, node in {_DEFAULT: None, **sections}.items():
            texts = {**shared, **_texts(node)}
            section = Section({key: self._given(value, texts) for key, value in texts.items()})
            # keys are lower case unless the program says otherwise, which is not seen here
            section.open = any(key != key.lower() for key in section.items)
            section.items = {key: value for key, value in section.items.items() if key == key.lower()}
            self.items[name] = player.stage.made(section)
        return player.stage.made(Items([root.span.file]))

    def _given(self, value: Any, texts: dict[str, Any]) -> Any:
        """A value with what it takes from others; what these take again is not known."""
        if self.is_raw or not isinstance(value, str) or "%" not in value:
            return value
        named = [str(texts.get(one.lower(), "%")) for one in _REFERENCE.findall(value)]
        if any("%" in one for one in named):
            return Opaque()
        made = _REFERENCE.sub(lambda match: texts[match[1].lower()], value)
        return made.replace("%%", "%") if len(value) + sum(map(len, named)) <= MAX_TEXT else Opaque()


def _texts(node: Any) -> dict[str, Any]:
    entries = node.entries if isinstance(node, Mapping) else ()
    return {one.key: node_value(one.node).only for one in entries}


def _file(player: Calls, given: Given, call: ir.Call, scope: Scope) -> Mapping | None:
    """The settings of the only file of the project that is read."""
    path = given.get("filenames", 0, None)
    if isinstance(path, Items) and path.items is not None and len(path.items) == 1:
        path = path.items[0]
    path = plain(path)
    if isinstance(path, str):
        return settings_in(player, known(path, ir.unpack(call.at, scope.file)), scope)
    evaluator = player.stage.project.evaluator(player.stage.run)
    found = evaluator.ask(call.args[0], scope.file, scope.function) if call.args else None
    return settings_in(player, found.value, scope) if isinstance(found, Leaf) else None


def _text(player: Calls, given: Given, call: ir.Call, scope: Scope) -> Mapping | None:
    """The settings in a text, or in a file that is open."""
    first = given.positional[0] if len(given.positional) == 1 and not given.keywords else None
    text = first.text if isinstance(first, TextFile) else first
    if not isinstance(text, str):
        return None
    root = player.stage.project.documents.parsed(text, "ini", ir.unpack(call.at, scope.file))
    return root if isinstance(root, Mapping) else None


def _boolean(text: str) -> bool:
    if text.lower() not in (*_TRUE, *_FALSE):
        raise ValueError(text)
    return text.lower() in _TRUE


_AS: dict[str, Any] = {"getint": int, "getfloat": float, "getboolean": _boolean}
_ASKING = frozenset({"get", *_AS, "items", "options", "has_section", "has_option"})

__all__ = ["Parser", "Section", "parser"]
