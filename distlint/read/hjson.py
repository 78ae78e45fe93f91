"""Hjson as the ``hjson`` package (3.1) reads it: comments, bare keys, strings without quotes up to the end of the line.

Follows that package in every value that it gives and every text that it refuses, so that "this loader takes the file"
is a fact. ``read.json`` is the entry point; it keeps going where this scanner gives up.
"""

from __future__ import annotations

import re
from bisect import bisect_left

from distlint.model.document import Mapping, Node
from distlint.read.config import HOLE, TOO_DEEP, Places, TreeBuilder, is_open_key

PLACEHOLDER = re.compile(
    r"(?!(?:TRUE|FALSE|NULL|NONE|NAN|INF|INFINITY)\b)"
    r"(?:[A-Z][A-Z0-9_]+|[A-Z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+|__[A-Za-z0-9_]+__|<[A-Za-z_][\w .-]{0,80}>)"
)
"""A bare word that a script replaces before any loader sees the file: ``ZERO_STAGE``, ``__GPUS__``, ``<path>``."""


class Refused(Exception):  # noqa: N818 - it is an answer, not a failure
    """The text is not what the loader takes, as seen at ``offset``; ``final`` where it doesn't try another reading."""

    def __init__(self, offset: int, message: str, *, final: bool = False) -> None:
        super().__init__(message)
        self.offset = offset
        self.message = message
        self.final = final


