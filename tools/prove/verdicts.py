"""What the runs of a rule's cases show, held against what its ``[proof]`` says."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence

from running import PREFIX, Outcome, Result

from distlint.model.rule import ProofSpec

TOLERANCE = 1e-6
BY_SIGNAL = "a process ended by signal"
"""What is seen of a process that a signal has ended, in front of its number."""

_WAITED = re.compile(
    r"timed out|timeout|connection closed by peer|connection reset by peer|failed to pass monitoredbarrier"
    r"|connection was likely closed|broken pipe",
    re.IGNORECASE,
)
"""How the errors of a rank read that waited for others in vain, or until they were gone."""
_TRACEBACK = "Traceback (most recent call last):"
_CHAINED = ("During handling of the above", "The above exception was")
_ERROR = re.compile(r"[A-Za-z_][\w.]*(?:: .*)?")
_FRAME = re.compile(r'File "(?:\./)?([^"/<][^"]*)", line (\d+)')
_SIGNALLED = re.compile(r"exitcode\s*: -(\d+)")
_REPORTS = ("ChildFailedError", "ProcessRaisedException", "ProcessExitedException", "CalledProcessError")
"""Errors by which a launcher says that one of its processes failed."""


def errors(output: str) -> list[str]:
    """The errors that ended ranks: the last line of each traceback, the whole chain of it in one text."""
    lines = PREFIX.sub("", output).splitlines()
    found: list[str] = []
    inside = chained = False
    for line in lines:
        if line.startswith(_TRACEBACK):
            inside = True
        elif line.startswith(_CHAINED):
            chained = bool(found)
        elif inside and line and not line[0].isspace() and _ERROR.match(line):
            inside = False
            if chained:
                found[-1] = f"{found[-1]} / {line}"
            else:
                found.append(line)
            chained = False
    return [error for error in found if not any(name in error.split(":")[0] for name in _REPORTS)]


def hangs(outcome: Outcome) -> bool:
    """Whether ranks waited in vain: until the time was up, until a collective's timeout, or until the others had gone."""
    seen = errors(outcome.output)
    waited = all(_WAITED.search(error) for error in seen)
    return waited and (outcome.code is None or (outcome.code != 0 and bool(seen)))


def place(output: str) -> str:
    """The last place in the case's own files that a traceback names, as `file:line`; empty if there is none."""
    found = _FRAME.findall(output)
    return f"{found[-1][0]}:{found[-1][1]}" if found else ""


def differs(first: str, second: str) -> bool:
    """Whether two printed values are different ones."""
    try:
        one, other = float(first), float(second)
    except ValueError:
        return first != second
    if math.isnan(one) or math.isnan(other):
        return math.isnan(one) != math.isnan(other)
    return not math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=1e-12)


def divided(results: Sequence[Result]) -> list[str]:
    """The names whose values are not the same on all ranks, in the order in which they were printed first."""
    found: list[str] = []
    for name, lines in _by_name(results):
        ranks: dict[int, list[str]] = {}
        for line in lines:
            ranks.setdefault(line.rank, []).append(line.value)
        printed = [*ranks.values()] if len(ranks) > 1 else [[line.value] for line in lines]
        if any(len(values) != len(printed[0]) for values in printed) or any(
            differs(first, value) for values in printed for first, value in zip(printed[0], values, strict=True)
        ):
            found.append(name)
    return found


def on_first(results: Sequence[Result]) -> dict[str, str]:
    """What rank 0 printed last under each name."""
    return {line.name: line.value for line in results if line.rank <= 0}


def _by_name(results: Sequence[Result]) -> Iterator[tuple[str, list[Result]]]:
    for name in dict.fromkeys(line.name for line in results):
        yield name, [line for line in results if line.name == name]


class Verdict:
    """What one case showed (``seen``), and whether that is what the rule says of it."""

    def __init__(self, seen: str, *, fits: bool) -> None:
        self.seen = seen
        self.fits = fits


