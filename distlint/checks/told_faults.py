"""Faults that a rehearsal has noted of processes, each place once, and what is said of them."""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.meetings import Suspicion
from distlint.model.finding import Related
from distlint.rehearsal.performance import Performance
from distlint.rehearsal.stage import Fault


def told(
    performance: Performance, kind: str, message: str, says: dict[str, str], symbol: str = ""
) -> Iterator[Suspicion]:
    """What is said of faults of a kind: at their places, with what ``says`` of those that their words name."""
    for fault in faults_of(performance, kind):
        related = (*(Related(fault.words[word], text) for word, text in says.items()), *way_to(fault))
        yield Suspicion(fault.span, message, related, symbol)


def faults_of(performance: Performance, kind: str) -> Iterator[Fault]:
    """Faults of a kind, each place once."""
    seen = set()
    for stage in performance.stages:
        for fault in stage.faults:
            if fault.kind == kind and fault.span not in seen:
                seen.add(fault.span)
                yield fault


def way_to(fault: Fault) -> tuple[Related, ...]:
    """The last calls that lead there."""
    return tuple(Related(span, "on the way there") for span in reversed(fault.event.chain[-2:]) if span != fault.span)
