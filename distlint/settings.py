"""Settings: where they are found, what they may say, and where each of them came from.

They stand in ``distlint.toml``, ``.distlint.toml`` or ``[tool.distlint]`` of ``pyproject.toml``; the nearest folder
above the analysed path wins, and the search stops at the repository's root. The command line beats them.

The project is the repository around the analysed path, unless the nearest settings file says ``root = true``: then it
is the folder of that file, and nothing above it is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, NamedTuple

from distlint.judge.selection import SelectionLayer
from distlint.model.finding import Severity
from distlint.model.record import dataclass
from distlint.model.value import Confidence

FILE_NAMES = ("distlint.toml", ".distlint.toml")
MAX_SETTINGS_BYTES = 1024 * 1024
MAX_EXTENDS = 8


class SettingsError(ValueError):
    """Settings that are wrong: ``where`` is ``file:line``, or names the option on the command line."""

    def __init__(self, where: str, message: str) -> None:
        super().__init__(f"{where}: {message}" if where else message)
        self.where = where
        self.message = message


class FilePattern(NamedTuple):
    """A pattern as in ``.gitignore`` (``""`` fits all), relative to ``folder``, which is relative to the root."""

    pattern: str
    folder: str


class IgnoreEntry(NamedTuple):
    """An ``[[ignore]]`` table: silences ``rule`` (a selector) in files that fit ``file``, at a configuration ``path``.

    ``path`` holds the keys joined by ``/`` or dots, ``""`` for all; ``where`` says where the table stands.
    """

    rule: str
    file: FilePattern
    path: str
    reason: str
    where: str


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of one call of distlint.

    ``root`` is the project's root (see ``load_settings``), ``file`` the settings file that was used. ``layers`` are the
    selections of the file and of the command line. ``severity`` and ``per_file_ignores`` go by selector. ``pins`` are
    requirements that override those of the project; so does what is installed in the environment ``installed``.
    ``exclude`` holds patterns of files that are not read.
    ``no_ignores`` shows what comments and tables silence.
    """

    root: Path
    file: Path | None = None
    layers: tuple[SelectionLayer, ...] = ()
    severity: Mapping[str, Severity] = field(default_factory=dict)
    per_file_ignores: tuple[tuple[FilePattern, tuple[str, ...]], ...] = ()
    ignores: tuple[IgnoreEntry, ...] = ()
    pins: Mapping[str, str] = field(default_factory=dict)
    installed: Path | None = None
    world_size: int | None = None
    gpus_per_node: int | None = None
    gpu_memory: int | None = None
    """Bytes of memory of each device."""
    exclude: tuple[FilePattern, ...] = ()
    min_confidence: Confidence = Confidence.LIKELY
    fail_on: Severity = Severity.WARNING
    rule_folders: tuple[Path, ...] = ()
    installed_rules: bool = False
    require_reason: bool = False
    no_ignores: bool = False
    values: Mapping[str, Any] = field(default_factory=dict)
    """The plain values by key, for ``describe``."""
    origins: Mapping[str, str] = field(default_factory=dict)
    """Where each key was set: ``file:line``, ``command line`` or ``--set``. Keys in tables are ``key.name``."""

    def origin(self, key: str, name: str = "") -> str:
        """Where a key, or one name in its table, was set; ``""`` for a default."""
        return self.origins.get(f"{key}.{name}", "") or self.origins.get(key, "")

    def describe(self) -> Iterator[tuple[str, Any, str]]:
        """Every key with its value and origin (``default`` where nobody set it), in the order of the keys."""
        from distlint.settings_schema import OPTIONS

        for key in sorted(OPTIONS):
            yield key, self.values.get(key, OPTIONS[key].default), self.origins.get(key, "default")


def load_settings(
    start: Path,
    *,
    config: Path | None = None,
    isolated: bool = False,
    overrides: Mapping[str, Any] | None = None,
    assignments: Sequence[str] = (),
) -> Settings:
    """The settings for a path: from the nearest file, or from ``config``, or with ``isolated`` from no file.

    ``overrides`` are values from the command line by key, ``assignments`` the texts of ``--set key=value``. The root is
    the folder of the nearest file if that says ``root = true``, else the repository's. Raises ``SettingsError`` for
    whatever is wrong in any of them.
    """
    from distlint.settings_schema import assemble, parse_assignment

    folder = start if start.is_dir() else start.parent
    folder = folder.resolve()
    file = None if isolated else _explicit(config) if config is not None else find_settings(folder)
    nearest = file if config is None else None
    root = find_root(nearest.parent if nearest is not None else folder)
    if nearest is not None and _values(nearest, root).get("root") is True:
        root = nearest.parent
    layers = [_read(file, root, ())] if file is not None else []
    command = [parse_assignment(text) for text in assignments]
    return assemble(root, file, layers, command, overrides or {})


