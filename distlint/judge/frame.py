"""One evaluation of an expression over a subject, and the walk through all combinations of *one of* values.

An expression is evaluated for one possible value of each setting at a time. The first evaluation notes which settings
have several possible values and takes the first of each; further ones take the others, like an odometer, until all
combinations that the expression can tell apart were seen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from distlint.judge.view import Used, View
from distlint.model.value import State, Value, known, unknown

MAX_COMBINATIONS = 64
"""Above this many combinations of possible values an expression is unknown."""


class Outcome(NamedTuple):
    """What an expression is, and what that rests on."""

    value: Value
    used: tuple[Used, ...] = ()


class Frame:
    """The context of an evaluation: the subject, the versions assumed, and the possible values chosen so far.

    ``versions`` maps package names to the version that is assumed where the pins allow several.
    """

    __slots__ = ("_at", "_choices", "versions", "view")

    def __init__(self, view: View, versions: Mapping[str, str]) -> None:
        self.view = view
        self.versions = versions
        self._choices: list[list[int]] = []
        self._at: dict[str, int] = {}

    def read(self, path: str) -> Outcome:
        """The value of a path in the combination at hand."""
        used = self.view.read(path)
        return Outcome(self.choose(path, used.value), (used,))

    def choose(self, key: str, value: Value) -> Value:
        """One of the possible values of ``value``; the same one for the same ``key`` within one evaluation."""
        if value.state is not State.ONE_OF:
            return value
        position = self._at.get(key)
        if position is None:
            position = self._at[key] = len(self._at)
            if position == len(self._choices):
                self._choices.append([0, len(value.options)])
        return known(value.options[self._choices[position][0]], *value.spans, confidence=value.confidence)

    def advance(self) -> bool:
        """Goes on to the next combination; false when all were seen."""
        self._at.clear()
        while self._choices:
            choice = self._choices[-1]
            choice[0] += 1
            if choice[0] < choice[1]:
                return True
            self._choices.pop()
        return False


Evaluator = Callable[[Frame], Outcome]


def outcomes(evaluate: Evaluator, view: View, versions: Mapping[str, str]) -> list[Outcome]:
    """The outcome for every combination of possible values; a single unknown one where there are too many."""
    frame = Frame(view, versions)
    found = [evaluate(frame)]
    while frame.advance():
        if len(found) == MAX_COMBINATIONS:
            return [Outcome(unknown("too many possible combinations"), found[0].used)]
        found.append(evaluate(frame))
    return found
