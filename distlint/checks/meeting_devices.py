"""Processes that choose a device which they can't have."""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.environment_stores import environment_stores
from distlint.checks.meetings import Suspicion
from distlint.model.finding import Related
from distlint.rehearsal.notes import NO_SUCH_DEVICE
from distlint.rehearsal.performance import Performance


def no_such_device(performance: Performance) -> Iterator[Suspicion]:
    """A process chooses a device by a number that the devices which the program lets it see do not reach."""
    project = performance.stages[0].project
    for stage in performance.stages:
        for fault in stage.faults:
            if fault.kind != NO_SUCH_DEVICE:
                continue
            words = fault.words
            number, variable = words["number"], words["variable"]
            stores = [one for one in environment_stores(project, [variable]) if not one.only_if_missing]
            said = {str(one.environment.get(variable)) for one in performance.stages}
            if not stores or len(said) < 2:
                continue  # who starts the program says which devices it sees, or the launch has other processes than devices
            several = (
                f"the {words['count']} devices that it sees are"
                if words["count"] > 1
                else "the only one that it sees is"
            )
            yield Suspicion(
                fault.span,
                f"rank {words['rank']} chooses device {number} here, but `{variable}` is `{words['seen']}` for it: "
                f"{several} counted from 0",
                tuple(Related(one.span, f"`{variable}` is set here") for one in stores),
                variable,
            )
