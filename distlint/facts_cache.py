"""Facts of files that were read before, by content. Its libraries are imported only when a cache is used.

The cache lies in the user's own cache folder, never in the analysed repository: what is stored there is unpickled, and
neither a repository nor another user must be able to put such a file there. What can't be read counts as empty.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from distlint.model.facts import FileFacts
from distlint.model.source import Source

if TYPE_CHECKING:
    import sqlite3

SPARE_ROWS = 1000
"""So many facts of other states of the files (another branch) may be kept, beside twice those of the last run."""

_READING_PARTS = ("model", "read", "frameworks")
"""What facts are made by, beside the modules of the package itself."""


def cache_folder() -> str:
    """Where distlint keeps what it can make again; ``""`` if the user has no such place.

    A relative path would lie in the working directory, and so in what is analysed.
    """
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):
        base = os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "distlint") if os.path.isabs(base) else ""


def _own_stamp() -> str:
    """Changes with every change of the readers and of the libraries beside them: facts of others must not be used."""
    import hashlib
    import sys

    package = os.path.dirname(os.path.abspath(__file__))
    digest = hashlib.blake2b(sys.version.encode(), digest_size=12)
    with suppress(OSError):
        digest.update(str(os.stat(os.path.dirname(package)).st_mtime_ns).encode())
    for name, status in sorted(_modules(package, "", _READING_PARTS)):
        digest.update(f"{name}:{status.st_size}:{status.st_mtime_ns}".encode())
    return digest.hexdigest()


def _modules(package: str, part: str, below: tuple[str, ...] | None) -> Iterator[tuple[str, os.stat_result]]:
    """The modules of the package in a folder and in the named folders below it (``None``: in all)."""
    with suppress(OSError), os.scandir(os.path.join(package, part)) as entries:
        for entry in entries:
            name = f"{part}/{entry.name}"
            if entry.name.endswith(".py"):
                yield name, entry.stat()
            elif entry.is_dir() and entry.name != "__pycache__" and (below is None or entry.name in below):
                yield from _modules(package, name.removeprefix("/"), None)


class FactsCache:
    """The stored facts of one project. Every failure is silent: a cache may only save time."""

    def __init__(self, root: str) -> None:
        self._connection: sqlite3.Connection | None = None
        self._pending: dict[str, bytes] = {}
        self._used: set[str] = set()
        self._stamp = ""
        with suppress(Exception):
            file = _database(root)
            if file:
                self._stamp = _own_stamp()
                self._connection = _connect(file)

    def _key(self, source: Source) -> str:
        import hashlib

        digest = hashlib.blake2b(source.data, digest_size=16)
        digest.update(f"\0{source.path}\0{source.kind.value}\0{self._stamp}".encode("utf-8", "surrogatepass"))
        return digest.hexdigest()

    def get(self, source: Source) -> FileFacts | None:
        """The facts of a file with just these bytes, or ``None``."""
        if self._connection is None:
            return None
        with suppress(Exception):
            key = self._key(source)
            row = self._connection.execute("SELECT value FROM facts WHERE key = ?", (key,)).fetchone()
            if row is not None:
                import pickle

                found = pickle.loads(row[0])  # noqa: S301 - written by this user's distlint into this user's cache folder
                if isinstance(found, FileFacts) and found.path == source.path and found.kind is source.kind:
                    self._used.add(key)
                    return found
        return None

    def put(self, source: Source, facts: FileFacts) -> None:
        """Keeps the facts of a file; written when the cache is closed."""
        if self._connection is not None:
            import pickle

            # Facts that are nested too deeply to be pickled are read anew every time.
            with suppress(Exception):
                self._pending[self._key(source)] = pickle.dumps(facts, pickle.HIGHEST_PROTOCOL)

    def close(self) -> None:
        """Writes what is new; drops facts of other versions and, where they pile up, of other states of files."""
        if self._connection is None:
            return
        with suppress(Exception):
            self._write(self._connection)
        with suppress(Exception):
            self._connection.close()
        self._connection = None

    def _write(self, connection: sqlite3.Connection) -> None:
        if not self._pending:
            return
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("DELETE FROM facts WHERE stamp != ?", (self._stamp,))
        rows = ((self._stamp, key, value) for key, value in self._pending.items())
        connection.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?, ?)", rows)
        kept = self._used | self._pending.keys()
        stored = [key for (key,) in connection.execute("SELECT key FROM facts")]
        if len(stored) > 2 * len(kept) + SPARE_ROWS:
            connection.executemany("DELETE FROM facts WHERE key = ?", ((key,) for key in stored if key not in kept))
        connection.execute("COMMIT")


def _database(root: str) -> str:
    """The file for a project; ``""`` where it would lie in the project, or where others could write it."""
    import hashlib

    base = cache_folder()
    if not base:
        return ""
    folder = os.path.join(base, "facts")
    real, project = os.path.realpath(folder), os.path.realpath(root)
    if real.startswith(os.path.join(project, "")):
        return ""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    status = os.stat(folder)
    if hasattr(os, "getuid") and (status.st_uid != os.getuid() or status.st_mode & 0o022):
        return ""
    return os.path.join(folder, f"{hashlib.blake2b(os.fsencode(project), digest_size=12).hexdigest()}.sqlite")


def _connect(file: str) -> sqlite3.Connection:
    """The database in a file, made anew if what is there is none."""
    import sqlite3

    try:
        return _opened(file)
    except sqlite3.OperationalError:
        raise  # locked, or not writable
    except sqlite3.DatabaseError:
        os.unlink(file)
        return _opened(file)


def _opened(file: str) -> sqlite3.Connection:
    import sqlite3

    connection = sqlite3.connect(file, timeout=2, isolation_level=None)
    try:
        connection.execute("PRAGMA synchronous=OFF")
        connection.execute("CREATE TABLE IF NOT EXISTS facts (stamp TEXT, key TEXT, value BLOB, PRIMARY KEY (key))")
        connection.execute("SELECT stamp, key, value FROM facts LIMIT 1").fetchone()
    except sqlite3.Error:
        connection.close()
        raise
    return connection
