"""How near a misspelt configuration key is to a known one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

_BRITISH = (("isation", "ization"), ("isatio", "izatio"), ("ise", "ize"), ("our", "or"))


def nearest(name: str, names: Iterable[str]) -> str:
    """The known name that a misspelt one can only have meant; ``""`` where there is none, or more than one.

    In this order: the same letters (case, separators and British spelling apart), one or two slips of the finger, the
    same words with some left out, shortened or added.
    """
    candidates = sorted(set(names) - {name})
    same = [other for other in candidates if _letters(other) == _letters(name)]
    if same:
        return same[0] if len(same) == 1 else ""
    slips = 1 if len(name) < 6 else 2
    ranked = sorted((distance(name, other, slips), other) for other in candidates if len(other) > 2)
    best = [other for far, other in ranked if far == ranked[0][0] and far <= slips] if ranked else []
    if best:
        return best[0] if len(best) == 1 else ""
    wordy = [other for other in candidates if _same_words(_words(name), _words(other))]
    longer = [other for other in wordy if other.startswith(name)] or wordy
    return longer[0] if len(longer) == 1 else ""


def distance(left: str, right: str, limit: int) -> int:
    """Slips between two names (insertion, deletion, change, swap); ``limit + 1`` for anything beyond the limit."""
    if abs(len(left) - len(right)) > limit:
        return limit + 1
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, one in enumerate(left, 1):
        above, before, row = before, row, [i]
        for j, other in enumerate(right, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (one != other))
            if i > 1 and j > 1 and one == right[j - 2] and left[i - 2] == other:
                cost = min(cost, above[j - 2] + 1)
            row.append(cost)
        if min(row) > limit:
            return limit + 1
    return min(row[-1], limit + 1)


@lru_cache(maxsize=16384)
def _letters(name: str) -> str:
    letters = re.sub(r"[^a-z0-9]", "", name.lower())
    for british, american in _BRITISH:
        letters = letters.replace(british, american)
    return letters


@lru_cache(maxsize=16384)
def _words(name: str) -> tuple[str, ...]:
    return tuple(word for word in re.split(r"[^a-z0-9]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()) if word)


def _same_words(written: Sequence[str], known: Sequence[str]) -> bool:
    """Whether every word of the shorter name begins a word of the longer one, and together they say something."""
    shorter, longer = sorted((written, known), key=len)
    if len("".join(shorter)) < 8:
        return False
    return all(any(word.startswith(part) or part.startswith(word) for word in longer) for part in shorter if part)
