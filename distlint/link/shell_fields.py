"""From the text of a word to the words that it becomes: splitting, patterns for file names, and the place of each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import TypeGuard

from distlint.link.shell_values import Break, Chunk, Hole, Piece, Text, merged, places_of, plain
from distlint.model.shell import Expansion, Word
from distlint.model.span import Span

_BLANK = re.compile(r"[ \t\n]+")
_GLOB = re.compile(r"[*?]|\[[^]]+\]")


def fields(text: Text) -> list[Text]:
    """The words that a text becomes: cut at element borders and at blanks that came from unquoted expansions."""
    found: list[Text] = []
    current: list[Piece] | None = None
    for piece in text:
        if isinstance(piece, Break):
            if current is not None:
                found.append(tuple(current))
            current = None
        elif isinstance(piece, Chunk) and piece.split:
            at = 0
            for match in _BLANK.finditer(piece.text):
                if match.start() > at:
                    current = [*(current or ()), _cut(piece, at, match.start())]
                if current is not None:
                    found.append(tuple(current))
                current, at = None, match.end()
            if at < len(piece.text):
                current = [*(current or ()), _cut(piece, at, len(piece.text))]
        else:
            current = [*(current or ()), piece]
    if current is not None:
        found.append(tuple(current))
    return found


def _cut(chunk: Chunk, start: int, end: int) -> Chunk:
    """A part of a chunk, with its own place."""
    if start == 0 and end == len(chunk.text):
        return chunk
    at = chunk.at
    if at is not None:
        file, line, column = at
        newlines = chunk.text.count("\n", 0, start)
        if newlines:
            at = (file, line + newlines, start - chunk.text.rfind("\n", 0, start))
        else:
            at = (file, line, column + start)
    return Chunk(chunk.text[start:end], at, chunk.uses, chunk.sets, chunk.sure, chunk.split, chunk.pattern)


def is_one_word(text: Text) -> bool:
    """Whether a text is a single known piece that is neither split nor a pattern: the usual case."""
    if len(text) != 1:
        return False
    piece = text[0]
    return isinstance(piece, Chunk) and not piece.split and not (piece.pattern and _is_pattern(text))


def may_vanish(word: Word) -> bool:
    """Whether a quoted word may become no word at all: ``"$@"`` and ``"${A[@]}"`` without elements."""
    return any(isinstance(part, Expansion) and (part.index == "@" or part.name == "@") for part in word.parts)


def _is_pattern(text: Text) -> bool:
    """Whether the shell would replace the word by the names of matching files."""
    for piece in text:
        if isinstance(piece, Chunk) and (piece.pattern or piece.split) and _GLOB.search(piece.text) is not None:
            return True
    return False


def globbed(text: Text, span: Span) -> Text:
    """The word itself, or a hole for the files whose names it is a pattern for."""
    if not _is_pattern(text):
        return text
    whole = plain(text)
    if whole is not None and (
        whole in ("[", "[[", "?", "*") or (whole.startswith("-") and "/" not in whole and "*" not in whole)
    ):
        return text
    return (Hole("", "a pattern for file names", (span,), places_of(text), many=True),)


def aligned(options: Sequence[Sequence[Text]], span: Span) -> list[tuple[tuple[Text, ...], Span]]:
    """Lists of words as one list.

    Words at the same place are alternatives, a hole stands for what differs in number.
    """
    if len(options) == 1:
        words = options[0]
        places = _places(words, span)
        return [((text,), place) for text, place in zip(words, places, strict=True)]
    if len({len(option) for option in options}) == 1:
        rows = [merged(row) for row in zip(*options, strict=True)]
        return list(zip(rows, _places([row[0] for row in rows], span), strict=True))
    shortest = min(len(option) for option in options)
    head = _common(options, shortest)
    tail = _common([option[::-1] for option in options], shortest - head)
    reference = max(options, key=len)
    places = _places(reference, span)
    hole: Text = (Hole("", "the number of words differs by path", (span,), many=True, outside=False),)
    found: list[tuple[tuple[Text, ...], Span]] = [
        ((text,), place) for text, place in zip(reference[:head], places[:head], strict=True)
    ]
    found.append(((hole,), span))
    last = len(reference) - tail
    found += [((text,), place) for text, place in zip(reference[last:], places[last:], strict=True)]
    return found


def _common(options: Sequence[Sequence[Text]], limit: int) -> int:
    count = 0
    while count < limit and len({plain(option[count]) or id(option[count]) for option in options}) == 1:
        count += 1
    return count


def _places(words: Sequence[Text], outer: Span) -> list[Span]:
    """The places of the words that an expansion at ``outer`` became: ``outer`` itself where it became only one.

    A list of options is often handed through several variables (``ARGS="$ARGS --x 1"``, ``A=("${A[@]}" --x)``). An
    expansion that brought several words says nothing about any of them, so a word's place lies behind all of those.
    """
    if len(words) == 1:
        return [outer]
    brought = Counter(trail for text in words for trail in {trail for piece in text for trail in _trails(piece)})
    several = {trail for trail, count in brought.items() if count > 1}
    return [_place(text, several, outer) for text in words]


def _has_place(piece: Piece) -> TypeGuard[Chunk | Hole]:
    return not isinstance(piece, Break) and (isinstance(piece, Hole) or bool(piece.text))


def _trails(piece: Piece) -> Iterator[tuple[Span, ...]]:
    """The expansions that a piece came through, from the outermost one to each of the inner ones."""
    if _has_place(piece):
        yield from (piece.uses[:count] for count in range(2, len(piece.uses) + 1))


def _place(text: Text, several: Collection[tuple[Span, ...]], outer: Span) -> Span:
    """The place of one of several words; ``outer`` when it has no single place."""
    spans = [_piece_span(piece, several) for piece in text if _has_place(piece)]
    if not spans or None in spans or len({span.file for span in spans if span is not None}) != 1:
        return outer
    first, last = spans[0], spans[-1]
    if first is None or last is None or first.start > last.end or last.line - first.line > 0:
        return outer
    return Span(first.file, *first.start, *last.end)


def _piece_span(piece: Chunk | Hole, several: Collection[tuple[Span, ...]]) -> Span | None:
    """Where a piece stands when the expansions that brought several words are looked through."""
    uses = piece.uses
    level = next((count for count in range(len(uses), 1, -1) if uses[:count] in several), 1)
    if len(uses) > level:
        return uses[level]
    if isinstance(piece, Chunk) and piece.at is not None and "\n" not in piece.text:
        file, line, column = piece.at
        return Span(file, line, column, line, column + len(piece.text))
    return None
