"""Finds the files of a project that matter: one walk that honours ignore files and follows no link out of the root."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from distlint.discover.classify import is_test_module, kind_by_content, kind_by_name
from distlint.discover.triage import Triage
from distlint.model.finding import Note, ProjectError
from distlint.model.source import MAX_BYTES, Source, SourceKind
from distlint.model.span import whole_line

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

SKIPPED_FOLDERS = frozenset(
    {
        ".git", ".hg", ".svn", ".bzr", "node_modules", "__pycache__", "site-packages", "dist-packages", ".tox", ".nox", ".venv",
        "venv", ".eggs", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".ipynb_checkpoints", ".direnv", ".pixi", "__pypackages__",
        "third_party", "thirdparty", "third-party", "3rdparty", "vendor", "vendored", "_vendor", ".idea",
    }
)  # fmt: skip
"""Folders that never hold the project's own code: version control, caches, environments, vendored copies."""

MAX_FILES = 200_000
"""The walk stops after so many directory entries, with a note."""


@dataclass(slots=True)
class Discovery:
    """What the walk found: sources to read (sorted by path), every project file's path, and why others were left out."""

    sources: list[Source] = field(default_factory=list)
    paths: set[str] = field(default_factory=set)
    notes: list[Note] = field(default_factory=list)
    errors: list[ProjectError] = field(default_factory=list)
    decisions: list[tuple[str, SourceKind | None, str]] = field(default_factory=list)
    """(path, kind, why it is read or not), for ``--show-files``; filled only when asked for."""


def discover(
    root: str, triage: Triage, *, exclude: Sequence[str] = (), explain: bool = False, wanted: Callable[[str], bool] | None = None
) -> Discovery:
    """Walks ``root``.

    ``exclude`` are gitignore patterns of the user's settings, relative to the root. ``wanted`` names files that were given on the
    command line: they are read even if they look irrelevant, and it is an error when they can't be.
    """
    return _Walk(root, triage, exclude, explain, wanted).run()


