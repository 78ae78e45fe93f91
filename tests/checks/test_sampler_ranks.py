"""Samplers of the program's own that know ranks only by parameters, and a trainer that is told to leave them alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

SCRIPT = """
import os
import lightning as L
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Sampler, TensorDataset

class Chunks(Sampler):
    def __init__(self, size, batch, {0}):
        self.size, self.batch = size, batch
        {1}
    def __len__(self):
        return self.size // self.batch // self.world
    def __iter__(self):
        for start in range({2} * self.batch, self.size, self.world * self.batch):
            yield list(range(start, start + self.batch))

class Data(L.LightningDataModule):
    def __init__(self):
        super().__init__()
        self.points = TensorDataset(torch.randn(32, 4), torch.randn(32, 1))
    def train_dataloader(self):
        {3}
        return DataLoader(self.points, batch_sampler=chunks)

class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(4, 1)
    def training_step(self, batch, index):
        return torch.nn.functional.mse_loss(self.lin(batch[0]), batch[1])
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)

def main():
    trainer = L.Trainer(accelerator="cpu", devices=2, strategy="ddp", max_epochs=1, use_distributed_sampler={4})
    trainer.fit(Net(), datamodule=Data())

main()
"""

PARAMETERS = "rank=0, world=1"
KEPT = "self.rank, self.world = rank, world"
ONE_BY_ONE = "self.rank = int(rank)\n        self.world = max(1, world)"
MADE = "chunks = Chunks(32, 4)"
ASKED = "if rank is None:\n            rank, world = dist.get_rank(), dist.get_world_size()\n        self.rank, self.world = rank, world"
SETTER = "self.set(rank, world)\n    def set(self, rank, world):\n        self.rank, self.world = rank, world"
OWN = "chunks = Chunks(32, 4, rank=self.trainer.global_rank, world=self.trainer.world_size)"
LATER = "chunks.rank, chunks.world = self.trainer.global_rank, self.trainer.world_size"


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder that is looked at."""
    monkeypatch.chdir(tmp_path)


def found(*parts: str) -> bool:
    """Whether a program made of these parts has a finding about data that nothing parts."""
    script = SCRIPT
    for place, part in enumerate(parts):
        script = script.replace(f"{{{place}}}", part)
    Path("train.py").write_text(script, encoding="utf-8")
    return "PT234" in {one["code"] for one in check()["findings"]}


@pytest.mark.parametrize(
    ("parameters", "kept", "start", "made", "bad"),
    [
        (PARAMETERS, KEPT, "self.rank", MADE, True),
        (PARAMETERS, ONE_BY_ONE, "self.rank", MADE, True),
        (PARAMETERS, KEPT, "self.rank", "chunks = Chunks(32, 4, 0, 1)", True),
        ("rank, world", KEPT, "self.rank", "chunks = Chunks(32, 4, rank=0, world=1)", True),
        ("*, world=1, rank=0", KEPT, "self.rank", "chunks = Chunks(batch=4, size=32)", True),
        ("shard=0, num_replicas=1", "self.rank, self.world = shard, num_replicas", "self.rank", MADE, True),
        # the process's own numbers, asked for here or there, or put in later, and a part that is fixed
        (PARAMETERS, KEPT, "self.rank", OWN, False),
        (
            PARAMETERS,
            KEPT,
            "self.rank",
            "chunks = Chunks(32, 4, rank=dist.get_rank(), world=dist.get_world_size())",
            False,
        ),
        (PARAMETERS, KEPT, "self.rank", 'chunks = Chunks(32, 4, int(os.environ.get("RANK", 0)), 2)', False),
        (PARAMETERS, KEPT, "self.rank", f"{MADE}\n        {LATER}", False),
        (PARAMETERS, SETTER, "self.rank", f"{MADE}\n        chunks.set(self.trainer.global_rank, 2)", False),
        (PARAMETERS, KEPT, "dist.get_rank()", MADE, False),
        ("rank=None, world=1", ASKED, "self.rank", MADE, False),
        (PARAMETERS, KEPT, "self.rank", "chunks = Chunks(32, 4, 0, 2)", False),
        (PARAMETERS, KEPT, "self.rank", "options = {}\n        chunks = Chunks(32, 4, **load(options))", False),
    ],
)
def test_samplers_left_at_one_process(parameters: str, kept: str, start: str, made: str, bad: bool) -> None:
    """A sampler of a rank and a world deals out all of the data where these are those of a single process."""
    assert found(parameters, kept, start, made, "False") is bad
    assert not found(parameters, kept, start, made, "True")
