"""The texts that are open in the editor.

We keep them ourselves: the library's documents also break lines at form feeds and at U+2028, which editors do not, so
that a change below such a character would land in the wrong line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from lsprotocol import types
from pygls.uris import to_fs_path

from distlint.lsp.positions import Positions
from distlint.model.record import dataclass


@dataclass(frozen=True, slots=True)
class Buffer:
    """One open text at one version. ``path`` is where it is, or will be, saved."""

    uri: str
    path: Path
    version: int
    text: str


class Buffers:
    """The open buffers by URI. Texts that are no files on this machine (``untitled:``, ``git:``) are not kept."""

    def __init__(self) -> None:
        self._buffers: dict[str, Buffer] = {}

    def __iter__(self) -> Iterator[Buffer]:
        return iter(self._buffers.values())

    def get(self, uri: str) -> Buffer | None:
        """The buffer of a URI, if it is open."""
        return self._buffers.get(uri)

    def open(self, document: types.TextDocumentItem) -> Buffer | None:
        """Adds a buffer; ``None`` if it is no file of ours."""
        path = path_of(document.uri)
        if path is None:
            return None
        buffer = Buffer(document.uri, path, document.version, document.text)
        self._buffers[document.uri] = buffer
        return buffer

    def change(
        self,
        document: types.VersionedTextDocumentIdentifier,
        changes: Sequence[types.TextDocumentContentChangeEvent],
        encoding: str,
    ) -> Buffer | None:
        """Applies changes in their order, each to the text that the one before left; ``None`` if it is not open."""
        buffer = self._buffers.get(document.uri)
        if buffer is None:
            return None
        text = buffer.text
        for change in changes:
            text = _changed(text, change, encoding)
        buffer = replace(buffer, version=document.version, text=text)
        self._buffers[document.uri] = buffer
        return buffer

    def close(self, uri: str) -> Buffer | None:
        """Forgets a buffer and returns it."""
        return self._buffers.pop(uri, None)


def path_of(uri: str) -> Path | None:
    """The file that a URI means, in a folder without symbolic links; ``None`` if it is no file on this machine."""
    name = to_fs_path(uri)
    if not name:
        return None
    path = Path(name)
    return path.parent.resolve() / path.name


def _changed(text: str, change: types.TextDocumentContentChangeEvent, encoding: str) -> str:
    if not isinstance(change, types.TextDocumentContentChangePartial):
        return change.text
    positions = Positions(text, encoding)
    start = positions.offset(change.range.start)
    end = max(start, positions.offset(change.range.end))
    return text[:start] + change.text + text[end:]
