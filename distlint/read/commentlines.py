"""Where comments stand in each format, outside strings and here-documents."""

from __future__ import annotations

import io
import re
import tokenize
from bisect import bisect_left
from collections.abc import Callable, Iterable
from itertools import islice
from typing import NamedTuple

from distlint.model.source import SourceKind
from distlint.read.commentextents import (
    HEREDOC,
    Extent,
    command,
    json_entry,
    line_only,
    scan_quotes,
    toml_entry,
    yaml_entry,
)

MAX_COMMENTS = 2000
"""Further comments of one file are not looked at."""
MAX_LOOK_AHEAD = 500
MAX_TOKENS = 5000
MAX_KEY = 200


class Comment(NamedTuple):
    """One comment: its place, its text from the comment sign on, and the lines that it covers.

    ``alone`` says that no code stands before it; ``margin`` counts the blanks between the code and it.
    """

    line: int
    column: int
    text: str
    alone: bool
    margin: int
    covers: tuple[int, int]


class _Found(NamedTuple):
    line: int
    column: int
    text: str


class _Format(NamedTuple):
    """How a format's comments are found, and what one covers: lines around it, or below it where it is alone."""

    scan: Callable[[list[str]], Iterable[_Found]]
    around: Extent
    below: Extent


def comments_of(text: str, kind: SourceKind, mark: str) -> tuple[int, list[Comment]]:
    """The number of lines of a text, and its comments that hold ``mark``."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    comments = _python(text, lines, mark) if kind is SourceKind.PYTHON else None
    if comments is None:
        form = _FORMATS.get(kind)
        found = (item for item in form.scan(lines) if mark in item.text) if form is not None else ()
        comments = [_comment(lines, item, form) for item in islice(found, MAX_COMMENTS) if form is not None]
    return len(lines), comments


def _comment(lines: list[str], found: _Found, form: _Format) -> Comment:
    before = lines[found.line - 1][: found.column - 1]
    own = found.line - 1
    alone = not before.strip()
    if alone:
        next_line = _next_code(lines, found.line)
        covers = form.below(lines, next_line) if next_line is not None else (own, own)
    else:
        covers = form.around(lines, own)
    margin = len(before) - len(before.rstrip())
    return Comment(found.line, found.column, found.text, alone, margin, (covers[0] + 1, covers[1] + 1))


def _next_code(lines: list[str], start: int) -> int | None:
    for number in range(start, min(len(lines), start + MAX_LOOK_AHEAD)):
        stripped = lines[number].strip()
        if stripped and not stripped.startswith(("#", "//")):
            return number
    return None


def _python(text: str, lines: list[str], mark: str) -> list[Comment] | None:
    """The comments of a Python file by its tokenizer, or ``None`` where it gives up."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError, ValueError, RecursionError):
        return None
    statements = _logical_lines(tokens)
    marked = (i for i, token in enumerate(tokens) if token.type == tokenize.COMMENT and mark in token.string)
    comments = []
    for index in islice(marked, MAX_COMMENTS):
        token = tokens[index]
        line, column = token.start
        before = lines[line - 1][:column]
        alone = not before.strip()
        covers = _below(tokens, index, statements) if alone else _around(line, statements)
        margin = len(before) - len(before.rstrip())
        comments.append(Comment(line, column + 1, token.string, alone, margin, covers))
    return comments


_BLANK = frozenset({tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER})


def _logical_lines(tokens: list[tokenize.TokenInfo]) -> list[tuple[int, int]]:
    """First and last line of each logical line; a decorator belongs to what it decorates."""
    ranges: list[tuple[int, int]] = []
    start = first = 0
    decorator = False
    for token in tokens:
        if token.type == tokenize.NEWLINE:
            if start and not decorator:
                ranges.append((first or start, token.start[0]))
                first = 0
            start, decorator = 0, False
        elif token.type not in _BLANK and not start:
            start = token.start[0]
            decorator = token.string == "@"
            if decorator:
                first = first or start
    return ranges


def _around(line: int, statements: list[tuple[int, int]]) -> tuple[int, int]:
    index = bisect_left(statements, line, key=lambda statement: statement[1])
    found = statements[index] if index < len(statements) else (line, line)
    return found if found[0] <= line else (line, line)


def _below(tokens: list[tokenize.TokenInfo], index: int, statements: list[tuple[int, int]]) -> tuple[int, int]:
    """What a comment that stands alone covers: the next statement, or inside brackets the next item."""
    line = tokens[index].start[0]
    position = bisect_left(statements, line, key=lambda statement: statement[1])
    if position == len(statements):
        return line, line
    if statements[position][0] > line:
        return statements[position]
    depth = first = last = 0
    for token in islice(tokens, index + 1, index + MAX_TOKENS):
        if token.type in _BLANK:
            continue
        depth += (token.string in ("(", "[", "{")) - (token.string in (")", "]", "}"))
        if depth < 0 or token.type == tokenize.NEWLINE:
            break
        first, last = first or token.start[0], token.end[0]
        if token.string == "," and depth == 0:
            break
    return (first, last) if first else (line, line)


