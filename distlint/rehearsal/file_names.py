"""Names of functions and methods that make, read, remove or ask for files: those of Python and of common libraries.

A framework names its own (``FrameworkSpec.file_calls``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from distlint.link.project import Project

_ASKING = frozenset({"os.path.exists", "os.path.isfile", "os.path.isdir", "os.path.lexists"})
_ASKING_METHODS = frozenset({"exists", "is_file", "is_dir"})
_SEARCHING = frozenset({"glob.glob", "glob.iglob"})
_SEARCHING_METHODS = frozenset({"glob", "rglob"})

_MAKING = {
    **dict.fromkeys(("makedirs", "mkdir", "savetxt", "imwrite", "touch", "write_text", "write_bytes"), 0),
    **dict.fromkeys(("copy", "copy2", "copyfile", "copytree", "move"), 1),
    **dict.fromkeys(("replace", "rename", "renames", "symlink", "link"), 1),
    "urlretrieve": 1,
}
MAKING_PREFIXES = (
    *("save", "write_", "extract", "export", "unpack", "make_archive"),
    *("to_csv", "to_json", "to_parquet", "to_pickle"),
)
"""What the names of functions start with that make a file or folder, whose path is one of their first arguments."""
MAKING_ITSELF = frozenset({"mkdir", "touch", "write_text", "write_bytes"})
"""Methods of a path that make it."""
_LINKING = frozenset({"symlink_to", "hardlink_to"})
_DUMPING = "dump"

_READING = frozenset(
    {
        *("load", "load_file", "load_model", "loadtxt", "genfromtxt", "fromfile", "memmap", "safe_open"),
        *("imread", "read_image", "read_csv", "read_json", "read_parquet", "read_pickle", "read_table", "read_video"),
        *("from_file", "listdir", "scandir", "getsize", "stat", "from_json"),
    }
)
READING_ITSELF = frozenset({"read_text", "read_bytes", "iterdir", "stat"})
"""Methods of a path that read what is there."""
REMOVING = frozenset({"remove", "unlink", "rmtree", "rmdir", "removedirs"})
"""Functions that remove the path that they get first."""
REMOVING_ITSELF = frozenset({"unlink", "rmdir"})
"""Methods of a path that remove it."""

RENAMING = frozenset({"rename", "renames", "replace", "move"})
"""Functions, and methods of a path, that give what is under it another path."""

FOLDERS = frozenset({"makedirs", "mkdir"})
"""Functions and methods that make a folder."""
_FILLING = ("extract", "copytree", "unpack")
"""What the names of functions start with that make a folder with what is in it, and those above it where they are not there."""


def is_asking(name: str, *, method: bool = False) -> bool:
    """Whether a library's function, or a method of a path, tells whether a file is there."""
    return name in (_ASKING_METHODS if method else _ASKING)


def is_looking(name: str, *, method: bool = False) -> bool:
    """Whether one tells whether a file is there, or which ones are."""
    return is_asking(name, method=method) or name in (_SEARCHING_METHODS if method else _SEARCHING)


def is_waiting(name: str) -> bool:
    """Whether a library's function lets some time go by."""
    return name.rpartition(".")[2] == "sleep"


class FileNames(NamedTuple):
    """The names that depend on the frameworks that a project may use.

    ``making`` are last names of functions with the place of the path that they make among their arguments, ``reading`` those of
    functions and methods that read the path that they get first, ``filling`` what the names of those that make full folders start with.
    """

    making: Mapping[str, int]
    reading: frozenset[str]
    filling: tuple[str, ...]

    @classmethod
    def of(cls, project: Project) -> FileNames:
        """Those for a project, worked out once."""
        if cls not in project.kept:
            own = [one for spec in project.specs for one in spec.file_calls]
            making = {name: place for name, _, place in own if place is not None}
            reading = {name for name, what, _ in own if what == "reads"}
            filling = [name for name, what, _ in own if what == "fills"]
            project.kept[cls] = cls({**_MAKING, **making}, _READING | reading, (*_FILLING, *sorted(filling)))
        found: FileNames = project.kept[cls]
        return found

    def is_writing(self, name: str) -> bool:
        """Whether a function or method of this name makes the files whose paths it is given."""
        last = name.rpartition(".")[2]
        return last in self.making or last in _LINKING or last.startswith((_DUMPING, *MAKING_PREFIXES))
