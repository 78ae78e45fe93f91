"""What releases of packages require: other packages, Pythons, wheels; from the releases' own metadata.

``tools/harvest/requirements_reader.py`` makes the members ``requires/<package>.json`` of the archive; what hangs on the
platform is decided there, for CPython on Linux x86_64. A member is read when its package is asked for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from distlint.knowledge.archive import Archive
from distlint.knowledge.release_order import ReleaseLine

PYTHONS = tuple(f"3.{minor}" for minor in range(6, 17))
"""The Pythons that the requirements tell apart; a set of them is a number with one bit for each."""

ALL_PYTHONS = (1 << len(PYTHONS)) - 1

_ARCHIVE = Path(__file__).with_name("requires.zip")
_MEMBER = "requires/{}.json"


class Row(NamedTuple):
    """A requirement of some releases: on a package with extras, if ``extra`` is asked for and the Python is right."""

    package: str
    extras: tuple[str, ...]
    specifier: str
    extra: str
    pythons: int
    releases: int


class Requirements:
    """What the releases of one package require. Sets of releases are numbers, one bit for each position in ``line``."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.line = ReleaseLine(document["releases"])
        at = {text: position for position, text in enumerate(self.line.releases)}
        self.yanked = _set_of(at[text] for text in document["yanked"])
        """Releases that were withdrawn: installers take one only where it is asked for exactly."""
        self.unread = _set_of(at[text] for text in document["unread"])
        """Releases of whose requirements nothing is known."""
        self._pythons: list[tuple[int, str]] = [(_span(*span[:2]), span[2]) for span in document["python"]]
        self._wheels: list[tuple[int, str]] = [(_span(*span[:2]), span[2]) for span in document["wheels"]]
        self.rows = tuple(
            Row(name, tuple(extras.split(",")) if extras else (), specifier, extra, pythons, _spans(spans))
            for name, extras, specifier, extra, pythons, spans in document["rows"]
        )
        self.required_by: int = document.get("required_by", 0)
        """How many other harvested packages have releases that require this one."""
        self._installable: dict[int, int] = {}

    def installable(self, python: int) -> int:
        """The releases that install with a Python (its bit): by ``Requires-Python``, and by wheels where only those are."""
        if python not in self._installable:
            refused = 0
            minor = PYTHONS[python.bit_length() - 1]
            for releases, asked in self._pythons:
                if not _python_admits(asked, minor):
                    refused |= releases
            for releases, wheels in self._wheels:
                if minor not in wheels.split():
                    refused |= releases
            self._installable[python] = self.line.all & ~refused
        return self._installable[python]

    def asked_python(self, release: str) -> str:
        """The Pythons that a release asks for, as a specifier; ``""`` where it says nothing."""
        return self._value(self._pythons, release)

    def wheel_pythons(self, release: str) -> tuple[str, ...]:
        """The Pythons that a release without source archive has wheels for; ``()`` where any may do."""
        return tuple(self._value(self._wheels, release).split())

    def _value(self, spans: list[tuple[int, str]], release: str) -> str:
        bit = self.line.admitted(f"=={release}") or 0
        return next((value for releases, value in spans if releases & bit), "")


@cache
def requirements(package: str) -> Requirements | None:
    """What the releases of a package require; ``None`` for a package that was not harvested (its name normalised)."""
    archive = _archive()
    member = _MEMBER.format(package)
    if archive is None or member not in archive.names:
        return None
    return Requirements(json.loads(archive.read(member)))


def python_bits(pythons: Iterable[str]) -> list[int]:
    """The Pythons as bits, those first that most releases support."""
    found = [1 << PYTHONS.index(python) for python in pythons if python in PYTHONS]
    common = [1 << PYTHONS.index(python) for python in ("3.10", "3.11", "3.9", "3.12", "3.8")]
    return sorted(found, key=lambda bit: (common.index(bit) if bit in common else len(common), -bit))


def has_requirements(package: str) -> bool:
    """Whether a package was harvested; costs no more than opening the archive."""
    archive = _archive()
    return archive is not None and _MEMBER.format(package) in archive.names


@cache
def _archive() -> Archive | None:
    try:
        return Archive(_ARCHIVE)
    except (OSError, ValueError):
        return None


@cache
def _python_admits(asked: str, minor: str) -> bool:
    """Whether some patch release of a Python satisfies a specifier."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        wanted = SpecifierSet(asked)
    except InvalidSpecifier:
        return True
    return any(wanted.contains(f"{minor}.{patch}") for patch in (0, 1, 2, 3, 5, 9, 12, 99))


def _span(first: int, last: int) -> int:
    return ((1 << (last + 1)) - 1) & ~((1 << first) - 1)


def _spans(spans: list[list[int]]) -> int:
    found = 0
    for first, last in spans:
        found |= _span(first, last)
    return found


def _set_of(positions: Iterable[int]) -> int:
    found = 0
    for position in positions:
        found |= 1 << position
    return found
