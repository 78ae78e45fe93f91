"""Methods that the models of a rehearsal are asked for and don't have."""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.meetings import Suspicion
from distlint.checks.told_faults import faults_of, way_to
from distlint.model.finding import Related
from distlint.rehearsal.notes import OLDER_METHOD
from distlint.rehearsal.performance import Performance


def older_method(performance: Performance) -> Iterator[Suspicion]:
    """A module that is sharded in place is asked for what only the wrappers of before have."""
    for fault in faults_of(performance, OLDER_METHOD):
        message = f"a module that `fully_shard` has sharded has no `{fault.words['name']}`: that is {fault.words['instead']} now"
        related = (
            Related(fault.words["sharded"], "the module is sharded here, and stays of its own class"),
            *way_to(fault),
        )
        yield Suspicion(fault.span, message, related)
