"""Paths and texts of the project's own files, in the rehearsal of a run of which everything is known (``Stage.witness``).

What stands in a file of the project is what the program reads from it: as a text, line by line, or as a table. Where no run is
known, what a file holds is only the same on all processes (``documents``). What is made of texts is in ``known_texts``, what is executed
as Python in ``known_modules``, and what lists folders in ``known_folders``.
"""

from __future__ import annotations

import csv
import posixpath
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from distlint.link.paths import folders_around, resolve_path
from distlint.model import python as ir
from distlint.rehearsal.known_folders import Listing, found_in, has_folder
from distlint.rehearsal.unknowns import UNKNOWN
from distlint.rehearsal.values import Given, Items, Made, Table

if TYPE_CHECKING:
    from distlint.rehearsal.calls import Calls
    from distlint.rehearsal.stage import Scope, Stage

MAX_TEXT = 20_000
"""Characters of a file; one with more holds data rather than settings."""
MAX_LINES = 400
"""Lines of a file that is gone through."""

_PATHS = frozenset({"pathlib.Path", "pathlib.PurePath", "pathlib.PosixPath", "pathlib.PurePosixPath"})
_SAME = frozenset({"resolve", "absolute", "expanduser"})
_CHANGING = frozenset({"with_name", "with_stem", "with_suffix"})
_AS_TEXT = frozenset({"as_posix", "__str__", "__fspath__"})
_LISTING = frozenset({"glob.glob", "glob.iglob", "os.listdir"})
_OF_PATHS = frozenset({"basename", "dirname", "isabs", "join", "normpath", "split", "splitext"})


