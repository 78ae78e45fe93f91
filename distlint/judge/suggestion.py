"""The "did you mean" part of an error about a word that we do not know."""

from __future__ import annotations

from collections.abc import Iterable


def did_you_mean(word: str, candidates: Iterable[str]) -> str:
    """``"; did you mean `x`?"`` for the closest of the candidates, or an empty string where none is close."""
    from difflib import get_close_matches

    by_fold = {candidate.casefold(): candidate for candidate in sorted(candidates, reverse=True)}
    close = get_close_matches(word.casefold(), by_fold, n=1, cutoff=0.6)
    return f"; did you mean `{by_fold[close[0]]}`?" if close else ""


def listing(words: Iterable[str]) -> str:
    """The words in order, each in backticks: for messages that say what is allowed."""
    return ", ".join(f"`{word}`" for word in sorted(words))
