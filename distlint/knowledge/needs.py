"""What the import of a release asks of other packages that some of their releases lack.

``needs.zip`` is made by ``tools/harvest/needs.py``, which follows the imports of every release through its own modules
and looks up what they ask for in all releases of the other packages. One member for each package; a row says which
symbol is asked for, where, in which releases of the other package it is missing, and which imports run into it.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from packaging.version import Version

PATH = Path(__file__).with_name("needs.zip")

Spans = tuple[tuple[str, str], ...]


class Need(NamedTuple):
    """One symbol that a release asks ``package`` for.

    ``lacking`` are the spans of releases without it, both ends included, ``""`` for an end that is open. ``place`` is
    the file and line of (the first such release of) the package that asks. ``given`` are other packages whose release
    has to be within spans for it to be asked. ``first`` is the oldest release that is known to have it.
    ``entries`` are the modules and names whose import asks for it, one of
    them the package itself where any import does.
    """

    package: str
    symbol: str
    place: str
    lacking: Spans
    given: tuple[tuple[str, Spans], ...]
    first: str
    entries: tuple[str, ...]

    @property
    def is_constant(self) -> bool:
        """Whether every import of the package asks for it."""
        return "" in self.entries

    def is_lacking(self, version: str) -> bool:
        """Whether a release of the other package is known not to have it."""
        return _within(version, self.lacking)

    def holds(self, package: str, version: str) -> bool:
        """Whether it is asked for beside that release of a third package."""
        return all(_within(version, spans) for name, spans in self.given if name == package)

    def is_gone(self, version: str) -> bool:
        """Whether an older release had what this one lacks."""
        here = _order(version)
        return here is not None and _ordered(self.first) < here

    def edge(self, version: str) -> str:
        """The release with which the span begins that a release is in (it is gone since), ``""`` if none."""
        return next((first for first, last in self.lacking if _within(version, ((first, last),))), "")


@cache
def asked_by(package: str, version: str) -> tuple[Need, ...]:
    """What a release asks of others that not all releases have, in the order of its import.

    Of one that was not read, what both its neighbours ask for; ``()`` outside the releases that were.
    """
    table = _table(package)
    here = _order(version)
    if not table or here is None:
        return ()
    releases = table["places"]
    low, high = bisect_right(releases, here) - 1, bisect_left(releases, here)
    if low < 0 or high >= len(releases):
        return ()
    found = []
    for other, symbol, place, lacking, given, first, groups in table["rows"]:
        entries = [
            name
            for spans, names in groups
            if any(start <= low and high <= last for start, last in spans)
            for name in names
        ]
        if entries:
            others = tuple((name, _spans(spans)) for name, spans in given)
            found.append(Need(other, symbol, place, _spans(lacking), others, first, tuple(entries)))
    return tuple(found)


def is_known(package: str, version: str) -> bool:
    """Whether a release is among those that were read, or between them."""
    releases: list[Version] = _table(package).get("places", [])
    here = _order(version)
    return bool(releases) and here is not None and releases[0] <= here <= releases[-1]


@cache
def packages() -> frozenset[str]:
    """The packages whose imports were followed."""
    archive = _archive()
    return frozenset(name.partition(".")[0] for name in archive.names) if archive is not None else frozenset()


@cache
def asked_of(package: str) -> frozenset[str]:
    """The packages that a package asks for something, in any release."""
    return frozenset(row[0] for row in _table(package).get("rows", ()))


@cache
def _archive() -> Any:
    from distlint.knowledge.archive import Archive

    try:
        return Archive(PATH)
    except (OSError, ValueError):
        return None


@cache
def _table(package: str) -> dict[str, Any]:
    archive = _archive()
    if archive is None or package not in packages():
        return {}
    table: dict[str, Any] = json.loads(archive.read(f"{package}.json"))
    table["places"] = [_ordered(version) for version in table["releases"]]
    return table


def _spans(rows: list[list[str]]) -> Spans:
    return tuple((first, last) for first, last in rows)


def _within(version: str, spans: Spans) -> bool:
    here = _order(version)
    return here is not None and any(
        (not first or _ordered(first) <= here) and (not last or here <= _ordered(last)) for first, last in spans
    )


@cache
def _order(version: str) -> Version | None:
    from packaging.version import InvalidVersion, Version

    try:
        return Version(version)
    except InvalidVersion:
        return None


def _ordered(version: str) -> Version:
    from packaging.version import Version

    return _order(version) or Version("0")
