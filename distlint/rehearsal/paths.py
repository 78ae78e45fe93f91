"""Paths in a rehearsal, and what a process does with the files behind them: makes, reads, removes them, or asks for them.

A path is a row of parts: the texts that are known, and the signatures of what is not. So one that is put together of an unknown
folder and a name is known to lie in that folder. What is done with files stands in the trace as ``Touch``.
"""

from __future__ import annotations

import posixpath
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from distlint.model import python as ir
from distlint.rehearsal.entities import MethodOf
from distlint.rehearsal.file_names import (
    FOLDERS,
    MAKING_ITSELF,
    MAKING_PREFIXES,
    READING_ITSELF,
    REMOVING,
    REMOVING_ITSELF,
    RENAMING,
    FileNames,
    is_asking,
    is_looking,
    is_waiting,
)
from distlint.rehearsal.listings import asked_for, filled, is_listing, listed, moved, removed
from distlint.rehearsal.trace import Touch
from distlint.rehearsal.unknowns import Opaque, Source, is_text
from distlint.rehearsal.values import Given, Made, Thing, source_of

if TYPE_CHECKING:
    from distlint.rehearsal.stage import Scope, Stage

Path = tuple[Hashable, ...]

MAKES, READS, REMOVES, ASKS, WAITS = "makes", "reads", "removes", "asks", "waits"

_SAME = frozenset({"pathlib.Path", "pathlib.PurePath", "pathlib.PosixPath", "builtins.str", "os.fspath"})
"""Functions that give the path that they get (several parts are joined)."""
_MAX_WRITTEN = 64
"""Files that are remembered for one place."""

_SAME_METHODS = frozenset({"resolve", "absolute", "expanduser", "as_posix", "__str__"})


def path_of(stage: Stage, value: Any) -> Path | None:
    """The parts of a path; ``None`` where nothing is known of it."""
    if isinstance(value, str):
        return _parts(value)
    if not isinstance(value, Opaque | Made) or value.sign is None:
        return None
    known: Path | None = stage.kept.setdefault("paths", {}).get(value.sign)
    return known if known is not None else (value.sign,)


def _parts(text: str) -> Path:
    plain = posixpath.normpath(text) if text else "."
    return tuple(
        part for part in (("/",) if plain.startswith("/") else ()) + tuple(plain.split("/")) if part not in ("", ".")
    )


def joined(stage: Stage, result: Any, parts: Iterable[Any]) -> Any:
    """Remembers that a value is the path that some parts make together; gives the value."""
    if isinstance(result, Opaque | Made) and result.sign is not None:
        row: list[Hashable] = []
        for part in parts:
            path = path_of(stage, part)
            if path is None:
                return result
            row = [*path] if path[:1] == ("/",) else [*row, *path]
        stage.kept.setdefault("paths", {})[result.sign] = tuple(row)
    return result


def text_path(stage: Stage, result: Any, values: list[Any]) -> Any:
    """Remembers that a formatted text that begins with a folder and goes on behind a ``/`` is a path in it."""
    if len(values) > 1 and isinstance(values[1], str) and values[1].startswith("/") and not isinstance(values[0], str):
        rest = (
            "".join(str(one) for one in values[1:]) if all(isinstance(one, str | int) for one in values[1:]) else None
        )
        if rest is not None:
            return joined(stage, result, [values[0], rest.lstrip("/")])
    return result


def of_function(stage: Stage, name: str, given: Given, result: Any) -> Any:
    """Remembers the path that a function of a library gives."""
    if name == "os.path.join" or name in _SAME:
        return joined(stage, result, given.positional)
    if name == "os.path.dirname" and given.positional:
        return _above(stage, result, given.positional[0])
    if is_asking(name):
        asked_for(stage, result)
    if is_listing(name):
        values = [*given.values()]
        return listed(stage, name, path_of(stage, values[0]) if values else None, None, result)
    return result


def of_method(stage: Stage, receiver: Any, name: str, given: Given, result: Any) -> Any:
    """Remembers the path that a method of a path gives."""
    if isinstance(receiver, Opaque | Made):
        if name == "joinpath":
            return joined(stage, result, [receiver, *given.positional])
        if name in _SAME_METHODS:
            return joined(stage, result, [receiver])
        if is_asking(name, method=True):
            asked_for(stage, result)
        if is_listing(name, method=True):
            pattern = given.get("pattern", 0)
            return listed(stage, name, path_of(stage, receiver), pattern, result)
    return result


def _above(stage: Stage, result: Any, value: Any) -> Any:
    path = path_of(stage, value)
    if path is not None and len(path) > 1 and isinstance(result, Opaque | Made) and result.sign is not None:
        stage.kept["paths"][result.sign] = path[:-1]
    return result


def opened(stage: Stage, value: Any, mode: Any, call: ir.Expr, scope: Scope, *, handled: bool) -> None:
    """Notes that a file is opened."""
    if not isinstance(mode, str):
        return
    if set(mode).isdisjoint("wax"):
        _note(stage, ASKS if handled else READS, value, call, scope)
    else:
        _made(stage, [value], "open", call, scope, handled=handled)


