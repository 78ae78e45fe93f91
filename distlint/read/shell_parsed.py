"""A shell text with its syntax trees: parsing, and from tree nodes to offsets and places in the text."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from distlint.model.span import LineIndex, Span
from distlint.read.shell_words import Commands, WordReader

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_PARSER: list[Parser] = []

# A line of two or more assignments before one with a command. The grammar takes both for one command: it overlooks the
# line end, but no semicolon. No text can be matched in two ways: hostile ones must not take long.
_VARIABLE = r"\$(?=\w)|\$\{\w+\}"
_QUOTED = rf"""'[^'\n]*'|\$'(?:[^'\\\n]|\\.)*'|"(?:[^"\\$`\n]|\\.|{_VARIABLE})*\""""
_VALUE = rf"""(?:[^\s'"`$;&|<>()\\#]|{_QUOTED}|{_VARIABLE}|\\.)*"""
_ASSIGNMENTS = re.compile(
    rf"^[ \t]*(?:[A-Za-z_]\w*={_VALUE}[ \t]+)+[A-Za-z_]\w*={_VALUE}[ \t]*([ \t](?=#)|\n)"
    r"(?=(?:#[^\n]*\n)?\s*[^\s#]+[ \t]+\S)",
    re.MULTILINE,
)


class ParsedText:
    """One text of which parts are parsed.

    ``words`` reads its words, with ``commands`` for what stands in substitutions. ``misread`` tells whether the grammar
    failed to understand any part.
    """

    def __init__(self, text: str, index: LineIndex, file: str, commands: Commands) -> None:
        self.text = text
        self.words = WordReader(text, index, file, commands)
        self.misread = False
        self._parser = _parser()
        self._offsets = None if text.isascii() else _byte_offsets(text)
        self._base = 0

    @contextmanager
    def parsed(self, start: int, end: int) -> Iterator[Node]:
        """The root of a tree of the text between two offsets; inside, the offsets of nodes are those of this tree."""
        before = self._base
        self._base = start if self._offsets is None else bisect_left(self._offsets, start)
        root = self._parser.parse(_told_apart(self.text[start:end]).encode("utf-8", "replace")).root_node
        self.misread = self.misread or root.has_error
        try:
            yield root
        finally:
            self._base = before

    def start(self, node: Node) -> int:
        """The offset of a node of the current tree."""
        at = node.start_byte + self._base
        return at if self._offsets is None else self._offsets[at]

    def end(self, node: Node) -> int:
        """The offset behind a node."""
        at = node.end_byte + self._base
        return at if self._offsets is None else self._offsets[at]

    def span(self, node: Node) -> Span:
        """The place of a node."""
        return self.words.span(self.start(node), self.end(node))

    def text_of(self, node: Node) -> str:
        """The text of a node."""
        return self.text[self.start(node) : self.end(node)]


def _told_apart(text: str) -> str:
    """The text, of the same length, with a semicolon where the grammar would overlook a line end."""
    ends = [match.start(1) for match in _ASSIGNMENTS.finditer(text)]
    return ";".join(text[start:end] for start, end in zip([0, *(at + 1 for at in ends)], [*ends, None], strict=True))


def _parser() -> Parser:
    """One parser per process: making the language object costs more than parsing a script."""
    if not _PARSER:
        import tree_sitter_bash
        from tree_sitter import Language, Parser

        _PARSER.append(Parser(Language(tree_sitter_bash.language())))
    return _PARSER[0]


def _byte_offsets(text: str) -> array[int]:
    """For every byte of the UTF-8 text, and for its end, the offset of the character that it belongs to."""
    offsets = array("I")
    for offset, char in enumerate(text):
        code = ord(char)
        size = 1 if code < 0x80 else 2 if code < 0x800 else 3 if code < 0x10000 else 4
        if 0xD800 <= code < 0xE000:
            size = 1
        offsets.extend([offset] * size)
    offsets.append(len(text))
    return offsets
