"""Figures of one rank's own part of the data, however they are collected: loops, comprehensions, generator expressions, quotients."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
import statistics
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
rows = TensorDataset(torch.ones(64, 4), torch.ones(64, 1))
val = DataLoader(rows, batch_size=8, sampler=DistributedSampler(rows, shuffle=False))
model = DDP(nn.Linear(4, 1))
best = 1e9
with torch.no_grad():
{collected}
{end}
dist.barrier()
dist.destroy_process_group()
"""
COLLECTED = [
    "    losses = [F.mse_loss(model(a), b).item() for a, b in val]\nmean = sum(losses) / len(losses)",
    "    mean = sum(F.mse_loss(model(a), b).item() for a, b in val) / len(val)",
    "    losses = [F.mse_loss(model(a), b).item() for a, b in val]\nmean = statistics.mean(losses)",
    "    losses = []\n    for a, b in val:\n        losses.append(F.mse_loss(model(a), b).item())\nmean = sum(losses) / len(losses)",
    (
        '    total, n = 0.0, 0\n    for a, b in val:\n        total += F.mse_loss(model(a), b, reduction="sum").item()\n'
        "        n += len(a)\nmean = total / max(n, 1)"
    ),
]
TOGETHER = "figure = torch.tensor(mean)\ndist.all_reduce(figure)\n"
ENDS = [
    ('if rank == 0:\n    print("loss", mean)', "PT254"),
    (TOGETHER + 'if rank == 0:\n    print("loss", figure.item() / world)', ""),
    (TOGETHER + 'if rank == 0:\n    print("loss", figure.item())', "PT268"),
    ('if rank == 0 and mean < best:\n    torch.save(model.module.state_dict(), "best.pt")', "PT267"),
    ('print(f"[{rank}] loss", mean)', ""),
]


@pytest.mark.parametrize("collected", COLLECTED)
@pytest.mark.parametrize(("end", "code"), ENDS)
def test_what_is_said_of_a_figure(
    collected: str, end: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "train.py").write_text(PROGRAM.format(collected=collected, end=end), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert {finding["code"] for finding in check()["findings"]} == ({code} if code else set())


def test_a_share_of_the_whole_mean_may_be_added_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collected = (
        '    total = 0.0\n    for a, b in val:\n        total += F.mse_loss(model(a), b, reduction="sum").item()\n'
        "mean = total / len(rows)"
    )
    end = TOGETHER + 'if rank == 0:\n    print("loss", figure.item())'
    (tmp_path / "train.py").write_text(PROGRAM.format(collected=collected, end=end), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert check()["findings"] == []
