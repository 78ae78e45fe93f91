"""What a shell refuses beyond doubt: quotes and expansions that never close.

The grammar of the tree also stumbles over text that every shell accepts. So a text that it did not understand is looked
at once more, here; anything but these faults is no error.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from distlint.read.shell_brackets import command_end, parameter_end, quoted_end

_STOP = re.compile(r"[\\'\"`$#\n<]")
_HERE = re.compile(r"<<(-?)[ \t]*\\?['\"]?([A-Za-z_][\w.-]*)['\"]?")
_DOUBTFUL = re.compile(r"\bcase\b|<<<|\(\(|=~|\bselect\b|\$\(\(")


class Refusal(NamedTuple):
    """Offsets of the first place that a shell refuses, and why."""

    start: int
    end: int
    message: str


def refusal(text: str) -> Refusal | None:
    """The first quote or expansion that never closes.

    ``None`` if there is none or the text holds what is not modelled here.
    """
    if _DOUBTFUL.search(text):
        return None
    at, size = 0, len(text)
    here: list[tuple[bool, str]] = []
    while (match := _STOP.search(text, at)) is not None:
        at, char = match.start(), match.group()
        if char == "\n":
            at, here = _behind_bodies(text, at + 1, here), []
        elif char == "\\":
            at += 2
        elif char == "#":
            at = _behind_comment(text, at)
        elif char == "<":
            found = _HERE.match(text, at)
            if found is not None:
                here.append((bool(found.group(1)), found.group(2)))
            at = found.end() if found is not None else at + 1
        else:
            end = _end(text, at, size)
            if end < 0:
                return Refusal(at, at + 1, f"the `{char}` that opens here never closes")
            at = end
    return None


def _behind_comment(text: str, at: int) -> int:
    if at and text[at - 1] not in " \t\n;(&|":
        return at + 1
    newline = text.find("\n", at)
    return newline if newline >= 0 else len(text)


def _behind_bodies(text: str, at: int, here: list[tuple[bool, str]]) -> int:
    for dashed, mark in here:
        while at < len(text):
            newline = text.find("\n", at)
            stop = newline if newline >= 0 else len(text)
            line = text[at:stop].rstrip(" ")
            at = stop + 1
            if (line.lstrip("\t") if dashed else line) == mark:
                break
    return min(at, len(text))


def _end(text: str, at: int, size: int) -> int:
    """The offset behind what opens at ``at``; -1 when it never closes."""
    char = text[at]
    if char == "$":
        following = text[at + 1 : at + 2]
        if following not in ("(", "{"):
            return at + 1 if following != "'" else _quoted(text, at, size)
        end = command_end(text, at + 2, size) if following == "(" else parameter_end(text, at + 2, size)
        return end if text[end - 1] == ("}" if following == "{" else ")") and end - at > 2 else -1
    return _quoted(text, at, size)


def _quoted(text: str, at: int, size: int) -> int:
    end = quoted_end(text, at, size)
    quote = "'" if text[at] == "$" else text[at]
    if end - at < 2 or text[end - 1] != quote:
        return -1
    backslashes = 0
    while quote != "'" and text[end - 2 - backslashes] == "\\":
        backslashes += 1
    return end if backslashes % 2 == 0 else -1