_PLACEHOLDER_LINE = re.compile(rf"({PLACEHOLDER.pattern})\s*(?:,\s*)?(?:(?:#|//|/\*).*)?")
_BLANK = re.compile(r"[ \t\n\r]*")
_REST = re.compile(r"[^\r\n]*")
_BARE_KEY = re.compile(r"[^:{}\[\],]*")
_ONE_WORD = re.compile(r"[^ \t\n\r]+(?P<blank>[ \t\n\r]*)\Z")
_STOP = r"(?:[,}\]#\r\n]|//|/\*|\Z)"
_WORD = re.compile(rf"(null|true|false)[^\S\r\n]*(?={_STOP})")
_NUMBER = re.compile(rf"(-?(?:0|[1-9]\d*))(\.\d+)?([eE][-+]?\d+)?(?=[\t ]*{_STOP})")
_CHUNK = {'"': re.compile(r'[^"\\\x00-\x1f]*'), "'": re.compile(r"[^'\\\x00-\x1f]*")}
_ESCAPES = {'"': '"', "'": "'", "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
WORDS = {"null": None, "true": True, "false": False}


class HjsonScanner:
    """Reads one text; ``scan`` gives its tree or raises ``Refused`` at the first thing that the loader refuses."""

    def __init__(self, text: str, places: Places) -> None:
        self.text = text
        self.places = places
        self.build = TreeBuilder(places)
        self._line_feeds: list[int] | None = None

    def scan(self) -> Node:
        """The tree of the text."""
        at, char = self._next(0)
        if not char:
            return Mapping((), self.places.span(0, 0))
        end = self._rest(self._value(at)) if char in "{[" else self._without_braces(at)
        end, char = self._next(end)
        if char or self.build.root is None:
            raise Refused(end, "text after the end of the document")
        return self.build.root

    def _without_braces(self, at: int) -> int:
        """The members of a mapping up to the end of the text; else a lone scalar, whose refusal counts less."""
        self.build.start(True, at)
        try:
            return self._rest(self._value(self._key(at)))
        except Refused as refused:
            if refused.final:
                raise
            self.build = TreeBuilder(self.places)
            try:
                return self._scalar(at)
            except Refused:
                raise refused from None

    def _rest(self, at: int) -> int:
        """Reads on after a value until every open container is closed."""
        frames = self.build.frames
        while frames:
            at, char = self._next(at)
            if char == ",":
                at, char = self._next(at + 1)
            frame = frames[-1]
            if not char and self._is_unbraced():
                self.build.end(at)
                return at
            if char == ("}" if frame.mapping else "]") and not self._is_unbraced():
                at += 1
                self.build.end(at)
                continue
            if frame.mapping:
                at = self._key(at)
            at = self._value(at)
        return at

    def _is_unbraced(self) -> bool:
        frames = self.build.frames
        return len(frames) == 1 and self.text[frames[0].start] not in "{["

    def _value(self, at: int) -> int:
        """Reads a value; of a container that is not empty, only as far as its first scalar."""
        while self.text[at : at + 1] in ("{", "["):
            if self.build.too_deep:
                raise Refused(at, TOO_DEEP, final=True)
            mapping = self.text[at] == "{"
            self.build.start(mapping, at)
            at, char = self._next(at + 1)
            if char == ("}" if mapping else "]"):
                self.build.end(at + 1)
                return at + 1
            if mapping:
                at = self._key(at)
        return self._scalar(at)

    def _key(self, at: int) -> int:
        """Reads a key and its colon; returns where the value begins."""
        char = self.text[at : at + 1]
        if char in ('"', "'"):
            key, end = self._quoted(at)
            self.build.key(key, at, end)
        else:
            end = _BARE_KEY.match(self.text, at).end()  # type: ignore[union-attr]
            key = self.text[at:end]
            if end == len(self.text):
                raise Refused(at, "expected a key and `:`")
            if self.text[end] != ":" or not key:
                raise Refused(end, f"expected a key, found `{self.text[end]}`")
            word = _ONE_WORD.match(key)
            if word is None:
                raise Refused(at, "a key with blanks in it needs quotes")
            key = key.rstrip() if word["blank"] else key
            self.build.key(key, at, at + len(key))
        if is_open_key(key):
            self.build.frames[-1].open = True
        end, char = self._next(end)
        if char != ":":
            raise Refused(end, "expected `:` after the key")
        return self._next(end + 1)[0]

    def _scalar(self, at: int) -> int:
        text = self.text
        char = text[at : at + 1]
        if char in ('"', "'"):
            plain, end = self._block(at) if text.startswith("'''", at) else self._quoted(at)
            self.build.scalar(plain, at, end)
            return end
        if not char or char in "{}[],:":
            raise Refused(at, f"expected a value, found `{char}`" if char else "expected a value")
        if word := _WORD.match(text, at):
            self.build.scalar(WORDS[word[1]], at, word.end(1))
            return word.end()
        number = _NUMBER.match(text, at) if char in "-0123456789" else None
        if number:
            self.build.scalar(_number(number, at), at, number.end())
            return number.end()
        return self._unquoted(at)

    def _unquoted(self, at: int) -> int:
        end = _REST.match(self.text, at).end()  # type: ignore[union-attr]
        raw = self.text[at:end]
        plain = raw.strip()
        start = at + len(raw) - len(raw.lstrip())
        if placeholder := _PLACEHOLDER_LINE.fullmatch(plain):
            self.build.unknown(HOLE, start, start + placeholder.end(1))
        else:
            self.build.scalar(plain, start, start + len(plain))
        return end

    def _quoted(self, at: int) -> tuple[str, int]:
        """A string in quotes of either kind, and where it ends."""
        text, quote = self.text, self.text[at]
        chunk = _CHUNK[quote]
        parts = []
        start = at + 1
        while True:
            end = chunk.match(text, start).end()  # type: ignore[union-attr]
            parts.append(text[start:end])
            char = text[end : end + 1]
            if char == quote:
                return "".join(parts), end + 1
            if char != "\\":
                raise Refused(end, "control character in a string" if char else "the string is never closed")
            decoded, start = self._escape(end)
            parts.append(decoded)

    def _escape(self, at: int) -> tuple[str, int]:
        kind = self.text[at + 1 : at + 2]
        if kind != "u":
            if kind not in _ESCAPES:
                raise Refused(at, "unknown escape in a string")
            return _ESCAPES[kind], at + 2
        code = self._unit(at + 2)
        if code < 0:
            raise Refused(at, "unknown escape in a string", final=True)
        if code & 0xFC00 == 0xD800 and self.text.startswith("\\u", at + 6) and not self._is_short(at + 8):
            low = self._unit(at + 8)
            if low & 0xFC00 == 0xDC00:
                return chr(0x10000 + ((code - 0xD800) << 10 | low - 0xDC00)), at + 12
        return chr(code), at + 6

    def _is_short(self, at: int) -> bool:
        digits = self.text[at : at + 4]
        return len(digits) != 4 or digits[1] in "xX"

    def _unit(self, at: int) -> int:
        """Four digits read as Python's ``int`` reads them, which is what the loader does."""
        try:
            if not self._is_short(at):
                return int(self.text[at : at + 4], 16)
        except ValueError:
            pass
        raise Refused(at - 2, "unknown escape in a string")

    def _block(self, at: int) -> tuple[str, int]:
        """A ``'''`` string: lines lose as much indentation as stands before the quotes, and the last line end goes."""
        text = self.text
        indent = self._column(at)
        start = at + 3
        while text[start : start + 1] in (" ", "\t", "\r"):
            start += 1
        close = text.find("'''", start)
        if close < 0:
            raise Refused(at, "the string is never closed", final=start == len(text))
        lines = text[start:close].split("\n")
        kept = [line[_indentation(line, indent) :] if number else line for number, line in enumerate(lines)]
        if len(kept) > 1 and not kept[0]:
            del kept[0]
        plain = "\n".join(kept).replace("\r", "")
        return plain.removesuffix("\n"), close + 3

    def _column(self, at: int) -> int:
        """Characters before ``at`` in its line; on the first line, the loader counts on from the end of the text."""
        if self._line_feeds is None:
            self._line_feeds = [match.start() for match in re.finditer("\n", self.text)]
        before = bisect_left(self._line_feeds, at)
        if before:
            return at - self._line_feeds[before - 1] - 1
        if not self._line_feeds:
            raise Refused(at, "a `'''` string in a text of one line", final=True)
        return at - 1 + len(self.text) - self._line_feeds[-1]

    def _next(self, at: int) -> tuple[int, str]:
        """The next offset that is neither blank nor in a comment, and the character there (empty at the end)."""
        text = self.text
        while True:
            at = _BLANK.match(text, at).end()  # type: ignore[union-attr]
            char = text[at : at + 1]
            if char == "#" or text.startswith("//", at):
                at = _REST.match(text, at).end()  # type: ignore[union-attr]
            elif text.startswith("/*", at):
                close = text.find("*/", at + 2)
                if close < 0:
                    raise Refused(at, "the comment is never closed", final=True)
                at = close + 2
            else:
                return at, char


def _indentation(line: str, most: int) -> int:
    return min(most, len(line) - len(line.lstrip(" \t\r")))


def _number(match: re.Match[str], at: int) -> int | float:
    """Numbers with fraction or exponent that are whole and below 1e10 become integers."""
    try:
        if match[2] is None and match[3] is None:
            return int(match[1])
        number = float(match[0])
        return int(number) if int(number) == number and abs(number) < 1e10 else number
    except (ValueError, OverflowError):
        raise Refused(at, "number out of range", final=True) from None
