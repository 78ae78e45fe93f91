"""Which versions of a package the files of a project run with.

A project may describe several environments. For a package, a file uses the nearest folder, going up, whose files say
something about it. There, the first of these that does decides:

1. a lock file;
2. what is installed always: the main requirements file, the dependencies in ``pyproject.toml``, ``setup.py``,
   ``setup.cfg``, ``Pipfile`` or the conda environment (those that pin a version exactly, if there are such);
3. extras, development groups, and requirements files with another name (``requirements-dev.txt``);
4. a constraints file alone.

Dockerfiles and commands in shell scripts, workflows and services count only where no other file up to the root does.
But a script that is started by such commands (and by no others) runs with what they install, with the image that they
run in and with the requirements files that they name, as far as these say something about the package.

Files of the same rank are alternatives: any of their versions is possible. Constraints narrow the pins of their folder.
A script's own block (PEP 723) goes before all that, for that script. What is installed in an environment that the user
names goes before every file, and ``--pin`` before everything.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, replace
from functools import cache
from typing import TYPE_CHECKING

from distlint.link.pin_sources import (
    PinSource,
    Rank,
    Resolution,
    commands_of,
    is_workflow,
    joint_pins,
    sources_of,
    telling,
    upwards,
    written_pin,
)
from distlint.model.facts import FileFacts
from distlint.model.pin import Pin
from distlint.model.record import dataclass
from distlint.model.span import Span

if TYPE_CHECKING:
    from packaging.version import Version

    from distlint.link.release_picks import Wish


@dataclass(slots=True)
class Environments:
    """All pins of a project, by the folder that they hold for. Make one with ``build``."""

    _sources: dict[str, list[PinSource]]
    _scripts: dict[str, list[Pin]]
    _overrides: dict[str, str]
    _installed: Mapping[str, str] = field(default_factory=dict)
    _commands: dict[str, PinSource] = field(default_factory=dict)
    _launched: Callable[[], Iterable[tuple[str, str]]] = field(default=tuple)
    _starters: dict[str, tuple[str, ...]] | None = None
    _resolved: dict[tuple[str, str], Resolution] = field(default_factory=dict)
    _by_itself: dict[tuple[str, str], Resolution] = field(default_factory=dict)
    _pythons: dict[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    _wished: dict[str, tuple[Wish, ...]] = field(default_factory=dict)
    _views: dict[tuple[str, str], VersionView] = field(default_factory=dict)

    @classmethod
    def build(
        cls,
        files: Mapping[str, FileFacts],
        overrides: Mapping[str, str],
        installed: Mapping[str, str] | None = None,
        launched: Callable[[], Iterable[tuple[str, str]]] = tuple,
    ) -> Environments:
        """Collects the pins of all files.

        ``overrides`` maps packages to a version or a specifier (``{"torch": "==2.4"}``). Raises ``ValueError`` for
        one that is neither. ``installed`` maps packages to the versions that an environment has. ``launched`` gives
        the scripts that commands start, with the file of the commands; it is asked only where commands install something.
        """
        sources: dict[str, list[PinSource]] = {}
        scripts: dict[str, list[Pin]] = {}
        commands: dict[str, PinSource] = {}
        for path in sorted(files):
            facts = files[path]
            if not facts.pins and not facts.includes:
                continue
            own = [pin for pin in facts.pins if pin.origin == "script"]
            if own:
                scripts[path] = own
            for source in sources_of(facts, files):
                sources.setdefault(source.home, []).append(source)
            if (installs := commands_of(facts, files)) is not None:
                commands[path] = installs
        wanted: dict[str, str] = {}
        if overrides:
            from distlint.link.version_sets import as_specifier

            wanted = {_normalised(name): as_specifier(text) for name, text in overrides.items()}
        return cls(sources, scripts, wanted, installed or {}, commands, launched)

    def for_file(self, path: str) -> VersionView:
        """What the pins allow for one file of the project (its path relative to the root)."""
        own = path in self._scripts or (bool(self._commands) and bool(self.starters(path)))
        key = (posixpath.dirname(path), path if own else "")
        if key not in self._views:
            self._views[key] = VersionView(self, *key)
        return self._views[key]

    def starters(self, path: str) -> tuple[str, ...]:
        """The files with commands of which some install something and all that there are start a script.

        A file with such commands is its own. ``()`` for a script that is also started by commands elsewhere.
        """
        if path in self._commands:
            return (path,)
        if self._starters is None:
            found: dict[str, set[str]] = {}
            for script, file in self._launched():
                found.setdefault(script, set()).add(file)
            self._starters = {
                script: tuple(sorted(files)) for script, files in found.items() if files <= self._commands.keys()
            }
        return self._starters.get(path, ())

    def is_installed(self, package: str) -> bool:
        """Whether the version is that of the environment that the user named."""
        return package in self._installed and package not in self._overrides

    def views(self) -> Iterator[VersionView]:
        """One view for each folder that has pins of its own, and for each script that has."""
        for folder in sorted(self._sources):
            yield self.for_file(f"{folder}/." if folder else ".")
        for script in sorted(self._scripts):
            yield self.for_file(script)

    def mentioned(self, folder: str, script: str) -> frozenset[str]:
        """The packages that the pins of a folder (not of those above it), or of a script, name."""
        if script in self._scripts:
            return frozenset(pin.name for pin in self._scripts[script])
        if script:
            return frozenset(name for file in self.starters(script) for name in self._commands[file].pins)
        return frozenset(name for source in self._sources.get(folder, ()) for name in source.pins)

    def resolve(self, package: str, folder: str, script: str) -> Resolution:
        """The decision on one package for the files of a folder, or for one script that has pins of its own."""
        folder = folder if script else self._pinning(folder)
        key = (package, script or folder)
        if key not in self._resolved:
            self._resolved[key] = self._fitting(package, folder, script, self._alone(package, folder, script))
        return self._resolved[key]

    def _pinning(self, folder: str) -> str:
        """The nearest folder, going up, that has pins of its own: all below it are decided alike."""
        return next((place for place in upwards(folder) if place in self._sources), "")

    def _alone(self, package: str, folder: str, script: str) -> Resolution:
        """The decision on one package by its own pins."""
        key = (package, script or folder)
        if key not in self._by_itself:
            self._by_itself[key] = self._resolve(package, folder, script)
        return self._by_itself[key]

    def _fitting(self, package: str, folder: str, script: str, found: Resolution) -> Resolution:
        """The decision without the releases that what else is pinned leaves no place for."""
        from distlint.link.version_sets import NO_PACKAGES, PYTHONS

        fixed = not found.versions or len(found.versions) < 2 or bool(self._installed)
        if fixed or package in NO_PACKAGES or package in self._overrides or found.versions is None:
            return found
        from distlint.link.fitting_releases import fitting, holds_back

        pythons = self.pythons(folder, script)
        wishes = self._wishes(folder, script)
        if pythons == PYTHONS and not holds_back(wishes):
            return found
        releases = fitting(package, wishes, () if pythons == PYTHONS else pythons)
        versions = tuple(version for version in found.versions if version.public in (releases or ()))
        return replace(found, versions=versions) if versions else found

    def _wishes(self, folder: str, script: str) -> tuple[Wish, ...]:
        """What the files of a folder, or a script, have installed."""
        key = script or folder
        if key not in self._wished:
            from distlint.link.fitting_releases import installed_together, wishes_of

            around = [source for place in upwards(folder) for source in self._sources.get(place, ())]
            around += [self._commands[file] for file in (self.starters(script) if script and self._commands else ())]
            together = installed_together(around)
            names = {name for source in together for name in source.pins} | self._overrides.keys()
            if script in self._scripts:
                names = {pin.name for pin in self._scripts[script]} | self._overrides.keys()
            wishes: list[Wish] = []
            for package in sorted(names):
                if package in self._overrides:
                    wishes += wishes_of(package, [written_pin(package, self._overrides[package], "override")])
                    continue
                sources = self._choose(package, folder, script)
                pins = self._alone(package, folder, script).pins
                is_one = (len(sources) == 1 and not sources[0].alternatives) or len(
                    {pin.specifier for pin in pins}
                ) == 1
                if is_one and (script in self._scripts or all(source in together for source in sources)):
                    wishes += wishes_of(package, pins)
            self._wished[key] = tuple(wishes)
        return self._wished[key]

    def _resolve(self, package: str, folder: str, script: str) -> Resolution:
        from distlint.link.version_sets import NO_PACKAGES, PYTHONS, known_versions, possible_versions

        if package in self._overrides:
            wanted = written_pin(package, self._overrides[package], "override")
            return Resolution((), _ordered(possible_versions(package, [wanted], PYTHONS)), True)
        if package in self._installed:
            wanted = written_pin(package, f"=={self._installed[package]}", "installed")
            return Resolution((), _ordered(possible_versions(package, [wanted], PYTHONS)), True)
        chosen = self._choose(package, folder, script)
        if chosen:
            return self._union(package, folder, script, chosen)
        return Resolution((), None if package in NO_PACKAGES else known_versions(package) or None, False)

    def _choose(self, package: str, folder: str, script: str) -> list[PinSource]:
        """The sources that decide on a package; empty if no file says anything about it."""
        from distlint.link.version_sets import says_something

        own = [pin for pin in self._scripts.get(script, ()) if pin.name == package]
        if own:
            return [PinSource(Rank.MAIN, script, pins={package: own})]
        starting = [self._commands[file] for file in self.starters(script)] if script and self._commands else []
        if starting and all(any(says_something(pin) for pin in source.pins.get(package, ())) for source in starting):
            return starting
        for ranks in ((Rank.LOCK, Rank.MAIN, Rank.SIDE, Rank.CONSTRAINTS), (Rank.COMMANDS,)):
            for place in upwards(folder):
                mentioning = [source for source in self._sources.get(place, ()) if package in source.pins]
                for rank in ranks:
                    if found := [source for source in mentioning if source.rank is rank]:
                        return telling(package, found)
        return []

    def _union(self, package: str, folder: str, script: str, sources: list[PinSource]) -> Resolution:
        """All versions that one of the sources allows."""
        from distlint.link.version_sets import PYTHONS, possible_versions, says_something

        pythons = PYTHONS if package == "python" else self.pythons(folder, script)
        versions: set[Version] | None = set()
        limits: list[Pin] = []
        for source in sources:
            constraints = self._constraints(package, source)
            limits += constraints
            for pins in joint_pins(package, source):
                possible = possible_versions(package, [*pins, *constraints], pythons)
                versions = None if possible is None or versions is None else versions | possible
        pins = [*(pin for source in sources for pin in source.pins[package]), *limits]
        pins.sort(key=lambda pin: not says_something(pin))
        return Resolution(tuple(pins), _ordered(versions), any(says_something(pin) for pin in pins))

    def _constraints(self, package: str, source: PinSource) -> list[Pin]:
        found = [pin for pin in source.constraints if pin.name == package]
        if source.rank in (Rank.MAIN, Rank.SIDE):
            for other in self._sources.get(source.home, ()):
                if other.rank is Rank.CONSTRAINTS:
                    found += other.pins.get(package, [])
        return found

    def pythons(self, folder: str, script: str = "") -> tuple[str, ...]:
        """The minor versions of Python that a folder's files may run with, as far as the project says so."""
        if (folder, script) not in self._pythons:
            self._pythons[folder, script] = self._find_pythons(folder, script)
        return self._pythons[folder, script]

    def _find_pythons(self, folder: str, script: str) -> tuple[str, ...]:
        from distlint.link.version_sets import PYTHONS, pythons_allowed

        if "python" in self._overrides:
            return pythons_allowed([self._overrides["python"]])
        if "python" in self._installed:
            return pythons_allowed([f"=={'.'.join(self._installed['python'].split('.')[:2])}.*"])
        found: set[str] = set()
        starters = self.starters(script) if script and self._commands else ()
        for source in self._choose("python", folder, script):
            # A workflow sets it up for its own jobs, such as one that builds the documentation.
            if is_workflow(source) and source.file not in starters:
                continue
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
        return self.environments.pythons(self.folder, self.script)

    def is_pinned(self, package: str) -> bool:
        """Whether a pin that applies, or an override, says something about the version."""
        return self._resolution(package).pinned

    def has_lower_bound(self, package: str) -> bool:
        """Whether a pin that applies says which releases are too old, or which one it is; an override always does."""
        from distlint.link.version_sets import is_bounded_below

        resolution = self._resolution(package)
        return resolution.pinned and (not resolution.pins or any(is_bounded_below(pin) for pin in resolution.pins))

    def decision(self, package: str) -> object:
        """What stands for all that is said here of a package: the same object for files that it holds for alike."""
        return self._resolution(package)

    def is_installed(self, package: str) -> bool:
        """Whether the version is read from an environment that the user named, not from the project."""
        return self.environments.is_installed(_normalised(package))

    def standing(self, package: str, *, is_newest: bool = True) -> str:
        """How a release comes to be in use, as messages say it behind the version: ``""`` for the newest pinned one."""
        if self.is_installed(package):
            return ", which is installed"
        if not is_newest:
            return ", which the pins allow"
        if self.is_pinned(package):
            return ""
        from distlint.link.version_sets import is_superseded

        return ", the newest release" + (" that fits the pins" if is_superseded(package, self.newest(package)) else "")

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

    def _resolution(self, package: str) -> Resolution:
        found = self.environments.resolve(_normalised(package), self.folder, self.script)
        for name, release in self.caps:
            if name == package:
                from packaging.version import Version

                cap = Version(release)
                kept = tuple(version for version in found.versions or (cap,) if version <= cap)
                return replace(found, versions=kept, answers={}) if kept else found
        return found


def _ordered(versions: Iterable[Version] | None) -> tuple[Version, ...] | None:
    return tuple(sorted(versions)) if versions else None


@cache
def _normalised(package: str) -> str:
    return re.sub(r"[-_.]+", "-", package).lower()
