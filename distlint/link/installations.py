"""Requirements that one installation has to satisfy together, as an installer on Linux reads them.

A requirements file is installed with the files that it includes; the dependencies of a project alone, and with each of
its extras and groups; the requirements of one command together; those of a script's own block together. Lock files are
left out: who wrote them has resolved them. So is what is installed without its dependencies.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from distlint.knowledge.requirements import ALL_PYTHONS, PYTHONS, requirements
from distlint.link.release_picks import Wish, admitted_by
from distlint.link.version_sets import NO_PACKAGES
from distlint.model.facts import FileFacts
from distlint.model.pin import Include, Pin
from distlint.model.source import SourceKind

if TYPE_CHECKING:
    from distlint.link.environments import VersionView
    from distlint.link.project import Project

_MAX_INCLUDES = 50
_MAX_PINS = 400
_IGNORED_ORIGINS = frozenset({"lock", "session", "python-version"})
_COMMANDS = frozenset({"dockerfile", "shell"})
LOCAL = re.compile(r"\+[A-Za-z0-9._-]+")
"""The local part of a version (``+cu121``), of which what releases require says nothing."""


class Asked(NamedTuple):
    """One requirement of an installation, and the pin that it is written in."""

    wish: Wish
    pin: Pin


class Installation(NamedTuple):
    """What is installed together: requirements, packages of which nothing is known, and the Pythons it may be for."""

    asked: tuple[Asked, ...]
    free: frozenset[str]
    pythons: tuple[str, ...]
    by_conda: bool = False
    """Whether conda installs some of it, whose packages need not require what those of the index do."""
    other_builds: bool = False
    """Whether some of it comes from another index, whose builds require other packages of the platform."""


def installations(project: Project) -> Iterator[Installation]:
    """All installations that the files of a project describe, in the order of the files."""
    files: Mapping[str, FileFacts] = project.facts
    own = _own_packages(project)
    for path in sorted(files):
        facts = files[path]
        if not facts.pins:
            continue
        pythons = project.environments.for_file(path).pythons()
        for pins, constraints in _together(facts, files):
            found = _installation(pins, constraints, own, pythons)
            if found is not None:
                yield found


class Sought(NamedTuple):
    """One requirement that the public index has to satisfy; ``limits_only`` where nothing is installed because of it."""

    pin: Pin
    limits_only: bool


def sought(project: Project) -> Iterator[Sought]:
    """All requirements that an installer takes to the public index, in the order of the files.

    Without those that an image or conda brings, that may come from another index, or that the project holds itself.
    """
    files: Mapping[str, FileFacts] = project.facts
    own = _own_packages(project)
    around = _included_elsewhere(files)
    for path in sorted(files):
        facts = files[path]
        if not facts.pins or facts.kind is SourceKind.LOCK or path in around:
            continue
        for pin in dict.fromkeys(facts.pins):
            if pin.elsewhere or pin.url or pin.dynamic or pin.name in NO_PACKAGES or pin.name in own:
                continue
            if pin.origin in _IGNORED_ORIGINS or (pin.origin in _COMMANDS and not pin.command):
                continue
            if pin.specifier and (not pin.marker or pythons_where(pin.marker)):
                yield Sought(pin, pin.origin == "constraints")


def _included_elsewhere(files: Mapping[str, FileFacts]) -> frozenset[str]:
    """The files of requirements whose packages may come from another index, because a file that includes them says so."""
    found: set[str] = set()
    queue = [_target(path, include) for path, facts in files.items() for include in facts.includes if include.elsewhere]
    while queue:
        path = queue.pop()
        if path not in found and path in files:
            found.add(path)
            queue += [_target(path, include) for include in files[path].includes]
    return frozenset(found)


def _target(path: str, include: Include) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), include.path))


def chosen(view: VersionView) -> Mapping[str, str]:
    """What an installer picks for the packages of an environment, and for those that they bring along, by package.

    ``{}`` where nothing fits, or that can't be told. Packages that were not harvested are left out.
    """
    wishes, free = [], []
    for package in view.packages():
        if package in NO_PACKAGES:
            continue
        pins = view.pins(package)
        if any(pin.dynamic or pin.origin == "overrides" for pin in pins):
            free.append(package)
            continue
        for pin in pins:
            specifier, certain = _specifier(pin)
            holding = pythons_where(pin.marker) if pin.marker else ALL_PYTHONS
            if not certain:
                free.append(package)
            elif holding:
                limits = pin.origin == "constraints"
                wishes.append(Wish(package, LOCAL.sub("", specifier), pin.extras, limits, holding))
    return _picked(tuple(wishes), tuple(view.pythons()), frozenset(free))


@lru_cache(maxsize=256)
def _picked(wishes: tuple[Wish, ...], pythons: tuple[str, ...], free: frozenset[str]) -> Mapping[str, str]:
    from distlint.link.release_sets import UndecidedError
    from distlint.link.set_conflicts import Judge

    try:
        return Judge(wishes, pythons, free).chosen() or {}
    except UndecidedError:
        return {}


def _together(facts: FileFacts, files: Mapping[str, FileFacts]) -> Iterator[tuple[list[Pin], list[Pin]]]:
    origins = {pin.origin for pin in facts.pins}
    if origins & _IGNORED_ORIGINS or facts.kind is SourceKind.LOCK:
        return
    if origins & _COMMANDS:
        yield from ((pins, []) for pins in _by_command(facts.pins))
        return
    if "constraints" in origins and "requirements" not in origins and "pyproject" not in origins:
        return
    main: list[Pin] = []
    constraints: list[Pin] = []
    groups: dict[str, list[Pin]] = {}
    for pin in facts.pins:
        group = pin.environment.partition("#")[2]
        if pin.origin == "constraints":
            constraints.append(pin)
        elif group and group != "build":
            groups.setdefault(group, []).append(pin)
        elif not group and not pin.optional:
            main.append(pin)
    _include(facts, files, main, constraints, {facts.path}, narrows=False)
    if main:
        yield main, constraints
    for pins in groups.values():
        yield [*main, *pins], constraints


def _by_command(pins: Iterable[Pin]) -> Iterable[list[Pin]]:
    commands: dict[str, list[Pin]] = {}
    pins = tuple(pins)
    written: dict[tuple[object, str], set[str]] = {}
    for pin in pins:
        written.setdefault((pin.span, pin.name), set()).add(pin.specifier)
    for pin in pins:
        # One word with several versions stands in a loop or a matrix: they are never installed together.
        if pin.command and not pin.alone and len(written[pin.span, pin.name]) == 1:
            commands.setdefault(pin.command, []).append(pin)
    return commands.values()


def _include(
    facts: FileFacts,
    files: Mapping[str, FileFacts],
    main: list[Pin],
    constraints: list[Pin],
    seen: set[str],
    *,
    narrows: bool,
) -> None:
    for include in facts.includes:
        path = _target(facts.path, include)
        included = files.get(path)
        if included is None or path in seen or len(seen) > _MAX_INCLUDES:
            continue
        seen.add(path)
        limits = narrows or include.constraint
        (constraints if limits else main).extend(
            pin for pin in included.pins if not pin.environment.partition("#")[2] and not pin.optional
        )
        _include(included, files, main, constraints, seen, narrows=limits)


def _own_packages(project: Project) -> frozenset[str]:
    """Packages that the project holds itself: which version it is, and what it requires, its own files say."""
    found = set()
    for path in project.facts:
        folder, _, name = path.rpartition("/")
        if name == "__init__.py" and folder.count("/") < 3:
            found.add(folder.rpartition("/")[2].replace("_", "-").lower())
    return frozenset(found)


def _installation(
    pins: list[Pin], constraints: list[Pin], own: frozenset[str], pythons: tuple[str, ...]
) -> Installation | None:
    asked: dict[Asked, None] = {}
    free = set(own)
    other_builds = False
    if len(pins) + len(constraints) > _MAX_PINS:
        return None
    for pin in (*pins, *constraints):
        if pin.name in NO_PACKAGES:
            # An index for builds of one version of CUDA is such a pin too.
            other_builds = other_builds or pin.name != "python"
            continue
        if pin.origin == "overrides" or pin.dynamic:
            free.add(pin.name)
            continue
        specifier, certain = _specifier(pin)
        if not certain:
            free.add(pin.name)
            continue
        other_builds = other_builds or "+" in specifier or bool(pin.url)
        holding = pythons_where(pin.marker) if pin.marker else ALL_PYTHONS
        if holding:
            wish = Wish(pin.name, LOCAL.sub("", specifier), pin.extras, pin in constraints, holding)
            asked[Asked(wish, pin)] = None
    free |= _withdrawn([one.wish for one in asked])
    told = [one for one in asked if one.wish.package not in free]
    if sum(bool(one.wish.specifier) for one in told) == 0 or len(asked) < 2:
        return None
    return Installation(
        tuple(asked),
        frozenset(free),
        pythons,
        by_conda=any(pin.origin == "conda" for pin in pins),
        other_builds=other_builds,
    )


def _withdrawn(wishes: Sequence[Wish]) -> set[str]:
    """The packages of which one of several requirements names a withdrawn release: installers take it with the others."""
    several = [wish for wish in wishes if sum(one.package == wish.package for one in wishes) > 1]
    known = ((wish, requirements(wish.package)) for wish in several)
    return {
        wish.package
        for wish, release in known
        if release is not None and (named := admitted_by(release, wish.specifier)) > 0 and not named & ~release.yanked
    }


def release_specifier(pin: Pin) -> str:
    """The specifier of a pin without local parts (``+cu121``), by which releases of the public index are told."""
    return LOCAL.sub("", pin.specifier)


def _specifier(pin: Pin) -> tuple[str, bool]:
    """The specifier of a pin, also where an address names the version; and whether the version is known at all."""
    if not pin.url:
        return pin.specifier, True
    from distlint.read.pins.urls import package_of_url

    version = package_of_url(pin.url).version
    return f"=={version}", bool(version)


@lru_cache(maxsize=1024)
def pythons_where(marker: str) -> int:
    """The Pythons for which a marker holds on Linux x86_64, as bits; none for one that says more, or can't be read."""
    from packaging.markers import InvalidMarker, Marker, UndefinedComparison, UndefinedEnvironmentName

    found = 0
    try:
        parsed = Marker(marker)
        for at, python in enumerate(PYTHONS):
            environment = {
                "python_version": python,
                "sys_platform": "linux",
                "platform_system": "Linux",
                "os_name": "posix",
                "platform_machine": "x86_64",
                "implementation_name": "cpython",
                "platform_python_implementation": "CPython",
                "extra": "",
            }
            holds = {
                parsed.evaluate(
                    {**environment, "python_full_version": f"{python}.{patch}", "platform_release": release}
                )
                for patch in (0, 30)
                for release in ("4.4.0", "6.6.87.2-microsoft-standard-WSL2")
            }
            found |= (holds == {True}) << at
    except (InvalidMarker, UndefinedComparison, UndefinedEnvironmentName, RecursionError, ValueError):
        return 0
    return found
