"""Paths as values: what ``os.path`` and ``pathlib`` make of them, without touching a file system."""

from __future__ import annotations

import pathlib
import posixpath
from collections.abc import Collection


class PathText(str):
    """A path that the program holds as a path object: ``/`` joins it."""

    __slots__ = ()

    @property
    def parent(self) -> PathText:
        """The folder that holds it."""
        return type(self)(posixpath.dirname(self))

    def changed(self, method: str, new: str) -> PathText:
        """What ``with_name``, ``with_stem`` or ``with_suffix`` gives. Raises ``ValueError`` as they do."""
        return type(self)(getattr(pathlib.PurePosixPath(self), method)(new))

    def joined(self, other: str) -> PathText:
        """The path below it; an absolute one replaces it."""
        return type(self)(posixpath.join(self, other))


class ProjectPath(PathText):
    """A path relative to the project root (made from ``__file__``), not to the working directory."""

    __slots__ = ()


def resolve_path(text: str, base_folders: Collection[str], exists: Collection[str]) -> str | None:
    """The project file that a path means: relative to the first of ``base_folders`` (relative to the root) in which it exists.

    Paths that leave the project, absolute ones and URLs mean none.
    """
    if isinstance(text, ProjectPath):
        base_folders = ("",)
    text = text.strip()
    if not text or "://" in text or "\0" in text or text.startswith(("/", "~")) or len(text) > 1000:
        return None
    for folder in base_folders:
        candidate = posixpath.normpath(posixpath.join(folder, text))
        if not candidate.startswith("..") and candidate in exists:
            return candidate
    return None


def folders_around(file: str) -> list[str]:
    """The folders in which a relative path of a program may be meant: the root, the program's own folder, those between, ``""`` first."""
    folder = posixpath.dirname(file)
    found = [""]
    while folder:
        found.append(folder)
        folder = posixpath.dirname(folder)
    return [found[0], *found[1:]]
