"""What a rehearsal supposes of lists that a test has left some items of, and of dictionaries that each rank fills in its own order."""

from __future__ import annotations

import pytest

from distlint.checks.trace_faults import TraceFaults
from distlint.rehearsal.notes import OWN_ORDER
from distlint.rehearsal.performance import Rehearsal
from tests.conftest import MakeProject

SHARED = """
import itertools
import json
import math

import numpy as np
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
rows = [json.loads(line) for line in open("rows.jsonl")]
"""
LOOP = """
for row in mine:
    dist.all_reduce(torch.ones(1))
"""
KEPT = "kept = [row for row in rows if row['text']]\n"
PUT = "kept = []\nfor row in rows:\n    if row['text']:\n        kept.append(row)\n"


@pytest.mark.parametrize(
    "share",
    [
        f"{KEPT}mine = kept[rank::world]",
        f"{PUT}mine = kept[rank::world]",
        "kept = []\nfor row in rows:\n    if not row['text']:\n        continue\n    kept.append(row)\nmine = kept[rank::world]",
        "mine = list(filter(len, rows))[rank::world]",
        f"{KEPT}mine = [row for number, row in enumerate(kept) if number % world == rank]",
        f"{KEPT}each = math.ceil(len(kept) / world)\nmine = kept[rank * each:(rank + 1) * each]",
        f"{KEPT}mine = kept[len(kept) * rank // world:len(kept) * (rank + 1) // world]",
        f"{KEPT}mine = list(itertools.islice(kept, rank, None, world))",
        f"{KEPT}mine = [kept[one] for one in np.array_split(np.arange(len(kept)), world)[rank]]",
    ],
)
def test_shares_of_what_a_test_leaves_are_uneven(make_project: MakeProject, share: str) -> None:
    faults = TraceFaults.of_project(make_project({"train.py": SHARED + share + LOOP}))
    assert [fault.name for fault in faults] == ["all_reduce"]
    assert "a test leaves a number of items" in faults[0].message


@pytest.mark.parametrize(
    "share",
    [
        f"{KEPT}mine = kept[:len(kept) // world * world][rank::world]",
        f"{KEPT}each = len(kept) // world\nmine = kept[rank * each:(rank + 1) * each]",
        f"{KEPT}while len(kept) % world:\n    kept.append(kept[0])\nmine = kept[rank::world]",
        f"{KEPT}kept += kept[:-len(kept) % world]\nmine = kept[rank::world]",
        f"{KEPT}assert len(kept) % world == 0\nmine = kept[rank::world]",
        f"{KEPT}if len(kept) % world:\n    raise ValueError('uneven')\nmine = kept[rank::world]",
        f"{KEPT}mine = kept[:512][rank::world]",
        "mine = rows[rank::world]",
        "kept = []\nfor row in rows:\n    kept.append(row)\nmine = kept[rank::world]",
        f"{PUT}    if len(kept) == 64:\n        break\nmine = kept[rank::world]",
    ],
)
def test_shares_that_are_evened_out_are_not(make_project: MakeProject, share: str) -> None:
    assert not TraceFaults.of_project(make_project({"train.py": SHARED + share + LOOP}))


FILLED = """
import collections

import torch
import torch.distributed as dist

KINDS = ("a", "b", "c")
dist.init_process_group("gloo")
rank = dist.get_rank()
"""


@pytest.mark.parametrize(
    ("made", "put", "gone_through", "is_own"),
    [
        ("{}", "setdefault(KINDS[(step + rank) % 3], torch.zeros(1))", "sums.values()", True),
        ("collections.defaultdict(torch.Tensor)", "[KINDS[(step + rank) % 3]] += 1", "sums.values()", True),
        ("{}", "[KINDS[(step + rank) % 3]] = torch.ones(1)", "[sums[one] for one in sums]", True),
        ("{}", "[KINDS[(step + rank) % 3]] = torch.ones(1)", "[sums[one] for one in sorted(sums)]", False),
        ("{}", "[KINDS[step % 3]] = torch.ones(1)", "sums.values()", False),
        ("{one: torch.ones(1) for one in KINDS}", "[KINDS[(step + rank) % 3]] += 1", "sums.values()", False),
        ("{}", "[f'{rank}/{step}'] = torch.ones(1)", "sums.values()", False),
    ],
)
def test_the_order_in_which_keys_come_up(
    make_project: MakeProject, made: str, put: str, gone_through: str, is_own: bool
) -> None:
    dot = "" if put.startswith("[") else "."
    code = f"{FILLED}sums = {made}\nfor step in range(30):\n    sums{dot}{put}\nfor one in {gone_through}:\n    dist.all_reduce(one)\n"
    (performance,) = Rehearsal.of(make_project({"train.py": code})).performances()
    faults = [fault for stage in performance.stages for fault in stage.faults if fault.kind == OWN_ORDER]
    assert bool(faults) is is_own


READ = """
import sys

import torch.distributed as dist

def main():
    dist.init_process_group("gloo")
    found = None
    {who}
        try:
            with open("settings") as file:
                found = file.read()
        except FileNotFoundError:
            {handled}
    dist.broadcast_object_list([found], src=0)

main()
"""


@pytest.mark.parametrize(
    ("who", "handled", "parts"),
    [
        ("if dist.get_rank() == 0:", "return", True),
        ("if dist.get_rank() == 0:", "found = ''", False),
        ("if dist.get_rank() == 0:", "sys.exit(1)", False),
        ("if dist.get_rank() == 0:", "raise", False),
        ("if True:", "return", False),
    ],
)
def test_what_one_rank_tries_may_fail_on_it_alone(
    make_project: MakeProject, who: str, handled: str, parts: bool
) -> None:
    faults = TraceFaults.of_project(make_project({"train.py": READ.format(who=who, handled=handled)}))
    assert [fault.name for fault in faults] == (["broadcast_object_list"] if parts else [])


REFUSING = """
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
{demand}
buffer = torch.zeros(4)
if rank == world - 2:
    dist.send(buffer, dst=world - 1, tag=1)
if rank == world - 1:
    dist.recv(buffer, src=world - 2, tag={tag})
"""


@pytest.mark.parametrize(
    ("demand", "size"),
    [
        ("assert world == 2", 2),
        ("if world != 2:\n    raise SystemExit('two processes')", 2),
        ("assert world == 4, 'two by two'", 4),
        ("if world < 3:\n    raise ValueError(world)", 4),
    ],
)
def test_a_program_is_rehearsed_with_a_number_of_processes_that_it_takes(
    make_project: MakeProject, demand: str, size: int
) -> None:
    project = make_project({"train.py": REFUSING.format(demand=demand, tag=1)})
    (performance,) = Rehearsal.of(project).performances()
    assert performance.world == size
    assert not performance.refused


def test_a_number_of_processes_that_is_refused_clears_nothing(make_project: MakeProject) -> None:
    project = make_project({"train.py": REFUSING.format(demand="assert world == 2", tag=1)})
    (performance,) = Rehearsal.of(project).performances()
    assert Rehearsal.of(project).again(performance) is None
