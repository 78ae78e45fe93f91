"""Patterns of ignore files over one path, byte for byte as git matches them, in time that no pattern can blow up."""

from __future__ import annotations

import re
from collections.abc import Sequence

Segment = bytes | re.Pattern[bytes] | None
"""What fits one part of a path between slashes: a literal, a pattern, or ``None`` for ``**``."""

_NEVER = re.compile(rb"(?!)")
_SPECIAL = re.compile(rb"[*?\[\\]")


def compile_glob(text: bytes) -> tuple[Segment, ...]:
    """The segments of a pattern without ``!`` and without a final slash; one that holds no slash fits in any folder."""
    if b"/" not in text:
        return None, _segment(text)
    parts = text.removeprefix(b"/").split(b"/")
    segments: list[Segment] = []
    for part in parts:
        segment = None if part == b"**" else _segment(part)
        if segment is not None or not segments or segments[-1] is not None:
            segments.append(segment)
    return tuple(segments)


def fits(glob: tuple[Segment, ...], path: Sequence[bytes]) -> bool:
    """Whether a whole path, given by its parts, fits."""
    if len(glob) == 2 and glob[0] is None and glob[1] is not None:
        return _fits_one(glob[1], path[-1])
    at = here = 0
    star, resume = -1, 0
    while here < len(path):
        if at < len(glob) and (segment := glob[at]) is None:
            if at == len(glob) - 1:
                return True
            star, resume = at, here
            at += 1
        elif at < len(glob) and segment is not None and _fits_one(segment, path[here]):
            at += 1
            here += 1
        elif star >= 0:
            # The last `**` takes one more folder: an earlier one could gain nothing by taking more.
            resume += 1
            at, here = star + 1, resume
        else:
            return False
    return at == len(glob)


def _fits_one(segment: bytes | re.Pattern[bytes], part: bytes) -> bool:
    return segment == part if type(segment) is bytes else segment.fullmatch(part) is not None  # type: ignore[union-attr]


def _segment(text: bytes) -> bytes | re.Pattern[bytes]:
    """What fits one part of a path."""
    if not _SPECIAL.search(text):
        return text
    pieces = _pieces(text)
    if pieces is None:
        return _NEVER
    if len(pieces) == 1:
        return re.compile(pieces[0], re.DOTALL)
    # Between two stars the first place that fits is as good as any: keeping it, nothing ever backtracks.
    first, *middle, last = pieces
    inner = b"".join(b"(?=(?P<g%d>.*?%s))(?P=g%d)" % (index, piece, index) for index, piece in enumerate(middle))
    return re.compile(first + inner + b".*" + last, re.DOTALL)


def _pieces(text: bytes) -> list[bytes] | None:
    """Regular expressions of what stands between the stars; ``None`` for a pattern that is broken and fits nothing."""
    pieces = [b""]
    at = 0
    while at < len(text):
        char = text[at : at + 1]
        at += 1
        if char == b"*":
            if pieces[-1] or len(pieces) == 1:
                pieces.append(b"")
        elif char == b"?":
            pieces[-1] += b"."
        elif char == b"[":
            members, at = _bracket(text, at)
            if not members:
                return None
            pieces[-1] += members
        else:
            if char == b"\\":
                char = text[at : at + 1]
                at += 1
            if not char:
                return None
            pieces[-1] += re.escape(char)
    return pieces


def _bracket(text: bytes, at: int) -> tuple[bytes, int]:
    """The character class behind a ``[``, and where the pattern goes on.

    The class is empty if it never ends or names an unknown one.
    """
    negated = text[at : at + 1] in (b"!", b"^")
    at += negated
    members: set[int] = set()
    previous = -1
    first = True
    while at < len(text):
        char = text[at]
        if char == ord("]") and not first:
            inside = b"".join(b"\\x%02x" % member for member in sorted(members))
            return (b"[^%s]" if negated else b"[%s]") % inside if inside else b"", at + 1
        first = False
        following = text[at + 1 : at + 2]
        if char == ord("-") and previous >= 0 and following and following != b"]":
            at += 1 + (following == b"\\")
            members.update(range(previous, text[at] + 1) if at < len(text) else ())
            previous = -1
        elif char == ord("[") and following == b":" and (end := text.find(b":]", at + 2)) >= 0:
            named = _class_members(text[at + 2 : end])
            if not named:
                return b"", at
            members.update(named)
            at, previous = end + 1, -1
        else:
            if char == ord("\\"):
                at += 1
                if at == len(text):
                    break
                char = text[at]
            members.add(char)
            previous = char
        at += 1
    return b"", at


def _class_members(name: bytes) -> bytes:
    import string

    letters, digits, marks = string.ascii_letters, string.digits, string.punctuation
    known = {
        b"alnum": letters + digits,
        b"alpha": letters,
        b"blank": " \t",
        b"cntrl": "".join(map(chr, (*range(32), 127))),
        b"digit": digits,
        b"graph": letters + digits + marks,
        b"lower": string.ascii_lowercase,
        b"print": letters + digits + marks + " ",
        b"punct": marks,
        b"space": string.whitespace,
        b"upper": string.ascii_uppercase,
        b"xdigit": string.hexdigits,
    }
    return known.get(name, "").encode()