def _hash_comments(lines: list[str]) -> Iterable[_Found]:
    """Comments of formats where ``#`` starts one at a line's start or behind a blank (INI, make, hostfile …)."""
    for number, line in enumerate(lines, 1):
        at = _hash(line)
        if at >= 0:
            yield _Found(number, at + 1, line[at:].rstrip())


def _hash(line: str) -> int:
    match = re.search(r"(?:^|(?<=\s))#", line)
    return match.start() if match else -1


def _shell_comments(lines: list[str]) -> Iterable[_Found]:
    """Comments of shell scripts: not in quotes, which may span lines, and not in here-documents."""
    quote = ""
    waiting: list[tuple[str, bool]] = []
    for number, line in enumerate(lines, 1):
        if waiting:
            word, tabs = waiting[0]
            if (line.lstrip("\t") if tabs else line) == word:
                waiting.pop(0)
            continue
        at, quote = scan_quotes(line, quote, words=True)
        if at >= 0:
            yield _Found(number, at + 1, line[at:].rstrip())
        if not quote:
            waiting = [(m.group(3), bool(m.group(1))) for m in HEREDOC.finditer(line[:at] if at >= 0 else line)]


def _yaml_comments(lines: list[str]) -> Iterable[_Found]:
    quote = ""
    for number, line in enumerate(lines, 1):
        at, quote = scan_quotes(line, quote, words=False)
        if at >= 0:
            yield _Found(number, at + 1, line[at:].rstrip())


_TOML_TOKEN = re.compile(r'"""|\'\'\'|"(?:\\.|[^"\\])*(?:"|$)|\'[^\']*(?:\'|$)|#')


def _toml_comments(lines: list[str]) -> Iterable[_Found]:
    closing = ""
    for number, line in enumerate(lines, 1):
        at = 0
        while True:
            if closing:
                end = line.find(closing, at)
                if end < 0:
                    break
                at, closing = end + 3, ""
            match = _TOML_TOKEN.search(line, at)
            if match is None:
                break
            at = match.end()
            if match.group() == "#":
                yield _Found(number, match.start() + 1, line[match.start() :].rstrip())
                break
            if match.group() in ('"""', "'''"):
                closing = match.group()


_JSON_TOKEN = re.compile(r"'''|\"(?:\\.|[^\"\\])*(?:\"|$)|'(?:\\.|[^'\\])*(?:'|$)|//|#|/\*|\*/")
_JSON_STRING = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'")
_UNQUOTED = re.compile(r"[:,\[{]?\s*([^\s:,\[\]{}\"'#/][^:]*)$")
_BARE_VALUE = re.compile(r"(?:true|false|null|-?\d[\d.eE+-]*)\s*,?\s*$")


def _json_comments(lines: list[str]) -> Iterable[_Found]:
    """Comments outside strings. Text behind an unquoted HJSON string belongs to the string, whatever it looks like."""
    closing = ""
    for number, line in enumerate(lines, 1):
        at = 0
        while True:
            if closing:
                end = line.find(closing, at)
                if closing == "*/" and "distlint:" in line[at : end if end >= 0 else None]:
                    start = len(line) - len(line.lstrip(" \t*"))
                    yield _Found(number, start + 1, line[start:].rstrip())
                if end < 0:
                    break
                at, closing = end + len(closing), ""
            match = _JSON_TOKEN.search(line, at)
            if match is None:
                break
            at = match.end()
            sign = match.group()
            if sign in ("//", "#"):
                if not _in_bare_string(line[: match.start()]):
                    yield _Found(number, match.start() + 1, line[match.start() :].rstrip())
                break
            if sign == "/*":
                end = line.find("*/", at)
                stop = len(line) if end < 0 else end + 2
                yield _Found(number, match.start() + 1, line[match.start() : stop].rstrip())
                closing = "*/" if end < 0 else ""
                at = stop
            elif sign == "'''":
                closing = "'''"


def _in_bare_string(before: str) -> bool:
    outside = _JSON_STRING.sub('""', before)[-MAX_KEY:]
    match = _UNQUOTED.search(outside)
    if match is None or ":" not in outside:
        return False
    return _BARE_VALUE.fullmatch(match.group(1)) is None


_FORMATS: dict[SourceKind, _Format] = {
    SourceKind.PYTHON: _Format(_shell_comments, line_only, line_only),
    SourceKind.SHELL: _Format(_shell_comments, command, command),
    SourceKind.DOCKERFILE: _Format(_shell_comments, command, command),
    SourceKind.MAKEFILE: _Format(_hash_comments, command, command),
    SourceKind.REQUIREMENTS: _Format(_hash_comments, command, command),
    SourceKind.HOSTFILE: _Format(_hash_comments, line_only, line_only),
    SourceKind.INI: _Format(_hash_comments, line_only, line_only),
    SourceKind.SETUP_CFG: _Format(_hash_comments, line_only, line_only),
    SourceKind.YAML: _Format(_yaml_comments, line_only, yaml_entry),
    SourceKind.TOML: _Format(_toml_comments, line_only, toml_entry),
    SourceKind.JSON: _Format(_json_comments, line_only, json_entry),
}
"""Python stands here for files that its tokenizer does not take."""
