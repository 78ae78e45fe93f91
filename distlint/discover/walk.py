"""Finds the files of a project that matter: one walk that honours ignore files and follows no link out of the root."""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterator, Sequence
from dataclasses import field
from itertools import chain, islice

from distlint.discover.classify import is_test_module, kind_by_content, kind_by_name
from distlint.discover.ignores import MAX_PATTERNS, IgnoreChain, IgnoreList, ignore_list, read_ignore_file, why_ignored
from distlint.discover.passed_on import MAX_CANDIDATE_BYTES, MAX_CANDIDATES, connected
from distlint.discover.reading import HEAD_BYTES, TooLarge, read_regular
from distlint.discover.triage import Triage
from distlint.model.finding import Note, ProjectError
from distlint.model.record import dataclass
from distlint.model.source import MAX_BYTES, Source, SourceKind
from distlint.model.span import whole_line

SKIPPED_FOLDERS = frozenset(
    {
        *(".git", ".hg", ".svn", ".bzr", ".idea"),
        *("node_modules", "site-packages", "dist-packages", "__pypackages__", ".eggs"),
        *(".venv", "venv", ".tox", ".nox", ".direnv", ".pixi"),
        *("__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".ipynb_checkpoints"),
        *("third_party", "thirdparty", "third-party", "3rdparty", "vendor", "vendored", "_vendor"),
    }
)
"""Folders that never hold the project's own code: version control, caches, environments, vendored copies."""

_IDLE = "not read: nothing in it names a framework, a launcher or a setting"

MAX_FILES = 200_000
"""The walk stops after so many directory entries, with a note."""

MAX_TOTAL_BYTES = 128 * 1024 * 1024
"""So much text is kept to be read; a file that matters beyond that is an error. Large repositories have a fifth."""


@dataclass(slots=True)
class Discovery:
    """What the walk found: sources to read (sorted by path), every file's path, and why others were left out."""

    sources: list[Source] = field(default_factory=list)
    paths: set[str] = field(default_factory=set)
    notes: list[Note] = field(default_factory=list)
    errors: list[ProjectError] = field(default_factory=list)
    decisions: list[tuple[str, SourceKind | None, str]] = field(default_factory=list)
    """(path, kind, why it is read or not), for ``--show-files``; filled only when asked for."""


def discover(
    root: str,
    triage: Triage,
    *,
    exclude: Sequence[tuple[str, str]] = (),
    explain: bool = False,
    named: Sequence[str] = (),
    starts: Sequence[str] = ("",),
) -> Discovery:
    """Walks the folders ``starts`` of ``root``.

    ``exclude`` are the patterns of the user's settings, each a folder and a gitignore pattern that counts from there.
    ``named`` are the files and folders of the command line: they are read even if they are ignored, vendored or look
    irrelevant, and it is an error when such a file can't be. All paths are relative to the root.
    """
    walk = _Walk(root, triage, exclude, explain, named)
    for start in starts:
        walk.folder(start)
    return walk.finish()


class _Walk:
    def __init__(
        self, root: str, triage: Triage, exclude: Sequence[tuple[str, str]], explain: bool, named: Sequence[str]
    ) -> None:
        self._root = root
        self._real_root = os.path.realpath(root)
        self._triage = triage
        self._explain = explain
        self._named = named
        self._unmet = {path for path in named if os.path.isfile(os.path.join(root, path))}
        self._found = Discovery()
        self._walked: set[str] = set()
        self._links: dict[str, str] = {}
        self._idle: list[Source] = []
        self._bytes = 0
        self._room = MAX_PATTERNS
        self._in_repository = os.path.lexists(os.path.join(root, ".git"))
        self._exclude = _excluding(exclude)

    def folder(self, start: str) -> None:
        """Walks a folder and all below it, in the order of names."""
        seen = 0
        everywhere = read_ignore_file(self._root, os.path.join(".git", "info", "exclude"), "")
        stack: list[tuple[str, IgnoreChain]] = [(start, (everywhere,) if everywhere is not None else ())]
        while stack:
            folder, ignores = stack.pop()
            if folder in self._walked:
                continue
            self._walked.add(folder)
            entries, complete = self._scan(folder, MAX_FILES - seen)
            seen += len(entries)
            ignores = self._with_own_ignores(folder, entries, ignores)
            below = []
            for entry in entries:
                path = f"{folder}/{entry.name}" if folder else entry.name
                if not entry.is_dir(follow_symlinks=False):
                    self._file(path, entry.is_symlink(), ignores)
                elif reason := self._why_skip_folder(path, entry.name, ignores):
                    self._skip(path, None, reason)
                else:
                    below.append((path, ignores))
            if not complete:
                message = f"more than {MAX_FILES} files: the rest was not looked at"
                self._found.notes.append(Note(whole_line(folder or "."), message))
                break
            stack.extend(reversed(below))

    def finish(self) -> Discovery:
        """What was found, with the named paths that the walk did not come by."""
        self._exclude = ()
        for path in self._named:
            if os.path.isdir(os.path.join(self._root, path)):
                self.folder(path)
            elif path in self._unmet:
                self._file(path, os.path.islink(os.path.join(self._root, path)), ())
        self._take_connected()
        found = self._found
        read = {source.path for source in found.sources}
        doubles = {path for path, target in self._links.items() if target in read and path not in self._named}
        found.sources = sorted(
            (source for source in found.sources if source.path not in doubles), key=lambda source: source.path
        )
        for path in sorted(doubles):
            self._skip(path, None, f"a link to {self._links[path]}")
        found.decisions.sort(key=lambda decision: decision[0])
        return found

    def _take_connected(self) -> None:
        """Keeps the files without a word of their own that import what is read, or are imported by it."""
        kept = {source.path for source in connected(self._idle, self._found.sources)}
        for source in self._idle:
            if source.path in kept:
                self._keep(source)
            else:
                self._decide(source.path, source.kind, _IDLE)
        self._idle = []

    def _scan(self, folder: str, room: int) -> tuple[list[os.DirEntry[str]], bool]:
        """The first ``room`` entries of a folder in the order of their names, and whether these are all."""
        try:
            with os.scandir(os.path.join(self._root, folder)) as entries:
                some = list(islice(entries, room + 1))
                if len(some) > room:
                    return heapq.nsmallest(room, chain(some, entries), key=_name), False
                return sorted(some, key=_name), True
        except OSError as error:
            self._found.errors.append(ProjectError(folder or ".", f"folder can't be read: {error.strerror}"))
            return [], True

    def _with_own_ignores(self, folder: str, entries: list[os.DirEntry[str]], ignores: IgnoreChain) -> IgnoreChain:
        if not any(entry.name == ".gitignore" for entry in entries):
            return ignores
        base = f"{folder}/" if folder else ""
        own = read_ignore_file(self._root, f"{base}.gitignore", base, self._room)
        if own is None:
            return ignores
        self._room -= len(own.patterns)
        if not self._room:
            message = f"more than {MAX_PATTERNS} ignore patterns in all: the rest is not honoured"
            self._found.notes.append(Note(whole_line(f"{base}.gitignore"), message))
        return (*ignores, own)

    def _ignored(self, path: str, is_folder: bool, ignores: IgnoreChain) -> str:
        return why_ignored(path, is_folder, self._exclude) or why_ignored(path, is_folder, ignores)

    def _why_skip_folder(self, path: str, name: str, ignores: IgnoreChain) -> str:
        if name in SKIPPED_FOLDERS or name.endswith((".egg-info", ".dist-info")):
            return "vendored, generated or an environment"
        if reason := self._ignored(path, True, ignores):
            return reason
        full = os.path.join(self._root, path)
        if os.path.lexists(os.path.join(full, "pyvenv.cfg")) or os.path.isdir(os.path.join(full, "conda-meta")):
            return "a Python environment"
        if self._in_repository and os.path.lexists(os.path.join(full, ".git")):
            return "another repository (a submodule or a nested checkout)"
        return ""

    def _file(self, path: str, is_link: bool, ignores: IgnoreChain) -> None:
        named = path in self._unmet
        self._unmet.discard(path)
        if is_link and not self._stays_inside(path):
            if named:
                self._found.errors.append(ProjectError(path, "not read: a link that leads out of the project"))
            self._skip(path, None, "a link out of the project, to a folder, or to nothing")
            return
        kind = kind_by_name(path)
        if kind is not None and not named and (reason := self._ignored(path, False, ignores)):
            self._skip(path, kind, reason)
            return
        self._found.paths.add(path)
        if kind is None and "." in path.rpartition("/")[2] and not named:
            return
        data = self._read(path, kind, named)
        if data is None:
            return
        if kind is None:
            kind = kind_by_content(data[:HEAD_BYTES])
            if kind is None:
                if named:
                    self._found.errors.append(ProjectError(path, "is no kind of file that distlint reads"))
                return
            if not named and (reason := self._ignored(path, False, ignores)):
                self._found.paths.discard(path)
                self._skip(path, kind, reason)
                return
        if not named and kind is SourceKind.PYTHON and is_test_module(path, data):
            self._decide(path, kind, "not read: a test module")
        elif named or self._triage.matters(path, kind, data):
            self._keep(Source(path, kind, data))
        elif kind is SourceKind.PYTHON and len(data) <= MAX_CANDIDATE_BYTES and len(self._idle) <= MAX_CANDIDATES:
            self._idle.append(Source(path, kind, data))
        else:
            self._decide(path, kind, _IDLE)

    def _keep(self, source: Source) -> None:
        if self._bytes + len(source.data) > MAX_TOTAL_BYTES:
            message = f"not read: the project holds more than {MAX_TOTAL_BYTES} bytes of files that matter"
            self._found.errors.append(ProjectError(source.path, message))
            return
        self._bytes += len(source.data)
        self._found.sources.append(source)
        self._decide(source.path, source.kind, "read")

    def _stays_inside(self, path: str) -> bool:
        """Whether a link leads to a file of the project; remembers to which."""
        target = os.path.realpath(os.path.join(self._root, path))
        if not target.startswith(os.path.join(self._real_root, "")) or not os.path.isfile(target):
            return False
        self._links[path] = os.path.relpath(target, self._real_root).replace(os.sep, "/")
        return True

    def _read(self, path: str, kind: SourceKind | None, named: bool) -> bytes | None:
        """The bytes of a file that may matter; ``None`` for one that does not, is no regular file, or can't be read."""
        accept = None if kind is not None or named else kind_by_content
        try:
            return read_regular(os.path.join(self._root, path), accept)
        except TooLarge as error:
            if kind is not None and (named or self._triage.matters(path, kind, error.head)):
                self._found.errors.append(ProjectError(path, f"not read: {error}"))
            self._decide(path, kind, f"not read: larger than {MAX_BYTES} bytes")
        except OSError as error:
            if kind is not None or named:
                self._found.errors.append(ProjectError(path, f"can't be read: {error.strerror}"))
        return None

    def _skip(self, path: str, kind: SourceKind | None, reason: str) -> None:
        self._found.notes.append(Note(whole_line(path), f"skipped: {reason}"))
        self._decide(path, kind, f"not read: {reason}")

    def _decide(self, path: str, kind: SourceKind | None, why: str) -> None:
        if self._explain:
            self._found.decisions.append((path, kind, why))


def _name(entry: os.DirEntry[str]) -> str:
    return entry.name


def _excluding(patterns: Sequence[tuple[str, str]]) -> IgnoreChain:
    """The patterns of the settings; of one folder, a later one can take back what an earlier one excludes."""
    lines: dict[str, list[bytes]] = {}
    for folder, pattern in patterns:
        lines.setdefault(f"{folder}/" if folder else "", []).append(os.fsencode(pattern))
    lists: list[IgnoreList] = [ignore_list(lines[base], base, "excluded by the settings") for base in sorted(lines)]
    return tuple(lists)


def sources_of(texts: dict[str, str]) -> Iterator[Source]:
    """Sources made from texts (editor buffers, tests) whose names tell their kind."""
    for path, text in sorted(texts.items()):
        kind = kind_by_name(path) or kind_by_content(text[:HEAD_BYTES].encode("utf-8", "replace"))
        if kind is not None:
            yield Source(path, kind, text.encode("utf-8", "surrogatepass"))
