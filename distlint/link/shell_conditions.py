"""Conditions of a shell script: ``[ ... ]``, ``[[ ... ]]``, ``test``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import translate
from typing import NamedTuple

from distlint.link.shell_state import given_from_outside
from distlint.link.shell_values import Hole, Text, plain

_NUMERIC = {
    "-eq": lambda a, b: a == b,
    "-ne": lambda a, b: a != b,
    "-lt": lambda a, b: a < b,
    "-le": lambda a, b: a <= b,
    "-gt": lambda a, b: a > b,
    "-ge": lambda a, b: a >= b,
}
_INTEGER = re.compile(r"\s*[-+]?\d{1,18}\s*")
MAX_WORDS = 60


class Decision(NamedTuple):
    """The outcome of a condition: true, false or unknown (``None``).

    ``if_empty`` is what it would be if a value that comes from outside were empty; ``None`` where the condition asks
    for something else.
    """

    status: bool | None
    if_empty: bool | None = None

    def negated(self) -> Decision:
        """The opposite."""
        return Decision(_not(self.status), _not(self.if_empty))

    def joined(self, yes: Decision, no: Decision) -> Decision:
        """The outcome of what follows this condition: ``yes`` where it holds, else ``no``."""
        if yes.status is not None and yes.status == no.status:
            return Decision(yes.status)
        if self.if_empty is not None and yes.status is True and no.status is False:
            return self
        if self.if_empty is not None and yes.status is False and no.status is True:
            return self.negated()
        return UNDECIDED


UNDECIDED = Decision(None)
TRUE = Decision(True)
FALSE = Decision(False)


def _not(status: bool | None) -> bool | None:
    return None if status is None else not status


def both(first: Decision, second: Decision) -> Decision:
    """Three-valued *and*."""
    if first.status is False or second.status is False:
        return FALSE
    if first.status and second.status:
        return TRUE
    if first.status:
        return second
    return first if second.status else UNDECIDED


def either(first: Decision, second: Decision) -> Decision:
    """Three-valued *or*."""
    return both(first.negated(), second.negated()).negated()


def decide(words: Sequence[Sequence[Text]], *, extended: bool) -> Decision:
    """Decides a test from its operands and operators, each with its possible texts; ``extended`` is ``[[ ... ]]``."""
    if len(words) > MAX_WORDS:
        return UNDECIDED
    for marks, combine in ((("||", "-o"), either), (("&&", "-a"), both)):
        for at, word in enumerate(words):
            if 0 < at < len(words) - 1 and _only(word) in marks and (extended or len(words) > 4):
                return combine(decide(words[:at], extended=extended), decide(words[at + 1 :], extended=extended))
    if words and _only(words[0]) == "!":
        return decide(words[1:], extended=extended).negated()
    if len(words) == 1:
        return _empty(words[0]).negated()
    if len(words) == 2:
        return _unary(_only(words[0]), words[1])
    if len(words) == 3:
        return _binary(words[0], _only(words[1]), words[2], extended=extended)
    return UNDECIDED


def _only(options: Sequence[Text]) -> str | None:
    return plain(options[0]) if len(options) == 1 else None


def _empty(options: Sequence[Text]) -> Decision:
    statuses = {_empty_text(text) for text in options}
    return statuses.pop() if len(statuses) == 1 else UNDECIDED


def _empty_text(text: Text) -> Decision:
    whole = plain(text)
    if whole is not None:
        return Decision(whole == "")
    if given_from_outside(text):
        return Decision(None, True)
    known = any(not isinstance(piece, Hole) and plain((piece,)) for piece in text)
    return Decision(False) if known else UNDECIDED


def _unary(operator: str | None, options: Sequence[Text]) -> Decision:
    if operator == "-z":
        return _empty(options)
    if operator == "-n":
        return _empty(options).negated()
    return UNDECIDED


def _binary(left: Sequence[Text], operator: str | None, right: Sequence[Text], *, extended: bool) -> Decision:
    if operator is None:
        return UNDECIDED
    outcomes = {_compared(one, operator, other, extended=extended) for one in left for other in right}
    return outcomes.pop() if len(outcomes) == 1 else UNDECIDED


def _compared(left: Text, operator: str, right: Text, *, extended: bool) -> Decision:
    one, other = plain(left), plain(right)
    if operator in ("=", "==", "!="):
        decision = _equal(left, right, one, other, extended=extended)
        return decision.negated() if operator == "!=" else decision
    if operator in _NUMERIC:
        if one is None and other is not None and _counts_arguments(left) and _INTEGER.fullmatch(other):
            return Decision(None, _NUMERIC[operator](0, int(other)))
        if one is None or other is None or not _INTEGER.fullmatch(one) or not _INTEGER.fullmatch(other):
            return UNDECIDED
        return Decision(_NUMERIC[operator](int(one), int(other)))
    return UNDECIDED


def _equal(left: Text, right: Text, one: str | None, other: str | None, *, extended: bool) -> Decision:
    if one is not None and other is not None:
        if extended and any(mark in other for mark in "*?["):
            if len(other) > 100 or other.count("*") > 4:
                return UNDECIDED
            return Decision(re.match(translate(other), one) is not None)
        return Decision(one == other)
    if other == "":
        return _empty_text(left)
    if other is not None and _is_guarded(left, other):
        return _empty_text(left[1:])
    if one == "":
        return _empty_text(right)
    return UNDECIDED


def _is_guarded(left: Text, other: str) -> bool:
    """``"x$A" = "x"`` asks whether ``$A`` is empty."""
    return len(left) == 2 and plain(left[:1]) == other and given_from_outside(left[1:])


def _counts_arguments(text: Text) -> bool:
    return len(text) == 1 and isinstance(text[0], Hole) and text[0].name == "#" and text[0].outside
