"""Pieces of something that is to be dealt out in equal parts: cut by the length of a part, it has one more where something is left over.

``range(0, n, n // parts)`` has ``parts`` items only if ``parts`` divides ``n``.
"""

from __future__ import annotations

from typing import Any

from distlint.rehearsal.notes import LEFT_PIECES
from distlint.rehearsal.stage import Stage
from distlint.rehearsal.sums import Sum
from distlint.rehearsal.unknowns import Opaque
from distlint.rehearsal.values import combined, derived

MAX_DEALT = 64
"""Parts that something is dealt out in."""

_CUTTING = ("int", "math.floor", "math.trunc")
"""What leaves the whole part of a number."""

_ASKED = ("option", "environment")
"""What tells a number that whoever starts the program chooses, so that it may always be one that can be dealt out."""


def _parts_of(whole: Opaque, step: Any) -> int | None:
    """In how many parts something is dealt out where a part is as long as ``step``; ``None`` where that is not known."""
    if not isinstance(step, Opaque) or step.sign is None or whole.sign is None:
        return None
    for parts in range(2, MAX_DEALT + 1):
        divided = derived("/", [whole, parts])
        shares = (derived("//", [whole, parts]), *(derived(name, [divided]) for name in _CUTTING))
        if any(step.sign in _forms(one) for one in shares):
            return parts
    return None


def _forms(share: Opaque) -> tuple[Any, ...]:
    """What tells a share: itself, or one if it is none."""
    return (share.sign, combined("max", [share, 1]), combined("max", [1, share]))


def note_pieces(stage: Stage, whole: Any, step: Any, count: Opaque) -> None:
    """Remembers that something is cut in pieces of a length, and what tells their number, where these are parts of it."""
    if not isinstance(whole, Opaque) or (type(whole.sign) is tuple and whole.sign[:1] in [(one,) for one in _ASKED]):
        return
    parts = _parts_of(whole, step)
    if parts is None or _is_divided(whole, parts):
        return
    kept = stage.kept.setdefault(LEFT_PIECES, {})
    # the turns of a generator that gives one piece after the other are as many
    for one in (count.sign, combined("turns", [count])):
        if one is not None:
            kept[one] = parts


def _is_divided(whole: Opaque, parts: int) -> bool:
    """Whether a number is certainly a multiple of another one."""
    return isinstance(whole, Sum) and all(
        one % parts == 0 for one in (whole.number, *(n for n, _ in whole.terms.values()))
    )
