"""Which files make up a program: those that a file imports, those that import it, and what these import."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from distlint.model.record import dataclass
from distlint.model.value import Confidence

if TYPE_CHECKING:
    from distlint.link.project import Project

MAX_FILES = 400
"""A file that more files than this depend on is a library: its family is then cut."""


@dataclass(slots=True)
class Programs:
    """The families of the files of a project; one per project, see ``of_project``."""

    importers: dict[str, list[str]]
    families: dict[str, frozenset[str]]

    @classmethod
    def of_project(cls, project: Project) -> Programs:
        """The families that all checks of a project share."""
        if cls not in project.kept:
            importers: dict[str, list[str]] = {}
            for file in project.python_files:
                for imported in project.imports(file):
                    importers.setdefault(imported, []).append(file)
            project.kept[cls] = cls(importers, {})
        found: Programs = project.kept[cls]
        return found

    def family(self, project: Project, file: str) -> frozenset[str]:
        """The files whose code may run in one process with that of ``file``."""
        if file not in self.families:
            above = [file]
            seen = {file}
            for current in above:
                for importer in self.importers.get(current, ()):
                    if importer not in seen and len(seen) < MAX_FILES:
                        seen.add(importer)
                        above.append(importer)
            found: set[str] = set()
            for current in above:
                if current not in found:
                    found |= project.closure(current)
            self.families[file] = frozenset(found)
        return self.families[file]


def family(project: Project, file: str) -> frozenset[str]:
    """The files whose code may run in one process with that of ``file``: what it imports, and the programs that use it."""
    return Programs.of_project(project).family(project, file)


def runs_alone(project: Project, file: str) -> bool:
    """Whether every known launch of a file starts one process only, and not as one of several commands that make a job."""
    runs = project.runs_reaching(file)
    ranks = {name[1:] for spec in project.specs for name, _ in spec.rank_sources if name.startswith("$")}
    return bool(runs) and all(
        run.world_size.only == 1
        and run.world_size.confidence is not Confidence.POSSIBLE
        and not ranks & {*(run.launch.environment if run.launch else ())}
        for run in runs
    )


def brings_together(project: Project, file: str, signs: Iterable[str]) -> bool:
    """Whether the program of a file has a word about several processes, which is all that is known where nothing launches it."""
    return any(word in project.text_of(one) for one in sorted(family(project, file)) for word in signs)


def is_started_together(project: Project, file: str, signs: Iterable[str]) -> bool:
    """Whether a launch of a file starts several processes, or its program has a word about them where nothing launches it."""
    runs = project.runs_reaching(file)
    for run in runs:
        options = run.world_size.options
        if options and all(isinstance(one, int) and one > 1 for one in options):
            return True
    return not runs and brings_together(project, file, signs)


def left_out(project: Project, files: Iterable[str], words: Iterable[str]) -> Iterator[str]:
    """The Python files of some programs that nobody has read yet because they name no framework, but that hold a word."""
    wanted = tuple(words)
    seen: set[str] = set()
    for file in files:
        for one in family(project, file):
            if one in seen or one in project.facts:
                continue
            seen.add(one)
            text = project.text_of(one)
            if any(word in text for word in wanted) and project.modules.module(one) is not None:
                yield one
