"""Blocks that never close (``if`` without ``fi``), and keywords that close nothing: every shell refuses them.

The text comes with quotes, expansions, comments and here-documents blanked, so that only the shell's own words and
signs are left.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_TOKEN = re.compile(r"\n|;;&|;;|;&|\d*(?:&>>?|>>|>\||>&|<&|<<<|<<-?|<>|>|<)|&&|\|\||\|&|[;&|()]|[^\s;&|()<>]+")
_NOT_MODELLED = re.compile(r"[?*+@!]\(|[<>]\(|(?:^|[\s;])(?:select|coproc|function)\s", re.MULTILINE)
_ARRAY = re.compile(r"[A-Za-z_]\w*(?:\[[^]]*\])?\+?=\(")
_FOR = re.compile(r"for\s+\w+\s+")

_CLOSES = {"fi": "if", "done": "do", "esac": "case", "}": "{"}
_ENDS_COMMAND = frozenset({"\n", ";", "&", "&&", "||", "|", "|&", "(", ")"})
_BEFORE_COMMAND = frozenset({"then", "do", "else", "elif", "!", "time", "if", "while", "until", "{", "fi", "done", "}"})


class Fault(NamedTuple):
    """The offset and length of a keyword, and what is wrong with it."""

    start: int
    size: int
    message: str


def block_fault(text: str) -> Fault | None:
    """The first keyword that closes no block, else the innermost block that never closes; ``None`` without a fault.

    ``None`` too for a text with constructs that are not modelled here.
    """
    return _Scan(text).run() if _NOT_MODELLED.search(text) is None else None


class _Scan:
    """Reads signs and words; ``first`` says whether the next word is a command's first, so that keywords count."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.first = True
        self.stack: list[tuple[str, int]] = []

    def run(self) -> Fault | None:
        while (match := _TOKEN.search(self.text, self.at)) is not None:
            self.at = match.end()
            word, start = match.group(), match.start()
            inside = self.stack[-1][0] if self.stack else ""
            if inside == "pattern":
                self._pattern(word)
            elif word in (";;", ";&", ";;&"):
                if inside != "case":
                    return None
                self.stack.append(("pattern", start))
            elif word == "(" and self.first and self.text.startswith("((", start):
                self._skip_brackets(start)
            elif word in _ENDS_COMMAND:
                self.first = True
            elif word[-1] in "<>&":
                self._skip_word()
            elif _ARRAY.match(self.text, start):
                self._skip_brackets(start)
            elif self.first and (fault := self._command_word(word, start)) is not None:
                return fault
        opened = [entry for entry in self.stack if entry[0] != "pattern"]
        if not opened:
            return None
        name, start = opened[-1]
        return Fault(start, len(name), f"the `{name}` that opens here never closes")

    def _pattern(self, word: str) -> None:
        """Before the ``)`` of an arm of ``case``."""
        if word == "esac":
            del self.stack[-2:]
            self.first = True
        elif word == ")":
            self.stack.pop()
            self.first = True

    def _command_word(self, word: str, start: int) -> Fault | None:
        self.first = word in _BEFORE_COMMAND
        if word in ("if", "do", "{"):
            self.stack.append((word, start))
        elif word == "case":
            arms = re.compile(r"\sin\s").search(self.text, self.at)
            self.at = arms.end() if arms is not None else len(self.text)
            self.stack += [("case", start), ("pattern", start)]
        elif word == "[[":
            end = self.text.find("]]", self.at)
            self.at = end + 2 if end >= 0 else len(self.text)
        elif word == "for" and (name := _FOR.match(self.text, start)) is not None:
            self.at = name.end()
            self.first = self.text.startswith("do", self.at)
        elif word in _CLOSES:
            if not self.stack or self.stack[-1][0] != _CLOSES[word]:
                return Fault(start, len(word), f"there is no `{_CLOSES[word]}` that this `{word}` could close")
            self.stack.pop()
        return None

    def _skip_word(self) -> None:
        """Skips the target of a redirection."""
        target = re.compile(r"[ \t]*&?[^\s;&|()<>]*").match(self.text, self.at)
        self.at = target.end() if target is not None else self.at

    def _skip_brackets(self, start: int) -> None:
        """Skips the elements of an array, or ``((...))``."""
        depth = 0
        for match in re.compile(r"[()]").finditer(self.text, start):
            depth += 1 if match.group() == "(" else -1
            if depth == 0:
                self.at, self.first = match.end(), False
                return
        self.at = len(self.text)
