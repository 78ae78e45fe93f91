"""What a program makes of known texts, in the rehearsal of a run of which everything is known (``Stage.witness``).

Regular expressions, templates, and texts that are read as Python.
"""

from __future__ import annotations

import ast
import re
import shlex
from string import Template
from typing import TYPE_CHECKING, Any

from distlint.link.version_values import REGULAR, is_known, regular
from distlint.model import python as ir
from distlint.rehearsal.failing import fails
from distlint.rehearsal.iterating import is_key
from distlint.rehearsal.unknowns import UNKNOWN, Opaque
from distlint.rehearsal.values import Given, Items, Made, Table, derived
from distlint.rehearsal.values import is_known as is_plain

if TYPE_CHECKING:
    from distlint.rehearsal.calls import Calls
    from distlint.rehearsal.stage import Scope, Stage


MAX_LITERAL = 2_000
"""Characters of a text that is read as Python."""
MAX_VALUE = 200
"""Characters that are put into a template for a name."""
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)\})")


class OfText(Made):
    """What a library makes of a known text."""

    __slots__ = ("text",)

    def __init__(self, name: str, text: str, call: ir.Call, given: Given) -> None:
        super().__init__(name, call, given)
        self.text = text


class Pattern(OfText):
    """What ``re.compile`` makes of a known text."""

    __slots__ = ()

    def method(self, player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
        """What the functions of the same names give."""
        return _applied(player, name, [self.text, *given.positional], given, call)


class Matched(Made):
    """A match."""

    __slots__ = ("match",)

    def __init__(self, match: re.Match[str], call: ir.Call, given: Given) -> None:
        super().__init__("re.match()", call, given)
        self.match = match

    def method(self, player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
        """Its groups."""
        if name == "groupdict" and not given.positional:
            return player.stage.made(Table(dict(self.match.groupdict())))
        if name == "groups" and not given.positional:
            return self.match.groups()
        if name == "group" and not given.open:
            return self.part(player, given.positional[0] if given.positional else 0, None)
        return NotImplemented

    def part(self, player: Any, index: Any, span: Any) -> Any:
        """One of its groups."""
        try:
            return self.match[index] if isinstance(index, int | str) else UNKNOWN
        except IndexError:
            return UNKNOWN


class TextTemplate(OfText):
    """A template whose text is known."""

    __slots__ = ()

    def method(self, player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
        """The text with what its names stand for."""
        if name not in ("substitute", "safe_substitute") or given.open:
            return NotImplemented
        template = Template(self.text)
        mapping = given.positional[0] if given.positional else None
        names = [match["named"] or match["braced"] for match in Template.pattern.finditer(self.text)]
        found = {one: _held(player.stage, mapping, given, one) for one in names if one}
        if not all(isinstance(one, str | int | float) and len(str(one)) <= MAX_VALUE for one in found.values()):
            return derived(name, [self, *given.values()])
        try:
            return template.safe_substitute(found)
        except ValueError:
            return UNKNOWN


def called(player: Calls, name: str, given: Given, call: ir.Call, scope: Scope) -> Any:
    """What a function gives of known texts; ``NotImplemented`` where that is not known, or could take long to find out."""
    text = given.positional[0] if given.positional else None
    if isinstance(text, str) and not given.open and len(given.positional) == 1 and not given.keywords:
        if name == "string.Template":
            return TextTemplate("string.Template()", text, call, given)
        if name == "os.path.expandvars":
            return _expanded(player.stage, text)
        if name == "ast.literal_eval":
            return _literal(player, text)
        if name == "shlex.split":
            return _words(player, text)
    module, _, last = name.rpartition(".")
    if module != "re" or given.open:
        return NotImplemented
    if last == "compile" and len(given.positional) == 1 and isinstance(given.positional[0], str) and not given.keywords:
        return Pattern("re.compile()", given.positional[0], call, given)
    first = given.positional[0] if given.positional else None
    values = [first.text, *given.positional[1:]] if isinstance(first, Pattern) else given.positional
    return _applied(player, last, values, given, call)


def _applied(player: Calls, name: str, values: list[Any], given: Given, call: ir.Call) -> Any:
    wanted = 3 if name == "sub" else 2
    if name not in REGULAR or given.open or given.keywords or len(values) != wanted:
        return NotImplemented
    if not all(isinstance(one, str) for one in values):
        return NotImplemented
    try:
        found = regular(name, values)
    except (re.error, OverflowError, RecursionError, IndexError):
        return UNKNOWN
    if isinstance(found, re.Match):
        return Matched(found, call, given)
    if isinstance(found, tuple):
        return player.stage.made(Items(list(found)))
    return found if found is None or isinstance(found, str) else NotImplemented if not is_known(found) else UNKNOWN


def _held(stage: Stage, mapping: Any, given: Given, name: str) -> Any:
    """What a name of a template stands for."""
    if name in given.keywords:
        return given.keywords[name]
    if isinstance(mapping, Made) and mapping.name == "os.environ":
        return stage.variable(name)
    if isinstance(mapping, Table) and name in mapping.items and not mapping.perhaps:
        # what an environment may hold besides does not change what is known of it
        is_sure = not mapping.open or stage.exports(name)
        return mapping.items[name] if is_sure else UNKNOWN
    return UNKNOWN


def _expanded(stage: Stage, text: str) -> Any:
    """A text with the variables of the environment in it."""
    found = {one or other: stage.variable(one or other) for one, other in _VARIABLE.findall(text)}
    if not all(isinstance(one, str) and len(one) <= MAX_VALUE for one in found.values()):
        return Opaque()
    return _VARIABLE.sub(lambda match: found[match[1] or match[2]], text)


def _words(player: Calls, text: str) -> Any:
    """``shlex.split(text)``."""
    try:
        found = shlex.split(text) if len(text) <= MAX_LITERAL else None
    except ValueError:
        found = None
    return NotImplemented if found is None else player.stage.made(Items(list(found)))


def _literal(player: Calls, text: str) -> Any:
    """``ast.literal_eval(text)``."""
    if len(text) > MAX_LITERAL:
        return NotImplemented
    try:
        return _value(player, ast.literal_eval(text.strip()))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        fails(player.stage, type(error).__name__)
        return NotImplemented


def _value(player: Calls, value: Any) -> Any:
    if isinstance(value, dict):
        keyed = all(map(is_key, value))
        return player.stage.made(Table({key: _value(player, one) for key, one in value.items()})) if keyed else UNKNOWN
    if isinstance(value, list):
        return player.stage.made(Items([_value(player, one) for one in value]))
    if isinstance(value, tuple):
        return tuple(_value(player, one) for one in value)
    return value if is_plain(value) else UNKNOWN
