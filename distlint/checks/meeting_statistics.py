"""Schedules that follow a figure worked out with running statistics which each process has of its own batches."""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.meetings import Suspicion
from distlint.model.finding import Related
from distlint.rehearsal.notes import STATISTICS_EVENED, STATISTICS_FOLLOWED
from distlint.rehearsal.performance import Performance


def followed_statistics(performance: Performance) -> Iterator[Suspicion]:
    """Each step of such a schedule that all processes make."""
    if not performance.complete or any(stage.kept.get(STATISTICS_EVENED) for stage in performance.stages):
        return
    steps = [
        {fault.span: fault for fault in stage.faults if fault.kind == STATISTICS_FOLLOWED}
        for stage in performance.stages
    ]
    for span, fault in steps[0].items():
        if not all(span in others for others in steps):
            continue
        related = (
            Related(fault.words["wrapper"], "the wrapper is told to leave running statistics alone"),
            *([Related(fault.words["scheduler"], "the schedule is made here")] if fault.words["scheduler"] else ()),
        )
        message = (
            "each rank's learning rate follows a figure of its own (the running statistics of the layers that normalize by batches), "
            "which nothing brings together"
        )
        yield Suspicion(span, message, related)
