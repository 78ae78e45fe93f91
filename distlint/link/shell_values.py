"""Texts of a shell script under evaluation: what is known of them piece by piece, and where each piece was written.

A text is a tuple of pieces: ``Chunk`` (known text) and ``Hole`` (unknown text). A variable or a word may have one of a
few texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import NamedTuple

from distlint.model.span import Span
from distlint.model.value import MAX_OPTIONS, Confidence, Value, known, one_of, unknown

MAX_TRAIL = 6
"""So many expansions and assignments are remembered per piece; more would only repeat the same places."""

MAX_PIECES = 4_000
MAX_LENGTH = 100_000
"""Longer texts are unknown: a script that doubles a string in a loop must not fill the memory."""


class Chunk(NamedTuple):
    """Known text.

    ``at`` is where its first character stands; ``uses`` and ``sets`` are the expansions that brought it here and the
    assignments that it went through, the nearest first. ``split`` marks text that came from an unquoted expansion;
    ``pattern`` text outside quotes, in which ``*`` and ``?`` count.
    """

    text: str
    at: tuple[str, int, int] | None = None
    uses: tuple[Span, ...] = ()
    sets: tuple[Span, ...] = ()
    sure: Confidence = Confidence.CERTAIN
    split: bool = False
    pattern: bool = False


class Hole(NamedTuple):
    """Unknown text.

    ``name`` is the variable that it stands for, ``many`` says that it may be any number of words; ``outside`` that
    nothing in the project sets it, so that it may be empty as well.
    """

    name: str
    reason: str
    uses: tuple[Span, ...] = ()
    sets: tuple[Span, ...] = ()
    many: bool = False
    outside: bool = False
    place: str = ""
    """``root`` for the project's folder, ``start`` for the folder that the script is started from: a path behind it can
    be found."""
    carried: bool = False
    """Whether it is what a variable held before a turn of a loop."""
    single: bool = False
    """Whether it is certainly one word: the name of a host."""


class Break(NamedTuple):
    """The border between two array elements that are words of their own."""


NAMELESS = "UNKNOWN"
"""The name by which unknown parts are shown that have none."""

Piece = Chunk | Hole | Break
Text = tuple[Piece, ...]

EMPTY: Text = ()


def literal(text: str, *sets: Span, sure: Confidence = Confidence.CERTAIN) -> Text:
    """A text that rests on some places."""
    return (Chunk(text, None, (), sets, sure),)


def plain(text: Text) -> str | None:
    """The text as a string if all of it is known, else ``None``."""
    if len(text) == 1 and isinstance(text[0], Chunk):
        return text[0].text
    parts = []
    for piece in text:
        if isinstance(piece, Hole):
            return None
        parts.append(piece.text if isinstance(piece, Chunk) else " ")
    return "".join(parts)


def shown(text: Text) -> str:
    """The text with ``${NAME}`` for its unknown parts."""
    parts = []
    for piece in text:
        if isinstance(piece, Chunk):
            parts.append(piece.text)
        else:
            parts.append(f"${{{piece.name or NAMELESS}}}" if isinstance(piece, Hole) else " ")
    return "".join(parts)


def known_prefix(text: Text) -> str:
    """What is known of its beginning."""
    parts = []
    for piece in text:
        if isinstance(piece, Hole):
            break
        parts.append(piece.text if isinstance(piece, Chunk) else " ")
    return "".join(parts)


def without_beginning(text: Text, count: int) -> Text:
    """The text without its first characters, which are known."""
    pieces = []
    for piece in text:
        if count and isinstance(piece, Chunk):
            taken = min(count, len(piece.text))
            count -= taken
            if taken == len(piece.text):
                continue
            at = (piece.at[0], piece.at[1], piece.at[2] + taken) if piece.at is not None else None
            piece = piece._replace(text=piece.text[taken:], at=at)
        pieces.append(piece)
    return tuple(pieces)


def confidence_of(text: Text) -> Confidence:
    """The weakest confidence among the known pieces."""
    sure = Confidence.CERTAIN
    for piece in text:
        if isinstance(piece, Chunk) and piece.sure < sure:
            sure = piece.sure
    return sure


def places_of(text: Text) -> tuple[Span, ...]:
    """The assignments that the pieces went through, without repetition."""
    if len(text) == 1:
        return () if isinstance(text[0], Break) else text[0].sets
    return tuple(dict.fromkeys(span for piece in text if not isinstance(piece, Break) for span in piece.sets))


def value_of(options: Sequence[Text], *spans: Span) -> Value:
    """The value of a word with these possible texts; ``spans`` come before the places that the texts rest on."""
    found = [span for text in options for span in places_of(text)]
    places = tuple(dict.fromkeys((*spans, *found))) if found else spans
    texts = [plain(text) for text in options]
    if None in texts:
        hole = next(piece for text in options for piece in text if isinstance(piece, Hole))
        return unknown(hole.reason, *places, symbol=symbol_of(options[0]) if len(options) == 1 else "")
    if len(texts) == 1:
        return known(texts[0], *places, confidence=confidence_of(options[0]))
    return one_of(texts, places, min((confidence_of(text) for text in options), default=Confidence.CERTAIN))


def symbol_of(text: Text) -> str:
    """A text that stands for this one wherever it is the same, unknown parts included; ``""`` if there is none.

    An unknown part is the same where it comes from the same assignment, or from outside by the same name. What has a
    place begins with ``${PROJECT}`` or ``${PWD}``.
    """
    parts = []
    for piece in text:
        if isinstance(piece, Chunk):
            parts.append(piece.text)
        elif isinstance(piece, Hole) and piece.place:
            parts.append("${PROJECT}" if piece.place == "root" else "${PWD}")
        elif isinstance(piece, Hole) and not piece.carried and (piece.sets or _stays(piece)):
            origin = piece.sets[-1] if piece.sets else None
            parts.append(f"${{{piece.name}@{origin}}}")
        else:
            return ""
    return "".join(parts)


def _stays(hole: Hole) -> bool:
    """Whether a hole is a whole variable that nothing sets, and that is the same throughout a script."""
    whole = hole.outside and hole.reason.startswith(f"${hole.name} ") and hole.name.isidentifier()
    return whole and hole.name not in ("RANDOM", "SRANDOM", "SECONDS", "LINENO")


def merged(options: Iterable[Text]) -> tuple[Text, ...]:
    """The possible texts without repetition; a single unknown one where they are too many."""
    options = tuple(options)
    if len(options) == 1:
        return options
    distinct: dict[object, Text] = {}
    for text in options:
        content = plain(text)
        distinct.setdefault(content if content is not None else ("partly", shown(text)), text)
    texts = tuple(distinct.values())
    if len(texts) > MAX_OPTIONS:
        many = any(isinstance(piece, Hole) and piece.many for text in texts for piece in text)
        many = many or any(" " in (plain(text) or "") for text in texts)
        return ((Hole("", "too many possibilities", (), places_of(sum(texts, EMPTY))[:MAX_TRAIL], many),),)
    return texts


def used(text: Text, span: Span | None, *, split: bool, keep_quoted: bool = False) -> Text:
    """The text as it comes out of an expansion at ``span``.

    Split into words later on where the expansion is unquoted.
    """
    trail = (span,) if span is not None else ()
    pieces: list[Piece] = []
    for piece in text:
        if isinstance(piece, Chunk):
            uses = trail + piece.uses[: MAX_TRAIL - 1]
            # Quotes inside ``${A:-"x y"}`` hold: such a piece went through no variable and is no pattern.
            whole = keep_quoted and not (piece.pattern or piece.uses or piece.sets)
            pieces.append(Chunk(piece.text, piece.at, uses, piece.sets, piece.sure, split and not whole))
        elif isinstance(piece, Hole):
            uses = trail + piece.uses[: MAX_TRAIL - 1]
            many = piece.many or (split and not piece.place and not piece.single)
            pieces.append(piece._replace(uses=uses, many=many, carried=False))
        else:
            pieces.append(piece)
    return tuple(pieces)


def assigned(text: Text, span: Span, *, element: bool = False) -> Text:
    """The text as a variable holds it after the assignment at ``span``.

    An unknown array ``element`` may stay any number of words.
    """
    if len(text) > MAX_PIECES or sum(len(piece.text) for piece in text if isinstance(piece, Chunk)) > MAX_LENGTH:
        return (Hole("", "too long", (), (span,)),)
    pieces: list[Piece] = []
    for piece in text:
        if isinstance(piece, Chunk):
            sets = (span, *piece.sets[: MAX_TRAIL - 1])
            pieces.append(Chunk(piece.text, piece.at, piece.uses, sets, piece.sure))
        elif isinstance(piece, Hole):
            sets = (span, *piece.sets[: MAX_TRAIL - 1])
            many = element and piece.many
            pieces.append(piece._replace(sets=sets, many=many, carried=False))
        else:
            pieces.append(Chunk(" ", sets=(span,)))
    return tuple(pieces)


def weakened(text: Text, sure: Confidence) -> Text:
    """The text, held no more firmly than ``sure``; an empty text keeps the doubt in an empty piece."""
    pieces = tuple(piece._replace(sure=min(piece.sure, sure)) if isinstance(piece, Chunk) else piece for piece in text)
    return pieces or (Chunk("", sure=sure, split=True),)


def combine(parts: Sequence[Sequence[Text]]) -> tuple[Text, ...]:
    """All texts made of one choice for every part; bounded, with one unknown text beyond."""
    count = 1
    for choices in parts:
        count *= len(choices)
    if count == 1:
        return (tuple(piece for choices in parts for piece in choices[0]),)
    if count <= MAX_OPTIONS * 4:
        options = merged(tuple(piece for text in chosen for piece in text) for chosen in product(*parts))
        if count <= MAX_OPTIONS or len(options) > 1 or plain(options[0]) is not None:
            return options
    # What is the same in all of them stays known.
    parts = [choices if len(choices) == 1 else [_undecided(choices)] for choices in parts]
    return (tuple(piece for choices in parts for piece in choices[0]),)


def _undecided(choices: Sequence[Text]) -> Text:
    """What some texts share at their beginnings, up to a blank, and a hole for the rest."""
    pieces = [piece for text in choices for piece in text if not isinstance(piece, Break)]
    uses = tuple(dict.fromkeys(span for piece in pieces for span in piece.uses[:1]))
    many = any(isinstance(piece, Chunk) and piece.split for piece in pieces)
    first = [text[0] if text else None for text in choices]
    shared: Text = ()
    chunk = first[0]
    if isinstance(chunk, Chunk) and all(isinstance(one, Chunk) for one in first):
        known = chunk.text
        for one in first[1:]:
            while isinstance(one, Chunk) and not one.text.startswith(known):
                known = known[:-1]
        known = known[: known.rfind(" ") + 1]
        many = many or bool(known)
        shared = (chunk._replace(text=known),) if known else ()
    return (*shared, Hole("", "too many possibilities", uses[:1], (), many))
