"""Which versions of a package the files of a project run with.

A project may describe several environments. For a package, a file uses the nearest folder, going up, whose files say
something about it. There, the first of these that does decides:

1. a lock file;
2. what is installed always: the main requirements file, the dependencies in ``pyproject.toml``, ``setup.py``,
   ``setup.cfg``, ``Pipfile`` or the conda environment (those that pin a version exactly, if there are such);
3. extras, development groups, and requirements files with another name (``requirements-dev.txt``);
4. a constraints file alone.

Dockerfiles and commands in shell scripts count only where no other file up to the root does. Files of the same rank
are alternatives: any of their versions is possible. Constraints narrow the pins of their folder. A script's own block
(PEP 723) goes before all that, for that script; ``--pin`` goes before everything.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from enum import IntEnum
from functools import cache
from typing import TYPE_CHECKING

from distlint.knowledge.distributions import CUDA, TOOLKIT
from distlint.model.facts import FileFacts
from distlint.model.pin import Pin
from distlint.model.record import dataclass
from distlint.model.span import Span

if TYPE_CHECKING:
    from packaging.version import Version

_MAX_INCLUDES = 50
_PINS_FOLDERS = frozenset({"requirements", "requirement", "reqs", "constraints", "environments", "envs", "conda"})
_BUILD_FOLDERS = frozenset(
    {
        "docker",
        "dockerfiles",
        "dockerfile",
        "containers",
        "container",
        ".devcontainer",
        ".github",
        "ci",
        ".ci",
        "scripts",
    }
)
_MAIN_WORDS = "base|main|common|core|install|runtime|prod|production|default|framework"
_MAIN_REQUIREMENTS = re.compile(rf"(?:requirements?)?[-_.]?(?:{_MAIN_WORDS})?\.(?:txt|in)")
_MAIN_CONDA = re.compile(r"(?:conda[-_]?)?env(?:ironment)?s?\.ya?ml")
_COMMANDS = ("dockerfile", "shell")


class _Rank(IntEnum):
    LOCK = 1
    MAIN = 2
    SIDE = 3
    CONSTRAINTS = 4
    COMMANDS = 5


@dataclass(slots=True)
class _Source:
    """One set of pins that are installed together, by package.

    ``alternatives`` says that the pins of one package exclude each other instead (lock files, conditional additions,
    commands that run one after the other).
    """

    rank: _Rank
    file: str
    alternatives: bool = False
    pins: dict[str, list[Pin]] = field(default_factory=dict)
    constraints: list[Pin] = field(default_factory=list)

    def add(self, pins: Iterable[Pin]) -> None:
        for pin in pins:
            self.pins.setdefault(pin.name, []).append(pin)


@dataclass(frozen=True, slots=True)
class _Resolution:
    """The pins that decide on a package and the versions that they allow, oldest first (``None``: can't be told)."""

    pins: tuple[Pin, ...]
    versions: tuple[Version, ...] | None
    pinned: bool
    answers: dict[str, bool | None] = field(default_factory=dict)
    """What was asked already: whether the versions satisfy a specifier."""


@dataclass(slots=True)
class Environments:
    """All pins of a project, by the folder that they hold for. Make one with ``build``."""

    _sources: dict[str, list[_Source]]
    _scripts: dict[str, list[Pin]]
    _overrides: dict[str, str]
    _resolved: dict[tuple[str, str], _Resolution] = field(default_factory=dict)
    _views: dict[tuple[str, str], VersionView] = field(default_factory=dict)

    @classmethod
    def build(cls, files: Mapping[str, FileFacts], overrides: Mapping[str, str]) -> Environments:
        """Collects the pins of all files.

        ``overrides`` maps packages to a version or a specifier (``{"torch": "==2.4"}``). Raises ``ValueError`` for
        one that is neither.
        """
        sources: dict[str, list[_Source]] = {}
        scripts: dict[str, list[Pin]] = {}
        for path in sorted(files):
            facts = files[path]
            if not facts.pins and not facts.includes:
                continue
            own = [pin for pin in facts.pins if pin.origin == "script"]
            if own:
                scripts[path] = own
            for source in _sources_of(facts, files):
                sources.setdefault(_home(source), []).append(source)
        return cls(sources, scripts, {_normalised(name): _as_specifier(text) for name, text in overrides.items()})

    def for_file(self, path: str) -> VersionView:
        """What the pins allow for one file of the project (its path relative to the root)."""
        key = (posixpath.dirname(path), path if path in self._scripts else "")
        if key not in self._views:
            self._views[key] = VersionView(self, *key)
        return self._views[key]

    def views(self) -> Iterator[VersionView]:
        """One view for each folder that has pins of its own, and for each script that has."""
        for folder in sorted(self._sources):
            yield self.for_file(f"{folder}/." if folder else ".")
        for script in sorted(self._scripts):
            yield self.for_file(script)

    def mentioned(self, folder: str, script: str) -> frozenset[str]:
        """The packages that the pins of a folder (not of those above it), or of a script, name."""
        if script:
            return frozenset(pin.name for pin in self._scripts[script])
        return frozenset(name for source in self._sources.get(folder, ()) for name in source.pins)

    def resolve(self, package: str, folder: str, script: str) -> _Resolution:
        """The decision on one package for the files of a folder, or for one script that has pins of its own."""
        key = (package, script or folder)
        if key not in self._resolved:
            self._resolved[key] = self._resolve(package, folder, script)
        return self._resolved[key]

    def _resolve(self, package: str, folder: str, script: str) -> _Resolution:
        from distlint.link.version_sets import NO_PACKAGES, PYTHONS, known_versions, possible_versions

        if package in self._overrides:
            wanted = Pin(package, self._overrides[package], Span("", 1, 1, 1, 1), "override")
            return _Resolution((), _ordered(possible_versions(package, [wanted], PYTHONS)), True)
        own = [pin for pin in self._scripts.get(script, ()) if pin.name == package]
        if own:
            return self._union(package, folder, [_Source(_Rank.MAIN, script, pins={package: own})])
        chosen = self._choose(package, folder)
        if chosen:
            return self._union(package, folder, chosen)
        return _Resolution((), None if package in NO_PACKAGES else known_versions(package) or None, False)

    def _choose(self, package: str, folder: str) -> list[_Source]:
        """The sources that decide on a package; empty if no file says anything about it."""
        for ranks in ((_Rank.LOCK, _Rank.MAIN, _Rank.SIDE, _Rank.CONSTRAINTS), (_Rank.COMMANDS,)):
            for place in _upwards(folder):
                mentioning = [source for source in self._sources.get(place, ()) if package in source.pins]
                for rank in ranks:
                    if found := [source for source in mentioning if source.rank is rank]:
                        return _telling(package, found)
        return []

    def _union(self, package: str, folder: str, sources: list[_Source]) -> _Resolution:
        """All versions that one of the sources allows."""
        from distlint.link.version_sets import PYTHONS, possible_versions, says_something

        pythons = PYTHONS if package == "python" else self.pythons(folder)
        versions: set[Version] | None = set()
        for source in sources:
            constraints = self._constraints(package, source)
            for pins in _joint_pins(package, source):
                possible = possible_versions(package, [*pins, *constraints], pythons)
                versions = None if possible is None or versions is None else versions | possible
        pins = [pin for source in sources for pin in source.pins[package]]
        pins.sort(key=lambda pin: not says_something(pin))
        return _Resolution(tuple(pins), _ordered(versions), any(says_something(pin) for pin in pins))

    def _constraints(self, package: str, source: _Source) -> list[Pin]:
        found = [pin for pin in source.constraints if pin.name == package]
        if source.rank in (_Rank.MAIN, _Rank.SIDE):
            for other in self._sources.get(_home(source), ()):
                if other.rank is _Rank.CONSTRAINTS:
                    found += other.pins.get(package, [])
        return found

    def pythons(self, folder: str) -> tuple[str, ...]:
        """The minor versions of Python that a folder's files may run with, as far as the project says so."""
        from distlint.link.version_sets import PYTHONS, pythons_allowed

        if "python" in self._overrides:
            return pythons_allowed([self._overrides["python"]])
        found: set[str] = set()
        for source in self._choose("python", folder):
            pins = source.pins["python"]
            for joint in [[pin] for pin in pins] if source.alternatives else [pins]:
                found.update(pythons_allowed("" if pin.dynamic else pin.specifier for pin in joint))
        # Several files that each name their own Python are alternatives.
        return tuple(python for python in PYTHONS if python in found) or PYTHONS


@dataclass(frozen=True, slots=True)
class VersionView:
    """What the pins allow, seen from one file; ``folder`` is the file's. Implements ``model.subject.Versions``."""

    environments: Environments
    folder: str
    script: str = ""
    caps: tuple[tuple[str, str], ...] = ()
    """Packages of which a fork is in use that goes no further than a release of the original."""

    def capped(self, package: str, release: str) -> VersionView:
        """The same view, with no release of a package that is newer than ``release``."""
        return replace(self, caps=(*self.caps, (package, release)))

    def test(self, package: str, specifier: str) -> bool | None:
        """Whether the version in use satisfies the specifier: for every allowed version, for none, or not certain.

        Raises ``ValueError`` for a specifier that PEP 440 does not know.
        """
        from distlint.link.version_sets import matches

        resolution = self._resolution(package)
        versions = resolution.versions
        if not versions:
            return None
        if specifier not in resolution.answers:
            first = matches(versions[0], specifier)
            same = all(matches(version, specifier) is first for version in versions)
            resolution.answers[specifier] = first if same else None
        return resolution.answers[specifier]

    def newest(self, package: str) -> str:
        """The newest release that the pins allow; ``""`` where that can't be told."""
        versions = self._resolution(package).versions
        return versions[-1].public if versions else ""

    def oldest(self, package: str) -> str:
        """The oldest release that the pins allow; ``""`` where that can't be told."""
        versions = self._resolution(package).versions
        return versions[0].public if versions else ""

    def allowed(self, package: str) -> tuple[str, ...]:
        """All releases that the pins allow, oldest first; ``()`` where that can't be told. Without a pin, all."""
        versions = self._resolution(package).versions
        return tuple(version.public for version in versions or ())

    def pythons(self) -> tuple[str, ...]:
        """The minor versions of Python (``3.11``) that the project may run with, as far as it says so."""
        return self.environments.pythons(self.folder)

    def is_pinned(self, package: str) -> bool:
        """Whether a pin that applies, or an override, says something about the version."""
        return self._resolution(package).pinned

    def pins(self, package: str) -> tuple[Pin, ...]:
        """The pins that apply, those first that restrict the version; ``()`` where there is none or an override."""
        return self._resolution(package).pins

    def packages(self) -> tuple[str, ...]:
        """The packages that the pins of this folder, or of this script, name; sorted."""
        return tuple(sorted(self.environments.mentioned(self.folder, self.script)))

    def span(self, package: str) -> Span | None:
        """Where the first of the pins that apply stands."""
        pins = self._resolution(package).pins
        return pins[0].span if pins else None

    def _resolution(self, package: str) -> _Resolution:
        found = self.environments.resolve(_normalised(package), self.folder, self.script)
        for name, release in self.caps:
            if name == package:
                from packaging.version import Version

                cap = Version(release)
                kept = tuple(version for version in found.versions or (cap,) if version <= cap)
                return replace(found, versions=kept, answers={}) if kept else found
        return found


def _sources_of(facts: FileFacts, files: Mapping[str, FileFacts]) -> Iterator[_Source]:
    """The sets of pins in one file: one for each group; conditional additions each on their own."""
    main = _Source(_main_rank(facts), facts.path, alternatives=_is_sequence(facts))
    groups: dict[str, _Source] = {}
    constraints = _Source(_Rank.CONSTRAINTS, facts.path)
    for pin in facts.pins:
        group = pin.environment.partition("#")[2]
        if pin.origin == "script" or group == "build":
            continue
        if pin.origin == "constraints":
            constraints.add([pin])
        elif main.rank is _Rank.COMMANDS or (not group and not pin.optional):
            main.add([pin])
        else:
            side = groups.setdefault(
                group, _Source(_Rank.SIDE, facts.path, alternatives=not group or main.alternatives)
            )
            side.add([pin])
    if main.rank is not _Rank.COMMANDS:
        _include(facts, files, main, {facts.path}, False)
    yield from (source for source in (main, *groups.values(), constraints) if source.pins)


def _include(
    facts: FileFacts, files: Mapping[str, FileFacts], source: _Source, seen: set[str], constraint: bool
) -> None:
    """Adds the pins of the files that a file includes, and of those that they include."""
    for include in facts.includes:
        path = _inside_project(facts.path, include.path)
        included = files.get(path) if path is not None else None
        if included is None or path in seen or len(seen) > _MAX_INCLUDES:
            continue
        seen.add(included.path)
        narrows = constraint or include.constraint
        if narrows:
            source.constraints += included.pins
        else:
            source.add(pin for pin in included.pins if not pin.environment.partition("#")[2])
        _include(included, files, source, seen, narrows)


def _inside_project(file: str, written: str) -> str | None:
    path = posixpath.normpath(posixpath.join(posixpath.dirname(file), written))
    return None if path.startswith(("../", "/")) or path == ".." else path


def _main_rank(facts: FileFacts) -> _Rank:
    """The rank of what a file installs always."""
    origins = {pin.origin for pin in facts.pins} or {"requirements"}
    name = posixpath.basename(facts.path).lower()
    if "lock" in origins:
        return _Rank.LOCK
    if origins <= set(_COMMANDS):
        return _Rank.COMMANDS
    if "requirements" in origins and not _MAIN_REQUIREMENTS.fullmatch(name) and name.endswith((".txt", ".in")):
        return _Rank.SIDE
    if "conda" in origins and not _MAIN_CONDA.fullmatch(name):
        return _Rank.SIDE
    return _Rank.MAIN


def _is_sequence(facts: FileFacts) -> bool:
    return any(pin.origin in ("lock", *_COMMANDS) for pin in facts.pins)


def _home(source: _Source) -> str:
    """The folder that a source holds for: its own, or the one above a folder that only keeps pins or build files."""
    folder = posixpath.dirname(source.file)
    parts = folder.split("/")
    for position, part in enumerate(parts):
        if part.lower() in _BUILD_FOLDERS:
            return "/".join(parts[:position])
    return "/".join(parts[:-1]) if parts[-1].lower() in _PINS_FOLDERS else folder


def _upwards(folder: str) -> Iterator[str]:
    while folder:
        yield folder
        folder = posixpath.dirname(folder)
    yield ""


def _telling(package: str, sources: list[_Source]) -> list[_Source]:
    """Of sources of one rank, those that say most: exact pins before ranges, ranges before bare names."""
    from distlint.link.version_sets import is_exact, says_something

    for test in (is_exact, says_something):
        if telling := [source for source in sources if any(test(pin) for pin in source.pins[package])]:
            return telling
    return sources


def _joint_pins(package: str, source: _Source) -> list[list[Pin]]:
    """The pins of a package that hold at once: all together, or one by one where they are alternatives."""
    from distlint.link.version_sets import PYTHONS, possible_versions, says_something

    pins = source.pins[package]
    if package in (CUDA, TOOLKIT):
        # Indexes for several versions of CUDA are there to choose from.
        return [[pin] for pin in [pin for pin in pins if not pin.environment.endswith("#image")] or pins]
    if not source.alternatives:
        return [pins]
    images = [pin for pin in pins if pin.environment.endswith("#image")]
    installed = [pin for pin in pins if pin not in images and says_something(pin)]
    if not installed:
        return [[pin] for pin in images or pins]
    # pip leaves what the image brings where it satisfies the requirement.
    kept = [[pin, image] for pin in installed for image in images if possible_versions(package, [pin, image], PYTHONS)]
    replaced = [[pin] for pin in installed if not any(pin is pair[0] for pair in kept)]
    return kept + replaced


def _ordered(versions: Iterable[Version] | None) -> tuple[Version, ...] | None:
    return tuple(sorted(versions)) if versions else None


@cache
def _normalised(package: str) -> str:
    return re.sub(r"[-_.]+", "-", package).lower()


def _as_specifier(text: str) -> str:
    from packaging.specifiers import SpecifierSet

    text = text.strip()
    specifier = f"=={text}" if text[:1].isdigit() else text
    SpecifierSet(specifier)
    return specifier
