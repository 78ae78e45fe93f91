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