class _Walk:
    def __init__(
        self, root: str, triage: Triage, exclude: Sequence[str], explain: bool, wanted: Callable[[str], bool] | None
    ) -> None:
        self._root = root
        self._real_root = os.path.realpath(root)
        self._triage = triage
        self._explain = explain
        self._wanted = wanted
        self._found = Discovery()
        self._in_repository = os.path.lexists(os.path.join(root, ".git"))
        self._exclude = _compile(exclude) if exclude else None

    def run(self) -> Discovery:
        seen = 0
        stack: list[tuple[str, tuple[tuple[str, GitIgnoreSpec], ...]]] = [("", self._ignore_files_above())]
        while stack:
            folder, ignores = stack.pop()
            entries = self._scan(folder)
            seen += len(entries)
            if seen > MAX_FILES:
                self._found.notes.append(Note(whole_line(folder or "."), f"more than {MAX_FILES} files: the rest was not looked at"))
                break
            ignores = self._with_own_ignores(folder, entries, ignores)
            for entry in entries:
                path = f"{folder}/{entry.name}" if folder else entry.name
                if entry.is_dir(follow_symlinks=False):
                    reason = self._why_skip_folder(path, entry, ignores)
                    if reason:
                        self._skip(path, None, reason)
                    else:
                        stack.append((path, ignores))
                else:
                    self._file(path, entry, ignores)
        self._found.sources.sort(key=lambda source: source.path)
        self._found.decisions.sort(key=lambda decision: decision[0])
        return self._found

    def _scan(self, folder: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(os.path.join(self._root, folder)) as entries:
                return list(entries)
        except OSError as error:
            self._found.errors.append(ProjectError(folder or ".", f"folder can't be read: {error.strerror}"))
            return []

    def _ignore_files_above(self) -> tuple[tuple[str, GitIgnoreSpec], ...]:
        """The repository's own exclude file counts as well as the ``.gitignore`` files."""
        path = os.path.join(self._root, ".git", "info", "exclude")
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                lines = [line for line in file.read(MAX_BYTES).splitlines() if line and not line.startswith("#")]
        except OSError:
            return ()
        return (("", _compile(lines)),) if lines else ()

    def _with_own_ignores(
        self, folder: str, entries: list[os.DirEntry[str]], ignores: tuple[tuple[str, GitIgnoreSpec], ...]
    ) -> tuple[tuple[str, GitIgnoreSpec], ...]:
        if not any(entry.name == ".gitignore" for entry in entries):
            return ignores
        try:
            with open(os.path.join(self._root, folder, ".gitignore"), encoding="utf-8", errors="replace") as file:
                lines = file.read(MAX_BYTES).splitlines()
        except OSError:
            return ignores
        return (*ignores, (f"{folder}/" if folder else "", _compile(lines)))

    def _ignored(self, path: str, is_folder: bool, ignores: tuple[tuple[str, GitIgnoreSpec], ...]) -> str:
        """Why a path is ignored, or ``""``: the deepest ignore file that says anything decides, as git does it."""
        suffix = "/" if is_folder else ""
        if self._exclude is not None and self._exclude.match_file(path + suffix):
            return "excluded by the settings"
        for base, spec in reversed(ignores):
            verdict = spec.check_file(path[len(base) :] + suffix).include
            if verdict is not None:
                return f"ignored by {base}.gitignore" if verdict else ""
        return ""

    def _why_skip_folder(self, path: str, entry: os.DirEntry[str], ignores: tuple[tuple[str, GitIgnoreSpec], ...]) -> str:
        if entry.name in SKIPPED_FOLDERS or entry.name.endswith((".egg-info", ".dist-info")):
            return "vendored, generated or an environment"
        if reason := self._ignored(path, True, ignores):
            return reason
        full = os.path.join(self._root, path)
        if os.path.lexists(os.path.join(full, "pyvenv.cfg")) or os.path.isdir(os.path.join(full, "conda-meta")):
            return "a Python environment"
        if self._in_repository and os.path.lexists(os.path.join(full, ".git")):
            return "another repository (a submodule or a nested checkout)"
        return ""

    def _file(self, path: str, entry: os.DirEntry[str], ignores: tuple[tuple[str, GitIgnoreSpec], ...]) -> None:
        wanted = self._wanted is not None and self._wanted(path)
        if entry.is_symlink() and not self._stays_inside(path):
            self._skip(path, None, "a link out of the project, or a broken one")
            return
        kind = kind_by_name(path)
        self._found.paths.add(path)
        if kind is None and "." in entry.name and not wanted:
            return
        data = self._read(path, kind, wanted)
        if data is None:
            return
        kind = kind or kind_by_content(data[:2048])
        if kind is None:
            if wanted:
                self._found.errors.append(ProjectError(path, "is no kind of file that distlint reads"))
            return
        if not wanted and kind is SourceKind.PYTHON and is_test_module(path, data):
            self._decide(path, kind, "not read: a test module")
        elif not wanted and not self._triage.matters(path, kind, data):
            self._decide(path, kind, "not read: nothing in it names a framework, a launcher or a setting")
        elif reason := ("" if wanted else self._ignored(path, False, ignores)):
            self._found.paths.discard(path)
            self._skip(path, kind, reason)
        else:
            self._found.sources.append(Source(path, kind, data))
            self._decide(path, kind, "read")

    def _stays_inside(self, path: str) -> bool:
        full = os.path.join(self._root, path)
        target = os.path.realpath(full)
        return target.startswith(self._real_root + os.sep) and os.path.isfile(target)

    def _read(self, path: str, kind: SourceKind | None, wanted: bool) -> bytes | None:
        full = os.path.join(self._root, path)
        try:
            # Opening a pipe or a device would block, so only regular files are opened.
            descriptor = os.open(full, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
            try:
                status = os.fstat(descriptor)
                if not stat.S_ISREG(status.st_mode):
                    return None
                if status.st_size > MAX_BYTES:
                    if kind is not None and (wanted or self._triage.matters(path, kind, os.read(descriptor, 65536))):
                        self._found.errors.append(
                            ProjectError(path, f"not read: {status.st_size} bytes, more than the limit of {MAX_BYTES}")
                        )
                    self._decide(path, kind, f"not read: larger than {MAX_BYTES} bytes")
                    return None
                if kind is None and not wanted:
                    head = os.read(descriptor, 2048)
                    if kind_by_content(head) is None:
                        return None
                    return head + _read_all(descriptor, status.st_size)
                return _read_all(descriptor, status.st_size)
            finally:
                os.close(descriptor)
        except OSError as error:
            if kind is not None or wanted:
                self._found.errors.append(ProjectError(path, f"can't be read: {error.strerror}"))
            return None

    def _skip(self, path: str, kind: SourceKind | None, reason: str) -> None:
        self._found.notes.append(Note(whole_line(path), f"skipped: {reason}"))
        self._decide(path, kind, f"not read: {reason}")

    def _decide(self, path: str, kind: SourceKind | None, why: str) -> None:
        if self._explain:
            self._found.decisions.append((path, kind, why))


def _read_all(descriptor: int, size: int) -> bytes:
    chunks: list[bytes] = []
    total = 0
    while total <= MAX_BYTES and (chunk := os.read(descriptor, max(size + 1, 65536))):
        chunks.append(chunk)
        total += len(chunk)
        if total >= size:
            break
    return b"".join(chunks)


def _compile(lines: Sequence[str]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec

    good: list[str] = []
    for line in lines:
        try:
            GitIgnoreSpec.from_lines([line])
        except ValueError:
            continue  # git ignores a pattern that it can't use
        good.append(line)
    return GitIgnoreSpec.from_lines(good)


def read_one(root: str, path: str) -> Source | None:
    """Reads one more file of the project, for a value that leads there; ``None`` if it is no regular, readable, small file inside."""
    kind = kind_by_name(path)
    full = os.path.join(root, path)
    real = os.path.realpath(full)
    if kind is None or not real.startswith(os.path.realpath(root) + os.sep):
        return None
    try:
        descriptor = os.open(real, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_BYTES:
            return None
        return Source(path, kind, _read_all(descriptor, status.st_size))
    except OSError:
        return None
    finally:
        os.close(descriptor)


def sources_of(texts: dict[str, str]) -> Iterator[Source]:
    """Sources made from texts (editor buffers, tests) whose names tell their kind."""
    for path, text in sorted(texts.items()):
        kind = kind_by_name(path) or kind_by_content(text[:2048].encode("utf-8", "replace"))
        if kind is not None:
            yield Source(path, kind, text.encode("utf-8", "surrogatepass"))
