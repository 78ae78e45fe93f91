"""Streams that deal out their rows by parameters which nobody hands the rank, and those that are told it in some way."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
import os
import sys
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, IterableDataset, get_worker_info


class Shards(IterableDataset):
    def __init__(self, count, replica=0, replicas=1):
        self.count = count
        self.replica = replica
        self.replicas = replicas

    def __iter__(self):
        info = get_worker_info()
        worker, workers = (info.id, info.num_workers) if info else (0, 1)
        for shard in range(self.replica * workers + worker, self.count, self.replicas * workers):
            g = torch.Generator().manual_seed(shard)
            yield torch.randn(4, generator=g)


{maker}def build(rank, world, options):
    stream = {made}
    {told}
    return DataLoader(stream, batch_size=4, num_workers=2)


dist.init_process_group("gloo")
loader = build(dist.get_rank(), dist.get_world_size(), {"replica": int(sys.argv[1]), "replicas": 2})
model = DistributedDataParallel(nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for rows in loader:
    optimizer.zero_grad()
    model(rows).mean().backward()
    optimizer.step()
dist.destroy_process_group()
"""


MAKER = """def stream_of(count, rank=0, world=1):
    return Shards(count, rank, world)


"""


@pytest.mark.parametrize(
    ("made", "told", "wrong"),
    [
        ("Shards(64)", "pass", True),
        ("Shards(64, replica=0, replicas=1)", "pass", True),
        ("stream_of(64)", "pass", True),
        ("Shards(64, rank, world)", "pass", False),
        ("stream_of(64, rank, world)", "pass", False),
        ('Shards(64, options["replica"], options["replicas"])', "pass", False),
        ("Shards(64, **options)", "pass", False),
        ('Shards(64, int(os.environ["SLURM_PROCID"]), 2)', "pass", False),
        ("Shards(64)", 'setattr(stream, "replica", rank)', False),
        ("Shards(64)", "stream.replica, stream.replicas = rank, world", False),
    ],
)
def test_parameters_for_the_rank(
    made: str, told: str, wrong: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = PROGRAM.replace("{made}", made).replace("{told}", told).replace("{maker}", MAKER * ("stream_of" in made))
    (tmp_path / "train.py").write_text(program, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert [finding["code"] for finding in check()["findings"]] == ["PT250"] * wrong
