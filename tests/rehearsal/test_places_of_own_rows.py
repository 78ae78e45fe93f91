"""Where a batch of each process's own fulfils a condition: how many such places there are differs from process to process."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
import torch, torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    rows = TensorDataset(torch.randn(64, 4), torch.arange(64) % 5)
    sampler = DistributedSampler(rows)
    model = DDP(nn.Linear(4, 5))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for x, y in DataLoader(rows, batch_size=4, sampler=sampler):
            scores = model(x)
            {taken}
            optimizer.zero_grad()
            nn.functional.cross_entropy(scores, y).backward()
            optimizer.step()
    dist.destroy_process_group()


main()
"""
SUMMED = "dist.all_reduce(scores.detach().mean())"


@pytest.mark.parametrize(
    ("taken", "found"),
    [
        (f"(places,) = torch.where(y == 3)\n            if places.numel(): {SUMMED}", True),
        (f"if len(torch.where(y == 3)[0]) > 0: {SUMMED}", True),
        (f"if (y == 3).nonzero(as_tuple=True)[0].numel() == 0: {SUMMED}", True),
        (f"(places,) = torch.where(y == 3)\n            {SUMMED}", False),
        (f"kept = torch.where(y == 3, y, 0)\n            if kept.numel(): {SUMMED}", False),
    ],
)
def test_places_of_own_rows(taken: str, found: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train.py").write_text(PROGRAM.format(taken=taken))
    monkeypatch.chdir(tmp_path)
    codes = {one["code"] for one in check()["findings"]} & {"PT501", "PT503"}
    assert bool(codes) is found
