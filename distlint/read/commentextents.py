"""The lines that belong together in each format: a continued command, an entry with what is below it.

Lines are numbered from 0 here.
"""

from __future__ import annotations

import re
from collections.abc import Callable

MAX_LINES = 5000
"""An entry is followed this far."""

Extent = Callable[[list[str], int], tuple[int, int]]
"""From the lines and the number of one: the first and last line of what it is part of."""

HEREDOC = re.compile(r"<<(-?)\s*(['\"]?)([A-Za-z_][\w.-]*)\2")


def scan_quotes(line: str, quote: str, *, words: bool) -> tuple[int, str]:
    """Where a ``#`` comment starts in a line (-1: nowhere), and the quote that is open at its end.

    ``words``: quotes open anywhere, as in shell; else only where a value may begin, as in YAML.
    """
    at = 0
    while at < len(line):
        char = line[at]
        if quote:
            if char == "\\" and quote == '"':
                at += 1
            elif char == quote:
                quote = ""
        elif char == "\\" and words:
            at += 1
        elif char in "\"'" and (words or at == 0 or line[at - 1] in " \t[{,:-"):
            quote = char
        elif char == "#" and (at == 0 or line[at - 1] in " \t;&|()"):
            return at, quote
        at += 1
    return -1, quote


def line_only(_: list[str], number: int) -> tuple[int, int]:
    """The line itself."""
    return number, number


def command(lines: list[str], number: int) -> tuple[int, int]:
    """A command with its continuation lines: behind a backslash, an open quote, a pipe, ``&&`` or a here-document."""
    first = number
    while first > max(number - MAX_LINES, 0) and _goes_on(lines[first - 1]):
        first -= 1
    last = first
    quote = ""
    while last < min(len(lines) - 1, first + 2 * MAX_LINES):
        at, quote = scan_quotes(lines[last], quote, words=True)
        code = lines[last][:at] if at >= 0 else lines[last]
        heredocs = [(m.group(3), bool(m.group(1))) for m in HEREDOC.finditer(code)] if not quote else []
        for word, tabs in heredocs:
            last = _heredoc_end(lines, last, word, tabs)
        if not quote and not _goes_on(code):
            break
        last += 1
    return first, max(last, number)


def _goes_on(code: str) -> bool:
    stripped = code.rstrip()
    return code.endswith("\\") or stripped.endswith(("|", "&&"))


def _heredoc_end(lines: list[str], start: int, word: str, tabs: bool) -> int:
    for number in range(start + 1, min(len(lines), start + MAX_LINES)):
        if (lines[number].lstrip("\t") if tabs else lines[number]).rstrip() == word:
            return number
    return start


def yaml_entry(lines: list[str], number: int) -> tuple[int, int]:
    """An entry with everything below it that is indented deeper (or that is a list at the same depth)."""
    indent = _indent(lines[number])
    in_list = lines[number].lstrip().startswith("-")
    last = number
    for below in range(number + 1, min(len(lines), number + MAX_LINES)):
        stripped = lines[below].strip()
        if not stripped or stripped.startswith("#"):
            continue
        depth = _indent(lines[below])
        if depth < indent or (depth == indent and (in_list or not stripped.startswith("-"))):
            break
        last = below
    return number, last


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


_STRING_OR_COMMENT = re.compile(r"\"(?:\\.|[^\"\\])*(?:\"|$)|'(?:\\.|[^'\\])*(?:'|$)|//.*|#.*")


def json_entry(lines: list[str], number: int) -> tuple[int, int]:
    """An entry up to the bracket that closes what it opens."""
    depth = 0
    for below in range(number, min(len(lines), number + MAX_LINES)):
        bare = _STRING_OR_COMMENT.sub("", lines[below])
        depth += sum(bare.count(sign) for sign in "[{") - sum(bare.count(sign) for sign in "]}")
        if depth <= 0:
            return number, below
    return number, number


def toml_entry(lines: list[str], number: int) -> tuple[int, int]:
    """A key with its value, or a table down to the next one."""
    if not lines[number].lstrip().startswith("["):
        return json_entry(lines, number)
    last = number
    for below in range(number + 1, min(len(lines), number + MAX_LINES)):
        stripped = lines[below].strip()
        if stripped.startswith("["):
            break
        if stripped and not stripped.startswith("#"):
            last = below
    return number, last
