"""The versions that a set of pins allows, out of the releases that we know."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache

from packaging.markers import InvalidMarker, Marker
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from distlint.knowledge.distributions import CUDA, TOOLKIT, cuda_releases
from distlint.knowledge.releases import releases
from distlint.model.pin import Pin
from distlint.read.pins.urls import package_of_url

PYTHONS = tuple(f"3.{minor}" for minor in range(6, 16))
"""The Python versions that a marker is tried with where the project does not say which it uses."""

NO_PACKAGES = frozenset({"python", CUDA, TOOLKIT})
"""Names among the pins that an installer brings no release of: without a pin nothing is known of their version."""

_PLATFORMS = (
    ("linux", "Linux", "posix", "x86_64"),
    ("linux", "Linux", "posix", "aarch64"),
)
"""Distributed training runs on Linux: what is asked for elsewhere alone binds nothing."""
_UNKNOWN_VARIABLES = ("platform_release", "platform_version", "implementation_version", "extra")
_PATCH = 12
"""The patch release that a marker is tried with: of the older Pythons the last ones are in use."""
_LOCAL = re.compile(r"\+[A-Za-z0-9._-]+")
_EXACT = re.compile(r"===?\s*([^,*]+?)\s*(?:,|$)")
_MAX_EXACT = 8


def possible_versions(package: str, pins: Sequence[Pin], pythons: Sequence[str]) -> frozenset[Version] | None:
    """The versions that one environment may have: all its pins hold, each where its marker does.

    ``None`` where that can't be told: a pin's version is decided elsewhere, the pins contradict each other, or none
    of the releases that we know fits.
    """
    found: set[Version] = set()
    for applying in _combinations(tuple(pin.marker for pin in pins), tuple(pythons)):
        versions = _intersection(package, [pins[position] for position in applying])
        if not versions:
            return None
        found |= versions
    return frozenset(found) if found else None


def matches(version: Version, specifier: str) -> bool | None:
    """Whether a version satisfies a specifier; local parts (``+cu121``) don't count.

    Raises ``ValueError`` for a specifier that PEP 440 does not know.
    A build between two releases (``2.3.0a0``) has a part of what the next one brings: ``None`` where that makes the
    difference.
    """
    wanted = _specifier_set(specifier)
    holds = wanted.contains(version, prereleases=True)
    if version.is_prerelease and wanted.contains(Version(version.base_version), prereleases=True) != holds:
        return None
    return holds


@cache
def known_versions(package: str) -> tuple[Version, ...]:
    """The releases of a package, oldest first."""
    if package == "python":
        return tuple(Version(text) for text in PYTHONS)
    if package in (CUDA, TOOLKIT):
        return tuple(Version(text) for text in cuda_releases())
    return tuple(Version(text) for text in releases(package))


def is_superseded(package: str, version: str) -> bool:
    """Whether a package has a newer final release than this one (``""``: nothing is known)."""
    known = [one for one in known_versions(package) if not one.is_prerelease]
    return bool(known) and version not in ("", known[-1].public)


def pythons_allowed(specifiers: Iterable[str]) -> tuple[str, ...]:
    """The minor versions of Python of which all specifiers allow some patch release; ``PYTHONS`` if none is left."""
    return _minors([_specifier_set(text) for text in specifiers if _is_specifier(text)]) or PYTHONS


def _minors(wanted: Sequence[SpecifierSet]) -> tuple[str, ...]:
    """The minor versions of Python of which all specifiers allow some patch release."""
    return tuple(
        minor
        for minor in PYTHONS
        if all(any(one.contains(f"{minor}.{patch}") for patch in (0, 5, 12, 99)) for one in wanted)
    )


def as_specifier(text: str) -> str:
    """A version or a specifier as a specifier; raises ``ValueError`` for what is neither."""
    text = text.strip()
    specifier = f"=={text}" if text[:1].isdigit() else text
    SpecifierSet(specifier)
    return specifier


def says_something(pin: Pin) -> bool:
    """Whether a pin restricts the version at all."""
    return bool(pin.specifier or pin.url or pin.dynamic)


def is_bounded_below(pin: Pin) -> bool:
    """Whether a pin says which releases are too old: by a lower bound, or by naming a version or a series."""
    return bool(pin.url) or any(part.lstrip()[:1] in (">", "=", "~") for part in pin.specifier.split(","))


def is_exact(pin: Pin) -> bool:
    """Whether a pin names one version, or one series (``==2.1.*``)."""
    return "==" in pin.specifier or bool(pin.url)


def _intersection(package: str, pins: Sequence[Pin]) -> frozenset[Version]:
    """The versions that satisfy all pins; empty where one of them can't be judged."""
    specifiers = []
    for pin in pins:
        version = package_of_url(pin.url).version if pin.url else ""
        if pin.dynamic or (pin.url and not version) or not _is_specifier(pin.specifier):
            return frozenset()
        specifiers.append(f"=={version}" if version else pin.specifier)
    return _satisfying(package, ",".join(sorted({text for text in specifiers if text})))


