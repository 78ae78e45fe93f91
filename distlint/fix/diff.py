"""What a fix would change, as a unified diff that ``patch`` and ``git apply`` take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from io import StringIO


def unified_diff(changed: Mapping[str, str], text: Callable[[str], str]) -> str:
    """The differences between the analysed texts and the new ones, by path; line breaks are those of the files."""
    from difflib import unified_diff as lines_of

    parts: list[str] = []
    for file in sorted(changed):
        before, after = _lines(text(file)), _lines(changed[file])
        lines = lines_of(before, after, _name("a/", file), _name("b/", file))
        parts += [line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines]
    return "".join(parts)


def _lines(text: str) -> list[str]:
    return list(StringIO(text, newline="\n"))


def _name(prefix: str, file: str) -> str:
    """A path for a diff header: quoted like git does where it holds control characters, which could forge lines."""
    path = prefix + file
    if path.isprintable() and '"' not in path and "\\" not in path:
        return path
    quoted = path.encode("utf-8", "surrogateescape").decode("latin-1")
    return '"' + "".join(c if " " <= c <= "~" and c not in '"\\' else f"\\{ord(c):03o}" for c in quoted) + '"'
