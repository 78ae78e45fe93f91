"""Streams whose parts are told to the workers of a loader as these start."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
import os
from functools import partial
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

WORLD = int(os.environ["WORLD_SIZE"])


class Rows(IterableDataset):
    def __init__(self, first, last):
        self.first, self.last = first, last

    def __iter__(self):
        for number in range(self.first, self.last):
            yield torch.full((1,), float(number))


def of_all(number):
    info = get_worker_info()
    size = (info.dataset.last - info.dataset.first) // (WORLD * info.num_workers)
    info.dataset.first += (int(os.environ["RANK"]) * info.num_workers + number) * size
    info.dataset.last = info.dataset.first + size


def of_rank(number, rank, world):
    rows = get_worker_info().dataset
    size = (rows.last - rows.first) // world
    rows.first = rows.first + rank * size
    rows.last = rows.first + size


def of_workers(number):
    info = get_worker_info()
    size = (info.dataset.last - info.dataset.first) // info.num_workers
    info.dataset.first += number * size
    info.dataset.last = info.dataset.first + size


def seeded(number):
    torch.manual_seed(int(os.environ["RANK"]) * 100 + number)


class Parts:
    def __init__(self, rank, world):
        self.rank, self.world = rank, world

    def start(self, number):
        of_rank(number, self.rank, self.world)


def main():
    dist.init_process_group("gloo")
    loader = DataLoader(Rows(0, 64), batch_size=4, num_workers=1, worker_init_fn={start})
    model = DistributedDataParallel(torch.nn.Linear(1, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for rows in loader:
        optimizer.zero_grad()
        model(rows).mean().backward()
        optimizer.step()
    dist.destroy_process_group()


main()
"""


@pytest.mark.parametrize(
    ("start", "wrong"),
    [
        ("of_all", False),
        ("partial(of_rank, rank=dist.get_rank(), world=WORLD)", False),
        ("lambda number: of_rank(number, dist.get_rank(), WORLD)", False),
        ("Parts(dist.get_rank(), WORLD).start", False),
        ("of_workers", True),
        ("seeded", True),
        ("None", True),
    ],
)
def test_workers_that_take_a_part(start: str, wrong: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train.py").write_text(PROGRAM.replace("{start}", start), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert [finding["code"] for finding in check()["findings"]] == ["PT250"] * wrong
