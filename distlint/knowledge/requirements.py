"""What releases of packages require: other packages, Pythons, wheels; from the releases' own metadata.

``tools/harvest/requirements_rows.py`` makes the members ``requires/<package>.json`` of the table file; what hangs on the
platform is decided there, for CPython on Linux x86_64. A member is read when its package is asked for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache, cached_property
from typing import Any, NamedTuple

from distlint.knowledge.api import api
from distlint.knowledge.release_order import ReleaseLine

PYTHONS = tuple(f"3.{minor}" for minor in range(6, 17))
"""The Pythons that the requirements tell apart; a set of them is a number with one bit for each."""

ALL_PYTHONS = (1 << len(PYTHONS)) - 1

_FOLDER = "requires/"
_PATCHES = (0, 1, 2, 3, 5, 9, 12, 99)


class Row(NamedTuple):
    """A requirement of some releases: on a package with extras, if ``extra`` is asked for and the Python is right."""

    package: str
    extras: tuple[str, ...]
    specifier: str
    extra: str
    pythons: int
    releases: int


class Ask(NamedTuple):
    """What one release asks for; ``extra`` is the one of its own that must be wanted for that."""

    package: str
    extras: tuple[str, ...]
    specifier: str
    extra: str


class Requirements:
    """What the releases of one package require. Sets of releases are numbers, one bit for each position in ``line``."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.line = ReleaseLine(document["releases"], ordered=True)
        self.yanked = self._set_of(document["yanked"])
        """Releases that were withdrawn: installers take one only where it is asked for exactly."""
        self.unread = self._set_of(document["unread"])
        """Releases of whose requirements nothing is known."""
        self._pythons: list[tuple[int, str]] = [(_span(*span[:2]), span[2]) for span in document["python"]]
        self._wheels: list[tuple[int, str]] = [(_span(*span[:2]), span[2]) for span in document["wheels"]]
        self._rows: list[tuple[str, str, str, str, int, list[list[int]]]] = document["rows"]
        self.required_by: int = document.get("required_by", 0)
        """How many other harvested packages have releases that require this one."""
        self._installable: dict[int, int] = {}
        self._asks: dict[tuple[int, int], list[Ask]] = {}

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """All requirements of all releases."""
        return tuple(
            Row(name, _names(extras), specifier, extra, pythons, _spans(spans))
            for name, extras, specifier, extra, pythons, spans in self._rows
        )

    def asks(self, position: int, python: int) -> list[Ask]:
        """What the release at a position asks for with a Python (its bit); less to do than to read all rows."""
        key = (position, python)
        if key not in self._asks:
            self._asks[key] = [
                Ask(name, _names(extras), specifier, extra)
                for name, extras, specifier, extra, pythons, spans in self._rows
                if pythons & python == python and any(first <= position <= last for first, last in spans)
            ]
        return self._asks[key]

    def installable(self, python: int) -> int:
        """The releases that install with a Python (its bit): by ``Requires-Python``, and by wheels where only those are."""
        if python not in self._installable:
            refused = 0
            minor = PYTHONS[python.bit_length() - 1]
            for releases, asked in self._pythons:
                if not _pythons_admitted(asked) & python:
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

    def _set_of(self, versions: Iterable[str]) -> int:
        found = 0
        for version in versions:
            found |= self.line.admitted(f"=={version}") or 0
        return found

    def _value(self, spans: list[tuple[int, str]], release: str) -> str:
        bit = self.line.admitted(f"=={release}") or 0
        return next((value for releases, value in spans if releases & bit), "")


@cache
def requirements(package: str) -> Requirements | None:
    """What the releases of a package require; ``None`` for a package that was not harvested (its name normalised)."""
    content = api().content(f"{_FOLDER}{package}.json")
    return None if content is None else Requirements(json.loads(content))


def python_bits(pythons: Iterable[str]) -> list[int]:
    """The Pythons as bits, those first that most releases support."""
    found = [1 << PYTHONS.index(python) for python in pythons if python in PYTHONS]
    common = [1 << PYTHONS.index(python) for python in ("3.10", "3.11", "3.9", "3.12", "3.8")]
    return sorted(found, key=lambda bit: (common.index(bit) if bit in common else len(common), -bit))


def has_requirements(package: str) -> bool:
    """Whether a package was harvested; costs no more than opening the table file."""
    return api().has(f"{_FOLDER}{package}.json")


@cache
def required_packages() -> tuple[str, ...]:
    """The packages of which it is known what their releases require, sorted."""
    return tuple(name[len(_FOLDER) : -len(".json")] for name in api().members(_FOLDER))


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split(",")) if text else ()


@cache
def _patch_releases() -> ReleaseLine:
    """Patch releases of each Python, early and late ones: specifiers tell them apart."""
    return ReleaseLine([f"{minor}.{patch}" for minor in PYTHONS for patch in _PATCHES], ordered=True)


@cache
def _pythons_admitted(asked: str) -> int:
    """The Pythons of which some patch release satisfies a specifier, as bits; all where it can't be read."""
    admitted = _patch_releases().admitted(asked)
    if admitted is None:
        return ALL_PYTHONS
    one = (1 << len(_PATCHES)) - 1
    return sum((admitted >> at * len(_PATCHES) & one > 0) << at for at in range(len(PYTHONS)))


def _span(first: int, last: int) -> int:
    return ((1 << (last + 1)) - 1) & ~((1 << first) - 1)


def _spans(spans: list[list[int]]) -> int:
    found = 0
    for first, last in spans:
        found |= _span(first, last)
    return found
