"""From where functions and modules are reached: calls by name, mentions of a function, imports of a module."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from distlint.link.library_uses import function_around
from distlint.link.modules import FunctionRef
from distlint.link.version_paths import Condition, conditions_between
from distlint.link.walking import bodies_of, children, expressions_of, statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.project import CallSite, Project

Mention = tuple[str, ir.Position, int]
"""A file, a place in it, and the function around (-1: none)."""

MAX_NEEDED = 60
_STOPS = re.compile(r"\b(?:raise|exit|assert|check_\w+|require\w*|importorskip|abort)\b")


class Reachers:
    """The index of one project; ``of`` gives the one that belongs to it."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._imports: dict[str, list[Mention]] | None = None
        self._mentions: dict[str, dict[str, list[tuple[ir.Position, int]]]] = {}
        self._aliases: dict[str, set[str]] | None = None
        self._files_of: dict[str, set[str]] = {}
        self._sites: dict[FunctionRef, list[CallSite]] = {}
        self._references: dict[FunctionRef, list[Mention]] = {}
        self._needed: dict[str, tuple[str, ...]] = {}

    @staticmethod
    def of(project: Project) -> Reachers:
        """The index of a project, made once."""
        return project.reachers

    def sites_of(self, ref: FunctionRef) -> list[CallSite]:
        """The calls under a function's name (a constructor's class), or a name that it is imported as."""
        if ref not in self._sites:
            function = self._project.function(ref)
            name = function.name
            if function.owner >= 0 and name == "__init__":
                name = self._project.module(ref.file).classes[function.owner].name
            found: list[CallSite] = []
            for one in sorted({name} | self._imported_as().get(name, set())):
                found.extend(self._project.sites(one))
            self._sites[ref] = [site for site in found if not _is_inside(site, ref, function)]
        return self._sites[ref]

    def _imported_as(self) -> dict[str, set[str]]:
        if self._aliases is None:
            self._aliases = {}
            for file in self._project.python_files:
                for item in self._project.module(file).imports:
                    if item.name:
                        self._files_of.setdefault(item.name, set()).add(file)
                        if item.alias != item.name:
                            self._aliases.setdefault(item.name, set()).add(item.alias)
        return self._aliases

    def references_to(self, ref: FunctionRef) -> list[Mention]:
        """Where a function at module level, or inside another one, is taken as a value."""
        if ref not in self._references:
            self._references[ref] = list(self._find_references(ref))
        return self._references[ref]

    def _find_references(self, ref: FunctionRef) -> list[Mention]:
        function = self._project.function(ref)
        if function.owner >= 0:
            return []
        self._imported_as()
        found: list[Mention] = []
        for file in sorted({ref.file} | self._files_of.get(function.name, set())):
            if file == ref.file and len(re.findall(rf"\b{function.name}\b", self._project.text_of(file))) < 2:
                continue
            for at, around in self._mentioned(file).get(function.name, ()):
                resolved = self._project.modules.lookup(function.name, file)
                if (resolved == ref or (file == ref.file and function.parent >= 0)) and not ir.encloses(
                    function.at, at
                ):
                    found.append((file, at, around))
        return found

    def _mentioned(self, file: str) -> dict[str, list[tuple[ir.Position, int]]]:
        """The names that a file reads, with their places."""
        if file not in self._mentions:
            found: dict[str, list[tuple[ir.Position, int]]] = {}
            for function, body in bodies_of(self._project.module(file)):
                for statement in statements(body):
                    stack = list(expressions_of(statement))
                    while stack:
                        expr = stack.pop()
                        if type(expr) is ir.Name:
                            found.setdefault(expr.id, []).append((expr.at, function))
                        stack.extend(children(expr))
            self._mentions[file] = found
        return self._mentions[file]

    def imports_of(self, file: str) -> list[Mention]:
        """The imports that bring a module in."""
        if self._imports is None:
            self._imports = self._all_imports()
        return self._imports.get(file, [])

    def _all_imports(self) -> dict[str, list[Mention]]:
        found: dict[str, list[Mention]] = {}
        modules = self._project.modules
        for path in self._project.python_files:
            module = self._project.module(path)
            for item in module.imports:
                inner = f"{item.module}.{item.name}".strip(".") if item.name != "*" else item.module
                targets = {modules.find(item.module, path, item.level), modules.find(inner, path, item.level)}
                for target in targets - {None, path}:
                    found.setdefault(str(target), []).append((path, item.at, function_around(module, item.at)))
        return found

    def needed_by(self, file: str) -> tuple[str, ...]:
        """The modules that are run before anything in a file is, and that may refuse to: its packages, its imports."""
        if file not in self._needed:
            seen = {file: None}
            stack = [file]
            while stack and len(seen) < MAX_NEEDED:
                for other in self._directly_needed(stack.pop()):
                    if other not in seen:
                        seen[other] = None
                        stack.append(other)
            self._needed[file] = tuple(one for one in seen if stopping_conditions(self._project, one))
        return self._needed[file]

    def _directly_needed(self, file: str) -> list[str]:
        found = []
        folder = file.rpartition("/")[0]
        while folder:
            if f"{folder}/__init__.py" in self._project.facts:
                found.append(f"{folder}/__init__.py")
            folder = folder.rpartition("/")[0]
        modules = self._project.modules
        for statement in self._project.module(file).body:
            if type(statement) is ir.Import:
                inner = f"{statement.module}.{statement.name}".strip(".")
                for dotted in (statement.module, inner):
                    target = modules.find(dotted, file, statement.level)
                    if target is not None and target in self._project.facts:
                        found.append(target)
        return [one for one in found if self._project.facts[one].module is not None]


def stopping_conditions(project: Project, file: str) -> list[Condition]:
    """The errors with which a module's own body ends, each as what must not be."""
    known: dict[str, list[Condition]] = project.stopping
    if file not in known:
        worth = _may_stop(project.text_of(file))
        known[file] = conditions_between(project.module(file).body) if worth else []
    return known[file]


@cache
def _pattern() -> re.Pattern[str]:
    return re.compile(r"version|hasattr|import", re.IGNORECASE)


def _may_stop(text: str) -> bool:
    return bool(_STOPS.search(text)) and bool(_pattern().search(text))


def _is_inside(site: CallSite, ref: FunctionRef, function: ir.Function) -> bool:
    return site.file == ref.file and ir.encloses(function.at, site.site.call.at)
