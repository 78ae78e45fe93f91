"""Facts of files that were read before, by content. Its libraries are imported only when a cache is used.

The cache lies in the user's cache folder, never in the analysed repository: what is stored there is unpickled, and a repository must
not be able to bring such a file with it. Anything that can't be read counts as empty.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from distlint.model.facts import FileFacts
from distlint.model.source import Source

if TYPE_CHECKING:
    import sqlite3


def cache_folder() -> str:
    """Where distlint keeps what it can make again."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "distlint")


def _own_stamp() -> str:
    """Changes with every change of distlint's readers: facts of another version must not be used."""
    import hashlib
    import sys

    folder = os.path.dirname(os.path.abspath(__file__))
    digest = hashlib.blake2b(sys.version.encode(), digest_size=12)
    for part in ("", "model", "read", os.path.join("read", "pins"), "frameworks"):
        with suppress(OSError), os.scandir(os.path.join(folder, part)) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                if entry.name.endswith(".py"):
                    status = entry.stat()
                    digest.update(f"{part}/{entry.name}:{status.st_size}:{status.st_mtime_ns}".encode())
    return digest.hexdigest()


class FactsCache:
    """The stored facts of one project. Every failure is silent: a cache may only save time."""

    def __init__(self, root: str) -> None:
        self._connection: sqlite3.Connection | None = None
        self._pending: list[tuple[str, bytes]] = []
        with suppress(Exception):
            self._connection = self._open(root)

    def _open(self, root: str) -> sqlite3.Connection:
        import hashlib
        import sqlite3

        folder = os.path.join(cache_folder(), "facts")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        name = hashlib.blake2b(os.path.realpath(root).encode(), digest_size=12).hexdigest()
        connection = sqlite3.connect(os.path.join(folder, f"{name}.sqlite"), timeout=2, isolation_level=None)
        connection.execute("PRAGMA synchronous=OFF")
        connection.execute("CREATE TABLE IF NOT EXISTS facts (stamp TEXT, key TEXT, value BLOB, PRIMARY KEY (key))")
        self._stamp = _own_stamp()
        connection.execute("DELETE FROM facts WHERE stamp != ?", (self._stamp,))
        return connection

    @staticmethod
    def _key(source: Source) -> str:
        import hashlib

        digest = hashlib.blake2b(source.data, digest_size=16)
        digest.update(f"\0{source.path}\0{source.kind.value}".encode("utf-8", "surrogateescape"))
        return digest.hexdigest()

    def get(self, source: Source) -> FileFacts | None:
        """The facts of a file with just these bytes, or ``None``."""
        if self._connection is None:
            return None
        with suppress(Exception):
            row = self._connection.execute("SELECT value FROM facts WHERE key = ?", (self._key(source),)).fetchone()
            if row is not None:
                import pickle

                found = pickle.loads(row[0])  # noqa: S301 - written by this user's distlint into this user's cache folder
                if isinstance(found, FileFacts) and found.path == source.path:
                    return found
        return None

    def put(self, source: Source, facts: FileFacts) -> None:
        """Keeps the facts of a file; written when the cache is closed."""
        if self._connection is not None:
            import pickle

            with suppress(Exception):
                self._pending.append((self._key(source), pickle.dumps(facts, pickle.HIGHEST_PROTOCOL)))

    def close(self) -> None:
        """Writes what is new."""
        if self._connection is None:
            return
        with suppress(Exception):
            self._connection.execute("BEGIN")
            rows = [(self._stamp, key, value) for key, value in self._pending]
            self._connection.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?, ?)", rows)
            self._connection.execute("COMMIT")
        with suppress(Exception):
            self._connection.close()
