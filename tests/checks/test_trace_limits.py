"""Loops that a limit ends which all processes have agreed on, whatever each of them has to go through."""

from __future__ import annotations

import pytest

from distlint.checks.trace_faults import TraceFaults
from tests.conftest import MakeProject

PROGRAM = """
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, TensorDataset

dist.init_process_group("gloo")
rank = dist.get_rank()
loader = DataLoader(TensorDataset(torch.randn(30 + 20 * rank, 3)), batch_size=10)
total = torch.zeros(3)
counts = [None] * dist.get_world_size()
dist.all_gather_object(counts, len(loader))
limit = min(counts)
for turn, (rows,) in enumerate(loader):
TEST
    if rank == 0 and turn % 2 == 0:
        print(turn)
    dist.all_reduce(total)
dist.barrier()
"""
AGREED = {
    "reached": "    if turn == limit:\n        break",
    "passed": "    if turn >= limit:\n        break",
    "other way": "    if limit <= turn:\n        break",
    "one behind": "    if turn + 1 > limit:\n        break",
}


@pytest.mark.parametrize("test", AGREED.values(), ids=AGREED)
def test_all_processes_make_the_turns_they_have_agreed_on(make_project: MakeProject, test: str) -> None:
    project = make_project({"train.py": PROGRAM.replace("TEST", test)})
    assert not TraceFaults.of_project(project)


@pytest.mark.parametrize("test", ["    pass", AGREED["reached"]], ids=["none", "its own"])
def test_processes_without_an_agreed_limit_make_turns_of_their_own(make_project: MakeProject, test: str) -> None:
    code = PROGRAM.replace("min(counts)", "len(loader)").replace("TEST", test)
    assert TraceFaults.of_project(make_project({"train.py": code}))
