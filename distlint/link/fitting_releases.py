"""Which releases of a package can be installed beside the other pins of a project, by what the releases require.

With ``torch==1.13.1`` pinned, an installer that is asked for ``accelerate`` does not take the newest release, which
wants ``torch>=2``: what a project allows is less than what each pin allows by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from distlint.knowledge.requirements import ALL_PYTHONS, has_requirements, python_bits, requirements
from distlint.link.installations import LOCAL, pythons_where
from distlint.link.pin_sources import PinSource, Rank
from distlint.link.release_picks import Wish
from distlint.link.release_sets import Problem, UndecidedError

if TYPE_CHECKING:
    from distlint.model.pin import Pin

_MAX_PYTHONS = 3
"""With more Pythons to choose from, only some are tried."""

_SAMPLE = ("3.13", "3.12", "3.11", "3.10", "3.8", "3.6")
_ENOUGH_PYTHONS = 2

_NOT_ASKED = frozenset({"lock", "overrides", "session", "python-version"})


def wishes_of(package: str, pins: Sequence[Pin]) -> tuple[Wish, ...]:
    """What pins that all hold at once ask an installer for; ``()`` where that can't be told."""
    found = []
    for pin in pins:
        if pin.dynamic or pin.url or pin.alone or pin.origin in _NOT_ASKED:
            return ()
        holding = pythons_where(pin.marker) if pin.marker else ALL_PYTHONS
        if holding:
            limits = pin.origin == "constraints"
            found.append(Wish(package, LOCAL.sub("", pin.specifier), pin.extras, limits, holding))
    return tuple(found)


def installed_together(sources: Sequence[PinSource]) -> list[PinSource]:
    """Those of the sets of pins around a file that are surely installed for it: not extras, nor one of several images."""
    main = [source for source in sources if source.rank is Rank.MAIN]
    side = [source for source in sources if source.rank is Rank.SIDE]
    commands = [source for source in sources if source.rank is Rank.COMMANDS]
    found = main or (side if len(side) == 1 else [])
    return [*found, *(commands if len({source.file for source in commands}) == 1 else [])]


@lru_cache(maxsize=256)
def holds_back(wishes: tuple[Wish, ...]) -> bool:
    """Whether requirements keep an installer from the newest release of their package."""
    for wish in wishes:
        known = requirements(wish.package) if wish.specifier and has_requirements(wish.package) else None
        if known is not None:
            admitted = known.line.admitted(wish.specifier)
            if admitted is not None and not admitted >> (len(known.line.releases) - 1):
                return True
    return False


def fitting(package: str, wishes: tuple[Wish, ...], pythons: tuple[str, ...]) -> frozenset[str] | None:
    """The releases that what is asked for leaves of a package; ``None`` where nobody asks for it, or nothing can be told."""
    left = _left(wishes, pythons).get(package, 0)
    known = requirements(package) if left else None
    if known is None:
        return None
    return frozenset(text for at, text in enumerate(known.line.releases) if left >> at & 1)


@lru_cache(maxsize=256)
def _left(wishes: tuple[Wish, ...], pythons: tuple[str, ...]) -> Mapping[str, int]:
    """What is left of every package that is certainly installed, for one of the Pythons."""
    try:
        if 0 < len(pythons) <= _MAX_PYTHONS:
            return _joined(Problem(wishes, bit).present() for bit in python_bits(pythons))
        found = Problem(wishes, 0).present()
        tried = (Problem(wishes, bit).present() for bit in _samples(pythons))
        newest = _joined(islice((left for left in tried if left), _ENOUGH_PYTHONS))
        # Which old releases some old Python takes was not asked.
        return {
            package: left & ((1 << newest[package].bit_length()) - 1) if newest.get(package) else left
            for package, left in found.items()
        }
    except UndecidedError:
        return {}


def _samples(pythons: tuple[str, ...]) -> Iterator[int]:
    yield from (python_bits([python])[0] for python in _SAMPLE if not pythons or python in pythons)


def _joined(answers: Iterable[Mapping[str, int]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for answer in answers:
        for package, left in answer.items():
            found[package] = found.get(package, 0) | left
    return found
