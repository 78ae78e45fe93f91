"""Loaders of batches that are made with options which they refuse together, and samplers that shuffle by a seed of each process's own."""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.meetings import Suspicion
from distlint.checks.told_faults import faults_of
from distlint.model.finding import Related
from distlint.rehearsal.notes import EXCLUSIVE, OWN_SEEDED
from distlint.rehearsal.performance import Performance
from distlint.rehearsal.stage import Fault

OWN_ORDER = "`{}` of this sampler differs from rank to rank, so each rank draws an order of its own"
_SHUFFLED = ("`sampler`", "`shuffle=True`")


def shuffled_samplers(performance: Performance) -> Iterator[Suspicion]:
    """A loader is given a sampler and told to shuffle."""
    for fault, words in _refused(performance):
        if words == _SHUFFLED:
            message = "`shuffle=True` is given together with a sampler"
            yield Suspicion(fault.span, message, _way(fault), fault.event.name)


def exclusive_options(performance: Performance) -> Iterator[Suspicion]:
    """A loader is given any other two things that it refuses together."""
    for fault, words in _refused(performance):
        if words != _SHUFFLED:
            first, second = words
            message = f"the loader is given {first} and {second}, which exclude each other"
            yield Suspicion(fault.span, message, _way(fault), fault.event.name)


def own_seeds(performance: Performance) -> Iterator[Suspicion]:
    """A sampler that deals out to all processes is given a seed that is another one on each of them."""
    for fault in faults_of(performance, OWN_SEEDED):
        yield Suspicion(fault.span, OWN_ORDER.format("seed"), _way(fault), fault.event.name)


def _refused(performance: Performance) -> Iterator[tuple[Fault, tuple[str, str]]]:
    for fault in faults_of(performance, EXCLUSIVE):
        yield fault, (fault.words["first"], fault.words["second"])


def _way(fault: Fault) -> tuple[Related, ...]:
    return tuple(Related(span, "on the way there") for span in fault.event.chain[-1:])
