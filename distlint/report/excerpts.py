"""Access to the analysed text for renderers: never fails, and splits each file into lines once."""

from __future__ import annotations

from collections.abc import Callable

from distlint.model.span import LineIndex, Span


class Excerpts:
    """Lines and slices of project files. A file whose text is gone or cannot be decoded counts as empty."""

    def __init__(self, text: Callable[[str], str]) -> None:
        self._text = text
        self._indexes: dict[str, LineIndex] = {}

    def line(self, file: str, line: int) -> str:
        """The text of a 1-based line without its end; empty outside the file."""
        return self._index(file).line_text(line)

    def line_count(self, file: str) -> int:
        """Number of lines of a file."""
        return self._index(file).line_count

    def slice(self, span: Span) -> str:
        """The text that a span covers."""
        return self._index(span.file).slice(span)

    def _index(self, file: str) -> LineIndex:
        index = self._indexes.get(file)
        if index is None:
            try:
                index = LineIndex(self._text(file))
            except (OSError, ValueError, LookupError):
                index = LineIndex("")
            self._indexes[file] = index
        return index
