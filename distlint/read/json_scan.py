"""The tolerant JSON scanner: one pass over the text, no recursion, no text that stops it."""

from __future__ import annotations

import re
from json.decoder import scanstring  # type: ignore[attr-defined]
from math import isinf

from distlint.model.document import Leaf, Node
from distlint.model.value import unknown
from distlint.read.config import HOLE, MAX_DEPTH, TOO_DEEP, Places, TreeBuilder, is_open_key
from distlint.read.hjson import PLACEHOLDER, WORDS

MAX_ERRORS = 20
"""After so many mistakes the text is not JSON of any kind, and the scan stops."""

_BLANK = re.compile(r"[ \t\n\r]*")
_MEMBER = re.compile(r'"([^"\\\x00-\x1f]*)"[ \t\n\r]*:[ \t\n\r]*')
_SCALAR = re.compile(
    r'"([^"\\\x00-\x1f]*)"'
    r"|(?:(-?(?:0|[1-9][0-9]*))(\.[0-9]+)?([eE][-+]?[0-9]+)?|(null|true|false)|(NaN|-?Infinity))(?=[\s,\]}/#]|\Z)"
)
_STRING = re.compile(r'"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})[^"\\\x00-\x1f]*)*"')
_LAX_STRING = {'"': re.compile(r'"(?:[^"\\\r\n]|\\[^\r\n])*("?)'), "'": re.compile(r"'(?:[^'\\\r\n]|\\[^\r\n])*('?)")}
_BARE_KEY = re.compile(r"""[^\s:,{}\[\]"'=]+""")
_BARE = re.compile(r"[^,\[\]{}\r\n]*")
_COMMENT_AFTER = re.compile(r"(?<=\s)(?:#|//|/\*)")
_MARK = re.compile(
    r"\{\{(?!\}).{0,400}?\}\}|\$\{[^}\r\n]{0,400}\}|\$\([^\r\n]{0,400}?\)|\$[A-Za-z_]\w*|<%.{0,400}?%>", re.DOTALL
)
_HOLE = re.compile(rf"(?:[\w.+-]{{0,64}}(?:{_MARK.pattern}))+[\w.+-]{{0,64}}", re.DOTALL)
_STATEMENT = re.compile(r"\{%-?\s*(\w*).{0,400}?%\}|\{#[^\r\n]{0,400}?#\}", re.DOTALL)
_UNBRACED = re.compile(r'(?:"[^"\r\n]*"|[A-Za-z_][\w.-]*)[ \t]*:')
_LINE_END = re.compile(r"[^\r\n]*")


