"""Samplers that draw a rank's share of the samples, by random numbers that all ranks have in common or not (PT250)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, RandomSampler, TensorDataset, WeightedRandomSampler


def weights_of(labels):
    counts = torch.bincount(labels).clamp(min=1)
    return (1.0 / counts.float())[labels]


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    local_rank = int(os.environ["LOCAL_RANK"])
    {first}
    torch.manual_seed({seed})
    x, y = torch.load("rows.pt", map_location="cpu")
    data = TensorDataset(x, y)
    share = len(y) // world
    sampler = {sampler}
    loader = DataLoader(data, batch_size=8, sampler=sampler, drop_last=True)
    model = DDP(torch.nn.Linear(4, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for rows, labels in loader:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(rows), labels).backward()
        optimizer.step()


main()
"""
DEVICE = "torch.cuda.set_device(local_rank)"
WEIGHTED = "WeightedRandomSampler(weights_of(y), num_samples=share)"


@pytest.mark.parametrize(
    ("first", "seed", "sampler", "said"),
    [
        (DEVICE, "7", WEIGHTED, True),
        (DEVICE, "7", "WeightedRandomSampler(weights_of(y), len(y) // dist.get_world_size())", True),
        ("torch.set_default_device(f'cuda:{local_rank}')", "7", WEIGHTED, True),
        ("torch.cuda.set_device(rank % torch.cuda.device_count())", "7", WEIGHTED, True),
        (DEVICE, "7", "RandomSampler(data, replacement=True, num_samples=share)", True),
        (
            DEVICE,
            "7",
            "WeightedRandomSampler(torch.ones(len(y)), share, generator=torch.Generator().manual_seed(3))",
            True,
        ),
        (DEVICE, "7 + rank", WEIGHTED, False),
        ("torch.random.manual_seed(local_rank)", "7", WEIGHTED, False),
        (
            DEVICE,
            "7",
            "WeightedRandomSampler(weights_of(y), share, generator=torch.Generator().manual_seed(rank))",
            False,
        ),
        (DEVICE, "7", "WeightedRandomSampler(weights_of(y) * (torch.arange(len(y)) % world == rank), share)", False),
        ("pass", "torch.seed()", WEIGHTED.replace("weights_of(y)", "weights_of(y)[rank::world]"), False),
    ],
)
def test_drawn_shares(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str, seed: str, sampler: str, said: bool
) -> None:
    (tmp_path / "train.py").write_text(PROGRAM.format(first=first, seed=seed, sampler=sampler))
    monkeypatch.chdir(tmp_path)
    assert ("PT250" in {finding["code"] for finding in check()["findings"]}) is said
