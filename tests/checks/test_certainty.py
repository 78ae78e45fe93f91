"""What is made and filled in a turn of a loop is known there, however many turns nobody knows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
from collections import defaultdict
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Meter:
    def __init__(self):
        self.total = self.count = 0.0

    def update(self, value, count):
        self.total += value * count
        self.count += count

    def meet(self):
        figures = torch.tensor([self.total, self.count])
        {meets}
        self.total, self.count = figures.tolist()

    def mean(self):
        return self.total / self.count


class Meters:
    def __init__(self):
        self.total, self.count = defaultdict(float), defaultdict(int)

    def update(self, value, count):
        self.total["loss"] += value * count
        self.count["loss"] += count

    def meet(self):
        for name in sorted(self.total):
            figures = torch.tensor([self.total[name], self.count[name]])
            {meets}
            self.total[name], self.count[name] = figures[0].item(), figures[1].item()

    def mean(self):
        return self.total["loss"] / self.count["loss"]


class Patience:
    def __init__(self):
        self.best, self.worse = float("inf"), 0

    def ends(self, figure):
        if figure < self.best:
            self.best, self.worse = figure, 0
        else:
            self.worse += 1
        return self.worse > 2


def validated(model, loader):
    total, count = 0.0, 0
    for values, wanted in loader:
        total += nn.functional.mse_loss(model(values), wanted).item()
        count += len(values)
    meter = {meter}()
    meter.update(total / count, count)
    meter.meet()
    return meter.mean()


def loader_of(rows):
    data = TensorDataset(torch.randn(rows, 4), torch.randn(rows, 1))
    return DataLoader(data, batch_size=4, sampler=DistributedSampler(data))


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    training, testing = loader_of(64), loader_of(32)
    net = nn.Linear(4, 1)
    model = DistributedDataParallel(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    patience = Patience()
    for epoch in range(20):
        training.sampler.set_epoch(epoch)
        for values, wanted in training:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(values), wanted).backward()
            optimizer.step()
        if patience.ends(validated(net, testing)):
            break


main()
"""


@pytest.mark.parametrize("meter", ["Meter", "Meters"])
@pytest.mark.parametrize(("meets", "apart"), [("dist.all_reduce(figures)", False), ("pass", True)])
def test_figures_that_objects_bring_together(
    meter: str, meets: str, apart: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every rank stops in the same epoch where what decides was summed up over all of them."""
    (tmp_path / "train.py").write_text(PROGRAM.format(meter=meter, meets=meets))
    monkeypatch.chdir(tmp_path)
    found = {finding["code"] for finding in check()["findings"]}
    assert bool(found & {"PT501", "PT503", "PT504"}) is apart


TURNS = """
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def parts(rows, rank, world):
    for number, row in enumerate(rows):
        if number % world != rank:
            continue
        if row.norm() < 1:
            continue
        yield row


def agreed(given):
    given = iter(given)
    while True:
        row = next(given, None)
        more = torch.tensor(float(row is not None))
        dist.all_reduce(more, op=dist.ReduceOp.MIN)
        if not more.item():
            return
        yield row


def main(rows):
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(4, 1))
    for epoch in range(2):
        for row in agreed(parts(rows, dist.get_rank(), dist.get_world_size())):
            model(row).square().mean().backward()
    dist.barrier()


main([torch.randn(4) for _ in range(40)])
"""


def test_a_turn_that_a_generator_skips(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who asks a generator for rows is not skipped where the generator goes on with its next one."""
    (tmp_path / "train.py").write_text(TURNS)
    monkeypatch.chdir(tmp_path)
    assert not {"PT501", "PT503", "PT504"} & {finding["code"] for finding in check()["findings"]}


SAVED = """
import os
import torch
from accelerate import Accelerator
from torch import nn


def main(folder):
    accelerator = Accelerator(cpu=True)
    model = accelerator.prepare(nn.Linear(4, 1))
    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        os.makedirs(folder, exist_ok=True)
    {saved}
    accelerator.end_training()


main("states/first")
"""


@pytest.mark.parametrize(
    ("saved", "early"),
    [
        ('accelerator.save(model.state_dict(), os.path.join(folder, "model.pt"))', False),
        ('torch.save(model.state_dict(), os.path.join(folder, f"model{accelerator.process_index}.pt"))', True),
    ],
)
def test_a_library_that_saves_on_the_first_process(
    saved: str, early: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder need not be there yet for those that write nothing."""
    (tmp_path / "train.py").write_text(SAVED.replace("{saved}", saved))
    monkeypatch.chdir(tmp_path)
    assert ("PT532" in {finding["code"] for finding in check()["findings"]}) is early
