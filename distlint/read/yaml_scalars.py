"""The texts of YAML scalars with the place of every line: what a step of a workflow runs."""

from __future__ import annotations

import re

from distlint.model.span import LineIndex, Span
from distlint.read.carried import PiecedText

_HEADER = re.compile(r"(?:[!&]\S+[ ]+)*([|>])[+-]?([1-9]?)[+-]?[ ]*(?:#.*)?$")
_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", '"': '"', "/": "/", " ": " "}


def scalar_text(index: LineIndex, span: Span) -> PiecedText:
    """The text of the scalar at a place, as YAML reads it."""
    start = index.offset(span.line, span.column)
    source = index.slice(span)
    pieces = PiecedText(index)
    first = source.partition("\n")[0].rstrip("\r")
    header = _HEADER.match(first)
    if header is not None and "\n" in source:
        _block(pieces, source, start, folded=header[1] == ">")
    elif source[:1] in "\"'" and len(source) > 1:
        _quoted(pieces, source, start)
    else:
        _folded(pieces, source, start)
    return pieces


def _block(pieces: PiecedText, source: str, start: int, *, folded: bool) -> None:
    at = source.index("\n") + 1
    lines = source[at:].split("\n")
    indents = [len(line) - len(line.lstrip(" ")) for line in lines if line.strip()]
    indent = indents[0] if indents else 0
    offset = start + at
    for number, line in enumerate(lines):
        text = line[min(indent, len(line)) :].rstrip("\r")
        last = number == len(lines) - 1
        following = lines[number + 1] if not last else ""
        joined = (
            folded and text.strip() and following.strip() and text[:1] != " " and following[indent : indent + 1] != " "
        )
        pieces.add(text + ("" if last else " " if joined else "\n"), offset + min(indent, len(line)))
        offset += len(line) + 1


def _quoted(pieces: PiecedText, source: str, start: int) -> None:
    quote, inside = source[0], source[1:].removesuffix(source[0])
    if quote == "'" and "'" not in inside and "\n" not in inside:
        pieces.add(inside, start + 1)
        return
    at = 0
    for match in re.finditer(r"\\\n[ ]*|\\.|''|[ ]*\n\s*" if quote == '"' else r"''|[ ]*\n\s*", inside):
        pieces.add(inside[at : match.start()], start + 1 + at)
        text = match.group()
        if text == "''":
            replaced = "''" if quote == '"' else "'"
        elif text.startswith("\\\n"):
            replaced = ""
        elif text.startswith("\\"):
            replaced = _ESCAPES.get(text[1], text)
        else:
            replaced = "\n" if text.count("\n") > 1 else " "
        pieces.add(replaced, start + 1 + match.start(), exact=False)
        at = match.end()
    pieces.add(inside[at:], start + 1 + at)


def _folded(pieces: PiecedText, source: str, start: int) -> None:
    """A plain scalar: lines are joined by blanks."""
    offset = start
    for number, line in enumerate(source.split("\n")):
        text = line.strip()
        lead = len(line) - len(line.lstrip())
        if text:
            pieces.add((" " if number else "") + text, offset + lead - bool(number and lead))
        offset += len(line) + 1
