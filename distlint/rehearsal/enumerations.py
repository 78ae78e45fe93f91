"""Members of enumerations in a rehearsal: the values that ``auto()`` gives them, and sets of flags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from distlint.rehearsal.unknowns import UNKNOWN
from distlint.rehearsal.values import Made, Thing

if TYPE_CHECKING:
    from distlint.link.modules import ClassRef

_FLAGS = frozenset({"enum.Flag", "enum.IntFlag"})
_TEXTS = frozenset({"enum.StrEnum"})
MAX_FLAG = 1 << 32

_COMBINED = {"|": int.__or__, "&": int.__and__, "^": int.__xor__}


def number(player: Any, ref: ClassRef, variables: dict[str, Any]) -> None:
    """Gives the members of a class their values that are left to ``auto()``, as soon as their names are bound."""
    bases = player.stage.project.modules.external_bases(ref)
    for name, value in variables.items():
        if isinstance(value, Made) and value.name == "enum.auto()":
            if bases & _TEXTS:
                variables[name] = name.lower()
                continue
            before = [one for one in variables.values() if type(one) is int]
            highest = max(before, default=0)
            variables[name] = 1 << highest.bit_length() if bases & _FLAGS else highest + 1


def is_flag(player: Any, value: Any) -> bool:
    """Whether a value is a set of flags of which the number is known."""
    if not isinstance(value, Thing) or type(value.attributes.get("value")) is not int:
        return False
    return bool(player.stage.project.modules.external_bases(value.cls) & _FLAGS)


def of_flags(player: Any, symbol: str, one: Any, two: Any) -> Any:
    """What an operator makes of two sets of flags; ``NotImplemented`` for others."""
    if symbol not in _COMBINED or not (is_flag(player, one) and is_flag(player, two) and one.cls == two.cls):
        return NotImplemented
    value = _COMBINED[symbol](one.attributes["value"], two.attributes["value"])
    if not 0 <= value < MAX_FLAG:
        return UNKNOWN
    for name in player.members(one.cls):
        member = player.member(one.cls, name)
        if isinstance(member, Thing) and member.attributes.get("value") == value:
            return member
    made = Thing(one.cls)
    made.attributes.update({"name": None, "value": value, "_name_": str(value), "_value_": value})
    return made
