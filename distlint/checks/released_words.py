"""What findings about released APIs say: since when, until when, and what to use instead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from distlint.checks.released_faults import Fault
from distlint.model.record import dataclass

if TYPE_CHECKING:
    from distlint.knowledge.api import Api

_MOST = 3
"""So many names of a missing module are said."""

_LONGEST = 160
"""So much of a deprecation message is quoted."""


@dataclass(frozen=True, slots=True)
class Replacement:
    """Where a name can be had instead, and advice in words.

    ``is_same`` says that it is the same thing by another path, ``is_alike`` that it takes the same arguments.
    """

    path: str = ""
    advice: str = ""
    is_same: bool = False
    is_alike: bool = False


def replacement_of(fault: Fault, table: Api) -> Replacement:
    """What to use instead, as far as the table knows."""
    if fault.kind != "name":
        return Replacement(advice=_quoted(fault.text))
    path = table.moved(fault.name, fault.release)
    new = table.find(path, fault.release).symbol if path else None
    if new is None:
        return Replacement()
    old = table.find(fault.name, _nearest(fault)).symbol
    is_same = old is not None and old.name == new.name
    is_alike = is_same or (
        old is not None and old.kind == new.kind and old.parameters is not None and old.parameters == new.parameters
    )
    advice = f"`{path}` has it" if is_alike else f"`{path}` goes by that name here"
    return Replacement(path, advice, is_same, is_alike)


def _nearest(fault: Fault) -> str:
    """The release that has what this one lacks and that is the next one before it, or else the next one behind it."""
    from packaging.version import Version

    here = Version(fault.candidate.version)
    before = [last for _, last in fault.others if Version(last) < here]
    return before[-1] if before else fault.others[0][0]


def _quoted(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _LONGEST else words[: _LONGEST - 1].rsplit(" ", 1)[0] + " …"


def message_of(group: Sequence[Fault], table: Api) -> str:
    """One sentence: the symbol, what is wrong, in which release, since or until which one.

    The faults of a call are told together, others by the first.
    """
    fault = group[0]
    release = f"{fault.package} {fault.candidate.version}{_where(fault)}"
    if fault.kind in ("deprecated", "deprecated-argument"):
        since = f" (since {fault.since})" if fault.since else ""
        what = f"`{fault.argument}` of `{fault.name}`" if fault.argument else f"`{fault.name}`"
        return f"{what} is deprecated in {release}{since}"
    if fault.kind == "name":
        bound = _bound(fault, table)
        names = list(dict.fromkeys(one.name for one in group))
        what = ", ".join(f"`{name}`" for name in names[:_MOST])
        words = (
            f"{what}{' and others' if len(names) > _MOST else ''} {'is' if len(names) == 1 else 'are'} not in {release}"
        )
        return f"{words} (`{fault.subject}` is {bound})" if fault.subject != fault.name else f"{words} ({bound})"
    parts = []
    refused = {one.argument: one for one in group if one.kind == "argument"}
    if refused:
        words = ", ".join(f"`{word}` ({_bound(one, table)})" for word, one in refused.items())
        parts.append(f"takes no {words}")
    foreign = [f"`{one.argument}`" for one in group if one.kind == "foreign"]
    if foreign:
        parts.append(f"takes no {', '.join(foreign)}")
    for one in group:
        if one.kind == "wanting":
            parts.append(f"needs `{one.argument}`")
        elif one.kind == "surplus":
            parts.append("takes fewer arguments by position")
        elif one.kind == "missing":
            parts.append(f"needs `{one.argument}` ({_fitting(one)})")
        elif one.kind == "module":
            parts.append(f"is a module, which can't be called ({_fitting(one)})")
        elif one.kind == "crowded":
            parts.append(f"takes fewer arguments by position ({_fitting(one)})")
    return f"`{fault.name}` in {release} {' and '.join(parts)}"


def _where(fault: Fault) -> str:
    if fault.allowed.is_installed:
        return ", which is installed"
    if not fault.candidate.is_newest:
        return ", which the pins allow"
    return fault.allowed.standing


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
    return f"{', '.join(stretches[-2:])} {fault.text or 'take the call as it is'}"
