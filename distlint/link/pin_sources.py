"""The sets of pins that are installed together: those of one file, of a group in it, or of one job's commands."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import field, replace
from enum import IntEnum
from typing import TYPE_CHECKING

from distlint.knowledge.distributions import CUDA, TOOLKIT
from distlint.model.facts import FileFacts
from distlint.model.pin import Pin
from distlint.model.record import dataclass
from distlint.model.source import SourceKind
from distlint.model.span import Span

if TYPE_CHECKING:
    from packaging.version import Version

_MAX_INCLUDES = 50
_MAX_INCLUDED = 50
"""So many files that are known only by being named are read as requirements."""
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
        ".gitlab",
        ".circleci",
        "ci",
        ".ci",
        "scripts",
    }
)
_MAIN_WORDS = "base|main|common|core|install|runtime|prod|production|default|framework"
_MAIN_REQUIREMENTS = re.compile(rf"(?:requirements?)?[-_.]?(?:{_MAIN_WORDS})?\.(?:txt|in|pip)")
_MAIN_CONDA = re.compile(r"(?:conda[-_]?)?env(?:ironment)?s?\.ya?ml")
_COMMANDS = ("dockerfile", "shell")
_IMAGE = "#image"


class Rank(IntEnum):
    """How much a set of pins says of what a script runs with; the lowest number decides."""

    LOCK = 1
    MAIN = 2
    SIDE = 3
    CONSTRAINTS = 4
    COMMANDS = 5


@dataclass(slots=True)
class PinSource:
    """One set of pins that are installed together, by package.

    ``alternatives`` says that the pins of one package exclude each other instead (lock files, conditional additions,
    commands that run one after the other).
    """

    rank: Rank
    file: str
    alternatives: bool = False
    pins: dict[str, list[Pin]] = field(default_factory=dict)
    constraints: list[Pin] = field(default_factory=list)

    def add(self, pins: Iterable[Pin]) -> None:
        """Adds pins, each to those of its package; one for another system than Linux says nothing here."""
        for pin in pins:
            if pin.marker and not _may_apply(pin):
                continue
            self.pins.setdefault(pin.name, []).append(pin)

    @property
    def home(self) -> str:
        """The folder that it holds for: its file's, or the one above a folder that only keeps pins or build files."""
        folder = posixpath.dirname(self.file)
        parts = folder.split("/")
        for position, part in enumerate(parts):
            if part.lower() in _BUILD_FOLDERS:
                return "/".join(parts[:position])
        return "/".join(parts[:-1]) if parts[-1].lower() in _PINS_FOLDERS else folder


def _may_apply(pin: Pin) -> bool:
    from distlint.link.version_sets import may_apply

    return may_apply(pin.marker)


@dataclass(frozen=True, slots=True)
class Resolution:
    """The pins that decide on a package and the versions that they allow, oldest first (``None``: can't be told)."""

    pins: tuple[Pin, ...]
    versions: tuple[Version, ...] | None
    pinned: bool
    answers: dict[str, bool | None] = field(default_factory=dict)
    """What was asked already: whether the versions satisfy a specifier."""


def written_pin(package: str, specifier: str, origin: str) -> Pin:
    """A pin that stands in no file."""
    return Pin(package, specifier, Span("", 1, 1, 1, 1), origin)


def sources_of(facts: FileFacts, files: Mapping[str, FileFacts]) -> Iterator[PinSource]:
    """The sets of pins in one file: one for each group; conditional additions each on their own."""
    main = PinSource(_main_rank(facts), facts.path, alternatives=_is_sequence(facts))
    groups: dict[str, PinSource] = {}
    constraints = PinSource(Rank.CONSTRAINTS, facts.path)
    overrides: dict[str, list[Pin]] = {}
    for pin in facts.pins:
        group = pin.environment.partition("#")[2]
        if pin.origin == "script" or group == "build":
            continue
        if pin.origin == "constraints":
            constraints.add([pin])
        elif pin.origin == "overrides":
            overrides.setdefault(pin.name, []).append(pin)
        elif main.rank is Rank.COMMANDS or (not group and not pin.optional):
            main.add([pin])
        else:
            alternatives = not group or main.alternatives
            side = groups.setdefault(group, PinSource(Rank.SIDE, facts.path, alternatives=alternatives))
            side.add([pin])
    if main.rank is not Rank.COMMANDS:
        _include(facts, files, main, {facts.path}, False)
    for name, pins in overrides.items():
        # An override takes the place of whatever is asked for, also where only a dependency asks.
        main.pins[name] = pins
    yield from (source for source in (main, *groups.values(), constraints) if source.pins)


