"""Words of a shell script: quotes, escapes, expansions and brace lists, with the place of every piece.

The syntax tree says where a word begins and ends; what it means is read here from the text, because the shell's quoting
rules are short and exact while the grammar's view of them is not.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import product

from distlint.model.shell import Arithmetic, Expansion, Literal, Part, Statement, Substitution, Word
from distlint.model.span import LineIndex, Span
from distlint.read.shell_brackets import command_end, parameter_end, quoted_end

MAX_DEPTH = 40
"""Expansions nested deeper than this are left unread."""

MAX_BRACES = 64
"""A brace list that yields more words than this stays one word with an unread part."""

_PLAIN = re.compile(r"[^\\'\"$`<>{}~]+")
_PLAIN_DOUBLE = re.compile(r'[^\\"$`]+')
_PLAIN_BODY = re.compile(r"[^\\$`]+")
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_PARAMETER = re.compile(r"(?P<name>[A-Za-z_]\w*|\d+|[@*#?$!-])", re.ASCII)
_OPERATOR = re.compile(r":-|:=|:\+|:\?|[-=+?]|%%|%|##|#|//|/[#%]?|\^\^|\^|,,|,|@|:")
_RANGE = re.compile(r"(-?\d{1,9})\.\.(-?\d{1,9})(?:\.\.(-?\d{1,9}))?")
_BLANKS = " \t\n"

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v"}
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})|(.))", re.DOTALL)

Commands = Callable[[int, int], tuple[Statement, ...]]
"""Reads the commands between two offsets of the text (the inside of a substitution)."""


class WordReader:
    """Reads words out of one text; ``commands`` is asked for the inside of command substitutions."""

    def __init__(self, text: str, index: LineIndex, file: str, commands: Commands) -> None:
        self.text = text
        self._index = index
        self._file = file
        self._commands = commands

    def span(self, start: int, end: int) -> Span:
        """The span between two offsets."""
        return self._index.span(self._file, start, end)

    def slice(self, span: Span) -> str:
        """The text at a place."""
        return self._index.slice(span)

    def word(self, start: int, end: int, depth: int = 0) -> Word:
        """The word that stands between two offsets; blanks in it are taken as part of it."""
        parts, quoted = self._parts(start, end, depth)
        return Word(tuple(parts), self.span(start, end), quoted)

    def words(self, start: int, end: int) -> list[Word]:
        """The words between two offsets, separated by unquoted blanks, after brace expansion."""
        found: list[Word] = []
        at = start
        while at < end:
            if self.text[at] in _BLANKS:
                at += 1
            elif self.text.startswith("\\\n", at):
                at += 2
            else:
                stop = self._word_end(at, end)
                found += expand_braces(self.word(at, stop))
                at = stop
        return found

    def body(self, start: int, end: int) -> Word:
        """The text of a here-document in which expansions count, as a word."""
        parts: list[Part] = []
        self._double(start, end, parts, 0, stops="")
        return Word(tuple(parts), self.span(start, end), True)

    def _word_end(self, at: int, end: int) -> int:
        text = self.text
        while at < end:
            char = text[at]
            if char in _BLANKS:
                return at
            if char == "\\":
                at += 2
            elif char in "'\"`":
                at = quoted_end(text, at, end)
            elif char == "$":
                at = self._dollar_end(at, end)
            elif char in "<>" and text.startswith("(", at + 1):
                at = command_end(text, at + 2, end)
            else:
                at += 1
        return min(at, end)

    def _dollar_end(self, at: int, end: int) -> int:
        following = self.text[at + 1 : at + 2]
        if following == "{":
            return parameter_end(self.text, at + 2, end)
        if following == "(":
            return command_end(self.text, at + 2, end)
        return at + 1

    def _literal(self, start: int, end: int, *, quoted: bool) -> Literal:
        return Literal(self.text[start:end], quoted, *self._index.position(start))

    def _parts(self, start: int, end: int, depth: int) -> tuple[list[Part], bool]:
        text, parts, quoted, at = self.text, list[Part](), False, start
        while at < end:
            char = text[at]
            if char == "\\":
                if text[at + 1 : at + 2] != "\n" and at + 1 < end:
                    parts.append(self._literal(at + 1, at + 2, quoted=True))
                at += 2
            elif char == "'":
                stop = quoted_end(text, at, end)
                parts.append(self._literal(at + 1, max(at + 1, stop - 1), quoted=True))
                at, quoted = stop, True
            elif char == '"':
                at, quoted = self._double(at + 1, end, parts, depth), True
            elif char == "$" and text[at + 1 : at + 2] == "'" and at + 1 < end:
                stop = quoted_end(text, at, end)
                position = self._index.position(at)
                parts.append(Literal(_unescape(text[at + 2 : max(at + 2, stop - 1)]), True, *position))
                at, quoted = stop, True
            elif char == "$" and text[at + 1 : at + 2] == '"' and at + 1 < end:
                at += 1
            elif char in "$`":
                at = self._expansion(at, end, parts, depth, quoted=False)
            elif char in "<>" and text.startswith("(", at + 1):
                stop = command_end(text, at + 2, end)
                parts.append(Substitution(text[at:stop], (), True, self.span(at, stop)))
                at = stop
            elif char == "~" and at == start and text[at + 1 : at + 2] in ("", "/", *_BLANKS):
                parts.append(Expansion("HOME", quoted=True, span=self.span(at, at + 1)))
                at += 1
            elif char in "{}":
                parts.append(self._literal(at, at + 1, quoted=False))
                at += 1
            else:
                match = _PLAIN.match(text, at, end)
                stop = match.end() if match else at + 1
                parts.append(self._literal(at, stop, quoted=False))
                at = stop
        return parts, quoted

    def _double(self, at: int, end: int, parts: list[Part], depth: int, stops: str = '"') -> int:
        """Reads what stands in double quotes (without ``stops``: in a here-document); gives the offset behind it."""
        text, begin = self.text, at
        before = len(parts)
        escapable = "$`\\" + stops
        while at < end:
            char = text[at]
            if char in stops and stops:
                if len(parts) == before:
                    parts.append(self._literal(begin, begin, quoted=True))
                return at + 1
            if char == "\\":
                following = text[at + 1 : at + 2]
                if following == "\n":
                    at += 2
                elif following and following in escapable:
                    parts.append(self._literal(at + 1, at + 2, quoted=True))
                    at += 2
                else:
                    parts.append(self._literal(at, at + 1, quoted=True))
                    at += 1
            elif char in "$`":
                at = self._expansion(at, end, parts, depth, quoted=True)
            else:
                match = (_PLAIN_DOUBLE if stops else _PLAIN_BODY).match(text, at, end)
                stop = match.end() if match else at + 1
                parts.append(self._literal(at, stop, quoted=True))
                at = stop
        return end

    def _expansion(self, at: int, end: int, parts: list[Part], depth: int, *, quoted: bool) -> int:
        text = self.text
        if text[at] == "`":
            stop = quoted_end(text, at, end)
            parts.append(self._substitution(at, stop, at + 1, max(at + 1, stop - 1), depth, quoted=quoted))
            return stop
        following = text[at + 1 : at + 2] if at + 1 < end else ""
        if following == "(":
            stop = command_end(text, at + 2, end)
            if text.startswith("((", at + 1) and text.endswith("))", at + 3, stop):
                parts.append(Arithmetic(text[at + 3 : stop - 2], self.span(at, stop)))
            else:
                parts.append(self._substitution(at, stop, at + 2, max(at + 2, stop - 1), depth, quoted=quoted))
            return stop
        if following == "{":
            stop = parameter_end(text, at + 2, end)
            parts.append(self._parameter(at, at + 2, max(at + 2, stop - 1), stop, depth, quoted=quoted))
            return stop
        if following == "[" and (close := text.find("]", at, end)) > 0:
            parts.append(Arithmetic(text[at + 2 : close], self.span(at, close + 1)))
            return close + 1
        match = _NAME.match(text, at + 1, end)
        if match is None and following and (following.isdigit() or following in "@*#?$!-"):
            stop = at + 2
        elif match is None:
            parts.append(self._literal(at, at + 1, quoted=quoted))
            return at + 1
        else:
            stop = match.end()
        parts.append(Expansion(text[at + 1 : stop], quoted=quoted, span=self.span(at, stop)))
        return stop

    def _substitution(
        self, start: int, stop: int, inner: int, inner_end: int, depth: int, *, quoted: bool
    ) -> Substitution:
        statements = self._commands(inner, inner_end) if depth < MAX_DEPTH else ()
        return Substitution(self.text[inner:inner_end], statements, quoted, self.span(start, stop))

    def _parameter(self, start: int, at: int, end: int, stop: int, depth: int, *, quoted: bool) -> Expansion:
        """``${...}`` whose inside lies between ``at`` and ``end``."""
        text, span = self.text, self.span(start, stop)
        prefix = ""
        if end - at > 1 and text[at] in "#!" and _PARAMETER.match(text, at + 1, end):
            prefix, at = ("length" if text[at] == "#" else "indirect"), at + 1
        match = _PARAMETER.match(text, at, end)
        if match is None or depth >= MAX_DEPTH:
            return Expansion("", "bad", quoted=quoted, span=span)
        name, at = match.group(), match.end()
        subscript = None
        if text.startswith("[", at) and (close := text.find("]", at, end)) > 0:
            subscript, at = text[at + 1 : close].strip("\"'"), close + 1
        if at >= end or prefix:
            operator = prefix if at >= end else "bad"
            return Expansion(name, operator, index=subscript, quoted=quoted, span=span)
        found = _OPERATOR.match(text, at, end)
        if found is None:
            return Expansion(name, "bad", index=subscript, quoted=quoted, span=span)
        operator, at = found.group(), found.end()
        second = None
        if operator in ("/", "//", "/#", "/%", ":") and (cut := self._separator(at, end, operator[0])) < end:
            second, end = self._argument(cut + 1, end, depth, quoted=quoted), cut
        return Expansion(name, operator, self._argument(at, end, depth, quoted=quoted), subscript, quoted, second, span)

    def _argument(self, start: int, end: int, depth: int, *, quoted: bool) -> Word:
        if not quoted:
            return self.word(start, end, depth + 1)
        # Inside double quotes an inner pair of double quotes still counts, single quotes are text.
        parts: list[Part] = []
        at = start
        while at < end:
            if self.text[at] == '"':
                at = self._double(at + 1, end, parts, depth + 1)
            else:
                stop = self._next_quote(at, end)
                self._double(at, stop, parts, depth + 1, stops="")
                at = stop
        return Word(tuple(parts), self.span(start, end), True)

    def _next_quote(self, at: int, end: int) -> int:
        text = self.text
        while at < end and text[at] != '"':
            at = at + 2 if text[at] == "\\" else self._dollar_end(at, end) if text[at] == "$" else at + 1
        return min(at, end)

    def _separator(self, at: int, end: int, mark: str) -> int:
        text = self.text
        while at < end:
            char = text[at]
            if char == mark:
                return at
            if char == "\\":
                at += 2
            elif char in "'\"`":
                at = quoted_end(text, at, end)
            elif char == "$":
                at = self._dollar_end(at, end)
            else:
                at += 1
        return end


def _unescape(text: str) -> str:
    def character(match: re.Match[str]) -> str:
        for group, base in ((1, 16), (2, 16), (3, 16), (4, 8)):
            if digits := match.group(group):
                code = int(digits, base)
                return chr(code) if code < 0x110000 else match.group()
        return _ESCAPES.get(match.group(5), match.group(5) if match.group(5) in "\\'\"?" else match.group())

    return _ESCAPE.sub(character, text)


def expand_braces(word: Word) -> list[Word]:
    """The words that ``a{b,c}d`` and ``{1..3}`` become; a word without brace lists stands for itself."""
    if not any(isinstance(part, Literal) and not part.quoted and part.text == "{" for part in word.parts):
        return [word]
    choices = _brace_choices(word.parts)
    if len(choices) == 1 or len(choices) > MAX_BRACES:
        return [word]
    return [replace(word, parts=parts) for parts in choices]


def _brace_choices(parts: tuple[Part, ...]) -> list[tuple[Part, ...]]:
    """All words that the parts stand for; the reader gives ``{`` and ``}`` outside quotes as literals of their own."""
    for start, part in enumerate(parts):
        if not _is_mark(part, "{"):
            continue
        close = _matching(parts, start)
        if close is None:
            continue
        choices = _list_choices(parts[start + 1 : close])
        if choices is None:
            continue
        tails = _brace_choices(parts[close + 1 :])
        if len(choices) * len(tails) > MAX_BRACES:
            return [parts, parts] * MAX_BRACES
        return [(*parts[:start], *choice, *tail) for choice, tail in product(choices, tails)]
    return [parts]


def _is_mark(part: Part, mark: str) -> bool:
    return isinstance(part, Literal) and not part.quoted and part.text == mark


def _matching(parts: tuple[Part, ...], start: int) -> int | None:
    depth = 0
    for at in range(start, len(parts)):
        depth += _is_mark(parts[at], "{") - _is_mark(parts[at], "}")
        if depth == 0:
            return at
    return None


def _list_choices(parts: tuple[Part, ...]) -> list[tuple[Part, ...]] | None:
    """The choices of what stands between braces, or ``None`` if that is no list."""
    if len(parts) == 1 and isinstance(parts[0], Literal) and not parts[0].quoted:
        literal = parts[0]
        if match := _RANGE.fullmatch(literal.text):
            first, last, step = int(match[1]), int(match[2]), abs(int(match[3] or 1)) or 1
            numbers = range(first, last + 1, step) if first <= last else range(first, last - 1, -step)
            return [(replace(literal, text=str(number)),) for number in numbers[: MAX_BRACES + 1]]
    choices: list[list[Part]] = [[]]
    depth = 0
    for part in parts:
        depth += _is_mark(part, "{") - _is_mark(part, "}")
        if depth or not isinstance(part, Literal) or part.quoted or "," not in part.text:
            choices[-1].append(part)
            continue
        head, *rest = part.text.split(",")
        choices[-1] += [replace(part, text=head)] if head else []
        column = part.column + len(head) + 1
        for piece in rest:
            choices.append([replace(part, text=piece, column=column)] if piece else [])
            column += len(piece) + 1
    if len(choices) == 1:
        return None
    return [expanded for choice in choices for expanded in _brace_choices(tuple(choice))]
