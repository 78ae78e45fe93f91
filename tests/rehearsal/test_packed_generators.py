"""Generators that pack each rank's own rows (PT504): in another number of batches where their lengths decide it, else in as many."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
from itertools import chain, islice
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
def rows(number):
    drawn = torch.Generator().manual_seed(5)
    for _ in range(number):
        yield torch.randint(1, 9, (int(torch.randint(3, 60, (1,), generator=drawn)),), generator=drawn)
def packed(own, room=100, size=4):
    batch, used = [], 0
    for row in own:
{body}
def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    every = list(rows({number}))
    own = every[rank * (len(every) // world) : (rank + 1) * (len(every) // world)]
    model = DDP(torch.nn.EmbeddingBag(10, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in {batches}:
        optimizer.zero_grad()
        model(torch.cat(batch), torch.zeros(1, dtype=torch.long)).sum().backward()
        optimizer.step()
    dist.barrier()
    dist.destroy_process_group()
main()
"""
BY_ROOM = """        if batch and used + len(row) > room:
            yield batch
            batch, used = [], 0
        batch.append(row)
        used += len(row)
    if batch:
        yield batch"""
BY_NUMBER = """        used += len(row)
        batch.append(row)
        if len(batch) == size:
            yield batch
            batch = []
    print(used)"""
LONG_ENOUGH = "        if len(row) < 20:\n            continue\n        yield [row]"
PAIRS = "        if batch:\n            yield [batch[-1], row]\n        batch.append(row)"
CUT_OR_NOT = """        if len(row) > 40:
            yield [row[:40]]
        elif len(row) > 20:
            yield [row[:20]]
        else:
            yield [row]"""
TWO_OR_ONE = "        if len(row) > 40:\n            yield [row[:20]]\n            yield [row[20:]]\n        else:\n            yield [row]"


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder that is looked at."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("number", [16, 200, 1000])
@pytest.mark.parametrize(
    ("body", "batches", "differs"),
    [
        (BY_ROOM, "packed(own)", True),
        (BY_ROOM, "chain.from_iterable(packed(own) for _ in range(2))", True),
        (BY_ROOM, "chain(packed(own), packed(own))", True),
        (BY_ROOM, "packed(every)", False),
        (BY_ROOM, "islice(packed(own), 3)", False),
        (BY_NUMBER, "packed(own)", False),
        (BY_NUMBER, "chain.from_iterable(packed(own) for _ in range(2))", False),
        (LONG_ENOUGH, "packed(own)", True),
        (PAIRS, "packed(own)", False),
        (CUT_OR_NOT, "packed(own)", False),
        (TWO_OR_ONE, "packed(own)", True),
    ],
)
def test_batches_differ_in_number_where_the_lengths_of_own_rows_decide_it(
    body: str, batches: str, differs: bool, number: int
) -> None:
    """However many rows there are, and however the generators follow each other."""
    Path("train.py").write_text(PROGRAM.format(body=body, batches=batches, number=number), encoding="utf-8")
    assert ("PT504" in {one["code"] for one in check()["findings"]}) is differs
