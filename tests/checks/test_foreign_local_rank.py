"""A local rank under the names of other launchers: the ways in which a program asks for it, and what else may tell it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

HEAD = """
import os
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
"""
TAIL = """
torch.cuda.set_device(local)
dist.init_process_group("nccl")
model = DDP(nn.Linear(2, 1).cuda(), device_ids=[local])
model(torch.ones(4, 2).cuda()).sum().backward()
dist.destroy_process_group()
"""
SEVERAL = "torchrun --standalone --nproc_per_node=4 train.py\n"
BOTH = 'rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])\n'

BAD = {
    "a way for each launcher": (
        """
if "SLURM_LOCALID" in os.environ:
    local = int(os.environ["SLURM_LOCALID"])
elif "OMPI_COMM_WORLD_LOCAL_RANK" in os.environ:
    local = int(os.environ["OMPI_COMM_WORLD_LOCAL_RANK"])
else:
    local = 0
""",
        SEVERAL,
    ),
    "one in the other's place": (
        """
def get_local():
    return int(os.getenv("OMPI_COMM_WORLD_LOCAL_RANK", os.getenv("SLURM_LOCALID", "0")))
local = get_local()
""",
        SEVERAL,
    ),
    "an object's field": (
        """
class Env:
    def __init__(self):
        self.local = int(os.environ.get("SLURM_LOCALID") or 0)
local = Env().local
""",
        SEVERAL,
    ),
    "under a scheduler's task": (
        'local = int(os.environ["SLURM_LOCALID"]) if "SLURM_LOCALID" in os.environ else 0',
        f"srun --ntasks-per-node=1 {SEVERAL}",
    ),
    "part of what a function returns": (
        """
def place():
    rank = int(os.environ.get("RANK", os.environ.get("SLURM_PROCID", 0)))
    world = int(os.environ.get("WORLD_SIZE", os.environ.get("SLURM_NTASKS", 1)))
    local = int(os.environ.get("SLURM_LOCALID", 0))
    return rank, local, world
rank, local, world = place()
""",
        "",
    ),
    "as the text says": (
        f'"""Start it with torchrun."""\n{BOTH}local = int(os.environ.get("SLURM_LOCALID", 0))',
        "",
    ),
}

GOOD = {
    "the launcher's own name": (
        'local = int(os.environ.get("SLURM_LOCALID", os.environ.get("LOCAL_RANK", 0)))',
        SEVERAL,
    ),
    "counted by devices": (
        'local = int(os.environ.get("SLURM_LOCALID", int(os.environ["RANK"]) % torch.cuda.device_count()))',
        SEVERAL,
    ),
    "the rank": (
        'local = int(os.environ["RANK"]) if "RANK" in os.environ else int(os.environ.get("SLURM_LOCALID", 0))',
        SEVERAL,
    ),
    "the scheduler starts it": (
        'local = int(os.environ.get("SLURM_LOCALID", 0))',
        "srun --ntasks-per-node=4 python train.py\n",
    ),
    "nobody knows who starts it": ('local = int(os.environ.get("SLURM_LOCALID", 0))', ""),
    "a script may set the rank": (f'{BOTH}local = int(os.environ.get("SLURM_LOCALID", 0))', ""),
    "nothing goes on without it": ('local = int(os.environ["SLURM_LOCALID"])', SEVERAL),
    "one process on a node": (
        'local = int(os.environ.get("SLURM_LOCALID", 0))',
        "torchrun --nproc_per_node=1 train.py\n",
    ),
    "an option": (
        """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--local-rank", type=int, default=int(os.environ.get("SLURM_LOCALID", 0)))
local = parser.parse_args().local_rank
""",
        SEVERAL,
    ),
    "a library's answer": ('local = dist.get_node_local_rank(int(os.environ.get("SLURM_LOCALID", 0)))', SEVERAL),
    "each sees its own device": (
        """
os.environ["CUDA_VISIBLE_DEVICES"] = str(int(os.environ["RANK"]) % 8)
local = int(os.environ.get("SLURM_LOCALID", 0))
""",
        SEVERAL,
    ),
}


def codes(folder: Path, text: str, launch: str, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The codes of what is found in a program with its launch script."""
    (folder / "train.py").write_text(HEAD + text + TAIL, encoding="utf-8")
    if launch:
        (folder / "run.sh").write_text(f"#!/bin/bash\n{launch}", encoding="utf-8")
    monkeypatch.chdir(folder)
    return {finding["code"] for finding in check()["findings"]}


@pytest.mark.parametrize("name", BAD, ids=str)
def test_names_that_the_launcher_does_not_set_are_found(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "RUN308" in codes(tmp_path, *BAD[name], monkeypatch)


@pytest.mark.parametrize("name", GOOD, ids=str)
def test_a_number_that_may_come_otherwise_is_left_alone(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "RUN308" not in codes(tmp_path, *GOOD[name], monkeypatch)
