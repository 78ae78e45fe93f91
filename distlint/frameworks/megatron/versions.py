"""The version of Megatron Core in use: that of the copy in the project, or what the pins say.

Most projects around Megatron-LM don't install it: they hold a copy, whose ``megatron/core/package_info.py`` states its
version. Copies from before 2023 have no such file: theirs is the release whose options are most like those of the copy.
Where nothing states the version, an installer picks the newest release that the Python version admits; which one that is
isn't known either, so that only what holds for all of them is said.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from distlint.frameworks.megatron.flags import LM, flag_table
from distlint.knowledge.releases import releases, requires_python
from distlint.model import python as ir
from distlint.model.record import dataclass
from distlint.model.span import Span, whole_line
from distlint.model.subject import Versions

if TYPE_CHECKING:
    from distlint.link.project import Project

PACKAGE = "megatron-core"
STATED = "megatron/core/package_info.py"
PARSERS = ("megatron/training/arguments.py", "megatron/arguments.py")
"""Where a copy defines its options."""

PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
"""The versions of Python that a project is taken to run with where it doesn't say so: those that are maintained."""

SUBMODULES = ".gitmodules"
"""Where git keeps which other repositories stand in folders of this one; their commits, and so their releases, can be any."""

_OPTION = re.compile(r"""["'](--[a-zA-Z0-9][\w-]{1,60})["']""")
_FEWEST = 40
"""A file with fewer known options is no copy of the parser."""
_LONGEST = 1_000_000


@dataclass(frozen=True, slots=True)
class CopyVersions:
    """The pins of a project, except for the package of which it holds a copy.

    There is no ``place`` where nothing states the version, but the copy looks like it.
    """

    pins: Versions
    version: str
    place: Span | None

    def test(self, package: str, specifier: str) -> bool | None:
        """As ``Versions.test``."""
        if package != PACKAGE:
            return self.pins.test(package, specifier)
        from packaging.specifiers import InvalidSpecifier, SpecifierSet

        try:
            return SpecifierSet(specifier).contains(self.version, prereleases=True)
        except InvalidSpecifier:
            return None

    def newest(self, package: str) -> str:
        """As ``Versions.newest``."""
        return self.version if package == PACKAGE else self.pins.newest(package)

    def span(self, package: str) -> Span | None:
        """As ``Versions.span``."""
        return self.place if package == PACKAGE else self.pins.span(package)

    def is_pinned(self, package: str) -> bool:
        """Whether the project says anything about the version of a package."""
        return (package == PACKAGE and self.place is not None) or self.pins.span(package) is not None

    def is_required(self, package: str) -> bool:
        """Whether a requirement names a package: the copy is none."""
        return self.pins.span(package) is not None


@dataclass(frozen=True, slots=True)
class UnstatedVersions:
    """The pins of a project that says nothing about Megatron's version.

    ``candidates`` are the releases that it may have, in rising order: what an installer picks for each Python version, or
    any where Megatron is a submodule.
    """

    pins: Versions
    candidates: tuple[str, ...]

    def test(self, package: str, specifier: str) -> bool | None:
        """As ``Versions.test``."""
        if package != PACKAGE:
            return self.pins.test(package, specifier)
        from packaging.specifiers import InvalidSpecifier, SpecifierSet

        try:
            admitted = SpecifierSet(specifier)
        except InvalidSpecifier:
            return None
        answers = {admitted.contains(version, prereleases=True) for version in self.candidates}
        return answers.pop() if len(answers) == 1 else None

    def newest(self, package: str) -> str:
        """As ``Versions.newest``."""
        return self.candidates[-1] if package == PACKAGE else self.pins.newest(package)

    def span(self, package: str) -> Span | None:
        """As ``Versions.span``."""
        return self.pins.span(package)

    def is_pinned(self, package: str) -> bool:
        """Whether the project says anything about the version of a package."""
        return package != PACKAGE and self.pins.span(package) is not None

    def is_required(self, package: str) -> bool:
        """Whether a requirement names a package."""
        return self.pins.span(package) is not None

    def is_undecided(self, package: str) -> bool:
        """Whether versions that differ are equally likely, so that the newest one decides nothing."""
        return package == PACKAGE and len(self.candidates) > 1


def is_stated(versions: Versions) -> bool:
    """Whether anything says which version is in use: a pin, a copy, or the user, whose word has no place."""
    asked = getattr(versions, "is_pinned", None)
    return bool(asked(PACKAGE)) if asked is not None else versions.span(PACKAGE) is not None


def versions_for(project: Project, file: str) -> Versions:
    """The versions that a file of the project runs with."""
    pins = project.environments.for_file(file)
    if is_stated(pins):
        return pins
    stated = _nearest(project, file, STATED)
    version = _version(project, stated) if stated else ""
    if version:
        return CopyVersions(pins, version, whole_line(stated))
    parser = next((path for name in PARSERS if (path := _nearest(project, file, name))), "")
    version = _likeness(project.text_of(parser)) if parser else ""
    if version:
        return CopyVersions(pins, version, None)
    if "megatron" in project.text_of(SUBMODULES).lower():
        return UnstatedVersions(pins, releases(PACKAGE))
    admitted = pins.pythons()
    return UnstatedVersions(pins, _picked(tuple(python for python in PYTHONS if python in admitted) or PYTHONS))


@lru_cache(maxsize=16)
def _picked(pythons: tuple[str, ...]) -> tuple[str, ...]:
    """The newest release that each of some Python versions admits, in rising order."""
    from packaging.specifiers import SpecifierSet

    known = releases(PACKAGE)
    admitting = {version: SpecifierSet(requires_python(PACKAGE, version)) for version in known}
    newest = {next(version for version in reversed(known) if admitting[version].contains(python)) for python in pythons}
    return tuple(version for version in known if version in newest)


@lru_cache(maxsize=16)
def _likeness(text: str) -> str:
    """The release whose options are most like those that a text defines; the newest of several; ``""`` for none."""
    table = flag_table(LM).releases
    own = {name for name in _OPTION.findall(text[:_LONGEST]) if name in table.names}
    if len(own) < _FEWEST:
        return ""
    differences = {
        index: sum((table.entry(name, index) is None) == (name in own) for name in table.names) for index in table.all
    }
    nearest = min(table.all, key=lambda index: (differences[index], -index))
    # newer parsers make most of their options from configuration classes in other files
    return table.version(nearest) if 2 * differences[nearest] <= len(own) else ""


def _nearest(project: Project, file: str, name: str) -> str:
    """The file of that name in the folder of a file or above."""
    folder = file.rpartition("/")[0]
    while True:
        path = f"{folder}/{name}" if folder else name
        if path in project.paths:
            return path
        if not folder:
            return ""
        folder = folder.rpartition("/")[0]


def _version(project: Project, path: str) -> str:
    facts = project.file_facts(path)
    if facts is None or facts.module is None:
        return ""
    numbers: dict[str, str] = {}
    for statement in facts.module.body:
        if type(statement) is ir.Assign and type(statement.value) is ir.Constant:
            for target in statement.targets:
                if type(target) is ir.Name and isinstance(statement.value.value, int):
                    numbers[target.id] = str(statement.value.value)
    parts = [numbers.get(name, "") for name in ("MAJOR", "MINOR", "PATCH")]
    return ".".join(parts) if all(parts) else ""
