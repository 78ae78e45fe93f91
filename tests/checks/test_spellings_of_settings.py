"""The same program in other words: options in dictionaries, values handed through objects and returns, what has been agreed before."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

LOADERS = """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, Sampler, TensorDataset

SHARED = {{"batch_size": 4, "num_workers": 0}}


class Buckets(Sampler):
    def __init__(self, inner, size):
        self.inner, self.size = inner, size

    def __iter__(self):
        rows = list(self.inner)
        for start in range(0, len(rows), self.size):
            yield rows[start : start + self.size]

    def set_epoch(self, epoch):
        self.inner.set_epoch(epoch)


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(64, 4))
    sampler = DistributedSampler(data)
    {loader}
    model = DDP(torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(3):
        {epoch}
        for (rows,) in loader:
            optimizer.zero_grad()
            model(rows).mean().backward()
            optimizer.step()
    dist.destroy_process_group()


main()
"""
PER_EPOCH = "sampler.set_epoch(epoch)"
GATHERED = """
import torch
import torch.distributed as dist


def gather_rows(rows):
    count = torch.tensor([len(rows)])
    counts = [torch.zeros_like(count) for _ in range(dist.get_world_size())]
    dist.all_gather(counts, count)
    sizes = [int(one) for one in counts]
    longest = max(sizes)
    if {test}:
        return rows
    padded = torch.cat([rows, rows.new_zeros(longest - len(rows))])
    buffers = [torch.empty_like(padded) for _ in sizes]
    dist.all_gather(buffers, padded)
    return torch.cat([part[:size] for part, size in zip(buffers, sizes)])


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    rows = gather_rows(torch.randn(101, 12)[dist.get_rank() :: dist.get_world_size()].sum(1))
    if rows.mean().item() > 0:
        dist.barrier()
    dist.destroy_process_group()


main()
"""
DICE = """
import random
import torch
import torch.distributed as dist


def main():
    dist.init_process_group("gloo")
    dice = random.Random(3)
    for turn in range(8):
        if dice.random() < 0.5:
            dist.all_reduce(torch.ones(1))
        dist.barrier()
        if dist.get_rank() == 0:
            {alone}
    dist.destroy_process_group()


main()
"""
PREPARED = """
import torch
from types import SimpleNamespace
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset


class Job:
    def __init__(self, accelerator):
        self.accelerator = accelerator
        torch.manual_seed(0)
        rows = TensorDataset(torch.randn(64, 4))
        self.data = SimpleNamespace(train=DataLoader(rows, batch_size=4, shuffle=True))
        model = torch.nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        {prepare}

    def run(self):
        for (rows,) in self.data.train:
            self.optimizer.zero_grad()
            self.accelerator.backward(self.model(rows).mean())
            self.optimizer.step()


Job(Accelerator(cpu=True)).run()
"""
PLATEAU = """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


class Mean:
    def __init__(self):
        self.total, self.count = 0.0, 0

    def add(self, value):
        self.total += value
        self.count += 1

    def result(self):
        both = torch.tensor([self.total, self.count])
        {reduce}
        return (both[0] / both[1]).item()


class Job:
    def __init__(self):
        torch.manual_seed(0)
        self.model = DDP(torch.nn.Linear(4, 1))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(self.optimizer)

    def validate(self):
        mean = Mean()
        for rows in torch.randn(8, 3, 4)[dist.get_rank() :: dist.get_world_size()]:
            mean.add(self.model.module(rows).mean().item())
        return mean.result()

    def fit(self):
        for _ in range(4):
            self.optimizer.zero_grad()
            self.model(torch.randn(3, 4)).mean().backward()
            self.optimizer.step()
            loss = self.validate()
            self.schedule.step(loss)


dist.init_process_group("gloo")
Job().fit()
dist.destroy_process_group()
"""
SENT_OVER = """
import torch
import torch.distributed as dist


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    try:
        rows = torch.ones(4, 4).mul_({convert})
    except (RuntimeError, ValueError):
        print("no rows")
    dist.barrier()
    dist.destroy_process_group()


main()
"""


@pytest.mark.parametrize(
    ("loader", "code"),
    [
        ("loader = DataLoader(data, **dict(batch_size=4, sampler=sampler))", ""),
        ('loader = DataLoader(data, **{"batch_size": 4, "sampler": sampler})', ""),
        ("options = dict(batch_size=4, sampler=sampler)\n    loader = DataLoader(data, **options)", ""),
        ("options = dict(sampler=sampler)\n    loader = DataLoader(data, **SHARED, **options)", ""),
        ("loader = DataLoader(data, **SHARED)", "PT250"),
        ("options = dict(batch_size=4, shuffle=True)\n    loader = DataLoader(data, **options)", "PT250"),
        ("options = dict(batch_size=4)\n    options = change(options)\n    loader = DataLoader(data, **options)", ""),
        ("options = dict(batch_size=4)\n    change(options)\n    loader = DataLoader(data, **options)", ""),
        ("loader = DataLoader(data, batch_sampler=Buckets(sampler, 4))", ""),
        ("loader = DataLoader(data, batch_sampler=Buckets(range(64), 4))", "PT250"),
    ],
)
def test_options_of_a_loader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loader: str, code: str) -> None:
    assert _said(tmp_path, monkeypatch, LOADERS.format(loader=loader, epoch=PER_EPOCH), "PT250") == code


@pytest.mark.parametrize(
    ("epoch", "code"),
    [
        ('getattr(sampler, "set_epoch")(epoch)', ""),
        ("functools.partial(sampler.set_epoch, epoch)()", ""),
        ('getattr(sampler, "state_of")(epoch)', "PT202"),
    ],
)
def test_methods_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, epoch: str, code: str) -> None:
    program = LOADERS.format(loader="loader = DataLoader(data, batch_size=4, sampler=sampler)", epoch=epoch)
    assert _said(tmp_path, monkeypatch, "import functools\n" + program, "PT202") == code


@pytest.mark.parametrize(("test", "code"), [("longest == 0", ""), ("dist.get_rank() == 0", "PT501")])
def test_ways_that_were_agreed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, test: str, code: str) -> None:
    said = _said(tmp_path, monkeypatch, GATHERED.format(test=test), "PT501", "PT503")
    assert bool(said) == bool(code)


@pytest.mark.parametrize(("alone", "code"), [("print(dice.getstate())", ""), ("print(dice.random())", "PT503")])
def test_state_of_a_generator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, alone: str, code: str) -> None:
    assert _said(tmp_path, monkeypatch, DICE.format(alone=alone), "PT501", "PT503") == code


@pytest.mark.parametrize(
    ("prepare", "code"),
    [
        (
            "self.model, self.optimizer, self.data.train = accelerator.prepare(model, optimizer, self.data.train)",
            "",
        ),
        ("self.model, self.optimizer, self.loader = accelerator.prepare(model, optimizer, self.data.train)", "HF208"),
    ],
)
def test_prepared_in_a_namespace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prepare: str, code: str) -> None:
    assert _said(tmp_path, monkeypatch, PREPARED.format(prepare=prepare), "HF208") == code


@pytest.mark.parametrize(("reduce", "code"), [("dist.all_reduce(both)", ""), ("dist.reduce(both, dst=0)", "PT270")])
def test_figure_returned_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reduce: str, code: str) -> None:
    assert _said(tmp_path, monkeypatch, PLATEAU.format(reduce=reduce), "PT270") == code


@pytest.mark.parametrize(
    ("convert", "code"), [("float(rank)", ""), ('float(open(f"scale{rank}.txt").read())', "PT505")]
)
def test_numbers_that_are_converted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, convert: str, code: str) -> None:
    program = SENT_OVER.format(convert=convert).replace("    dist.barrier()", "    else:\n        dist.barrier()")
    assert _said(tmp_path, monkeypatch, program, "PT505") == code


def _said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, *codes: str) -> str:
    """Which of some rules a program breaks, the first one by its code; ``""`` for none."""
    (tmp_path / "train.py").write_text(program)
    monkeypatch.chdir(tmp_path)
    found = {finding["code"] for finding in check()["findings"]}
    return next((code for code in codes if code in found), "")
