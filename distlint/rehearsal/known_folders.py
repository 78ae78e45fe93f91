"""The files that a program finds in folders of the project, in the rehearsal of a run of which everything is known (``Stage.witness``).

In which order a file system gives them is not known; most programs sort them.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from distlint.link.paths import folders_around
from distlint.rehearsal.values import Made

if TYPE_CHECKING:
    from distlint.model import python as ir
    from distlint.rehearsal.stage import Scope, Stage

MAX_FOUND = 64
"""Files that are told one by one; a folder with more holds data."""


class Listing(Made):
    """What a folder holds: a list whose order is not known where there are several. ``found`` has them by name."""

    __slots__ = ("found",)

    def __init__(self, found: list[Any], names: list[str], call: ir.Call | None) -> None:
        super().__init__("glob.glob()", call)
        self.found = found
        self.sign = ("listing", *names)

    def items(self, player: Any) -> list[Any] | None:
        """The only one, or none."""
        return self.found if len(self.found) < 2 else None

    def length(self, player: Any) -> Any:
        """How many there are."""
        return len(self.found)


def found_in(stage: Stage, folder: str, pattern: str, scope: Scope) -> list[PurePosixPath] | None:
    """The files and folders in a folder of the project whose names fit, by name.

    ``None`` where there is no such folder, the pattern is about more than names, or too many fit.
    """
    if folder.startswith("/") or "/" in pattern or "**" in pattern or "*" in folder:
        return None
    for around in dict.fromkeys([*folders_around(stage.entry), *folders_around(scope.file)]):
        parts = (PurePosixPath(around) / folder).parts
        paths = (PurePosixPath(one).parts for one in stage.project.paths)
        names = {one[len(parts)] for one in paths if len(one) > len(parts) and one[: len(parts)] == parts}
        if names:
            found = sorted(one for one in names if fnmatchcase(one, pattern))
            return [PurePosixPath(folder) / one for one in found] if len(found) <= MAX_FOUND else None
    return None


def has_folder(stage: Stage, folder: str) -> bool:
    """Whether files of the project lie in a folder, from its root."""
    return any(one.startswith(f"{folder}/") for one in stage.project.paths)
