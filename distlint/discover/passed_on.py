"""Python files that name no library themselves, but belong to a program that does: they import from it, or it from them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from distlint.model.source import Source, SourceKind

MAX_CANDIDATES = 200
"""Projects with more files that name no library are not asked: to read many of them costs too much."""

MAX_CANDIDATE_BYTES = 65536
_ROUNDS = 3
_IMPORT = re.compile(rb"^[ \t]*(?:from|import)[ \t]([^\n#;(]*(?:\([^)]*\))?)", re.MULTILINE)
_WORD = re.compile(rb"[A-Za-z_]\w*")


def connected(candidates: Sequence[Source], read: Sequence[Source]) -> list[Source]:
    """The candidates that import a module by the name of a Python file that is read, or have a name that such a file imports.

    Candidates that are taken count as read. What another file passes on (``from compat import lib``) is used under any name, and what a
    program writes, counts or configures may stand in a file of its own that needs no library.
    """
    if len(candidates) > MAX_CANDIDATES:
        return []
    found: list[Source] = []
    words = {source.path: _imported(source.data) for source in candidates}
    new = [source for source in read if source.kind is SourceKind.PYTHON] if candidates else []
    for _ in range(_ROUNDS):
        names = {_module_name(source.path) for source in new}
        asked = frozenset().union(*(words.get(source.path) or _imported(source.data) for source in new))
        new = [
            source
            for source in candidates
            if source not in found and (not names.isdisjoint(words[source.path]) or _module_name(source.path) in asked)
        ]
        if not new:
            break
        found += new
    return found


def _module_name(path: str) -> bytes:
    folder, _, name = path.rpartition("/")
    stem = name.removesuffix(".py")
    return (folder.rpartition("/")[2] if stem == "__init__" else stem).encode("utf-8", "surrogateescape")


def _imported(data: bytes) -> frozenset[bytes]:
    return frozenset(word for match in _IMPORT.finditer(data) for word in _WORD.findall(match[1]))
