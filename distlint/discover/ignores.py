"""Ignore files: which paths the patterns of ``.gitignore`` leave out, by git's own rules."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from typing import NamedTuple

from distlint.discover.globs import Segment, compile_glob, fits
from distlint.model.record import dataclass

MAX_IGNORE_BYTES = 256 * 1024
"""Of a longer ignore file only so much is honoured."""

MAX_PATTERNS = 5000
"""A walk honours so many patterns over all ignore files; real projects have a few hundred."""


class _Pattern(NamedTuple):
    glob: tuple[Segment, ...]
    ignores: bool
    folders_only: bool


@dataclass(frozen=True, slots=True)
class IgnoreList:
    """The patterns of one ignore file. ``base`` is the folder that they count from (``""``, or with a final slash)."""

    base: str
    reason: str
    patterns: tuple[_Pattern, ...]

    def verdict(self, path: str, is_folder: bool) -> bool | None:
        """Whether the list ignores a path (true) or takes it back in (false); ``None`` if it says nothing.

        The last pattern that fits decides.
        """
        if not path.startswith(self.base):
            return None
        parts = os.fsencode(path[len(self.base) :]).split(b"/")
        for pattern in reversed(self.patterns):
            if (is_folder or not pattern.folders_only) and fits(pattern.glob, parts):
                return pattern.ignores
        return None


IgnoreChain = tuple[IgnoreList, ...]
"""The lists that hold in a folder, the outermost first."""


def why_ignored(path: str, is_folder: bool, chain: IgnoreChain) -> str:
    """Why a path is left out, or ``""``: the deepest list that says anything decides.

    The folders above the path must not be ignored themselves.
    """
    for one in reversed(chain):
        verdict = one.verdict(path, is_folder)
        if verdict is not None:
            return one.reason if verdict else ""
    return ""


def ignore_list(lines: Iterable[bytes], base: str, reason: str, room: int = MAX_PATTERNS) -> IgnoreList:
    """The list that the lines of an ignore file make, of the first ``room`` patterns."""
    patterns: list[_Pattern] = []
    for line in lines:
        if len(patterns) >= room:
            break
        text = _without_trailing_blanks(line.removesuffix(b"\r"))
        if text.startswith(b"#"):
            continue
        ignores = not text.startswith(b"!")
        text = text.removeprefix(b"!")
        folders_only = text.endswith(b"/")
        text = text.removesuffix(b"/")
        if text:
            patterns.append(_Pattern(compile_glob(text), ignores, folders_only))
    return IgnoreList(base, reason, tuple(patterns))


def read_ignore_file(root: str, path: str, base: str, room: int = MAX_PATTERNS) -> IgnoreList | None:
    """The list in an ignore file; ``None`` if that is no regular, readable file (git follows no link there either)."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
    try:
        descriptor = os.open(os.path.join(root, path), flags)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        data = os.read(descriptor, MAX_IGNORE_BYTES)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return ignore_list(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), base, f"ignored by {path}", room)


def _without_trailing_blanks(line: bytes) -> bytes:
    """The line without the blanks at its end, save one behind a backslash."""
    stripped = line.rstrip(b" ")
    slashes = len(stripped) - len(stripped.rstrip(b"\\"))
    return line[: len(stripped) + 1] if slashes % 2 else stripped
