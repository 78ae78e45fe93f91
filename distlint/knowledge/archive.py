"""Reads members of a zip file at a fraction of what ``zipfile`` costs: that module takes longer to import than a look-up.

Only what ``tools/harvest`` writes is read: one file without comment, members stored or deflated, no encryption, under 4 GB.
"""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

_END = struct.Struct("<4s4H2LH")
_ENTRY = struct.Struct("<4s6H3L5H2L")
_LOCAL = struct.Struct("<4s5H3L2H")
_LARGEST = 64_000_000


class Archive:
    """A zip file whose members are read one at a time."""

    def __init__(self, path: Path) -> None:
        """Reads the list of members. Raises ``OSError`` and ``ValueError`` for a missing and a damaged file."""
        self._path = path
        self._members: dict[str, tuple[int, int, int, int]] = {}
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _END.size))
            end = file.read(_END.size)
            if len(end) < _END.size or end[:4] != b"PK\x05\x06":
                raise ValueError(f"{path.name} is no archive")
            _, _, _, _, count, length, start, _ = _END.unpack(end)
            file.seek(start)
            directory = file.read(length)
        at = 0
        try:
            for _ in range(count):
                entry = _ENTRY.unpack_from(directory, at)
                name_length, extra, comment = entry[10:13]
                name = directory[at + _ENTRY.size : at + _ENTRY.size + name_length].decode()
                self._members[name] = (entry[16], entry[8], entry[9], entry[4])
                at += _ENTRY.size + name_length + extra + comment
        except (struct.error, UnicodeDecodeError):
            raise ValueError(f"the list of members of {path.name} is damaged") from None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all members, in the order of the file."""
        return tuple(self._members)

    def __contains__(self, name: str) -> bool:
        """Whether there is a member of that name."""
        return name in self._members

    def read(self, name: str) -> bytes:
        """The content of a member. Raises ``KeyError`` for one that is not there, ``ValueError`` for a damaged one."""
        offset, packed, size, method = self._members[name]
        if size > _LARGEST:
            raise ValueError(f"{name} is too large")
        with self._path.open("rb") as file:
            file.seek(offset)
            header = file.read(_LOCAL.size)
            if len(header) < _LOCAL.size:
                raise ValueError(f"{name} is cut off")
            fields = _LOCAL.unpack(header)
            file.seek(fields[9] + fields[10], 1)
            content = file.read(packed)
        if method == 0:
            return content
        try:
            return zlib.decompressobj(-15).decompress(content, size)
        except zlib.error:
            raise ValueError(f"{name} is damaged") from None
