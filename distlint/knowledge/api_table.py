"""The rows of ``api.zip``: members are inflated when a row of theirs is asked for, and a row is found by a search in the bytes."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from distlint.knowledge.archive import Archive

Row = list[list[Any]]
"""``[first release, last release, value]`` per stretch, by index, both included."""

FORMAT = 1


class Table:
    """The table of all packages. A missing or damaged file, or one of another format, is an empty table."""

    def __init__(self, path: Path) -> None:
        """Opens nothing yet."""
        self._path = path
        self._opened: tuple[Archive, dict[str, Any]] | None = None
        self._empty = False
        self._members: dict[str, list[str]] = {}
        self._content: dict[str, bytes] = {}
        self._rows: dict[tuple[str, str], Row | None] = {}
        self._positions: dict[str, dict[str, int]] = {}

    @property
    def index(self) -> dict[str, Any]:
        """The document ``index.json``; ``{"packages": {}}`` for an empty table."""
        if self._opened is None and not self._empty:
            try:
                archive = Archive(self._path)
                index = json.loads(archive.read("index.json"))
                if index.get("format") != FORMAT:
                    raise ValueError("written for another version of this program")
                self._opened = archive, index
            except (OSError, ValueError, KeyError):
                self._empty = True
        return self._opened[1] if self._opened else {"packages": {}}

    @property
    def packages(self) -> tuple[str, ...]:
        """The names of the packages, sorted."""
        return tuple(sorted(self.index["packages"]))

    def package_of(self, top: str) -> str | None:
        """The package that installs a top-level module."""
        return next((name for name, entry in self.index["packages"].items() if top in entry["tops"]), None)

    def tops(self, package: str) -> tuple[str, ...]:
        """The top-level modules of a package."""
        return tuple(self.index["packages"].get(package, {}).get("tops", ()))

    def releases(self, package: str) -> tuple[str, ...]:
        """The releases of a package, oldest first."""
        return tuple(self.index["packages"].get(package, {}).get("releases", ()))

    def yanked(self, package: str) -> tuple[str, ...]:
        """The withdrawn releases of a package."""
        return tuple(self.index["packages"].get(package, {}).get("yanked", ()))

    def position(self, package: str, version: str) -> int | None:
        """The index of a release; ``None`` if it was not harvested."""
        known = self._positions.get(package)
        if known is None:
            known = {_plain(release): at for at, release in enumerate(self.releases(package))}
            self._positions[package] = known
        return known.get(_plain(version))

    def content(self, name: str) -> bytes | None:
        """The content of a member by its full name; ``None`` for one that is not there, or damaged."""
        if not self.has(name) or self._opened is None:
            return None
        try:
            return self._opened[0].read(name)
        except (OSError, ValueError):
            return None

    def has(self, name: str) -> bool:
        """Whether there is a member of that name."""
        return bool(self.index["packages"]) and self._opened is not None and name in self._opened[0]

    def members(self, folder: str) -> tuple[str, ...]:
        """The names of the members in a folder (``requires/``), sorted."""
        names = self._opened[0].names if self.index["packages"] and self._opened else ()
        return tuple(sorted(name for name in names if name.startswith(folder)))

    def row(self, package: str, key: str) -> Row | None:
        """The stretches of a row; ``None`` for one that no release has. ``key`` is ``module`` or ``module:Name``."""
        at = (package, key)
        if at not in self._rows:
            self._rows[at] = self._find(package, key)
        return self._rows[at]

    def keys(self, package: str, module: str) -> Iterator[str]:
        """The keys ``module:Name`` of a module, sorted, those of class members too."""
        content = self._member(package, module)
        prefix = b'\n["' + module.encode() + b":"
        start = content.find(prefix)
        while start >= 0:
            end = content.find(b'"', start + 3)
            yield content[start + 3 : end].decode()
            start = content.find(prefix, end)

    def keys_ending(self, package: str, end: str) -> Iterator[str]:
        """The keys of a package that end with a text; inflates all of its members."""
        wanted = end.encode("ascii", "backslashreplace") + b'",'
        self._member(package, package)
        for stem in self._members.get(package, {}):
            content = self._member(package, stem)
            at = content.find(wanted)
            while at >= 0:
                start = content.rfind(b'\n["', 0, at)
                yield content[start + 3 : at + len(wanted) - 2].decode()
                at = content.find(wanted, at + 1)

    def checksum(self) -> str:
        """SHA-256 over names and contents of all members but the index; ``""`` for an empty or damaged table."""
        import hashlib

        if not self.index["packages"] or self._opened is None:
            return ""
        found = hashlib.sha256()
        archive = self._opened[0]
        for name in sorted(archive.names):
            if name != "index.json":
                try:
                    content = archive.read(name)
                except (OSError, ValueError):
                    return ""
                found.update(f"{name}\0{len(content)}\0".encode())
                found.update(content)
        return found.hexdigest()

    def _find(self, package: str, key: str) -> Row | None:
        content = self._member(package, key.partition(":")[0])
        wanted = b'\n["' + key.encode("ascii", "backslashreplace") + b'",'
        start = content.find(wanted)
        if start < 0:
            return None
        end = content.find(b"\n", start + 1)
        try:
            row: Row = json.loads(content[start + 1 : end if end >= 0 else None])[1]
        except (ValueError, IndexError):
            return None
        return row

    def _member(self, package: str, module: str) -> bytes:
        """The member with the rows of a module: members are named by their first module, and modules stand in order."""
        members = self._members.get(package)
        if members is None:
            names = self._opened[0].names if self.index["packages"] and self._opened else ()
            prefix = f"api/{package}/"
            members = sorted(
                name[len(prefix) : -len(".jsonl")]
                for name in names
                if name.startswith(prefix) and name.endswith(".jsonl")
            )
            self._members[package] = members
        position = bisect_right(members, module.removesuffix(">")) - 1
        if position < 0:
            return b""
        name = f"api/{package}/{members[position]}.jsonl"
        if name not in self._content and self._opened is not None:
            try:
                self._content[name] = b"\n" + self._opened[0].read(name)
            except (OSError, ValueError):
                self._content[name] = b""
        return self._content.get(name, b"")


def _plain(version: str) -> str:
    """A version without local part and trailing zeros, so that equal versions are equal texts."""
    text = version.strip().lstrip("vV").partition("+")[0]
    while text.endswith(".0"):
        text = text[:-2]
    return text