def commands_of(facts: FileFacts, files: Mapping[str, FileFacts]) -> PinSource | None:
    """What the commands in a file install, with the requirements files that they name; ``None`` if that is nothing."""
    if not ({pin.origin for pin in facts.pins} <= set(_COMMANDS) and (facts.pins or _names_files(facts))):
        return None
    source = PinSource(Rank.COMMANDS, facts.path, alternatives=True)
    source.add(facts.pins)
    for include in facts.includes[:_MAX_INCLUDES]:
        path = _near(facts.path, include.path, files)
        if path is None:
            continue
        if include.constraint:
            source.constraints += files[path].pins
            continue
        for one in sources_of(files[path], files):
            if one.rank is not Rank.CONSTRAINTS and not any(_group(pin) for pins in one.pins.values() for pin in pins):
                for pins in one.pins.values():
                    source.add(replace(pin, environment=include.environment) for pin in pins)
                source.constraints += one.constraints
    return source if source.pins else None


def with_included(
    files: Mapping[str, FileFacts], paths: Container[str], read_more: Callable[..., FileFacts | None]
) -> dict[str, FileFacts]:
    """The files, with those that requirements files and commands name but whose own name does not tell what they are.

    ``paths`` are all files of the project; ``read_more`` reads one of them as the kind that it is given.
    """
    known = dict(files)
    pending = [facts for facts in known.values() if facts.includes]
    while pending and len(known) < len(files) + _MAX_INCLUDED:
        for path in _named_files(pending.pop(), paths):
            if path not in known and (facts := read_more(path, SourceKind.REQUIREMENTS)) is not None:
                known[path] = facts
                pending.append(facts)
    return known


def _named_files(facts: FileFacts, paths: Container[str]) -> Iterator[str]:
    """The text files of the project that a file of pins, or commands, name as further requirements."""
    for include in facts.includes[:_MAX_INCLUDES]:
        beside = _inside_project(facts.path, include.path)
        path = beside if beside in paths else _near(facts.path, include.path, paths)
        if path is not None and path.endswith((".txt", ".in", ".pip")):
            yield path


def _names_files(facts: FileFacts) -> bool:
    return bool(facts.includes) and (facts.shell is not None or bool(facts.carried))


def _group(pin: Pin) -> str:
    return pin.environment.partition("#")[2]


def _near(file: str, written: str, files: Container[str]) -> str | None:
    """The file that a command means: from its script's folder or one above; an absolute path by its last parts."""
    for folder in upwards(posixpath.dirname(file)):
        path = posixpath.normpath(posixpath.join(folder, written.lstrip("/")))
        if path in files:
            return path
    if written.startswith("/"):
        parts = written.strip("/").split("/")
        shorter = ("/".join(parts[number:]) for number in range(1, len(parts)))
        return next((found for text in shorter if (found := _near(file, text, files)) is not None), None)
    return None


