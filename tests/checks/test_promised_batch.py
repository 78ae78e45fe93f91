"""Batches that a program calls those of all processes together, given to each."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
import os
from dataclasses import dataclass
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


@dataclass
class Plan:
    global_batch_size: int = 32
    batch_size: int = 8
    rounds: int = 2
    ngpus: int = 2

    def micro(self):
        size, rest = divmod(self.global_batch_size, self.rounds)
        return size

    def mine(self, world):
        return self.global_batch_size // (self.rounds * world)


def main():
    dist.init_process_group("gloo")
    plan, world = Plan(), dist.get_world_size()
    {before}
    rows = TensorDataset(torch.arange(64.0))
    loader = DataLoader(rows, batch_size={size}, sampler=DistributedSampler(rows))
    print(len(next(iter(loader))[0]))
    dist.destroy_process_group()


main()
"""


@pytest.mark.parametrize(
    ("before", "size", "wrong"),
    [
        ("", "plan.global_batch_size", True),
        ("", "plan.micro()", True),
        ("total_batch_size = 64", "total_batch_size", True),
        ("effective_batch = plan.batch_size * plan.rounds", "effective_batch", True),
        ("size = plan.global_batch_size", "size // plan.rounds", True),
        ("", "plan.batch_size", False),
        ("", "plan.mine(world)", False),
        ("", "plan.global_batch_size // plan.ngpus", False),
        ("size = plan.global_batch_size\n    if world > 1:\n        size //= world", "size", False),
        ("size = plan.global_batch_size // int(os.environ['WORLD_SIZE'])", "size", False),
        ("size = max(1, plan.global_batch_size // torch.cuda.device_count())", "size", False),
        ("plan.global_batch_size //= world", "plan.global_batch_size", False),
        ("rounds = plan.global_batch_size // plan.batch_size", "plan.batch_size", False),
    ],
)
def test_what_each_process_gets(
    before: str, size: str, wrong: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = PROGRAM.replace("{before}", before).replace("{size}", size)
    (tmp_path / "train.py").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert [finding["code"] for finding in check()["findings"]] == ["PT240"] * wrong


ROUNDS = """
import argparse
import math
import os
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--global-batch-size", type=int, default=32)
    parser.add_argument("--micro-batch-size", type=int, default=4)
    parser.add_argument("--per-device-batch-size", type=int, default=4)
    parser.add_argument("--accumulation-steps", type=int, default=4)
    args = parser.parse_args()
    dist.init_process_group("gloo")
    world = dist.get_world_size()
    {before}
    rows = TensorDataset(torch.randn(64, 4))
    loader = DataLoader(rows, batch_size={size}, sampler=DistributedSampler(rows))
    model = DDP(nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step, (x,) in enumerate(loader):
        (model(x).mean() / accum).backward()
        if {test}:
            opt.step()
            opt.zero_grad()
    dist.destroy_process_group()


main()
"""
MICRO = "args.micro_batch_size"
EACH = "(step + 1) % accum == 0"
WHOLE = "accum = args.global_batch_size"


@pytest.mark.parametrize(
    ("before", "size", "test", "wrong"),
    [
        (f"{WHOLE} // {MICRO}", MICRO, EACH, True),
        (f"accum = max(1, args.global_batch_size // {MICRO})", MICRO, EACH, True),
        (f"{WHOLE} // args.per_device_batch_size", "args.per_device_batch_size", EACH, True),
        (f"accum = math.ceil(args.global_batch_size / {MICRO})", MICRO, "step % accum == accum - 1", True),
        (
            f"micro = {MICRO}\n    total_batch = 64\n    rounds = total_batch // micro\n    accum = rounds",
            "micro",
            EACH,
            True,
        ),
        (f"{WHOLE} // ({MICRO} * world)", MICRO, EACH, False),
        (f"{WHOLE} // {MICRO} // world", MICRO, EACH, False),
        (f"{WHOLE} // {MICRO}\n    accum //= world", MICRO, EACH, False),
        (f"{WHOLE} // {MICRO}\n    if world > 1:\n        accum = max(accum // world, 1)", MICRO, EACH, False),
        (f"{WHOLE} // ({MICRO} * int(os.environ['WORLD_SIZE']))", MICRO, EACH, False),
        (f"mine = args.global_batch_size // world\n    accum = mine // {MICRO}", MICRO, EACH, False),
        (f"{WHOLE} // {MICRO}\n    micro = {MICRO} // world", "micro", EACH, False),
        ("accum = args.accumulation_steps", MICRO, EACH, False),
        (f"accum = 512 // {MICRO}", MICRO, EACH, False),
        (f"replicas = 2\n    {WHOLE} // ({MICRO} * replicas)", MICRO, EACH, False),
    ],
)
def test_what_all_rounds_bring(
    before: str, size: str, test: str, wrong: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = ROUNDS.replace("{before}", before).replace("{size}", size).replace("{test}", test)
    (tmp_path / "train.py").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert [one["code"] for one in check()["findings"] if one["code"] == "PT240"] == ["PT240"] * wrong
