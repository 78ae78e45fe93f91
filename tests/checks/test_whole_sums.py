"""Counts that are added up over the ranks and divided: in place, which whole numbers refuse, or otherwise."""

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
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def summed(value):
    value = torch.as_tensor(value)
    dist.all_reduce(value)
    return value


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    world = dist.get_world_size()
    rows = TensorDataset(torch.randn(64, 4), torch.randint(0, 3, (64,)))
    sampler = DistributedSampler(rows)
    model = DDP(nn.Linear(4, 3))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        {start}
        for x, y in DataLoader(rows, batch_size=8, sampler=sampler):
            logits = model(x)
            loss = F.cross_entropy(logits, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            {count}
        {end}
        print(epoch, float(share))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
"""
HITS = "hits += (logits.argmax(1) == y).sum().item()"
MADE = "share = torch.tensor(hits)\n        dist.all_reduce(share)\n        "


@pytest.mark.parametrize(
    ("start", "count", "end", "wrong"),
    [
        ("hits = 0", HITS, MADE + "share /= 64", True),
        ("hits = 0", "hits += len(y)", MADE + "share /= 64 * world", True),
        ("hits = torch.zeros(1, dtype=torch.long)", "hits += 1", "share = summed(hits)\n        share /= world", True),
        ("hits = 0", "hits += len(y)", MADE + "share.div_(world)", True),
        ("hits = 0", HITS, MADE + "share = share / 64", False),
        ("hits = 0.0", HITS, MADE + "share /= 64", False),
        ("hits = 0", "hits += loss.item()", MADE + "share /= 64", False),
        ("hits = 0", HITS, MADE.replace("hits)", "hits, dtype=torch.float)") + "share /= 64", False),
        ("hits = 0", HITS, MADE.replace("hits)", "hits).float()") + "share /= 64", False),
        ("hits = 0", HITS, MADE + "share //= world", False),
        ("hits = 0", HITS, MADE + "share.div_(world, rounding_mode='floor')", False),
        ("hits = 0", HITS, MADE + "share = share.float()\n        share /= 64", False),
        ("hits = 0", "hits += (logits.argmax(1) == y).float().mean().item()", MADE + "share /= 64", False),
        ("hits = 0", "hits += loss", "share = summed(hits)\n        share /= world", False),
    ],
)
def test_counts_divided(
    start: str, count: str, end: str, wrong: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = PROGRAM.replace("{start}", start).replace("{count}", count).replace("{end}", end)
    (tmp_path / "train.py").write_text(program, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert [one["code"] for one in check()["findings"] if one["code"] == "PT709"] == ["PT709"] * wrong