def _include(
    facts: FileFacts, files: Mapping[str, FileFacts], source: PinSource, seen: set[str], constraint: bool
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
            source.add(pin for pin in included.pins if not _group(pin))
        _include(included, files, source, seen, narrows)


def _inside_project(file: str, written: str) -> str | None:
    path = posixpath.normpath(posixpath.join(posixpath.dirname(file), written))
    return None if path.startswith(("../", "/")) or path == ".." else path


def _main_rank(facts: FileFacts) -> Rank:
    """The rank of what a file installs always."""
    origins = {pin.origin for pin in facts.pins} or {"requirements"}
    name = posixpath.basename(facts.path).lower()
    if "lock" in origins or name.endswith(".lock"):
        return Rank.LOCK
    if origins <= set(_COMMANDS) or (not facts.pins and _names_files(facts)):
        return Rank.COMMANDS
    if "requirements" in origins and not _MAIN_REQUIREMENTS.fullmatch(name) and name.endswith((".txt", ".in", ".pip")):
        return Rank.SIDE
    if "conda" in origins and not _MAIN_CONDA.fullmatch(name) and name.endswith((".yml", ".yaml")):
        return Rank.SIDE
    return Rank.SIDE if "session" in origins else Rank.MAIN


def _is_sequence(facts: FileFacts) -> bool:
    return any(pin.origin in ("lock", *_COMMANDS) for pin in facts.pins)


def is_workflow(source: PinSource) -> bool:
    """Whether a source is what the jobs of a workflow (or services) install."""
    return source.rank is Rank.COMMANDS and source.file.endswith((".yml", ".yaml"))


def upwards(folder: str) -> Iterator[str]:
    """A folder and all above it, up to the root (``""``)."""
    while folder:
        yield folder
        folder = posixpath.dirname(folder)
    yield ""


def telling(package: str, sources: list[PinSource]) -> list[PinSource]:
    """Of sources of one rank, those that say most: exact pins before ranges, ranges before bare names.

    Where one workflow takes what comes, what others pin is one case of several that are tested.
    """
    from distlint.link.version_sets import is_exact, says_something

    bare = [source for source in sources if not any(says_something(pin) for pin in source.pins[package])]
    if any(is_workflow(source) for source in bare):
        sources = [source for source in sources if source in bare or not is_workflow(source)]
    for test in (is_exact, says_something):
        if found := [source for source in sources if any(test(pin) for pin in source.pins[package])]:
            return found
    return sources


def joint_pins(package: str, source: PinSource) -> list[list[Pin]]:
    """The pins of a package that hold at once: all together, or one by one where they are alternatives."""
    pins = source.pins[package]
    if package in (CUDA, TOOLKIT):
        # Indexes for several versions of CUDA are there to choose from.
        return [[pin] for pin in [pin for pin in pins if not pin.environment.endswith(_IMAGE)] or pins]
    if not source.alternatives:
        return [pins]
    if source.rank is not Rank.COMMANDS:
        return _installed_in_turn(package, pins)
    jobs: dict[str, list[Pin]] = {}
    for pin in pins:
        jobs.setdefault(pin.environment.removesuffix(_IMAGE), []).append(pin)
    return [joint for job in jobs.values() for joint in _narrowest(package, _installed_in_turn(package, job))]


def _installed_in_turn(package: str, pins: list[Pin]) -> list[list[Pin]]:
    """Alternatives, each together with what an image brings: an installer leaves that where it satisfies the pin."""
    from distlint.link.version_sets import PYTHONS, possible_versions, says_something

    images = [pin for pin in pins if pin.environment.endswith(_IMAGE)]
    installed = [pin for pin in pins if pin not in images and says_something(pin)]
    if not installed:
        return [[pin] for pin in images or pins]
    kept = [[pin, image] for pin in installed for image in images if possible_versions(package, [pin, image], PYTHONS)]
    replaced = [[pin] for pin in installed if not any(pin is pair[0] for pair in kept)]
    return kept + replaced


def _narrowest(package: str, joints: list[list[Pin]]) -> list[list[Pin]]:
    """Of commands that run one after the other: a wide pin changes nothing where a narrower one is satisfied."""
    from distlint.link.version_sets import PYTHONS, possible_versions

    if len(joints) < 2:
        return joints
    sets = [possible_versions(package, joint, PYTHONS) for joint in joints]
    return [
        joint
        for joint, wide in zip(joints, sets, strict=True)
        if wide is None or not any(other is not None and other < wide for other in sets)
    ]
