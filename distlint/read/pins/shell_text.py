"""The simple commands in a piece of shell text, as far as installing packages needs it.

For text inside other files (``RUN`` of a Dockerfile), whose positions must be those of the file around it. Words,
quotes and variables that are set are understood. Scripts have their own reader.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

_ENDS = ";&|()\n"
_BLANK = " \t\r"
_VARIABLE = re.compile(r"\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)(?:(:?[-+])([^{}$]*))?\})")

_MAX_EXPANDED = 100_000
"""Characters that variables may add to one text; beyond that they count as unknown."""


class TextWord(NamedTuple):
    """One word: its text without quotes (``None`` if it begins with something unknown), and its offsets in the text."""

    text: str | None
    start: int
    end: int


def split_commands(text: str, variables: Mapping[str, str]) -> list[list[TextWord]]:
    """The words of each simple command, in order, without redirections and comments.

    Variables that are not set stay as ``${NAME}``.
    """
    return _Splitter(text, variables).commands()


class _Splitter:
    def __init__(self, text: str, variables: Mapping[str, str]) -> None:
        self._text = text
        self._variables = variables
        self._at = 0
        self._left = _MAX_EXPANDED

    def commands(self) -> list[list[TextWord]]:
        text = self._text
        found: list[list[TextWord]] = []
        words: list[TextWord] = []
        redirected = False
        while self._at < len(text):
            char = text[self._at]
            if char in _ENDS:
                found.append(words)
                words, redirected = [], False
                self._at += 1
            elif char in _BLANK or text.startswith("\\\n", self._at):
                self._at += 1 if char in _BLANK else 2
            elif char == "#":
                end = text.find("\n", self._at)
                self._at = len(text) if end < 0 else end
            elif char in "<>":
                redirected = True
                self._at += 1
                while text[self._at : self._at + 1] in ("<", ">", "&", "|"):
                    self._at += 1
            else:
                new = self._word()
                if not redirected:
                    words += new
                redirected = False
        return [words for words in [*found, words] if words]

    def _word(self) -> list[TextWord]:
        """Reads a word; the unquoted value of a variable may hold several."""
        text, start = self._text, self._at
        parts: list[str] = []
        unknown_start = split = False
        while self._at < len(text) and text[self._at] not in _ENDS + _BLANK + "<>":
            char = text[self._at]
            if char in "'\"":
                parts.append(self._quoted(char))
            elif char == "\\":
                parts.append(text[self._at + 1 : self._at + 2].replace("\n", ""))
                self._at += 2
            elif char in "$`":
                value, known = self._expansion()
                unknown_start = unknown_start or (not known and not any(parts))
                split = split or (known and " " in value)
                parts.append(value)
            else:
                parts.append(char)
                self._at += 1
        end = min(self._at, len(text))
        if unknown_start:
            return [TextWord(None, start, end)]
        joined = "".join(parts)
        return [TextWord(part, start, end) for part in (joined.split() if split else [joined])]

    def _quoted(self, quote: str) -> str:
        text = self._text
        self._at += 1
        parts: list[str] = []
        while self._at < len(text) and text[self._at] != quote:
            if (
                quote == '"'
                and text[self._at] == "\\"
                and text[self._at + 1 : self._at + 2] in ('"', "\\", "$", "`", "\n")
            ):
                parts.append(text[self._at + 1].replace("\n", ""))
                self._at += 2
            elif quote == '"' and text[self._at] in "$`":
                parts.append(self._expansion()[0])
            else:
                parts.append(text[self._at])
                self._at += 1
        self._at += 1
        return "".join(parts)

    def _expansion(self) -> tuple[str, bool]:
        """The value of ``$name``; for anything unknown its text as a hole, and false."""
        match = _VARIABLE.match(self._text, self._at)
        if match is None:
            return self._substitution(), False
        self._at = match.end()
        name, operator, word = match[1] or match[2], match[3] or "", match[4] or ""
        if name in self._variables and self._left > 0:
            value = word if operator.endswith("+") else self._variables[name]
            self._left -= len(value)
            return value, True
        if operator.endswith("-"):
            return word, True
        return ("", True) if operator.endswith("+") else (f"${{{name}}}", False)

    def _substitution(self) -> str:
        """Passes over ``$( … )``, ``${ … }``, a backquoted command, or a lone ``$``; gives a hole for it."""
        text = self._text
        if text[self._at] == "`":
            end = text.find("`", self._at + 1)
            self._at = len(text) if end < 0 else end + 1
            return "${command}"
        opening = text[self._at + 1 : self._at + 2]
        closing = {"(": ")", "{": "}"}.get(opening)
        self._at += 1
        if closing is None:
            return "$"
        depth = 0
        while self._at < len(text):
            depth += (text[self._at] == opening) - (text[self._at] == closing)
            self._at += 1
            if depth == 0:
                break
        return "${command}"
