"""Generators that deal their items out between the ranks (PT504): how many each gets of a number that is not known."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
import argparse
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
def batches(n, epoch, rank, world):
    drawn = torch.Generator().manual_seed(100 + epoch)
    {loop}
def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batches", type=int, default=12)
    parser.add_argument("--total", type=int, default=25)
    args = parser.parse_args()
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(1)
    model = DDP(torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        for x in batches({n}, epoch, rank, world):
            optimizer.zero_grad()
            model(x).mean().backward()
            optimizer.step()
    dist.destroy_process_group()
main()
"""
EACH = """for i in range({0}):
        x = torch.randn(8, 4, generator=drawn)
        if {1}:
            yield x"""
PASSED = """for i in range({0}):
        x = torch.randn(8, 4, generator=drawn)
        if i % world != rank:
            continue
        yield x"""
STRIDE = "for i in range(rank, {0}, world):\n        yield torch.randn(8, 4, generator=drawn)"


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder that is looked at."""
    monkeypatch.chdir(tmp_path)


def found(loop: str, n: str) -> bool:
    """Whether a program has a finding about the number of its rounds."""
    Path("train.py").write_text(PROGRAM.format(loop=loop, n=n), encoding="utf-8")
    return bool({"PT501", "PT504"} & {one["code"] for one in check()["findings"]})


@pytest.mark.parametrize(
    ("loop", "n"),
    [
        (EACH.format("n", "i % world == rank"), "25"),
        (EACH.format("n", "i % world == rank"), "args.total"),
        (EACH.format("n * world + 1", "i % world == rank"), "args.batches"),
        (PASSED.format("n"), "25"),
        (STRIDE.format("n"), "25"),
    ],
)
def test_number_with_a_rest(loop: str, n: str) -> None:
    """One rank gets one more than another."""
    assert found(loop, n)


@pytest.mark.parametrize(
    ("loop", "n"),
    [
        (EACH.format("n * world", "i % world == rank"), "args.batches"),
        (EACH.format("world * n", "rank == i % world"), "args.batches"),
        (EACH.format("n * world * (epoch + 1)", "i % world == rank"), "args.batches"),
        (EACH.format("n // world * world", "i % world == rank"), "25"),
        (EACH.format("n", "i % world == rank"), "24"),
        (PASSED.format("n * world"), "args.batches"),
        (STRIDE.format("n * world"), "args.batches"),
    ],
)
def test_number_for_all(loop: str, n: str) -> None:
    """What is a multiple of the number of ranks goes into as many parts without a rest."""
    assert not found(loop, n)
