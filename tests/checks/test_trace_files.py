"""Files that one process writes while others ask whether they are there."""

from __future__ import annotations

import pytest

from distlint.checks.trace_faults import TraceFaults
from tests.conftest import MakeProject

HEAD = """
import json
import os
import time
from pathlib import Path
import torch
import torch.distributed as dist

def write():
    torch.save(torch.zeros(3), "stats.pt")

dist.init_process_group("gloo")
rank = dist.get_rank()
stats = torch.zeros(3)
"""
BAD = {
    "written before": """
if rank == 0:
    write()
if not os.path.exists("stats.pt"):
    dist.all_reduce(stats)
dist.barrier()
""",
    "written behind": """
if not os.path.exists("stats.pt"):
    if rank == 0:
        write()
    dist.barrier()
stats = torch.load("stats.pt")
dist.all_reduce(stats)
""",
    "renamed": """
path = Path(input()) / "stats.pt"
if rank == 0:
    part = path.with_suffix(".part")
    torch.save(stats, part)
    part.rename(path)
if path.is_file():
    stats = torch.load(path)
else:
    dist.all_reduce(stats)
dist.barrier()
""",
    "exception": """
for name in ("a.json", "b.json"):
    if rank == 0:
        with open(name, "w") as file:
            json.dump({"n": 1}, file)
    try:
        with open(name) as file:
            json.load(file)
        dist.all_reduce(stats)
    except FileNotFoundError:
        continue
dist.barrier()
""",
}
GOOD = {
    "barrier": """
if rank == 0:
    write()
dist.barrier()
if not os.path.exists("stats.pt"):
    dist.all_reduce(stats)
dist.barrier()
""",
    "nothing decided": """
if rank == 0:
    write()
if os.path.exists("stats.pt"):
    print("cached")
dist.barrier()
""",
    "polled": """
if rank == 0:
    write()
while not os.path.exists("stats.pt"):
    time.sleep(1)
if os.path.exists("stats.pt"):
    dist.all_reduce(stats)
dist.barrier()
""",
    "polled by the others": """
if rank == 0:
    write()
else:
    while not os.path.exists("stats.pt"):
        time.sleep(1)
if os.path.exists("stats.pt"):
    dist.all_reduce(stats)
dist.barrier()
""",
    "another file": """
if rank == 0:
    write()
if os.path.exists("resume.pt"):
    dist.all_reduce(stats)
dist.barrier()
""",
    "asked by one": """
found = torch.tensor(0)
if rank == 0:
    if not os.path.exists("stats.pt"):
        write()
    found += 1
dist.broadcast(found, 0)
if found.item():
    dist.all_reduce(stats)
""",
    "written by all": """
if not os.path.exists(f"out-{rank}"):
    os.makedirs("out", exist_ok=True)
write()
if os.path.exists("stats.pt"):
    dist.all_reduce(stats)
dist.barrier()
""",
    "agreed": """
if rank == 0:
    write()
there = torch.tensor(int(os.path.exists("stats.pt")))
dist.all_reduce(there, op=dist.ReduceOp.MIN)
if there.item() == 0:
    dist.all_reduce(stats)
dist.barrier()
""",
    "resumed, then saved": """
if os.path.exists("stats.pt"):
    stats = torch.load("stats.pt")
    dist.broadcast(stats, 0)
for turn in range(3):
    dist.all_reduce(stats)
    if rank == 0:
        write()
dist.barrier()
""",
}


def faults(make_project: MakeProject, code: str) -> list[str]:
    """The messages of the faults of a program."""
    return [fault.message for fault in TraceFaults.of_project(make_project({"train.py": HEAD + code}))]


@pytest.mark.parametrize("name", BAD)
def test_a_file_that_is_written_meanwhile_is_there_for_some(make_project: MakeProject, name: str) -> None:
    assert any("whether a file is already there" in message for message in faults(make_project, BAD[name]))


@pytest.mark.parametrize("name", GOOD)
def test_files_that_all_find_alike_part_nobody(make_project: MakeProject, name: str) -> None:
    assert not faults(make_project, GOOD[name])
