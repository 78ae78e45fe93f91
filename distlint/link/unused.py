"""Functions that nothing in a project names: no launch can come into them.

Told by the texts of all files, so that a name in a comment, in a configuration or in a string counts as a use.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from distlint.link.library_uses import function_around
from distlint.link.modules import ClassRef, FunctionRef
from distlint.model import python as ir
from distlint.model.span import Span

if TYPE_CHECKING:
    from distlint.link.project import Project

MAX_FILES = 1_000
"""Files that are looked through; of a larger project nothing is said."""

MAX_STEPS = 200
"""So many functions are asked for one answer."""

_NAMING = (
    ".py",
    ".pyi",
    ".ipynb",
    ".sh",
    ".bash",
    ".yaml",
    ".yml",
    ".toml",
    ".cfg",
    ".ini",
    ".json",
    ".slurm",
    ".md",
    "Makefile",
)
"""Ends of the names of files that may say which function is called; how a project is used is told in its README."""

_CALLED_FROM_OUTSIDE = re.compile(r"test|setup$|teardown|main$|pytest_")
"""Names by which tools find functions."""


class UnusedFunctions:
    """Answers for a project, remembered."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._places: dict[str, list[tuple[str, int, int]] | None] = {}
        self._known: dict[FunctionRef, bool] = {}
        self._steps = 0
        self._files: list[str] | None = None

    @classmethod
    def of(cls, project: Project) -> UnusedFunctions:
        """Those of a project."""
        found: UnusedFunctions = project.kept.setdefault(cls, cls(project))
        return found

    def has(self, ref: FunctionRef) -> bool:
        """Whether nothing names a function, or only functions do that nothing else names; false where that can't be told."""
        if ref not in self._known:
            self._steps = 0
            self._known[ref] = self._holds(ref, frozenset())
        return self._known[ref]

    def _holds(self, ref: FunctionRef, asked: frozenset[FunctionRef]) -> bool:
        """The same while others are asked for: functions that only name each other are all unused."""
        if ref in asked:
            return True
        self._steps += 1
        if self._steps > MAX_STEPS or self._known.get(ref) is False:
            return False
        asked |= {ref}
        function = self._project.function(ref)
        if function.parent >= 0 and self._holds(FunctionRef(ref.file, function.parent), asked):
            return True
        owner = self._project.class_(ClassRef(ref.file, function.owner)) if function.owner >= 0 else None
        if owner is not None and self._is_class_unused(ref.file, owner, asked):
            return True
        if function.decorators or function.name.startswith("__") or _CALLED_FROM_OUTSIDE.match(function.name):
            return False
        if owner is not None and owner.bases:
            return False  # what it derives from may call it
        return self._only_unused_name(function.name, ref.file, function.name_at, function.at, asked)

    def _is_class_unused(self, file: str, owner: ir.Class, asked: frozenset[FunctionRef]) -> bool:
        plain = not owner.decorators and not owner.keywords and not _CALLED_FROM_OUTSIDE.match(owner.name.lower())
        # A class of the project may enter what derives from it into a table.
        of_library = all(self._project.modules.dotted(base, file) for base in owner.bases)
        return plain and of_library and self._only_unused_name(owner.name, file, owner.name_at, owner.at, asked)

    def _only_unused_name(
        self, name: str, file: str, own: ir.Position, whole: ir.Position, asked: frozenset[FunctionRef]
    ) -> bool:
        places = self._places_of(name)
        if places is None:
            return False
        start = ir.unpack(own, file)
        inside = ir.unpack(whole, file)
        return all(
            (path, line, column) == (start.file, start.line, start.column)
            or inside.contains(Span(path, line, column, line, column))
            or self._is_in_unused(path, line, column, asked)
            for path, line, column in places
        )

    def _is_in_unused(self, file: str, line: int, column: int, asked: frozenset[FunctionRef]) -> bool:
        if file not in self._project.facts or not file.endswith(".py"):
            return False
        at = ir.pack(line, column, line, column)
        function = function_around(self._project.module(file), at)
        return function >= 0 and self._holds(FunctionRef(file, function), asked)

    def _places_of(self, name: str) -> list[tuple[str, int, int]] | None:
        """Where a name stands; ``None`` where there is too much to look through, or functions are found by texts that are put together."""
        if name not in self._places:
            files = self._all_files()
            self._places[name] = self._looked_for(name, files) if len(files) <= MAX_FILES else None
        return self._places[name]

    def _looked_for(self, name: str, files: list[str]) -> list[tuple[str, int, int]] | None:
        pattern, pieces = re.compile(rf"\b{re.escape(name)}\b"), _pieces(name)
        found: list[tuple[str, int, int]] = []
        for file in files:
            text = self._project.text_of(file)
            if pieces is not None and pieces.search(text):
                return None
            if name in text:
                for number, line in enumerate(text.splitlines(), 1):
                    found += [(file, number, match.start() + 1) for match in pattern.finditer(line)]
        return found

    def _all_files(self) -> list[str]:
        if self._files is None:
            self._files = sorted(path for path in self._project.paths if path.endswith(_NAMING))
        return self._files


def _pieces(name: str) -> re.Pattern[str] | None:
    """What tells that a name may be put together: ``f"step_{kind}"``, ``"_" + kind``."""
    cuts = [place for place, letter in enumerate(name) if letter == "_" and place < len(name) - 1]
    if not cuts:
        return None
    begins = "|".join(re.escape(name[: cut + 1]) for cut in cuts)
    ends = "|".join(re.escape(name[cut:]) for cut in cuts if cut)
    if not ends:
        return re.compile(rf"[\"'](?:{begins})[\"'{{%]")
    return re.compile(rf"[\"'](?:{begins})[\"'{{%]|[\"'}}](?:{ends})[\"']")