@lru_cache(maxsize=4096)
def _satisfying(package: str, specifier: str) -> frozenset[Version]:
    if not _is_specifier(specifier):
        return frozenset()
    wanted = _specifier_set(specifier)
    if package == "python" and not _named_versions(specifier):
        return frozenset(Version(text) for text in _minors([wanted]))
    candidates = {*known_versions(package), *_named_versions(specifier)}
    return frozenset(version for version in candidates if wanted.contains(version, prereleases=True))


def _named_versions(specifier: str) -> list[Version]:
    """The versions that a specifier names with ``==``: they exist even where the list of releases lacks them."""
    texts = _EXACT.findall(_LOCAL.sub("", specifier))[:_MAX_EXACT]
    return [Version(text) for text in texts if _is_version(text)]


def _is_version(text: str) -> bool:
    try:
        Version(text)
    except InvalidVersion:
        return False
    return True


@lru_cache(maxsize=4096)
def _specifier_set(specifier: str) -> SpecifierSet:
    return SpecifierSet(_LOCAL.sub("", specifier))


@lru_cache(maxsize=4096)
def _is_specifier(specifier: str) -> bool:
    try:
        _specifier_set(specifier)
    except InvalidSpecifier:
        return False
    return True


@lru_cache(maxsize=1024)
def _combinations(markers: tuple[str, ...], pythons: tuple[str, ...]) -> tuple[tuple[int, ...], ...]:
    """Which pins hold together, by position: one tuple for each kind of environment that their markers tell apart."""
    always = tuple(position for position, marker in enumerate(markers) if not marker)
    if len(always) == len(markers):
        return (always,)
    unknown = [position for position, marker in enumerate(markers) if marker and not _is_decidable(marker)]
    decidable = [position for position, marker in enumerate(markers) if marker and position not in unknown]
    found: dict[tuple[int, ...], None] = {}
    holdings = [
        [position for position in decidable if Marker(markers[position]).evaluate(environment)]
        for environment in _environments(pythons)
    ]
    # Where a pin holds on the usual machine with some Python, the others are those that the project is not run with.
    is_usual = any(holdings[:: len(_PLATFORMS)])
    for holding in holdings:
        if is_usual and not holding and not always and not unknown:
            continue
        for extra in ([], *([position] for position in unknown), unknown):
            found[tuple(sorted((*always, *holding, *extra)))] = None
    return tuple(found)


@lru_cache(maxsize=1024)
def _is_decidable(marker: str) -> bool:
    try:
        Marker(marker)
    except (InvalidMarker, RecursionError):
        return False
    return not any(variable in marker for variable in _UNKNOWN_VARIABLES)


@lru_cache(maxsize=1024)
def may_apply(marker: str) -> bool:
    """Whether a marker holds on some machine that training runs on, with some Python; an undecidable one may."""
    if not marker or not _is_decidable(marker):
        return True
    parsed = Marker(marker)
    return any(parsed.evaluate(environment) for environment in _environments(PYTHONS))


@cache
def _environments(pythons: tuple[str, ...]) -> tuple[dict[str, str], ...]:
    return tuple(
        {
            "python_version": python,
            "python_full_version": f"{python}.{_PATCH}",
            "sys_platform": platform,
            "platform_system": system,
            "os_name": os_name,
            "platform_machine": machine,
            "implementation_name": "cpython",
            "platform_python_implementation": "CPython",
        }
        for python in pythons
        for platform, system, os_name, machine in _PLATFORMS
    )
