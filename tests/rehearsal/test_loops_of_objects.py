"""Objects that change in loops which are not followed turn by turn."""

from __future__ import annotations

from distlint.rehearsal.performance import Rehearsal
from tests.conftest import MakeProject

CODE = """
import torch.distributed as dist

class Meter:
    def __init__(self):
        self.total = 0

    def update(self, value):
        self.total += value

meter = Meter()
for turn in range(1000):
    meter.update(turn)
if meter.total > 3:
    dist.barrier()
"""


def test_attributes_that_a_loop_changes_are_not_known_behind_it(make_project: MakeProject) -> None:
    (performance,) = Rehearsal.of(make_project({"train.py": CODE})).performances()
    assert [[(event.name, event.sure) for event in stage.events] for stage in performance.stages] == [
        [("barrier", False)]
    ] * 2


CACHED = """
import functools
import torch.distributed as dist

class Dims:
    @functools.cached_property
    def group(self):
        return dist.new_group([0, 1])

    @property
    def rank(self):
        dist.barrier()
        return dist.get_rank()

dims = Dims()
dist.barrier(dims.group)
dist.barrier(dims.group)
dims.rank
"""


def test_properties_that_are_kept_are_worked_out_once(make_project: MakeProject) -> None:
    (performance,) = Rehearsal.of(make_project({"train.py": CACHED})).performances()
    assert [event.name for event in performance.stages[0].events] == ["new_group", "barrier", "barrier", "barrier"]
    assert all(event.span.line for event in performance.stages[0].events)
    assert not any(event.chain for event in performance.stages[0].events)
