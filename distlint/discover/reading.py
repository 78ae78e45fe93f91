"""Reads files that may be anything: pipes, devices, links, endless ones."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable

from distlint.discover.classify import kind_by_content, kind_by_name
from distlint.model.source import MAX_BYTES, Source, SourceKind

HEAD_BYTES = 2048
"""So much of a file shows what it is."""

_LARGE_HEAD_BYTES = 65536


class TooLarge(Exception):  # noqa: N818 - it says what the file is
    """A file is larger than ``MAX_BYTES``; ``head`` is how it starts."""

    def __init__(self, size: int, head: bytes) -> None:
        super().__init__(f"{size} bytes, more than the limit of {MAX_BYTES}")
        self.head = head


def read_regular(path: str, accept: Callable[[bytes], object] | None = None) -> bytes | None:
    """The bytes of a regular file; ``None`` for anything else, and for a file whose head is not accepted.

    Raises ``TooLarge``, and ``OSError`` for what the system refuses.
    """
    # Without this flag, opening a pipe that nobody writes to would wait for ever.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return None
        head = b""
        if accept is not None:
            head = os.read(descriptor, HEAD_BYTES)
            if not accept(head):
                return None
        if status.st_size > MAX_BYTES:
            raise TooLarge(status.st_size, head or os.read(descriptor, _LARGE_HEAD_BYTES))
        return head + _rest(descriptor, status.st_size - len(head))
    finally:
        os.close(descriptor)


def _rest(descriptor: int, size: int) -> bytes:
    """What is left of a file, at most ``MAX_BYTES``: it may grow while it is read."""
    chunks: list[bytes] = []
    while size > 0 and (chunk := os.read(descriptor, size)):
        chunks.append(chunk)
        size -= len(chunk)
    return b"".join(chunks)


def read_one(root: str, path: str, otherwise: SourceKind | None = None) -> Source | None:
    """Reads one more file of the project, for a value that leads there.

    ``None`` if that is no regular, readable file of a kind and size that we read, or lies outside. ``otherwise`` is
    the kind of a text that nothing tells the kind of.
    """
    kind = kind_by_name(path)
    try:
        real = os.path.realpath(os.path.join(root, path))
        if not real.startswith(os.path.join(os.path.realpath(root), "")):
            return None
        data = read_regular(real, _kind_of_content if kind is None and otherwise is None else None)
    except (OSError, TooLarge, ValueError):
        return None
    if data is None:
        return None
    kind = kind or _kind_of_content(data[:HEAD_BYTES])
    if kind is None and b"\0" not in data:
        kind = otherwise
    return Source(path, kind, data) if kind is not None else None


def _kind_of_content(head: bytes) -> SourceKind | None:
    """The kind of a file that a value leads to, whatever its name ends with: a JSON object is a configuration then."""
    return kind_by_content(head) or (SourceKind.JSON if head.lstrip().startswith(b"{") else None)
