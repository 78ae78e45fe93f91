"""How many files a program finds in a folder that it has filled itself: a row of them, certainly written, one by one.

All processes together know what was written: one writes, as a rule, and the others find it.
"""

from __future__ import annotations

from collections.abc import Hashable
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from distlint.rehearsal.unknowns import Opaque
from distlint.rehearsal.values import Items, Made, derived, source_of

if TYPE_CHECKING:
    from distlint.rehearsal.stage import Stage

Path = tuple[Hashable, ...]

LEAST = 2
"""Files that have to be there: one alone may be some file beside those that were there before."""

_ASKED = "what tells whether a file is there"

_IN_FOLDER = frozenset({"os.listdir", "os.scandir"})
_BY_PATTERN = frozenset({"glob.glob", "glob.iglob"})


class Folders:
    """The names of the files that processes have written, by the folder; ``unclear`` are folders in which there may be others.

    ``sent`` are the paths that a process has told the others, by what tells these from then on.
    """

    __slots__ = ("names", "sent", "unclear")

    def __init__(self) -> None:
        self.names: dict[Path, set[str]] = {}
        self.unclear: set[Path] = set()
        self.sent: dict[Hashable, Path] = {}

    def place(self, path: Path) -> Path:
        """The path under which the one that knows it first has it."""
        return (*self.sent[path[0]], *path[1:]) if path and path[0] in self.sent else path


def filled(stage: Stage, path: Path) -> None:
    """A file is written under a path. What each process has written of its own is not there yet when others before it ask."""
    folders = stage.shared.folders
    path, name = folders.place(path), path[-1]
    others = stage.shared.note(stage.rank, ("written", path[:-1]), name)
    if isinstance(name, str) and not (others or stage.repeating) and _is_made(stage):
        folders.names.setdefault(path[:-1], set()).add(name)
    else:
        folders.unclear.add(path[:-1])


def asked_for(stage: Stage, result: Any) -> None:
    """What a function gave tells whether something is there."""
    if isinstance(result, Opaque | Made) and result.sign is not None:
        stage.kept.setdefault(_ASKED, set()).update({result.sign, derived("not", [result]).sign})


def _is_made(stage: Stage) -> bool:
    """Whether what is written here is there afterwards: it is written for certain, or where it is not there yet.

    What was there before is what the same program has written when it was started first.
    """
    known = stage.kept.get(_ASKED, ())
    return len(stage.reasons) == stage.unsure and all(
        isinstance(one, Opaque | Made) and one.sign in known for one in stage.reasons
    )


def moved(stage: Stage, old: Path | None, new: Path | None) -> None:
    """A file or a folder is renamed."""
    folders = stage.shared.folders
    if not old or not new:
        return
    old, new = folders.place(old), folders.place(new)
    sure = _is_made(stage) and not stage.repeating
    for folder in [one for one in folders.names if one[: len(old)] == old]:
        names = folders.names.pop(folder)
        folders.names.setdefault((*new, *folder[len(old) :]), set()).update(names)
        if folder in folders.unclear or not sure:
            folders.unclear.add((*new, *folder[len(old) :]))
    names = folders.names.get(old[:-1], set())
    if old[-1] in names and sure:
        names.discard(old[-1])
    elif old[-1] in names:
        folders.unclear.add(old[:-1])


def removed(stage: Stage, path: Path | None) -> None:
    """A single file is removed."""
    if path is not None:
        stage.shared.folders.unclear.add(stage.shared.folders.place(path)[:-1])


def told(stage: Stage, path: Path | None, sign: Hashable) -> None:
    """All processes get what may be a path from one of them, and know it by another sign from then on."""
    if path is not None and path != (sign,):
        stage.shared.folders.sent[sign] = stage.shared.folders.place(path)


def is_listing(name: str, *, method: bool = False) -> bool:
    """Whether a library's function, or a method of a path, gives the files that are there."""
    return name in ("glob", "iterdir") if method else name in _IN_FOLDER or name in _BY_PATTERN


def listed(stage: Stage, name: str, path: Path | None, pattern: Any, result: Any) -> Any:
    """What a function that lists files gives: as many as the program has written there, where that is known, else ``result``.

    ``path`` is the folder, with the pattern as its last part for functions that have both in one.
    """
    if path is not None and name in _BY_PATTERN:
        path, pattern = path[:-1], path[-1] if path else None
    if path is None or (pattern is not None and not isinstance(pattern, str)) or source_of([result]) is not None:
        return result
    folders = stage.shared.folders
    path = folders.place(path)
    if path not in folders.names:
        folders.unclear.add(path)
    found = [one for one in folders.names.get(path, ()) if pattern is None or fnmatchcase(one, pattern)]
    if path in folders.unclear or len(found) < LEAST:
        return result
    made = Items(None, len(found))
    made.whole = derived("files", [result])
    return made
