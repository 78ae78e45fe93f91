"""What we know of a value, and how sure we are of it.

Every value that distlint reads is *known*, *one of* a few, *auto* (a host framework fills it in), *absent* or *unknown*.
Conditions over values use Kleene's three-valued logic: a rule fires only where its condition is true for every value that
is possible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from enum import Enum, IntEnum
from typing import Any

from distlint.model.record import dataclass
from distlint.model.span import Span

MAX_OPTIONS = 8
"""A value with more possibilities than this is treated as unknown; keeps joins small."""


class Confidence(IntEnum):
    """How sure we are of a claim; ordered, so that a finding takes the minimum over all that it rests on."""

    POSSIBLE = 1
    LIKELY = 2
    CERTAIN = 3

    @property
    def word(self) -> str:
        """The word used in reports and rule files."""
        return self.name.lower()

    @classmethod
    def parse(cls, word: str) -> Confidence:
        """The confidence for a word; raises ``ValueError`` for any other."""
        try:
            return cls[word.upper()]
        except KeyError:
            raise ValueError(f"unknown confidence {word!r}: use certain, likely or possible") from None


class State(Enum):
    """The five things a value can be."""

    KNOWN = "known"
    ONE_OF = "one of"
    AUTO = "auto"
    ABSENT = "absent"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Value:
    """What is known of an expression, a key or a shell word.

    ``options`` holds the Python values that are possible: one when known, several when *one of*, none otherwise.
    ``spans`` are the places that this knowledge rests on, the nearest first. ``reason`` says why a value is unknown, in
    words for ``--verbose``. ``symbol`` is a text for an unknown one: two values with the same symbol are the same.
    ``ends`` are how an unknown text begins and ends, as far as that is known; ``None`` where it may be no text at all.
    """

    state: State
    options: tuple[Any, ...] = ()
    spans: tuple[Span, ...] = ()
    confidence: Confidence = Confidence.CERTAIN
    reason: str = ""
    symbol: str = ""
    ends: tuple[str, str] | None = None

    @property
    def is_known(self) -> bool:
        """Whether exactly one value is possible."""
        return self.state is State.KNOWN

    @property
    def is_unknown(self) -> bool:
        """Whether nothing is known (also true of *auto*, whose value a host framework decides)."""
        return self.state in (State.UNKNOWN, State.AUTO)

    @property
    def is_absent(self) -> bool:
        """Whether it is known that nothing was written."""
        return self.state is State.ABSENT

    @property
    def only(self) -> Any:
        """The value if it is known, else ``None``; test ``is_known`` where ``None`` itself is a value."""
        return self.options[0] if self.state is State.KNOWN else None

    def at(self, *spans: Span) -> Value:
        """The same knowledge, resting on these places first."""
        return replace(self, spans=spans + tuple(s for s in self.spans if s not in spans))

    def at_most(self, confidence: Confidence) -> Value:
        """The same knowledge, held no more firmly than ``confidence``."""
        return self if self.confidence <= confidence else replace(self, confidence=confidence)

    def map(self, function: Callable[[Any], Any]) -> Value:
        """The value after ``function``; unknown where the function fails on a possible value."""
        if self.state not in (State.KNOWN, State.ONE_OF):
            return replace(self, symbol="", ends=None) if self.symbol or self.ends else self
        try:
            return one_of([function(option) for option in self.options], self.spans, self.confidence)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            return unknown(f"not computable: {error}", *self.spans)


def known(value: Any, *spans: Span, confidence: Confidence = Confidence.CERTAIN) -> Value:
    """A value that is written down, or computed from such."""
    return Value(State.KNOWN, (value,), spans, confidence)


def one_of(values: Iterable[Any], spans: tuple[Span, ...] = (), confidence: Confidence = Confidence.CERTAIN) -> Value:
    """A value that is one of a few: known when they are equal, unknown when there are none or too many."""
    options: list[Any] = []
    for value in values:
        if not any(type(value) is type(other) and value == other for other in options):
            options.append(value)
    if not options or len(options) > MAX_OPTIONS:
        return Value(State.UNKNOWN, (), spans, confidence, "too many possibilities" if options else "no value")
    return Value(State.KNOWN if len(options) == 1 else State.ONE_OF, tuple(options), spans, confidence)


def unknown(reason: str, *spans: Span, symbol: str = "") -> Value:
    """A value that cannot be known from the files; ``reason`` is shown by ``--verbose``."""
    return Value(State.UNKNOWN, (), spans, Confidence.CERTAIN, reason, symbol)


def concatenated(parts: Sequence[Value], *spans: Span) -> Value:
    """The text of several texts one behind the other; where some are not known, how it begins and ends."""
    rests_on = (*spans, *(span for part in parts for span in part.spans))
    if all(part.is_known for part in parts):
        confidence = min((part.confidence for part in parts), default=Confidence.CERTAIN)
        return known("".join(str(part.only) for part in parts), *dict.fromkeys(rests_on), confidence=confidence)
    return unknown_text(_known_run(parts, 0), _known_run(tuple(reversed(parts)), 1), *spans)


def unknown_text(begins: str, ends: str, *spans: Span) -> Value:
    """A text of which no more is known than how it begins and ends (both ``""`` where not even that)."""
    return replace(unknown("holds parts that are not known", *spans), ends=(begins, ends))


def _known_run(parts: Sequence[Value], side: int) -> str:
    """The text of the parts from one side (0: the first, 1: the last) up to what is not known."""
    found: list[str] = []
    for part in parts:
        if not part.is_known:
            found.append(part.ends[side] if part.ends is not None else "")
            break
        found.append(str(part.only))
    return "".join(found if side == 0 else reversed(found))


def starts(value: Value, affix: str) -> bool | None:
    """Whether a text begins with another one; ``None`` where that is not known."""
    return _has_end(value, affix, 0, str.startswith)


def ends(value: Value, affix: str) -> bool | None:
    """Whether a text ends with another one; ``None`` where that is not known."""
    return _has_end(value, affix, 1, str.endswith)


def _has_end(value: Value, affix: str, side: int, test: Callable[[str, str], bool]) -> bool | None:
    if value.state in (State.KNOWN, State.ONE_OF):
        found = {test(option, affix) if isinstance(option, str) else None for option in value.options}
        return found.pop() if len(found) == 1 else None
    if value.ends is None:
        return None
    end = value.ends[side]
    if test(end, affix):
        return True
    return False if not test(affix, end) else None


def auto(*spans: Span) -> Value:
    """A value that a host framework fills in at run time."""
    return Value(State.AUTO, (), spans, Confidence.CERTAIN, "filled in by the host framework")


def absent(*spans: Span) -> Value:
    """Nothing was written, and we know it."""
    return Value(State.ABSENT, (), spans)


def join(values: Iterable[Value]) -> Value:
    """The value of an expression that takes one of several paths: all possibilities, the weakest confidence."""
    parts = list(values)
    if not parts:
        return unknown("no value")
    if len(parts) == 1:
        return parts[0]
    spans = tuple(dict.fromkeys(span for part in parts for span in part.spans))
    for part in parts:
        if part.state not in (State.KNOWN, State.ONE_OF):
            return (
                part if all(p.state is part.state for p in parts) else unknown(part.reason or "differs by path", *spans)
            )
    return one_of((o for part in parts for o in part.options), spans, min(part.confidence for part in parts))


def computed(values: list[Value], function: Callable[[list[int]], int]) -> Value:
    """A number from several known ones; unknown where one is, or where the function refuses them."""
    spans = tuple(dict.fromkeys(span for value in values for span in value.spans))
    for value in values:
        if value.is_absent:
            return absent()
        if not value.options or not all(type(option) is int for option in value.options):
            return unknown(value.reason or "a size is not known", *value.spans)
    combinations: list[list[int]] = [[]]
    for value in values:
        combinations = [[*one, option] for one in combinations for option in value.options][:64]
    try:
        results = [function(one) for one in combinations]
    except (ValueError, ArithmeticError) as error:
        return unknown(str(error), *spans)
    return one_of(results, spans, min(value.confidence for value in values))
