"""Batches that a loop takes out of an iterator: which loaders are behind it, and what parts them between the ranks on the way."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

HEAD = """
import itertools, os
from functools import partial
import torch, torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, IterableDataset, TensorDataset, get_worker_info

class Stream(IterableDataset):
    def __init__(self, n=64):
        self.n = n
    def __iter__(self):
        info = get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        for i in range(first, self.n, step):
            yield torch.full((4,), float(i))

dist.init_process_group("gloo")
torch.manual_seed(0)
rank, world = dist.get_rank(), dist.get_world_size()
model = DDP(nn.Linear(4, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
loader = DataLoader(Stream(), batch_size=4, num_workers=2)
table = TensorDataset(torch.randn(64, 4))
own = DataLoader(table, batch_size=4, sampler=DistributedSampler(table))
"""
STEP = """
for step in range(8):
    x = next(batches)
    opt.zero_grad()
    model(x).mean().backward()
    opt.step()
"""

BAD = {
    "iter": "batches = iter(loader)" + STEP,
    "row of variables": "batches, more = iter(loader), 0" + STEP,
    "cycle": "batches = itertools.cycle(loader)" + STEP,
    "chain of loaders": "batches = itertools.chain.from_iterable(itertools.repeat(loader))" + STEP,
    "generator expression": "batches = (b.float() for _ in itertools.count() for b in loader)" + STEP,
    "generator that hands on": """
def forever(data):
    while True:
        yield from data
batches = forever(loader)
"""
    + STEP,
    "generator with a loop": """
def forever(data):
    while True:
        for one in data:
            yield one.float()
batches = iter(forever(loader))
"""
    + STEP,
    "class with __iter__": """
class Forever:
    def __init__(self, data):
        self.data = data
    def __iter__(self):
        while True:
            for one in self.data:
                yield one.float()
batches = iter(Forever(loader))
"""
    + STEP,
    "loop over what hands on": """
for x in itertools.islice(itertools.chain.from_iterable(itertools.repeat(loader)), 20):
    opt.zero_grad()
    model(x).mean().backward()
    opt.step()
""",
    "started again at the end": """
batches = iter(loader)
step = 0
while step < 30:
    try:
        x = next(batches)
    except StopIteration:
        batches = iter(loader)
        x = next(batches)
    opt.zero_grad()
    loss = model(x).mean()
    loss.backward()
    opt.step()
    step += 1
""",
    "step in a function": """
def train_step(data):
    x = next(data)
    opt.zero_grad()
    loss = model(x).mean()
    loss.backward()
    opt.step()
batches = iter(loader)
for step in range(8):
    train_step(batches)
""",
    "batch by a method": """
class Trainer:
    def __init__(self, model, loader):
        self.model, self.loader = model, loader
        self.it = iter(loader)
    def batch(self):
        try:
            return next(self.it)
        except StopIteration:
            self.it = iter(self.loader)
            return next(self.it)
    def fit(self, n):
        for _ in range(n):
            opt.zero_grad()
            self.model(self.batch()).mean().backward()
            opt.step()
Trainer(model, loader).fit(8)
""",
    "several for a step": """
batches = itertools.cycle(loader)
for step in range(4):
    parts = [next(batches) for _ in range(2)]
    opt.zero_grad()
    for x in parts:
        model(x).mean().backward()
    opt.step()
""",
}

GOOD = {
    "by the rank": "batches = itertools.islice(itertools.cycle(loader), rank, None, world)" + STEP,
    "by the rank in a generator": """
def mine(data):
    for i, one in enumerate(data):
        if i % dist.get_world_size() == dist.get_rank():
            yield one
batches = mine(loader)
"""
    + STEP,
    "by the rank in a class": """
class Mine:
    def __init__(self, data, offset, stride):
        self.data, self.offset, self.stride = data, offset, stride
    def __iter__(self):
        for i, one in enumerate(self.data):
            if i % self.stride == self.offset:
                yield one
batches = iter(Mine(loader, rank, world))
"""
    + STEP,
    "each starts elsewhere": "batches = iter(loader)\nfor _ in range(rank * 4):\n    next(batches)" + STEP,
    "each skips some": "batches = iter(loader)\nnext(itertools.islice(batches, rank * 4, rank * 4), None)" + STEP,
    "each takes its own of several": """
batches = iter(loader)
for step in range(8):
    x = [next(batches) for _ in range(world)][rank]
    opt.zero_grad()
    model(x).mean().backward()
    opt.step()
""",
    "a sampler": "batches = (x for _ in itertools.count() for (x,) in own)" + STEP,
    "made ready": "from accelerate import Accelerator\nloader = Accelerator().prepare(loader)\nbatches = iter(loader)"
    + STEP,
    "made ready by another library": "from somewhere import own_part\nbatches = iter(own_part(loader))" + STEP,
    "another loader to look at": """
whole = iter(DataLoader(table, batch_size=4))
for (x,) in own:
    with torch.no_grad():
        print(model(next(whole)[0]))
    opt.zero_grad()
    model(x).mean().backward()
    opt.step()
""",
    "one of two": """
loaders = {"train": own, "val": DataLoader(table, batch_size=4)}
batches = (x for _ in itertools.count() for (x,) in loaders["train"])
"""
    + STEP,
    "a stage that asks for the rank": """
def some(items):
    yield from itertools.islice(items, dist.get_rank(), None, dist.get_world_size())
class Pipe(IterableDataset):
    def __init__(self, stages):
        self.stages = stages
    def __iter__(self):
        source = range(64)
        for stage in self.stages:
            source = stage(source)
        for i in source:
            yield torch.full((4,), float(i))
batches = iter(DataLoader(Pipe([some]), batch_size=4))
"""
    + STEP,
    "an inner function that asks for the rank": """
class Pipe(IterableDataset):
    def __init__(self, stage):
        self.stage = stage
    def __iter__(self):
        for i in self.stage(range(64)):
            yield torch.full((4,), float(i))
def make():
    def some(items):
        return list(items)[dist.get_rank()::dist.get_world_size()]
    return DataLoader(Pipe(some), batch_size=4)
batches = iter(make())
"""
    + STEP,
}


def codes(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The codes of what is found in a program."""
    (folder / "train.py").write_text(HEAD + text, encoding="utf-8")
    monkeypatch.chdir(folder)
    return {finding["code"] for finding in check()["findings"]}


@pytest.mark.parametrize("name", BAD, ids=str)
def test_batches_that_every_rank_takes_are_found(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "PT250" in codes(tmp_path, BAD[name], monkeypatch)


@pytest.mark.parametrize("name", GOOD, ids=str)
def test_batches_that_ranks_share_are_left_alone(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "PT250" not in codes(tmp_path, GOOD[name], monkeypatch)
