"""Means of each rank that are averaged: over as many terms on each, or over as many as the rank's own data has."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, Subset, TensorDataset


def average(value):
    value = torch.as_tensor(value)
    dist.all_reduce(value)
    return value / dist.get_world_size()


def dealt(rows, rank, world):
    share = len(rows) // world
    return rows[rank * share:(rank + 1) * share]


def batches(rows, size=8):
    for first in range(0, len(rows), size):
        yield tuple(map(torch.stack, zip(*rows[first:first + size])))


def kept(y):
    return y.numel(), (y >= 0).sum()


def evaluate(model, rows, rank, world):
    model.eval()
    {start}
    loader = {loader}
    with torch.no_grad():
        for x, y in loader:
            {keep}
            loss = F.cross_entropy(model(x)[keep], y[keep], reduction="sum")
            total += loss
            count += {counted}
    {end}


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    rows = TensorDataset(torch.randn(64, 4), torch.randint(-1, 3, (64,)))
    model = DDP(nn.Linear(4, 3))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    sampler = DistributedSampler(rows)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for x, y in DataLoader(rows, batch_size=8, sampler=sampler):
            loss = F.cross_entropy(model(x), y.clamp(min=0))
            opt.zero_grad()
            loss.backward()
            opt.step()
        mean = evaluate(model.module, rows, rank, world)
        if rank == 0:
            print(epoch, float(mean))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
"""
NUMBERS, TENSORS = "total, count = 0.0, 0", "total = torch.zeros(1); count = torch.tensor(0)"
SAMPLED = "DataLoader(rows, batch_size=8, sampler=DistributedSampler(rows, shuffle=False))"
DEALT = "DataLoader(Subset(rows, range(rank, len(rows), world)), batch_size=8)"
WHOLE = "DataLoader(rows, batch_size=8)"
PARTS = "batches(dealt(list(rows), rank, world))"
BESIDE = "every, seen = kept(y); keep = y >= 0"
KEEP = "keep = y >= 0"
AVERAGED = "mean = total / count\n    dist.all_reduce(mean, op=dist.ReduceOp.AVG)\n    return mean"
DIVIDED = "mean = total / count\n    dist.all_reduce(mean)\n    mean /= world\n    return mean"
HELPED = "return average(total / max(count, 1))"
BOTH = "both = torch.stack([torch.as_tensor(total), torch.as_tensor(count)])\n    dist.all_reduce(both)\n    return both[0] / both[1]"
EACH = "dist.all_reduce(total)\n    dist.all_reduce(count)\n    return average(total / count)"
SHARE = """
    share = torch.tensor(count)
    dist.all_reduce(share)
    mean = total / count * count / share
    dist.all_reduce(mean)
    return mean
"""
LISTED = "mean = torch.tensor([float(total / count)])\n    dist.all_reduce(mean)\n    return mean.item() / world"


@pytest.mark.parametrize(
    ("start", "loader", "keep", "counted", "end", "wrong"),
    [
        (TENSORS, DEALT, KEEP, "keep.sum()", AVERAGED, True),
        (TENSORS, SAMPLED, KEEP, "keep.sum()", DIVIDED, True),
        (NUMBERS, SAMPLED, KEEP, "int(keep.sum())", HELPED, True),
        (NUMBERS, SAMPLED, "keep = y.ne(-1)", "keep.sum().item()", LISTED, True),
        (NUMBERS, DEALT, "keep = ~(y == -1)", "torch.count_nonzero(keep).item()", HELPED, True),
        (TENSORS, PARTS, BESIDE, "seen", HELPED, True),
        (NUMBERS, SAMPLED, KEEP, "kept(y)[1].item()", HELPED, True),
        (TENSORS, PARTS, BESIDE, "every", HELPED, False),
        (TENSORS, "batches(list(rows))", BESIDE, "seen", HELPED, False),
        (TENSORS, PARTS, BESIDE, "seen", BOTH, False),
        (TENSORS, SAMPLED, KEEP, "y.size(0)", AVERAGED, False),
        (NUMBERS, SAMPLED, KEEP, "len(y)", HELPED, False),
        (TENSORS, WHOLE, KEEP, "keep.sum()", AVERAGED, False),
        (TENSORS, DEALT, KEEP, "keep.sum()", BOTH, False),
        (TENSORS, SAMPLED, KEEP, "keep.sum()", EACH, False),
        (NUMBERS, SAMPLED, KEEP, "keep.sum().item()", SHARE, False),
        (TENSORS, DEALT, KEEP, "keep.numel()", AVERAGED, False),
    ],
)
def test_terms_of_each_rank(
    start: str,
    loader: str,
    keep: str,
    counted: str,
    end: str,
    wrong: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = PROGRAM.replace("{start}", start).replace("{loader}", loader).replace("{keep}", keep)
    (tmp_path / "train.py").write_text(program.replace("{counted}", counted).replace("{end}", end), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert [one["code"] for one in check()["findings"] if one["code"] == "PT248"] == ["PT248"] * wrong
