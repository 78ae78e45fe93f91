"""Writing fixed files: whole or not at all, never over bytes that were not analysed, never outside the project."""

from __future__ import annotations

import codecs
import contextlib
import os
import re
import stat
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

_CODING = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")


class WriteError(Exception):
    """A file was not written; the message says which and why. Files before it may have been written."""


def write_changes(root: Path, changed: Mapping[str, str], original_bytes: Callable[[str], bytes]) -> tuple[str, ...]:
    """Writes new texts over project files and gives the paths written, in order.

    ``changed`` has the texts by path relative to ``root``, ``original_bytes`` the bytes of a file that were analysed.
    Encoding and byte order mark stay, and so do the mode bits. All files are looked at before the first is written.

    Raises:
        WriteError: a path leaves the project, a file is no regular file or is not what was analysed, the new text
            does not fit the encoding, or the system refuses.
    """
    base = root.resolve()
    prepared = []
    for file in sorted(changed):
        target = _target(base, file)
        before = original_bytes(file)
        prepared.append((file, target, before, encoded(changed[file], before, file)))
        _must_equal(file, target, before)
    for file, target, before, data in prepared:
        # Looked at once more: other writes may have taken a while.
        _must_equal(file, target, before)
        _replace(file, target, data)
    return tuple(file for file, _, _, _ in prepared)


def encoded(text: str, original: bytes, file: str) -> bytes:
    """The bytes of a text in the encoding, and with the byte order mark, of the original bytes.

    Raises:
        WriteError: the encoding has no bytes for the text.
    """
    mark, encoding = _encoding(original, file)
    try:
        return mark + text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        raise WriteError(f"{file}: the new text cannot be written in {encoding}") from None


def _encoding(original: bytes, file: str) -> tuple[bytes, str]:
    for mark, encoding in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if original.startswith(mark):
            return mark, encoding
    mark = codecs.BOM_UTF8 if original.startswith(codecs.BOM_UTF8) else b""
    if file.endswith((".py", ".pyi")) and not mark:
        for line in original.split(b"\n", 2)[:2]:
            if match := _CODING.match(line):
                return mark, match.group(1).decode("ascii")
    return mark, "utf-8"


def _target(base: Path, file: str) -> Path:
    """The real file behind a path of the project; a link within the project is followed, so that it stays a link."""
    try:
        target = (base / file).resolve(strict=True)
        regular = stat.S_ISREG(target.stat().st_mode)
    except (OSError, RuntimeError, ValueError) as error:
        raise WriteError(f"{file}: {getattr(error, 'strerror', None) or error}") from None
    if not target.is_relative_to(base):
        raise WriteError(f"{file}: lies outside the project")
    if not regular:
        raise WriteError(f"{file}: is no regular file")
    return target


def _must_equal(file: str, target: Path, before: bytes) -> None:
    try:
        now = target.read_bytes()
    except OSError as error:
        raise WriteError(f"{file}: {error.strerror}") from None
    if now != before:
        raise WriteError(f"{file}: has changed since it was read; run again")


def _replace(file: str, target: Path, data: bytes) -> None:
    temporary = ""
    try:
        mode = stat.S_IMODE(target.stat().st_mode)
        if not os.access(target, os.W_OK):
            raise PermissionError(13, "is not writable")
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name[:40]}.", suffix=".tmp", dir=target.parent)
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).chmod(mode)
        Path(temporary).replace(target)
    except OSError as error:
        if temporary:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()
        raise WriteError(f"{file}: {error.strerror}") from None
