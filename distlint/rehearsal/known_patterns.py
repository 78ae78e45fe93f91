"""Regular expressions over known texts, in the rehearsal of a run of which everything is known (``Stage.witness``)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from distlint.link.version_values import REGULAR, is_known, regular
from distlint.model import python as ir
from distlint.rehearsal.unknowns import UNKNOWN
from distlint.rehearsal.values import Given, Items, Made, Table

if TYPE_CHECKING:
    from distlint.rehearsal.calls import Calls
    from distlint.rehearsal.stage import Scope


class Pattern(Made):
    """What ``re.compile`` makes of a known text."""

    __slots__ = ("text",)

    def __init__(self, text: str, call: ir.Call, given: Given) -> None:
        super().__init__("re.compile()", call, given)
        self.text = text

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


def called(player: Calls, name: str, given: Given, call: ir.Call, scope: Scope) -> Any:
    """What a function of ``re`` gives; ``NotImplemented`` where that is not known, or could take long to find out."""
    module, _, last = name.rpartition(".")
    if module != "re" or given.open:
        return NotImplemented
    if last == "compile" and len(given.positional) == 1 and isinstance(given.positional[0], str) and not given.keywords:
        return Pattern(given.positional[0], call, given)
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
