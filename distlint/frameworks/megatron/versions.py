"""The version of Megatron Core in use: that of the copy in the project, or what the pins say.

Most projects around Megatron-LM don't install it: they hold a copy, whose ``megatron/core/package_info.py`` states its
version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from distlint.model import python as ir
from distlint.model.record import dataclass
from distlint.model.span import Span, whole_line
from distlint.model.subject import Versions

if TYPE_CHECKING:
    from distlint.link.project import Project

PACKAGE = "megatron-core"
STATED = "megatron/core/package_info.py"


@dataclass(frozen=True, slots=True)
class CopyVersions:
    """The pins of a project, except for the package of which it holds a copy."""

    pins: Versions
    version: str
    place: Span

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
        return package == PACKAGE or self.pins.span(package) is not None

    def is_required(self, package: str) -> bool:
        """Whether a requirement names a package: the copy is none."""
        return self.pins.span(package) is not None


def versions_for(project: Project, file: str) -> Versions:
    """The versions that a file of the project runs with."""
    pins: Versions = project.environments.for_file(file)
    if pins.span(PACKAGE) is not None:
        return pins
    stated = _nearest(project, file)
    version = _version(project, stated) if stated else ""
    return CopyVersions(pins, version, whole_line(stated)) if version else pins


def _nearest(project: Project, file: str) -> str:
    """The statement of the copy in the folder of a file or above."""
    folder = file.rpartition("/")[0]
    while True:
        path = f"{folder}/{STATED}" if folder else STATED
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
