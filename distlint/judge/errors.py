"""Errors in what people write for distlint: rule files."""

from __future__ import annotations


class RuleFileError(ValueError):
    """A rule file that is wrong: the file, the 1-based line, and what is wrong in words for its author."""

    def __init__(self, source: str, line: int, message: str) -> None:
        super().__init__(f"{source}:{line}: {message}")
        self.source = source
        self.line = line
        self.message = message
