"""Which rules are on: selectors by code, prefix, framework, root cause, status or name; the most specific wins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from distlint.judge.ruleindex import RuleHead
from distlint.judge.suggestion import did_you_mean
from distlint.model.record import dataclass

ALL = "ALL"
EXACT = 10
"""The rank of a selector that names a single rule."""
GROUP = 1
"""The rank of a selector that names a framework, a root cause, a status or the letters of a family."""


class SelectionError(ValueError):
    """A selector that fits no rule."""


class Selector(NamedTuple):
    """A selector with the codes that it stands for; the one with the higher ``rank`` is the more specific.

    ``replaced`` is the present code where the word is the code or name of a rule that was replaced.
    """

    word: str
    codes: frozenset[str]
    rank: int
    replaced: str = ""


@dataclass(frozen=True, slots=True)
class SelectionLayer:
    """What one source of settings says; later layers (the command line) beat earlier ones (files)."""

    select: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()


def resolve_selector(word: str, heads: Mapping[str, RuleHead]) -> Selector:
    """The rules that a selector stands for. Raises ``SelectionError`` with a suggestion where there are none."""
    upper = word.upper()
    for head in heads.values():
        if head.code == upper or head.name == word:
            if head.replaced_by and head.replaced_by in heads:
                return Selector(word, frozenset({head.replaced_by}), EXACT, head.replaced_by)
            return Selector(word, frozenset({head.code}), EXACT)
    if upper == ALL:
        return Selector(word, frozenset(heads), 0)
    group = {h.code for h in heads.values() if word.lower() in (h.framework, h.root_cause, h.status)}
    if group:
        return Selector(word, frozenset(group), GROUP)
    letters = upper.rstrip("0123456789")
    family = {code for code in heads if letters and code.startswith(upper) and code[:-3] == letters}
    if family:
        return Selector(word, frozenset(family), GROUP + len(upper) - len(letters))
    raise SelectionError(f"`{word}` is no rule, family, framework or root cause{did_you_mean(word, _words(heads))}")


def _words(heads: Mapping[str, RuleHead]) -> set[str]:
    words = {ALL}
    for head in heads.values():
        words |= {head.code, head.name, head.framework, head.root_cause, head.code[:-3], head.code[:-2]}
    return words


def select_codes(heads: Mapping[str, RuleHead], layers: Sequence[SelectionLayer]) -> frozenset[str]:
    """The codes that are on. Without any selector these are all rules that are not deprecated.

    Within a layer the most specific selector that fits a rule decides, and of equally specific ones ``ignore``; a later
    layer decides alone about the rules that its selectors fit, and with a ``select`` about all. Raises
    ``SelectionError`` for an unknown selector.
    """
    enabled = {code for code, head in heads.items() if head.status != "deprecated"}
    for layer in layers:
        chosen = _resolve(layer.select, heads)
        positive = _ranks((*chosen, *_resolve(layer.extend_select, heads)), heads)
        negative = _ranks(_resolve(layer.ignore, heads), heads)
        if chosen:
            enabled.clear()
        for code in heads:
            on, off = positive.get(code, -1), negative.get(code, -1)
            if on > off:
                enabled.add(code)
            elif off >= 0:
                enabled.discard(code)
    return frozenset(enabled)


def _resolve(words: Iterable[str], heads: Mapping[str, RuleHead]) -> tuple[Selector, ...]:
    return tuple(resolve_selector(word, heads) for word in words)


def _ranks(selectors: Iterable[Selector], heads: Mapping[str, RuleHead]) -> dict[str, int]:
    """The rank of the most specific selector for each code; a deprecated rule has to be named, or its status."""
    ranks: dict[str, int] = {}
    for selector in selectors:
        for code in selector.codes:
            if heads[code].status == "deprecated" and selector.rank < EXACT and selector.word != "deprecated":
                continue
            ranks[code] = max(ranks.get(code, -1), selector.rank)
    return ranks


def most_specific(code: str, selectors: Iterable[Selector]) -> Selector | None:
    """The most specific of the selectors that fit a code, the last of equals."""
    best: Selector | None = None
    for selector in selectors:
        if code in selector.codes and (best is None or selector.rank >= best.rank):
            best = selector
    return best
