"""Programs that are rehearsed: what each process does, and what a rehearsal may cost."""

from __future__ import annotations

from distlint.rehearsal.performance import Rehearsal
from distlint.rehearsal.stage import MAX_STEPS, Event
from tests.conftest import MakeProject

HEAD = """
import torch
import torch.distributed as dist

"""
MAIN = """
if __name__ == "__main__":
    main()
"""


def events(make_project: MakeProject, code: str) -> list[list[Event]]:
    """What each of the processes of a script does."""
    project = make_project({"train.py": HEAD + code + MAIN})
    (performance,) = Rehearsal.of(project).performances()
    return [stage.events for stage in performance.stages]


def test_each_process_has_its_own_rank(make_project: MakeProject) -> None:
    code = """
def main():
    rank = dist.get_rank()
    dist.broadcast(torch.ones(rank + 1), src=rank)
"""
    first, second = events(make_project, code)
    assert [event.values["src"] for event in (*first, *second)] == [0, 1]
    assert [event.seen["tensor"]["shape"] for event in (*first, *second)] == [(1,), (2,)]


def test_a_test_that_is_not_known_is_followed_both_ways(make_project: MakeProject) -> None:
    code = """
def main():
    size = 3
    if input():
        size = 4
        dist.barrier()
    dist.all_reduce(torch.ones(size))
"""
    first, _ = events(make_project, code)
    assert [(event.name, event.sure) for event in first] == [("barrier", False), ("all_reduce", True)]
    assert not isinstance(first[1].seen["tensor"]["shape"][0], int)


def test_calls_go_through_functions_and_objects(make_project: MakeProject) -> None:
    code = """
class Sync:
    def __init__(self, root):
        self.root = root

    def share(self, tensor):
        dist.broadcast(tensor, self.root)

def main():
    sync = Sync(root=dist.get_world_size() - 1)
    sync.share(torch.zeros(2, 3))
"""
    first, _ = events(make_project, code)
    assert first[0].values["src"] == 1
    assert len(first[0].chain) == 2


def test_what_a_rehearsal_costs_is_bounded(make_project: MakeProject) -> None:
    code = """
def one(n):
    other(n)
    other(n)

def other(n):
    one(n)
    one(n)

def main():
    dist.all_reduce(torch.ones(1))
    one(3)
    while True:
        x = [0] * 10_000_000
"""
    project = make_project({"train.py": HEAD + code + MAIN})
    (performance,) = Rehearsal.of(project).performances()
    assert all(stage.steps <= MAX_STEPS + 1 for stage in performance.stages)