def touched(stage: Stage, name: str, given: Given, call: ir.Expr, scope: Scope, *, handled: bool) -> None:
    """Notes what a function of a library does with files."""
    last = name.rpartition(".")[2]
    values = [*given.values()]
    names = FileNames.of(stage.project)
    if is_waiting(name):
        _mark(stage, WAITS, (), call, scope)
    elif is_looking(name):
        _note(stage, ASKS, values[0] if values else None, call, scope)
    elif last in names.making:
        place = names.making[last]
        if last in RENAMING and len(values) > 1:
            moved(stage, path_of(stage, values[0]), path_of(stage, values[1]))
        _made(stage, values[place : place + 1], last, call, scope, handled=handled)
    elif last == "memmap" and str(given.get("mode", 2, "r")).startswith("w"):
        _made(stage, values[:1], last, call, scope, handled=handled)
    elif last.startswith(MAKING_PREFIXES):
        _made(stage, values[:3], last, call, scope, handled=handled)
    elif last in REMOVING and values:
        if last in ("remove", "unlink"):
            removed(stage, path_of(stage, values[0]))
        _note(stage, ASKS if handled else REMOVES, values[0], call, scope)
    elif last in names.reading and values:
        _note(stage, ASKS if handled else READS, values[0], call, scope)


def touched_by_method(
    stage: Stage, receiver: Any, name: str, given: Given, call: ir.Expr, scope: Scope, *, handled: bool
) -> None:
    """Notes what a method does with files: those of a path, and those that save an object somewhere."""
    values = [*given.values()]
    if isinstance(receiver, Made) and name in receiver.written_by_first and stage.rank > 0:
        return
    if isinstance(receiver, Made | Opaque):
        if name == "open":
            opened(stage, receiver, given.get("mode", 0, "r"), call, scope, handled=handled)
        elif is_looking(name, method=True):
            _note(stage, ASKS, receiver, call, scope)
        elif name in MAKING_ITSELF:
            _made(stage, [receiver], name, call, scope, handled=handled)
        elif name in REMOVING_ITSELF:
            removed(stage, path_of(stage, receiver))
            _note(stage, ASKS if handled else REMOVES, receiver, call, scope)
        elif name in READING_ITSELF:
            _note(stage, ASKS if handled else READS, receiver, call, scope)
        elif name in RENAMING and values:
            moved(stage, path_of(stage, receiver), path_of(stage, values[0]))
            _note(stage, MAKES, values[0], call, scope)
    if isinstance(receiver, Made | Opaque | Thing | MethodOf) and name.startswith(MAKING_PREFIXES):
        _made(stage, values[:2], name, call, scope, handled=handled)
    elif name in FileNames.of(stage.project).reading and values and not isinstance(receiver, str | bytes):
        _note(stage, ASKS if handled else READS, values[0], call, scope)


def _made(stage: Stage, values: Sequence[Any], name: str, call: ir.Expr, scope: Scope, *, handled: bool) -> None:
    """A file or folder is made, of which one of some values is the path."""
    if name in FOLDERS or name.startswith(FileNames.of(stage.project).filling):
        for value in values:
            _note(stage, MAKES, value, call, scope)
        return
    _writes(stage, values, call, scope)
    for value in values:
        _written(stage, value, call, scope, handled=handled)


def _written(stage: Stage, value: Any, call: ir.Expr, scope: Scope, *, handled: bool) -> None:
    """A file is made; the folder that it lies in has to be there."""
    path = path_of(stage, value)
    if path is None:
        return
    if path:
        filled(stage, path)
    if len(path) > 1:
        _mark(stage, ASKS if handled else READS, path[:-1], call, scope)
    _mark(stage, MAKES, path, call, scope, source_of([value]))


def _writes(stage: Stage, values: Sequence[Any], call: ir.Expr, scope: Scope) -> None:
    """Remembers which file is written at a place, and why it is another one on each process, if it is.

    One of some values is its path: the first that certainly is a path, else nobody knows which file it is.
    """
    paths = stage.kept.get("paths", {})
    value = next(
        (
            one
            for one in values
            if isinstance(one, str) or is_text(one) or (isinstance(one, Opaque | Made) and one.sign in paths)
        ),
        None,
    )
    path = None if value is None else path_of(stage, value)
    rows = stage.written.setdefault(ir.unpack(call.at, scope.file), {})
    if path is not None and len(rows) < _MAX_WRITTEN:
        rows[path] = source_of([value])
    else:
        rows[None] = None


def _note(stage: Stage, kind: str, value: Any, call: ir.Expr, scope: Scope) -> None:
    path = path_of(stage, value)
    if path:
        _mark(stage, kind, path, call, scope, source_of([value]))


def _mark(stage: Stage, kind: str, path: Path, call: ir.Expr, scope: Scope, source: Source | None = None) -> None:
    if not stage.quiet:
        stage.touches.add(kind)
        stage.mark(Touch(kind, path, ir.unpack(call.at, scope.file), stage.chain, source))