def find_root(folder: Path) -> Path:
    """The repository's root above a folder: the one with ``.git`` (a folder or a file); else the folder."""
    for candidate in (folder, *folder.parents):
        if (candidate / ".git").exists():
            return candidate
    return folder


def find_settings(folder: Path) -> Path | None:
    """The settings file in the nearest folder from ``folder`` up to the repository's root, or ``None``."""
    for candidate in (folder, *folder.parents):
        for name in FILE_NAMES:
            if (candidate / name).is_file():
                return candidate / name
        project = candidate / "pyproject.toml"
        if project.is_file() and b"[tool.distlint" in _bytes(project):
            return project
        if (candidate / ".git").exists():
            return None
    return None


class SettingsFile(NamedTuple):
    """A settings file that was read: its folder relative to the root, its keys, and where each stands.

    A file outside of the project, which only ``--config`` can name, counts as one in the root.
    """

    path: Path
    folder: str
    values: dict[str, Any]
    places: Mapping[str, str]
    base: SettingsFile | None


def _explicit(config: Path) -> Path:
    if not config.is_file():
        raise SettingsError(str(config), "there is no such settings file")
    return config.resolve()


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_SETTINGS_BYTES + 1)
    except OSError as error:
        raise SettingsError(str(path), f"cannot be read: {error.strerror or error}") from None
    if len(data) > MAX_SETTINGS_BYTES:
        raise SettingsError(str(path), f"is larger than {MAX_SETTINGS_BYTES} bytes")
    return data


def _read(path: Path, root: Path, seen: tuple[Path, ...]) -> SettingsFile:
    """A settings file and, through ``extend``, the one that it builds on."""
    from distlint.settings_schema import check_values, places_of

    name = _name(path, root)
    text = _text(path, name)
    values = _parse(text, name, in_project=path.name == "pyproject.toml")
    places = places_of(text, name, values, "tool.distlint" if path.name == "pyproject.toml" else "")
    check_values(values, lambda key: places.get(key, name))
    base = _base(values.get("extend", ""), path, root, (*seen, path), places)
    folder = path.parent.relative_to(root).as_posix() if path.is_relative_to(root) else ""
    return SettingsFile(path, "" if folder == "." else folder, values, places, base)


def _values(path: Path, root: Path) -> dict[str, Any]:
    """The keys of a settings file, unchecked."""
    name = _name(path, root)
    return _parse(_text(path, name), name, in_project=path.name == "pyproject.toml")


def _text(path: Path, name: str) -> str:
    try:
        return _bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SettingsError(f"{name}:1", f"is not UTF-8: byte {error.start} does not decode") from None


def _base(
    extended: str, path: Path, root: Path, seen: tuple[Path, ...], places: Mapping[str, str]
) -> SettingsFile | None:
    if not extended:
        return None
    where = places.get("extend", str(path))
    base = (path.parent / extended).resolve()
    if not base.is_relative_to(root) and not base.is_relative_to(find_root(path.parent)):
        raise SettingsError(where, f"`{extended}` lies outside the repository")
    if not base.is_file():
        raise SettingsError(where, f"there is no file `{extended}`")
    if base in seen or len(seen) > MAX_EXTENDS:
        raise SettingsError(where, f"`{extended}` extends itself")
    return _read(base, root, seen)


def _parse(text: str, name: str, *, in_project: bool) -> dict[str, Any]:
    import tomli

    from distlint.judge.tomltext import TomlText

    try:
        data = tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        line, message = TomlText(text).decode_error(error)
        raise SettingsError(f"{name}:{line}", f"not TOML: {message}") from None
    except RecursionError:
        raise SettingsError(f"{name}:1", "not TOML: nested too deeply") from None
    if in_project:
        tool = data.get("tool", {})
        data = tool.get("distlint", {}) if isinstance(tool, dict) else {}
        if not isinstance(data, dict):
            raise SettingsError(f"{name}:1", "`tool.distlint` has to be a table")
    return data


def _name(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()
