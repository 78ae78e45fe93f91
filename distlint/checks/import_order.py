"""Whether a module is imported before a program starts its process group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from distlint.checks.programs import Programs, family
from distlint.link.modules import FunctionRef
from distlint.link.project import CallSite, Project
from distlint.link.walking import asks_for_main, guards_of
from distlint.model import python as ir

MAX_WAVES = 6
"""Functions, one called by the other, from the start of the group up."""


def import_starts(project: Project, starts: Iterable[CallSite]) -> list[tuple[str, ir.Position]]:
    """The places outside of functions that lead to the start of a group, but for those behind the question for the main module."""
    found: list[tuple[str, ir.Position]] = []
    waiting = [(one.file, one.site.function, one.site.call.at) for one in starts]
    seen: set[tuple[str, int]] = set()
    for _ in range(MAX_WAVES):
        more: list[tuple[str, int, ir.Position]] = []
        for file, function, at in waiting:
            if function < 0:
                guards = guards_of(project.module(file).body, at) or ()
                if not any(one.test is not None and asks_for_main(one.test) for one in guards):
                    found.append((file, at))
            elif (file, function) not in seen:
                seen.add((file, function))
                callers = project.callers(FunctionRef(file, function))
                more += [(one.file, one.site.function, one.site.call.at) for one in callers]
        waiting = more
    return found


def is_early(project: Project, asking: str, place: ir.Position, at_import: list[tuple[str, ir.Position]]) -> bool:
    """Whether a place of a file outside of functions is certainly come to before a group is started."""
    if not _is_imported_first(project, asking, set()):
        return False
    files = family(project, asking)
    for file, at in at_import:
        if file not in files:
            continue
        if file == asking:
            if at < place:
                return False
            continue
        items = [one for one in project.module(file).imports if one.statement_at < at]
        if not any(asking in project.closure(target) for one in items for target in _targets(project, one, file)):
            return False
    return True


def _is_imported_first(project: Project, file: str, seen: set[str]) -> bool:
    """Whether a file is a script, or is imported at the top of one, or of what that imports."""
    seen.add(file)
    importers = Programs.of_project(project).importers.get(file, [])
    if not importers:
        return True
    for importer in importers:
        module = project.module(importer)
        late = [one.at for one in module.functions]
        for item in module.imports:
            if file in _targets(project, item, importer) and not any(ir.encloses(at, item.statement_at) for at in late):
                if importer in seen or _is_imported_first(project, importer, seen):
                    return True
    return False


def _targets(project: Project, item: ir.Import, importer: str) -> Iterator[str]:
    """The files of the project that an import means."""
    for dotted in (f"{item.module}.{item.name}".strip(".") if item.name else item.module, item.module):
        target = project.modules.find(dotted, importer, item.level)
        if target is not None:
            yield target