def judge(proof: ProofSpec, outcomes: Mapping[str, Outcome]) -> dict[str, Verdict]:
    """A verdict for each case of a rule, by the names ``bad-…`` and ``good-…``."""
    good = [outcome for name, outcome in outcomes.items() if name.startswith("good-")]
    return {
        name: _bad(proof, outcome, good) if name.startswith("bad-") else _good(proof, outcome)
        for name, outcome in outcomes.items()
    }


def _good(proof: ProofSpec, outcome: Outcome) -> Verdict:
    if outcome.code != 0:
        return Verdict(_failure(outcome), fits=False)
    if proof.symptom == "exception" and re.search(proof.shows, PREFIX.sub("", outcome.output)):
        return Verdict(f"ends normally, but shows {_error_around(outcome.output, proof.shows)}", fits=False)
    if proof.symptom == "diverging-ranks":
        names = divided(outcome.results)
        if names or not outcome.results:
            return Verdict(_divided(outcome, names) if names else "no line `result NAME=VALUE`", fits=False)
        return Verdict("the ranks agree", fits=True)
    if proof.symptom == "wrong-number":
        values = on_first(outcome.results)
        return Verdict(_values(values) if values else "no line `result NAME=VALUE`", fits=bool(values))
    return Verdict("ends normally", fits=True)


def _bad(proof: ProofSpec, outcome: Outcome, good: Sequence[Outcome]) -> Verdict:
    if proof.symptom == "hang":
        return Verdict(_waiting(outcome) if hangs(outcome) else _failure(outcome), fits=hangs(outcome))
    if proof.symptom == "exception":
        found = re.search(proof.shows, PREFIX.sub("", outcome.output))
        fits = bool(outcome.code) and found is not None
        if not fits:
            return Verdict(_failure(outcome), fits=False)
        return Verdict(_error_around(outcome.output, proof.shows), fits=True)
    if outcome.code != 0:
        return Verdict(_failure(outcome), fits=False)
    if proof.symptom == "diverging-ranks":
        names = divided(outcome.results)
        return Verdict(_divided(outcome, names) if names else "the ranks agree", fits=bool(names))
    return _wrong(outcome, good)


def _wrong(outcome: Outcome, good: Sequence[Outcome]) -> Verdict:
    values = on_first(outcome.results)
    right = [on_first(one.results) for one in good]
    for name, value in values.items():
        others = [one[name] for one in right if name in one]
        if others and all(differs(value, other) for other in others):
            return Verdict(_values({name: value}), fits=True)
    return Verdict(f"as the good ones: {_values(values)}" if values else "no line `result NAME=VALUE`", fits=False)


def _failure(outcome: Outcome) -> str:
    if outcome.code is None:
        return "still running when the time was up"
    if outcome.code == 0:
        return "ends normally"
    seen = errors(outcome.output)
    if seen:
        return _short(seen[0])
    # A process that a signal ended leaves no traceback: launchers report it by a negative code.
    ended = _SIGNALLED.search(outcome.output)
    return f"{BY_SIGNAL} {ended[1]}" if ended else f"exit code {outcome.code}"


def _waiting(outcome: Outcome) -> str:
    where = place(outcome.output)
    return f"waits for ever at {where}" if where else "waits for ever"


def _error_around(output: str, shows: str) -> str:
    for error in errors(output):
        if re.search(shows, error):
            return _short(error)
    found = re.search(shows, PREFIX.sub("", output))
    return _short(found.group()) if found else ""


def _divided(outcome: Outcome, names: Sequence[str]) -> str:
    name = names[0]
    values = [_number(line.value) for line in outcome.results if line.name == name]
    return f"{name}: {' / '.join(sorted(dict.fromkeys(values))[:4])} on the ranks"


def _values(values: Mapping[str, str]) -> str:
    return ", ".join(f"{name} = {_number(value)}" for name, value in [*values.items()][:3])


def _number(value: str) -> str:
    try:
        return f"{float(value):.4g}"
    except ValueError:
        return _short(value)


def _short(text: str, most: int = 140) -> str:
    words = " ".join(re.sub(r"0x[0-9a-f]+|(?:/[\w.+-]+){2,}|\b\d{5,}\b", "…", text).split())
    return words if len(words) <= most else f"{words[: most - 1].rstrip()}…"
