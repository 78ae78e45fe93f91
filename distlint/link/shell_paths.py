"""Paths in scripts: relative ones, and those that start at the script or the working directory."""

from __future__ import annotations

import posixpath
from collections.abc import Callable

from distlint.link.shell_state import Directory
from distlint.link.shell_values import Chunk, Hole, Text, literal, places_of, plain


def root_text(path: str) -> Text:
    """The absolute path of something in the project."""
    hole = Hole("PROJECT", "the folder that the project lies in", place="root")
    return (hole, Chunk(f"/{path}")) if path else (hole,)


def directory_text(directory: Directory) -> Text:
    """The absolute path of a working directory."""
    if directory.base == "root":
        return root_text(directory.path)
    if directory.base == "start":
        hole = Hole("PWD", "the folder that the script is started from", place="start")
        return (hole, Chunk(f"/{directory.path}")) if directory.path else (hole,)
    return (Hole("PWD", "the working directory is not known"),)


def split_path(text: Text) -> tuple[str, str] | None:
    """(base, rest) of a path: ``root`` or ``start`` with what follows, or ``relative`` with all of it.

    ``None`` when unknown.
    """
    whole = plain(text)
    if whole is not None:
        return None if whole.startswith("/") else ("relative", whole)
    pieces = [piece for piece in text if not (isinstance(piece, Chunk) and not piece.text)]
    first = pieces[0]
    if not isinstance(first, Hole) or not first.place:
        return None
    rest = plain(tuple(pieces[1:]))
    if rest is None or (rest and not rest.startswith("/")):
        return None
    return first.place, rest.lstrip("/")


def directory_at(text: Text, current: Directory) -> Directory:
    """The directory that ``cd`` goes to."""
    found = split_path(text)
    if found is None:
        return Directory("", "unknown")
    base, rest = found
    if base == "relative":
        base, rest = current.base, posixpath.join(current.path, rest)
    path = normal(rest)
    return (
        Directory("", "unknown")
        if path is None and base == "root"
        else Directory(path if path is not None else rest, base)
    )


def normal(path: str) -> str | None:
    """The path without ``.`` and ``..``, ``""`` for the root; ``None`` for one that leaves the root."""
    result = posixpath.normpath(path) if path else "."
    if result == ".":
        return ""
    return None if result.startswith(("..", "/")) else result


def candidates(text: Text, directory: Directory, script: str) -> list[str]:
    """Project paths that a path in a script may mean, the likeliest first.

    A script may be started from its own folder, the project's root, or any folder between; what is known of the working
    directory comes first.
    """
    found = split_path(text)
    if found is None:
        return []
    base, rest = found
    if base == "relative":
        base, rest = directory.base, posixpath.join(directory.path, rest) if directory.base != "unknown" else rest
    starts = [""] if base == "root" else _starts(script)
    paths = [normal(posixpath.join(start, rest)) for start in starts]
    return list(dict.fromkeys(path for path in paths if path))


def _starts(script: str) -> list[str]:
    """The script's folder, the root, then the folders between, innermost first."""
    folder = posixpath.dirname(script)
    parents = [folder]
    while folder:
        folder = posixpath.dirname(folder)
        parents.append(folder)
    return list(dict.fromkeys([parents[0], "", *parents]))


def find_file(text: Text, directory: Directory, script: str, exists: Callable[[str], bool]) -> str:
    """The project file that a path in a script means, or ``""``."""
    return next((path for path in candidates(text, directory, script) if exists(path)), "")


def dirname(text: Text) -> Text | None:
    """What ``dirname`` prints, or ``None`` if that is not known."""
    whole = plain(text)
    if whole is not None:
        return literal(
            posixpath.dirname(whole.rstrip("/")) or ("/" if whole.startswith("/") else "."), *places_of(text)
        )
    found = split_path(text)
    if found is None or not found[1]:
        return None
    parent = posixpath.dirname(found[1].rstrip("/"))
    hole = next(piece for piece in text if isinstance(piece, Hole))
    return (hole, Chunk(f"/{parent}")) if parent else (hole,)


def basename(text: Text) -> Text | None:
    """What ``basename`` prints, or ``None`` if that is not known."""
    last = text[-1] if text else None
    if not isinstance(last, Chunk):
        return None
    whole = plain(text)
    if whole is None and "/" not in last.text:
        return None
    name = posixpath.basename((whole if whole is not None else last.text).rstrip("/"))
    return literal(name, *places_of(text))
