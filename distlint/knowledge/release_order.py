"""Releases in order, and which of them a specifier admits, as sets of positions (bit ``n``: the n-th release).

What ``packaging`` does for one version at a time is done here for all releases of a package by bisection; what is
not a plain final release is left to ``packaging``.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from functools import lru_cache

Key = tuple[tuple[int, ...], int]
"""The order of a final release: its numbers without zeros at the end, and its post release (-1: none)."""

_FINAL = re.compile(r"v?(\d{1,9}(?:\.\d{1,9}){0,9})(?:[.-]?post(\d{1,9}))?(?:\+[A-Za-z0-9._-]+)?")
_EARLY = re.compile(r"v?(\d{1,9}(?:\.\d{1,9}){0,9})[._-]?(?:a|b|c|rc|alpha|beta|pre|preview|dev)[._-]?\d*(?:\.dev\d+)?")
_CLAUSE = re.compile(r"(===?|~=|!=|<=|>=|<|>)\s*(\S+)")


@lru_cache(maxsize=8192)
def order_of(version: str) -> Key | None:
    """The order of a final release; ``None`` for any other version. A local part does not count."""
    match = _FINAL.fullmatch(version)
    if match is None:
        return None
    numbers = _trimmed([int(part) for part in match.group(1).split(".")])
    return numbers, int(match.group(2)) if match.group(2) else -1


def _certain_order(version: str) -> Key:
    return order_of(version) or ((), -1)


def _trimmed(numbers: Sequence[int]) -> tuple[int, ...]:
    last = len(numbers)
    while last and not numbers[last - 1]:
        last -= 1
    return tuple(numbers[:last])


@lru_cache(maxsize=8192)
def clauses(specifier: str) -> tuple[tuple[str, str], ...] | None:
    """The clauses of a specifier: operator and version; ``None`` where it can't be taken apart."""
    found = []
    for part in specifier.split(","):
        if not part.strip():
            continue
        match = _CLAUSE.fullmatch(part.strip())
        if match is None:
            return None
        found.append((match.group(1), match.group(2)))
    return tuple(found)


def names_one_version(specifier: str) -> bool:
    """Whether a specifier asks for one version exactly: only then installers take a release that was withdrawn."""
    return any(
        operator in ("==", "===") and not version.endswith("*") for operator, version in clauses(specifier) or ()
    )


class ReleaseLine:
    """The releases of one package, oldest first."""

    def __init__(self, releases: Iterable[str], *, ordered: bool = False) -> None:
        """``ordered`` says that they are all final and stand in order: then none needs to be read before it is asked for."""
        if ordered:
            self.releases = tuple(releases)
        else:
            known = ((key, text) for text in releases if (key := order_of(text)) is not None)
            self.releases = tuple(text for _, text in sorted(known))
        self.all = (1 << len(self.releases)) - 1
        self._answers: dict[str, int | None] = {"": self.all}

    def newest(self, positions: int) -> str:
        """The newest of some releases; ``""`` if there are none."""
        return self.releases[positions.bit_length() - 1] if positions else ""

    def admitted(self, specifier: str) -> int | None:
        """The releases that a specifier admits; ``None`` where it can't be read."""
        if specifier not in self._answers:
            self._answers[specifier] = self._admitted(specifier)
        return self._answers[specifier]

    def _admitted(self, specifier: str) -> int | None:
        found = self.all
        parts = clauses(specifier)
        if parts is None:
            return None
        for operator, version in parts:
            one = self._clause(operator, version)
            if one is None:
                return None
            found &= one
        return found

    def _clause(self, operator: str, version: str) -> int | None:
        if version.endswith(".*"):
            inside = self._series(version[:-2])
            if inside is None or operator not in ("==", "!="):
                return None
            return inside if operator == "==" else self.all & ~inside
        early = _EARLY.fullmatch(version)
        if early is not None and operator not in ("~=", "==="):
            # All releases here are final: they lie before a pre-release or, from its own final release on, behind it.
            if operator in ("==", "!="):
                return 0 if operator == "==" else self.all
            operator, version = ">=" if operator[0] == ">" else "<", early.group(1)
        key = order_of(version)
        if key is None or operator == "===":
            return self._by_packaging(operator, version)
        below, through = self._before(key), self._through(key)
        if operator == "==" or operator == "!=":
            same = _range(below, through)
            return same if operator == "==" else self.all & ~same
        if operator == ">=":
            return self.all & ~_range(0, below)
        if operator == "<=":
            return _range(0, through)
        if operator == "<":
            return _range(0, below if key[1] >= 0 else self._before((key[0], -1)))
        if operator == ">":
            # A post release does not lie above its own release in this sense.
            return self.all & ~_range(0, through if key[1] >= 0 else self._through((key[0], 1 << 40)))
        stem = version.partition("+")[0].partition(".post")[0].rpartition(".")[0]
        series = self._series(stem) if stem else None
        return None if series is None else series & ~_range(0, below)

    def _before(self, key: Key) -> int:
        """How many releases lie before one of that order."""
        return bisect_left(self.releases, key, key=_certain_order)

    def _through(self, key: Key) -> int:
        return bisect_right(self.releases, key, key=_certain_order)

    def _series(self, stem: str) -> int | None:
        parts = stem.split(".")
        if not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
            return None
        numbers = [int(part) for part in parts]
        first = self._before((_trimmed(numbers), -2))
        last = self._before((_trimmed([*numbers[:-1], numbers[-1] + 1]), -2))
        return _range(first, last)

    def _by_packaging(self, operator: str, version: str) -> int | None:
        from packaging.specifiers import InvalidSpecifier, SpecifierSet

        try:
            wanted = SpecifierSet(f"{operator}{version}")
        except InvalidSpecifier:
            return None
        return sum(wanted.contains(text, prereleases=True) << at for at, text in enumerate(self.releases))


def _range(first: int, end: int) -> int:
    return ((1 << end) - 1) & ~((1 << first) - 1) if end > first else 0


def witnesses(specifiers: Iterable[str]) -> ReleaseLine:
    """Versions that tell specifiers of a package apart whose releases nobody knows: at, above and below every bound."""
    found = {"0", "999999"}
    for specifier in specifiers:
        for _, written in clauses(specifier) or ():
            version = written.removesuffix(".*").partition("+")[0]
            key = order_of(version)
            if key is None:
                continue
            numbers = list(key[0]) or [0]
            found.add(version)
            found.add(".".join(map(str, [*numbers, 0, 0, 0, 1])))
            for length in range(1, len(numbers) + 1):
                found.add(".".join(map(str, [*numbers[: length - 1], numbers[length - 1] + 1])))
    return ReleaseLine(found)
