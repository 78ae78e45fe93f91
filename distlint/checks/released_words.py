"""What findings about released APIs say: since when, until when, and what to use instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distlint.checks.released_faults import Fault
from distlint.model.record import dataclass

if TYPE_CHECKING:
    from distlint.knowledge.api import Api

_LONGEST = 160
"""So much of a deprecation message is quoted."""


@dataclass(frozen=True, slots=True)
class Replacement:
    """Where a name can be had instead, and advice in words. ``is_certain`` says that an import of it means the same."""

    path: str = ""
    advice: str = ""
    is_certain: bool = False


def replacement_of(fault: Fault, table: Api) -> Replacement:
    """What to use instead, as far as the table knows."""
    if fault.kind == "name":
        path = table.moved(fault.name, fault.release)
        if path:
            rest = fault.name[len(fault.subject) :]
            owner = path[: len(path) - len(rest)] if rest and path.endswith(rest) else path
            is_certain = not rest or path.endswith(rest)
            return Replacement(owner, f"`{path}` has it", is_certain)
    return Replacement(advice=_quoted(fault.text))


def _quoted(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _LONGEST else words[: _LONGEST - 1].rsplit(" ", 1)[0] + " …"


def message_of(fault: Fault, table: Api) -> str:
    """One sentence: the symbol, what is wrong, in which release, since or until which one."""
    release = f"{fault.package} {fault.candidate.version}{_where(fault)}"
    if fault.kind == "deprecated":
        since = f" (since {fault.since})" if fault.since else ""
        return f"`{fault.name}` is deprecated in {release}{since}"
    if fault.kind == "deprecated-argument":
        since = f" (since {fault.since})" if fault.since else ""
        return f"`{fault.argument}` of `{fault.name}` is deprecated in {release}{since}"
    bound = _bound(fault, table)
    if fault.kind == "argument":
        return f"`{fault.name}` takes no `{fault.argument}` in {release} ({bound})"
    if fault.kind == "missing":
        return f"`{fault.name}` needs `{fault.argument}` in {release} ({_fitting(fault)})"
    if fault.kind == "crowded":
        return f"`{fault.name}` takes fewer arguments by position in {release} ({_fitting(fault)})"
    whole = f"`{fault.name}`"
    if fault.subject != fault.name:
        return f"{whole} is not in {release} (`{fault.subject}` is {bound})"
    return f"{whole} is not in {release} ({bound})"


def _where(fault: Fault) -> str:
    if not fault.candidate.is_newest:
        return ", which the pins allow"
    return "" if fault.allowed.is_pinned else ", the newest release"


def _bound(fault: Fault, table: Api) -> str:
    """The release that made the difference, as far as the stretches that have the name tell."""
    from packaging.version import Version

    here = Version(fault.candidate.version)
    later = [first for first, _ in fault.others if Version(first) > here]
    earlier = [last for _, last in fault.others if Version(last) < here]
    if earlier:
        withdrawn = table.yanked(fault.package)
        end = Version(earlier[-1])
        after = [one for one in table.releases(fault.package) if Version(one) > end and one not in withdrawn]
        removed = f"removed in {after[0]}" if after else f"last in {earlier[-1]}"
        return f"{removed}, back in {later[0]}" if later else removed
    return f"new in {later[0]}" if later else "of another release"


def _fitting(fault: Fault) -> str:
    stretches = [first if first == last else f"{first} to {last}" for first, last in fault.others]
    return f"{', '.join(stretches[-2:])} take the call as it is"