class JsonScanner:
    """Reads one text.

    After ``scan``: ``errors`` are places and messages of what no dialect takes, ``loose`` the first thing that only
    Hjson may take; ``not_json`` and ``not_jsonc`` the first offset that these loaders refuse. ``template`` tells that
    placeholders stand in it, ``placeholders`` that some are bare words, ``statements`` that some are template
    statements, which hide what is written; ``cut`` that the scan ended early because the text is very large.
    """

    def __init__(self, text: str, places: Places) -> None:
        self.text = text
        self.build = TreeBuilder(places)
        self.errors: list[tuple[tuple[int, int], str]] = []
        self.not_json: tuple[int, str] | None = None
        self.not_jsonc: tuple[int, str] | None = None
        self.cut = self.loose = self.template = self.placeholders = self.statements = False
        self._odd_numbers = self._unbraced = False
        self._after = "start"
        self._blocks = 0
        self._stop = False

    @property
    def plain(self) -> bool:
        """Whether every loader takes the text, and all read the same."""
        return self.not_json is None and not self._odd_numbers

    def scan(self) -> Node:
        """The tree of the text."""
        at = self._skip(0)
        while self.statements and self.text.startswith(("{%", "{#"), at):
            at = self._skip(self._statement(at))
        if at == len(self.text):
            self._refuse(at, "the text is empty")
        elif _UNBRACED.match(self.text, at):
            self._allow_loosely(at, "expected `{`")
            self._unbraced = True
            self.build.start(True, at)
        else:
            at = self._value(at)
        while self.build.frames and not self._stop:
            at = self._step(self._skip(at))
            if self.build.full:
                self._stop = self.cut = True
        self.build.abandon(min(at, len(self.text)))
        if not self._stop:
            at = self._skip(at)
            if at < len(self.text):
                self._error(at, at, "text after the end of the document")
        if self.statements:
            self.errors.clear()
        root = self.build.root
        if root is None:
            span = self.build.places.span(0, 0)
            root = Leaf(unknown("nothing is written", span), span)
        return root

    def _step(self, at: int) -> int:
        """Reads one member, item, comma or bracket of the innermost container."""
        frame = self.build.frames[-1]
        char = self.text[at : at + 1]
        if char == ",":
            if self._after != "value":
                self._error(at, at + 1, "expected a key" if frame.mapping else "expected a value")
            self._after = "comma"
            return at + 1
        if char in ("}", "]"):
            return self._close(at, char)
        if not char:
            if self._unbraced and len(self.build.frames) == 1:
                self.build.end(at)
                return at
            opening = "{" if frame.mapping else "["
            self._error(frame.start, frame.start + 1, f"`{opening}` is never closed")
            self._stop = True
            return at
        if char == "{" and _STATEMENT.match(self.text, at):
            return self._statement(at)
        if self._after == "value":
            self._allow_loosely(at, "expected `,`")
        return self._member(at) if frame.mapping else self._value(at)

    def _close(self, at: int, char: str) -> int:
        frame = self.build.frames[-1]
        if char == ("}" if frame.mapping else "]") and not (self._unbraced and len(self.build.frames) == 1):
            if self._after == "comma":
                self._refuse(at, "trailing comma", jsonc=True)
            self._after = "value"
            self.build.end(at + 1)
            return at + 1
        expected = "end of the text" if self._unbraced else "`}`" if frame.mapping else "`]`"
        self._error(at, at + 1, f"expected {expected}, found `{char}`")
        if any(outer.mapping is not frame.mapping for outer in self.build.frames):
            frame.open = True
            self._after = "value"
            self.build.end(at)
            return at
        return at + 1

    def _member(self, at: int) -> int:
        """Reads a key, its colon and its value."""
        if simple := _MEMBER.match(self.text, at):
            self.build.key(simple[1], at, simple.end(1) + 1)
            self._open_if_hole(simple[1])
            end = simple.end()
            return self._value(self._skip(end) if self.text[end : end + 1] in ("/", "#") else end)
        if hole := _HOLE.match(self.text, at):
            end = self._skip(hole.end())
            self._hole(at)
            self.build.frames[-1].open = True
            if self.text[end : end + 1] != ":":
                self._after = "start"
                return hole.end()
            self.build.key(hole[0], at, hole.end())
            return self._value(self._skip(end + 1))
        key_end = self._key(at)
        return at + 1 if key_end is None else self._after_key(at, key_end)

    def _after_key(self, at: int, end: int) -> int:
        """Reads the colon and the value of the key that ends before ``end``."""
        colon = self._skip(end)
        char = self.text[colon : colon + 1]
        if char == ":":
            return self._value(self._skip(colon + 1))
        if char == "=":
            self._error(colon, colon + 1, "expected `:` after the key, found `=`")
            return self._value(self._skip(colon + 1))
        if PLACEHOLDER.fullmatch(self.text[at:end]):
            self._hole(at)
            self.placeholders = self.build.frames[-1].open = True
        elif (char in ("{", "[") or _SCALAR.match(self.text, colon)) and not _MEMBER.match(self.text, colon):
            self._error(colon, colon, "expected `:` after the key")
            return self._value(colon)
        else:
            self._error(at, end, "expected `:` and a value after the key")
            self.build.unknown("no value is written", end, end)
        self._after = "value"
        return end

    def _key(self, at: int) -> int | None:
        """Reads a key that isn't a plain string; returns its end, or ``None`` if there is nothing like a key."""
        char = self.text[at]
        if char in ('"', "'"):
            key, end = self._string(at)
            if key is None:
                self.build.no_key()
            else:
                self.build.key(key, at, end)
                self._open_if_hole(key)
            return end
        bare = _BARE_KEY.match(self.text, at)
        if bare is None:
            self._error(at, at + 1, f"expected a key, found `{char}`")
            self.build.frames[-1].open = True
            return None
        self._allow_loosely(at, "the key has no quotes")
        self.build.key(bare[0], at, bare.end())
        return bare.end()

    def _open_if_hole(self, key: str) -> None:
        if is_open_key(key):
            self.build.frames[-1].open = True

    def _value(self, at: int) -> int:
        """Reads a scalar, or the opening bracket of a container; returns where to go on."""
        scalar = _SCALAR.match(self.text, at)
        if scalar is None:
            return self._other_value(at)
        self._after = "value"
        string, whole, fraction, exponent, word, special = scalar.groups()
        end = scalar.end()
        if string is not None:
            self.build.scalar(string, at, end)
        elif word is not None:
            self.build.scalar(WORDS[word], at, end)
        elif special is not None:
            self._odd_numbers = True
            self.not_jsonc = self.not_jsonc or (at, f"`{special}` is no JSON number")
            self.build.scalar(float(special.replace("Infinity", "inf")), at, end)
        else:
            self._number(whole, fraction or exponent, at, end)
        return end

    def _number(self, whole: str, more: str | None, at: int, end: int) -> None:
        try:
            number = float(self.text[at:end]) if more else int(whole)
        except ValueError:
            self._error(at, end, "the number has too many digits")
            self.build.unknown("number out of range", at, end)
            return
        self._odd_numbers = self._odd_numbers or (isinstance(number, float) and isinf(number))
        self.build.scalar(number, at, end)

    def _other_value(self, at: int) -> int:
        text = self.text
        char = text[at : at + 1]
        if hole := _HOLE.match(text, at):
            self._hole(at)
            self._after = "value"
            self.build.unknown(HOLE, at, hole.end())
            return hole.end()
        if char in ("{", "["):
            return self._open(at, char)
        self._after = "value"
        if char in ('"', "'"):
            plain, end = self._string(at)
            if plain is None:
                self.build.unknown("the string is broken", at, end)
            else:
                self.build.scalar(plain, at, end)
            return end
        if not char or char in ",}]":
            self._error(at, at + len(char), "expected a value")
            self.build.unknown("no value is written", at, at)
            return at
        return self._bare(at)

    def _open(self, at: int, char: str) -> int:
        if self.text.startswith(("{%", "{#"), at) and _STATEMENT.match(self.text, at):
            self._lose_track()
            end = self._statement(at)
            self.build.unknown(HOLE, at, end)
            self._after = "value"
            return end
        if len(self.build.frames) >= MAX_DEPTH:
            self._error(at, at + 1, TOO_DEEP)
            self._stop = True
            return at
        self.build.start(char == "{", at)
        self._after = "start"
        return at + 1

    def _bare(self, at: int) -> int:
        """Text without quotes: a placeholder, or what only Hjson may take."""
        text = self.text
        if text[at] == ":":
            self._error(at, at + 1, "expected a value, found `:`")
            self.build.unknown("no value is written", at, at)
            return at + 1
        end = _BARE.match(text, at).end()  # type: ignore[union-attr]
        if comment := _COMMENT_AFTER.search(text, at, end):
            end = comment.start()
        word = text[at:end].strip()
        end = at + max(len(word), 1)
        if PLACEHOLDER.fullmatch(word):
            self._hole(at)
            self.placeholders = True
            self.build.unknown(HOLE, at, end)
        elif text[end : end + 1] in ("", "\r", "\n"):
            self._allow_loosely(at, f"`{_short(word)}` has no quotes")
            self.build.scalar(word, at, end)
        else:
            self._error(at, end, f"`{_short(word)}` is not a value")
            self.build.unknown("not a value", at, end)
        return end

    def _string(self, at: int) -> tuple[str | None, int]:
        """A string in quotes and where it ends; ``None`` for one that no loader takes."""
        if self.text.startswith("'''", at) and (close := self.text.find("'''", at + 3)) > 0:
            self._allow_loosely(at, "single quotes")
            return None, close + 3
        if match := _STRING.match(self.text, at):
            plain: str = scanstring(self.text, at + 1, True)[0]
            return plain, match.end()
        quote = self.text[at]
        lax = _LAX_STRING[quote].match(self.text, at)
        if lax is None:
            return None, at + 1
        if not lax[1]:
            self._error(at, lax.end(), "the string is never closed")
        elif quote == "'":
            self._allow_loosely(at, "single quotes")
            return (None if "\\" in lax[0] else lax[0][1:-1]), lax.end()
        else:
            self._error(at, lax.end(), "the string holds a control character or an unknown escape")
        return None, lax.end()

    def _skip(self, at: int) -> int:
        """The next offset that is neither blank nor in a comment."""
        text = self.text
        while True:
            at = _BLANK.match(text, at).end()  # type: ignore[union-attr]
            char = text[at : at + 1]
            if char == "#":
                self._refuse(at, "a comment")
                at = _LINE_END.match(text, at).end()  # type: ignore[union-attr]
            elif char != "/" or text[at + 1 : at + 2] not in ("/", "*"):
                return at
            else:
                at = self._comment(at)

    def _comment(self, at: int) -> int:
        self._refuse(at, "a comment", jsonc=True)
        if self.text.startswith("//", at):
            return _LINE_END.match(self.text, at).end()  # type: ignore[union-attr]
        close = self.text.find("*/", at + 2)
        if close >= 0:
            return close + 2
        self._error(at, at + 2, "the comment is never closed")
        return len(self.text)

    def _statement(self, at: int) -> int:
        """Skips a template statement; what stands in a block is written on some paths only."""
        match = _STATEMENT.match(self.text, at)
        if match is None:
            return at + 1
        self._hole(at)
        self.statements = True
        for frame in self.build.frames:
            frame.open = True
        word = match[1] or ""
        if word in ("if", "for"):
            self._blocks += 1
        elif word in ("endif", "endfor"):
            self._blocks -= 1
        self.build.certain = self._blocks <= 0
        self._after = "start"
        return match.end()

    def _lose_track(self) -> None:
        """A statement chooses a value: from here on, brackets need not match, and nothing is certain."""
        self._blocks = len(self.text)

    def _hole(self, at: int) -> None:
        self.template = True
        self._refuse(at, "a placeholder")

    def _refuse(self, at: int, message: str, *, jsonc: bool = False) -> None:
        """Strict JSON does not take this; ``jsonc`` tells that JSON with comments does."""
        self.not_json = self.not_json or (at, message)
        if not jsonc:
            self.not_jsonc = self.not_jsonc or (at, message)

    def _allow_loosely(self, at: int, message: str) -> None:
        """Hjson may take this."""
        self.loose = True
        self._refuse(at, message)

    def _error(self, start: int, end: int, message: str) -> None:
        self._refuse(start, message)
        self.errors.append(((start, end), message))
        self._stop = self._stop or len(self.errors) >= MAX_ERRORS


def _short(word: str) -> str:
    return word if len(word) <= 40 else word[:40] + "…"
