"""Datasets that methods and properties of the program's own objects give: what these do has its part in the data of each rank."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
from functools import cached_property
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset


def rows(seed):
    g = torch.Generator().manual_seed(seed)
    return TensorDataset(torch.randn(64, 10, generator=g))


class Source:
    def __init__(self, rank):
        self.rank = rank

    {head}
        return {data}

    def seed(self):
        return 0

    def loader(self):
        make = self.dataset
        return DataLoader({given}, batch_size=4)


class Own(Source):
    def seed(self):
        return {seed}


dist.init_process_group("gloo")
loader = Own(dist.get_rank()).loader()
model = DistributedDataParallel(nn.Linear(10, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for (values,) in loader:
    optimizer.zero_grad()
    model(values).mean().backward()
    optimizer.step()
dist.destroy_process_group()
"""
METHOD = "def dataset(self):"
PROPERTY = "@property\n    def dataset(self):"
CACHED = "@cached_property\n    def dataset(self):"


@pytest.mark.parametrize(
    ("head", "given", "data", "seed", "wrong"),
    [
        (METHOD, "self.dataset()", "rows(self.rank)", "0", False),
        (METHOD, "self.dataset()", "rows(7)", "0", True),
        (METHOD, "make()", "rows(self.rank)", "0", False),
        (PROPERTY, "self.dataset", "rows(self.rank)", "0", False),
        (PROPERTY, "self.dataset", "rows(7)", "0", True),
        (CACHED, "self.dataset", "rows(self.rank)", "0", False),
        (METHOD, "self.dataset()", "rows(self.seed())", "self.rank", False),
        (METHOD, "self.dataset()", "rows(self.seed())", "5", True),
    ],
)
def test_what_methods_give(
    head: str, given: str, data: str, seed: str, wrong: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = PROGRAM.format(head=head, given=given, data=data, seed=seed)
    (tmp_path / "train.py").write_text(program, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert [finding["code"] for finding in check()["findings"]] == ["PT250"] * wrong
