"""The words of a command line that no option takes, handed to the positional arguments of a parser.

argparse reads them run by run (a run ends at the next option): each run goes to as many of the positional arguments that are left as it
can fill, each of which takes as many words as it may (``ArgumentParser.consume_positionals`` of Python's ``argparse.py``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from distlint.model.value import Value, known, unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from distlint.link.parser_model import Option, Parser
    from distlint.model.launch import Argument

MAX_WORDS = 200
_ARITIES = {"?": (0, 1), "*": (0, MAX_WORDS), "+": (1, MAX_WORDS)}
"""The fewest and the most words that an argument takes."""


def given_operands(
    parser: Parser, runs: Sequence[Sequence[Argument]], of: Callable[[Option, Value], Value]
) -> dict[str, Value]:
    """What runs of words give to the positional arguments of a parser, by ``dest``; ``of`` reads a word for one.

    Nothing for those that are left without a word, and for all where it can't be told which word goes where.
    """
    left = _in_order(parser)
    if not left or parser.open or sum(map(len, runs)) > MAX_WORDS:
        return {}
    if any(not word.value.is_known for run in runs for word in run):
        return {}
    ranges = [_range(option) for option in left]
    # An argument that may stay empty is done with the first run in some versions of Python, and waits in others.
    if None in ranges or (len(runs) > 1 and any(option.arity in ("?", "*", "+") for option in left)):
        return {}
    given: dict[str, Value] = {}
    for run in runs:
        shares = _shares([one for one in ranges if one is not None], len(run))
        start = 0
        for option, share in zip(left, shares, strict=False):
            if share:
                given[option.dest] = _read(option, run[start : start + share], of)
            start += share
        left, ranges = left[len(shares) :], ranges[len(shares) :]
    return given


def _shares(ranges: Sequence[tuple[int, int]], words: int) -> list[int]:
    """How many words each argument takes, for as many of them as the words are enough for: the first ones take what they may."""
    count = next(n for n in range(len(ranges), -1, -1) if sum(least for least, _ in ranges[:n]) <= words)
    spare = words - sum(least for least, _ in ranges[:count])
    shares = []
    for least, most in ranges[:count]:
        more = min(most - least, spare)
        spare -= more
        shares.append(least + more)
    return shares


def _in_order(parser: Parser) -> list[Option]:
    """The positional arguments in the order in which the program adds them; none where that can't be told."""
    found = [option for option in parser.options if not option.flags]
    if any(not option.always or option.function != parser.function for option in found):
        return []
    return found


def _range(option: Option) -> tuple[int, int] | None:
    if isinstance(option.arity, int):
        return (option.arity, option.arity) if 0 < option.arity <= MAX_WORDS else None
    return _ARITIES.get(option.arity)


def _read(option: Option, words: Sequence[Argument], of: Callable[[Option, Value], Value]) -> Value:
    values = [of(option, word.value) for word in words]
    if option.arity == "?" or (option.arity == 1 and not option.listed):
        return values[0]
    if not all(value.is_known for value in values):
        return unknown("holds words that are not known", words[0].span)
    return known([value.only for value in values], words[0].span)
