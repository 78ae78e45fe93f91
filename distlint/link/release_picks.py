"""A first try at releases that fit together: of each package the newest that agrees with what was picked before.

Most sets of requirements that can be satisfied are satisfied that way, and only the picked releases' own requirements
have to be looked at. What it does not find may exist all the same: ``release_sets`` looks further.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from distlint.knowledge.release_order import clauses, names_one_version, order_of, witnesses
from distlint.knowledge.requirements import ALL_PYTHONS, Ask, Requirements, requirements

_MAX_CANDIDATES = 25
_MAX_PICKS = 300


class Wish(NamedTuple):
    """One requirement of a project, for some Pythons.

    With ``limits_only`` it says nothing unless somebody else asks for the package.
    """

    package: str
    specifier: str = ""
    extras: tuple[str, ...] = ()
    limits_only: bool = False
    pythons: int = ALL_PYTHONS


def is_met_by_newest(wishes: Iterable[Wish], python: int, free: Collection[str]) -> bool:
    """Whether newest releases that satisfy all requirements with a Python (its bit) were found at the first try."""
    return _Picks(python, free).fit(wishes)


def is_beyond(wish: Wish) -> bool:
    """Whether a requirement is for releases that nobody knows, so that nothing follows from it.

    Of a package that was not harvested any final release may exist, but its pre-releases can't be told apart.
    """
    known = requirements(wish.package)
    if known is not None:
        return admitted_by(known, wish.specifier) == 0
    return any(
        operator in ("==", "===") and order_of(version.removesuffix(".*")) is None
        for operator, version in clauses(wish.specifier) or ()
    )


def admitted_by(known: Requirements, specifier: str) -> int:
    """The releases that a specifier admits for an installer; all where it can't be read."""
    found = known.line.admitted(specifier)
    if found is None:
        return known.line.all
    return found if names_one_version(specifier) else found & ~known.yanked


def may_clash(specifiers: Iterable[str]) -> bool:
    """Whether two specifiers may admit no version together."""
    told = [text for text in specifiers if text]
    return len(told) > 1 and any(operator[0] in "<=~" for text in told for operator, _ in clauses(text) or ())


def contradicts(specifiers: Sequence[str]) -> bool:
    """Whether no version at all, known or not, satisfies several specifiers."""
    line = witnesses(specifiers)
    left = line.all
    for specifier in specifiers:
        admitted = line.admitted(specifier)
        if admitted is None:
            return False
        left &= admitted
    return not left


class _Picks:
    """The releases picked so far, and those that are possible of the others."""

    def __init__(self, python: int, free: Collection[str]) -> None:
        self._python = python
        self._free = frozenset(free)
        self._left: dict[str, int] = {}
        self._picked: dict[str, int] = {}
        self._extras: dict[str, set[str]] = {}
        self._unknown: dict[str, list[str]] = {}
        self._open: dict[str, dict[str, None]] = {}
        """Packages that are asked for and not picked, with the extras that are."""

    def fit(self, wishes: Iterable[Wish]) -> bool:
        """Picks until nothing is open; whether that went through."""
        wishes = tuple(wishes)
        self._free = self._free | {wish.package for wish in wishes if is_beyond(wish)}
        for wish in wishes:
            if wish.package in self._free:
                continue
            known = requirements(wish.package)
            if known is None:
                self._unknown.setdefault(wish.package, []).append(wish.specifier)
                continue
            left = self._possible(wish.package, known) & admitted_by(known, wish.specifier)
            if not left:
                return False
            self._left[wish.package] = left
            if not wish.limits_only:
                self._open.setdefault(wish.package, {}).update(dict.fromkeys(wish.extras))
        while self._open:
            package = min(self._open, key=lambda name: (self._left[name].bit_count(), name))
            if not self._pick(package) or len(self._picked) > _MAX_PICKS:
                return False
        return not any(may_clash(asked) and contradicts(asked) for asked in self._unknown.values())

    def _possible(self, package: str, known: Requirements) -> int:
        if package not in self._left:
            self._left[package] = known.installable(self._python)
        return self._left[package]

    def _pick(self, package: str) -> bool:
        known = requirements(package)
        extras = self._open.pop(package)
        if known is None:
            return False
        candidates = self._left[package]
        if package in self._picked:
            candidates = 1 << self._picked[package]
        self._extras.setdefault(package, set()).update(extras)
        for _ in range(_MAX_CANDIDATES):
            position = candidates.bit_length() - 1
            if position < 0:
                return False
            asks = [
                ask
                for ask in known.asks(position, self._python)
                if ask.package not in self._free and (not ask.extra or ask.extra in extras)
            ]
            narrowed = self._narrowed(asks)
            if narrowed is not None and position == self._picked.get(package, position):
                self._picked[package] = position
                self._left[package] = 1 << position
                self._take(asks, narrowed)
                return True
            candidates &= ~(1 << position)
        return False

    def _narrowed(self, asks: Iterable[Ask]) -> dict[str, int] | None:
        """What is left of the packages that a release asks for; ``None`` if that is nothing for one of them."""
        found: dict[str, int] = {}
        for ask in asks:
            known = requirements(ask.package)
            if known is None:
                continue
            before = found.get(ask.package)
            left = self._possible(ask.package, known) if before is None else before
            left &= admitted_by(known, ask.specifier) or known.line.all
            if not left:
                return None
            found[ask.package] = left
        return found

    def _take(self, asks: Iterable[Ask], narrowed: dict[str, int]) -> None:
        self._left.update(narrowed)
        for ask in asks:
            if ask.package not in narrowed:
                self._unknown.setdefault(ask.package, []).append(ask.specifier)
            elif ask.package not in self._picked or not self._extras[ask.package].issuperset(ask.extras):
                self._open.setdefault(ask.package, {}).update(dict.fromkeys(ask.extras))