class KnownPath(Made):
    """A path object of which the text is known."""

    __slots__ = ("path",)

    def __init__(self, path: PurePosixPath, call: ir.Call | None) -> None:
        super().__init__("pathlib.Path()", call, Given([str(path)], {}))
        self.path = path
        self.sign = ("path", str(path))

    def attribute(self, player: Any, name: str, expr: ir.Expr, scope: Any) -> Any:
        """Its parts, and the folders around it."""
        if name == "parent":
            return KnownPath(self.path.parent, self.call)
        if name == "parents":
            return player.stage.made(Items([KnownPath(one, self.call) for one in self.path.parents]))
        return getattr(self.path, name) if name in ("name", "stem", "suffix") else NotImplemented

    def method(self, player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
        """Other paths, and what stands in the file."""
        values = [plain(one) for one in given.positional]
        if given.open or given.keywords.keys() - {"encoding", "mode", "errors"}:
            return NotImplemented
        if name in _SAME:
            return self
        if name in _AS_TEXT:
            return str(self.path)
        if name == "joinpath" and all(isinstance(one, str) for one in values):
            return KnownPath(self.path.joinpath(*values), call)
        if name in _CHANGING and len(values) == 1 and isinstance(values[0], str):
            try:
                return KnownPath(getattr(self.path, name)(values[0]), call)
            except ValueError:
                return UNKNOWN
        if name in ("exists", "is_file") and file_at(player.stage, str(self.path), scope) is not None:
            return True
        if name == "read_text":
            text = text_at(player.stage, str(self.path), scope)
            return NotImplemented if text is None else text
        if name == "open":
            file = player.made("builtins.open()", None, Given([str(self.path), *values], given.keywords), call, scope)
            return opened(player, file, scope)
        if name in ("glob", "iterdir"):
            pattern = values[0] if values else "*"
            found = found_in(player.stage, str(self.path), pattern, scope) if isinstance(pattern, str) else None
            return NotImplemented if found is None else _listing([KnownPath(one, call) for one in found], call)
        return NotImplemented

    def joined(self, other: Any) -> Any:
        """``path / other``; ``NotImplemented`` where the other one is not known."""
        other = plain(other)
        return KnownPath(self.path / other, self.call) if isinstance(other, str) else NotImplemented


class TextFile(Made):
    """A file of the project that is open for reading."""

    __slots__ = ("text",)

    def __init__(self, file: Made, path: str, text: str) -> None:
        super().__init__(file.name, file.call, Given([path], {}))
        self.file, self.function = file.file, file.function
        self.sign, self.source = file.sign, file.source
        self.text = text

    def entered(self, player: Any, span: Any) -> Any:
        """Itself."""
        return self

    def method(self, player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
        """What stands in it."""
        if name == "read" and not [*given.values()]:
            return self.text
        return player.stage.made(Items(self.items(player))) if name == "readlines" else NotImplemented

    def items(self, player: Any) -> list[Any] | None:
        """Its lines."""
        lines = self.text.splitlines(keepends=True)
        return list(lines) if len(lines) <= MAX_LINES else None


def plain(value: Any) -> Any:
    """The text of a known path; any other value as it is."""
    return str(value.path) if isinstance(value, KnownPath) else value


def called(player: Calls, name: str, given: Given, call: ir.Call, scope: Scope) -> Any:
    """What a function of the standard library makes of known paths and texts; ``NotImplemented`` for others."""
    values = [plain(one) for one in given.positional]
    if given.open or not values:
        return NotImplemented
    module, _, last = name.rpartition(".")
    if name in _PATHS and all(isinstance(one, str) for one in values) and not given.keywords:
        return KnownPath(PurePosixPath(*values), call)
    if module in ("os.path", "posixpath") and all(isinstance(one, str) for one in values):
        if last in ("abspath", "realpath", "expanduser"):
            return values[0]
        return getattr(posixpath, last)(*values) if last in _OF_PATHS else NotImplemented
    if name in _LISTING and isinstance(values[0], str):
        folder, pattern = (values[0], "*") if name == "os.listdir" else posixpath.split(values[0])
        found = found_in(player.stage, folder, pattern, scope) if len(values) == 1 and not given.keywords else None
        if found is None:
            return NotImplemented
        if name != "os.listdir" and not pattern.startswith("."):
            found = [one for one in found if not one.name.startswith(".")]  # hidden ones have to be asked for
        return _listing([one.name if name == "os.listdir" else str(one) for one in found], call)
    if name == "importlib.resources.files" and isinstance(values[0], str):
        folder = values[0].replace(".", "/")
        return KnownPath(PurePosixPath(folder), call) if has_folder(player.stage, folder) else NotImplemented
    if name == "os.fspath":
        return values[0] if isinstance(values[0], str) else NotImplemented
    reader = _READERS.get(name)
    return NotImplemented if reader is None else reader(player, values[0], given, call, scope)


def _listing(found: list[Any], call: ir.Call) -> Listing:
    return Listing(found, [plain(one) for one in found], call)


def opened(player: Calls, file: Made, scope: Scope) -> Made:
    """A file that was opened: with its text, where it is one of the project that is read."""
    path = plain(file.arguments.get("file", 0)) if file.arguments is not None else None
    mode = file.arguments.get("mode", 1, "r") if file.arguments is not None else UNKNOWN
    if not isinstance(path, str) or mode not in ("r", "rt"):
        return file
    text = text_at(player.stage, path, scope)
    return file if text is None else TextFile(file, path, text)


def text_at(stage: Stage, path: str, scope: Scope) -> str | None:
    """What stands in the file of the project that a path means; ``None`` where there is none, or it holds data."""
    file = file_at(stage, path, scope)
    text = stage.project.text_of(file) if file is not None else ""
    return text if 0 < len(text) <= MAX_TEXT else None


def file_at(stage: Stage, path: str, scope: Scope) -> str | None:
    """The file of the project that a path means for the code that names it; ``None`` where there is none."""
    folders = dict.fromkeys([*folders_around(stage.entry), *folders_around(scope.file)])
    return resolve_path(path, list(folders), stage.project.paths)


def _rows(player: Calls, file: Any, given: Given, call: ir.Call, scope: Scope) -> Any:
    """The rows of ``csv.reader``."""
    rows = _split(player, file, given)
    if rows is None:
        return NotImplemented
    return player.stage.made(Items([player.stage.made(Items(list(row))) for row in rows]))


def _records(player: Calls, file: Any, given: Given, call: ir.Call, scope: Scope) -> Any:
    """Those of ``csv.DictReader``, whose first row names the others' fields."""
    rows = _split(player, file, given)
    if not rows or any(len(row) != len(rows[0]) for row in rows):
        return NotImplemented
    records = (Table(dict(zip(rows[0], row, strict=True))) for row in rows[1:])
    return player.stage.made(Items([player.stage.made(one) for one in records]))


def _split(player: Calls, file: Any, given: Given) -> list[list[str]] | None:
    """The rows of a file or list of lines; ``None`` where these, or how they are split, are not known."""
    lines = player.items_of(file) if isinstance(file, TextFile | Items) else None
    delimiter = given.keywords.get("delimiter", ",")
    if lines is None or len(lines) > MAX_LINES or given.keywords.keys() - {"delimiter"} or len(given.positional) > 1:
        return None
    if not all(isinstance(one, str) for one in lines) or not isinstance(delimiter, str) or len(delimiter) != 1:
        return None
    try:
        return [row for row in csv.reader(lines, delimiter=delimiter) if row]
    except csv.Error:
        return None


def _variables(player: Calls, path: Any, given: Given, call: ir.Call, scope: Scope) -> Any:
    """``dotenv_values(path)``: what a file of variables says."""
    text = text_at(player.stage, path, scope) if isinstance(path, str) else None
    lines = [one.strip().removeprefix("export ") for one in (text or "").splitlines()]
    pairs = [one.partition("=") for one in lines if "=" in one and not one.startswith("#")]
    return NotImplemented if text is None else Table({key.strip(): one.strip().strip("\"'") for key, _, one in pairs})


def _into_environment(player: Calls, path: Any, given: Given, call: ir.Call, scope: Scope) -> Any:
    """``load_dotenv(path)``: what the environment does not hold already."""
    found = _variables(player, path, given, call, scope)
    if not isinstance(found, Table) or given.keywords:
        return NotImplemented
    for name, value in found.items.items():
        if not player.stage.exports(name):
            player.stage.environment.setdefault(name, value)
    return True


_READERS: dict[str, Callable[..., Any]] = {
    "dotenv.dotenv_values": _variables,
    "dotenv.load_dotenv": _into_environment,
    "csv.reader": _rows,
    "csv.DictReader": _records,
}
