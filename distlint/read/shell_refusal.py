"""What a shell refuses beyond doubt: quotes, expansions and blocks that never close.

The grammar of the tree also stumbles over text that every shell accepts. So a text that it did not understand is looked
at once more, here; anything but these faults is no error.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from distlint.read.shell_blocks import block_fault
from distlint.read.shell_brackets import command_end, parameter_end, quoted_end

_STOP = re.compile(r"[\\'\"`$#\n<]")
_HERE = re.compile(r"<<(-?)[ \t]*\\?['\"]?([A-Za-z_][\w.-]*)['\"]?")
_QUOTES_DOUBTFUL = re.compile(r"\bcase\b|<<<|\(\(|=~|\bselect\b")
_BLOCKS_DOUBTFUL = re.compile(r"[$`]\(?[^)`]{0,300}\bcase\b|\(\([^\n]{0,300}<<|=~")


class Refusal(NamedTuple):
    """Offsets of the first place that a shell refuses, and why."""

    start: int
    end: int
    message: str


def refusal(text: str) -> Refusal | None:
    """The first fault; ``None`` if there is none, or the text holds what is not modelled here."""
    found = _blanked(text)
    if isinstance(found, Refusal):
        return found if _QUOTES_DOUBTFUL.search(text) is None else None
    fault = block_fault(found) if _BLOCKS_DOUBTFUL.search(text) is None else None
    return Refusal(fault.start, fault.start + fault.size, fault.message) if fault is not None else None


def _blanked(text: str) -> str | Refusal:
    """The text, of the same length, with ``x`` for what is quoted or expanded and blanks for what does not count."""
    at, size, kept = 0, len(text), 0
    pieces: list[str] = []
    here: list[tuple[bool, str]] = []
    while (match := _STOP.search(text, at)) is not None:
        start, char = match.start(), match.group()
        filler = "x"
        if char == "\n":
            at, here, filler = _behind_bodies(text, start + 1, here), [], "\n"
        elif char == "\\":
            at, filler = start + 2, " " if text.startswith("\n", start + 1) else "x"
        elif char == "#":
            at, filler = _behind_comment(text, start), " "
            if at == start + 1:
                continue
        elif char == "<":
            found = None if text.startswith("<<<", start) else _HERE.match(text, start)
            if found is not None:
                here.append((bool(found.group(1)), found.group(2)))
            at = found.end() if found is not None else start + (3 if text.startswith("<<<", start) else 1)
            continue
        else:
            at = _end(text, start, size)
            if at < 0:
                return Refusal(start, start + 1, f"the `{char}` that opens here never closes")
        pieces += [text[kept:start], filler * (min(at, size) - start)]
        kept = min(at, size)
    return "".join(pieces) + text[kept:]


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
