"""Figures that helpers of a program bring together, and the quotients beside them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

HEAD = """
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

def size():
    return dist.get_world_size()
def reduce_sum(value):
    total = torch.tensor(float(value))
    dist.all_reduce(total)
    return total.item()
def reduce_mean(value):
    return reduce_sum(value) / size()
class Talk:
    def __init__(self):
        self.size = dist.get_world_size()
    def _mean(self, total):
        dist.all_reduce(total)
        total /= self.size
        return total
    def all_reduce_mean(self, value):
        return self._mean(torch.as_tensor(value))
def all_gather(value):
    rows = [None] * dist.get_world_size()
    dist.all_gather_object(rows, value)
    return rows

def evaluate(loader):
    loss = 0.0
    for x, y in loader:
        loss += (x.flatten() - y).abs().mean().item()
"""
END = """
dist.init_process_group("gloo")
data = TensorDataset(torch.arange(16.0).unsqueeze(1), torch.ones(16))
print(evaluate(DataLoader(data, batch_size=4, sampler=DistributedSampler(data, shuffle=False))))
"""


def codes(folder: Path, monkeypatch: pytest.MonkeyPatch, lines: list[str]) -> list[str]:
    """The rules that speak of a program with such lines behind the loop."""
    (folder / ".git").mkdir()
    (folder / "train.py").write_text(HEAD + "".join(f"    {line}\n" for line in lines) + END)
    monkeypatch.chdir(folder)
    return [one["code"] for one in check()["findings"] if one["severity"] != "note"]


@pytest.mark.parametrize(
    "lines",
    [
        ["loss = reduce_sum(loss)", "return loss / len(loader)"],
        ["return reduce_sum(loss) / len(loader)"],
        ["total = torch.tensor([loss])", "dist.all_reduce(total)", "total /= len(loader)", "return total.item()"],
        ["total = torch.tensor(loss)", "dist.all_reduce(total)", "return total.item() / len(loader)"],
        ["whole = reduce_sum(loss)", "print(loss / len(loader))", "return whole / len(loader)"],
    ],
)
def test_the_sum_of_all_by_the_count_of_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: list[str]) -> None:
    assert codes(tmp_path, monkeypatch, lines) == ["PT255"]


@pytest.mark.parametrize(
    "lines",
    [
        ["return reduce_mean(loss / len(loader))"],
        ["loss = reduce_mean(loss)", "return loss / len(loader)"],
        ["return float(Talk().all_reduce_mean(loss / len(loader)))"],
        ["loss = Talk().all_reduce_mean(loss)", "return float(loss) / len(loader)"],
        ["ranks = size()", "return reduce_sum(loss / len(loader)) / ranks"],
        [
            "ranks = size()",
            "total = torch.tensor(loss)",
            "dist.all_reduce(total)",
            "return total / ranks / len(loader)",
        ],
        ["total = torch.tensor(loss)", "dist.all_reduce(total)", "total /= size()", "return total / len(loader)"],
        ["total = torch.tensor(loss)", "dist.all_reduce(total)", "return total.div(size() * len(loader))"],
        ["return reduce_sum(loss / len(loader)) / reduce_sum(1)"],
        ["rows = all_gather(loss / len(loader))", "return sum(rows) / len(rows)"],
        ["print(loss / len(loader))", "return reduce_sum(loss) / reduce_sum(len(loader))"],
    ],
)
def test_means_of_each_rank_and_what_is_divided_by_the_ranks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: list[str]
) -> None:
    assert codes(tmp_path, monkeypatch, lines) == []
