"""Which of a loader's samplers is told the epoch: its own, one for whole batches, or one that nobody asks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import BatchSampler, DataLoader, DistributedSampler, TensorDataset


class Telling(BatchSampler):
    def __init__(self, sampler, batch_size):
        super().__init__(sampler, batch_size, drop_last=True)

    def set_epoch(self, epoch):
        self.sampler.set_epoch(epoch)

    def __iter__(self):
        for batch in super().__iter__():
            yield sorted(batch)


class Silent:
    def __init__(self, sampler, batch_size):
        self.sampler, self.batch_size = sampler, batch_size

    def __len__(self):
        return len(self.sampler) // self.batch_size

    def __iter__(self):
        batch = []
        for index in self.sampler:
            batch.append(index)
            if len(batch) == self.batch_size:
                yield batch
                batch = []


class Trainer:
    def __init__(self, loader):
        self.loader = loader

    def set_epoch(self, epoch):
        if isinstance(self.loader.sampler, DistributedSampler):
            self.loader.sampler.set_epoch(epoch)


dist.init_process_group("gloo")
data, held = (TensorDataset(torch.randn(count, 4), torch.randn(count, 1)) for count in (64, 32))
sampler = DistributedSampler(data)
{loader}
other = DistributedSampler(held)
checked = DataLoader(held, batch_size=4, sampler=other)
trainer = Trainer(loader)
model = DDP(nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(5):
    {tells}
    for values, wanted in loader:
        loss = nn.functional.mse_loss(model(values), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
TELLING = "loader = DataLoader(data, batch_sampler=Telling(sampler, 4))"
SILENT = "loader = DataLoader(data, batch_sampler=Silent(sampler, 4))"
LIBRARY = "loader = DataLoader(data, batch_sampler=BatchSampler(sampler, 4, True))"
PLAIN = "loader = DataLoader(data, batch_size=4, sampler=sampler)"
IF_DISTRIBUTED = "if isinstance(loader.sampler, DistributedSampler):\n        loader.sampler.set_epoch(epoch)"
IF_TOLD = 'if hasattr(loader.sampler, "set_epoch"):\n        loader.sampler.set_epoch(epoch)'
IF_BATCHES_TOLD = 'if hasattr(loader.batch_sampler, "set_epoch"):\n        loader.batch_sampler.set_epoch(epoch)'
BOTH = (
    "for one in (loader.sampler, loader.batch_sampler):\n"
    '        if hasattr(one, "set_epoch"):\n            one.set_epoch(epoch)'
)


@pytest.mark.parametrize(
    ("loader", "tells", "repeats"),
    [
        (PLAIN, "pass", True),
        (PLAIN, "sampler.set_epoch(epoch)", False),
        (PLAIN, IF_DISTRIBUTED, False),
        (PLAIN, "trainer.set_epoch(epoch)", False),
        (PLAIN, "other.set_epoch(epoch)", True),
        (PLAIN, "checked.sampler.set_epoch(epoch)", True),
        (PLAIN, "DistributedSampler(data).set_epoch(epoch)", True),
        (TELLING, "pass", True),
        (TELLING, IF_DISTRIBUTED, True),
        (TELLING, IF_TOLD, True),
        (TELLING, "trainer.set_epoch(epoch)", True),
        (TELLING, IF_BATCHES_TOLD, False),
        (TELLING, "loader.batch_sampler.set_epoch(epoch)", False),
        (TELLING, "loader.batch_sampler.sampler.set_epoch(epoch)", False),
        (TELLING, "sampler.set_epoch(epoch)", False),
        (TELLING, BOTH, False),
        (TELLING, 'getattr(loader.batch_sampler, "set_epoch")(epoch)', False),
        (TELLING, "for one in [loader.batch_sampler]:\n        one.set_epoch(epoch)", False),
        (SILENT, IF_DISTRIBUTED, True),
        (SILENT, IF_TOLD, True),
        (SILENT, IF_BATCHES_TOLD, True),
        (SILENT, "trainer.set_epoch(epoch)", True),
        (SILENT, "loader.batch_sampler.sampler.set_epoch(epoch)", False),
        (SILENT, "sampler.set_epoch(epoch)", False),
        (LIBRARY, IF_DISTRIBUTED, True),
        (LIBRARY, IF_BATCHES_TOLD, True),
        (LIBRARY, "trainer.set_epoch(epoch)", True),
        (LIBRARY, "loader.batch_sampler.sampler.set_epoch(epoch)", False),
    ],
)
def test_the_sampler_that_is_asked_has_to_be_told(
    loader: str, tells: str, *, repeats: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "train.py").write_text(PROGRAM.format(loader=loader, tells=tells))
    monkeypatch.chdir(tmp_path)
    assert [finding["code"] for finding in check()["findings"]] == (["PT202"] if repeats else [])


POOLED = """
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler, Sampler


class Sequences(Dataset):
    def __init__(self):
        self.lengths = torch.randint(4, 13, (200,), generator=torch.Generator().manual_seed(0)).tolist()
        self.items = [torch.ones(4) * one for one in self.lengths]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        return self.items[index]


class Pooled(Sampler):
    def __init__(self, sampler, lengths):
        self.sampler, self.lengths, self.passes = sampler, lengths, 0

    def __iter__(self):
        {starts}
        pool = []
        for index in self.sampler:
            pool.append(index)
            if len(pool) == 32:
                yield from self.cut(pool)
                pool = []
        yield from self.cut(pool)

    def cut(self, pool):
        pool = sorted(pool, key=self.lengths.__getitem__)
        for first in range(0, len(pool), 4):
            yield pool[first : first + 4]

    def __len__(self):
        return len(self.sampler) // 4


class Reshuffle:
    def before(self, run, epoch):
        {tells}


class Run:
    def __init__(self, loader, callbacks):
        self.loader, self.callbacks = loader, callbacks

    def train(self, model, optimizer):
        for epoch in range(4):
            for one in self.callbacks:
                one.before(self, epoch)
            for step, batch in enumerate(self.loader, 1):
                optimizer.zero_grad()
                model(batch).mean().backward()
                optimizer.step()


dist.init_process_group("gloo")
data = Sequences()
loader = DataLoader(data, batch_sampler=Pooled(DistributedSampler(data), data.lengths))
model = DDP(nn.Linear(4, 1))
Run(loader, [Reshuffle()]).train(model, torch.optim.SGD(model.parameters(), lr=0.1))
"""
ASKED_BESIDE = 'if hasattr(run.loader.sampler, "set_epoch"):\n            run.loader.sampler.set_epoch(epoch)'


@pytest.mark.parametrize(
    ("starts", "tells", "repeats"),
    [
        ("self.passes += 1", ASKED_BESIDE, True),
        ("self.passes += 1", "pass", True),
        ("self.passes += 1", "run.loader.batch_sampler.sampler.set_epoch(epoch)", False),
        ("self.passes += 1", "run.loader.batch_sampler.sampler.epoch = epoch", False),
        ("self.passes += 1; self.sampler.set_epoch(self.passes)", ASKED_BESIDE, False),
    ],
)
def test_the_sampler_inside_one_that_is_not_followed(
    starts: str, tells: str, *, repeats: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "train.py").write_text(POOLED.replace("{starts}", starts).replace("{tells}", tells))
    monkeypatch.chdir(tmp_path)
    assert [finding["code"] for finding in check()["findings"]] == (["PT202"] if repeats else [])
