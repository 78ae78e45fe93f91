"""Closures in which processes meet, and that an optimizer calls as often as each process's own loss says."""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.meetings import Suspicion
from distlint.checks.told_faults import faults_of, way_to
from distlint.model.finding import Related
from distlint.rehearsal.notes import OWN_SEARCH
from distlint.rehearsal.performance import Performance

_HOW = {
    "search": "the line search goes by the loss of its own rank",
    "end": "the iterations end by the loss of its own rank",
}


def own_searches(performance: Performance) -> Iterator[Suspicion]:
    """An optimizer searches by the loss of its own process, and its closure needs the others."""
    told = [{fault.span for fault in stage.faults if fault.kind == OWN_SEARCH} for stage in performance.stages]
    for fault in faults_of(performance, OWN_SEARCH):
        if not all(fault.span in spans for spans in told):
            continue
        related = [Related(fault.words["met"], "the closure needs all ranks here, each time that it is called")]
        if fault.words["source"] is not None:
            related.append(Related(fault.words["source"], f"the ranks part here ({fault.words['why']})"))
        message = f"{_HOW[fault.words['how']]}: each rank calls the closure another number of times"
        yield Suspicion(fault.span, message, (*related, *way_to(fault)), "step")
