"""Loaders that a program goes through without end: by saved copies of one pass, or by a pass of their own for each epoch."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
import itertools
from itertools import chain, count, cycle
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def forever(loader, sampler):
    for epoch in count():
        sampler.set_epoch(epoch)
        yield from loader


def endless(loader):
    return itertools.cycle(loader)


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    rows = TensorDataset(torch.randn(64, 4))
    sampler = DistributedSampler(rows{options})
    loader = DataLoader(rows, batch_size=8, sampler=sampler)
    model = DDP(nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
{loop}
        opt.zero_grad()
        model(x).square().mean().backward()
        opt.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
"""
STEPS = """
    batches = {batches}
    for step in range(40):
        if step % len(loader) == 0:
            sampler.set_epoch(step // len(loader))
        (x,) = next(batches)
"""
ZIPPED = """
    other = DataLoader(rows, batch_size=2, sampler=DistributedSampler(rows, shuffle=False))
    for epoch in range(3):
        sampler.set_epoch(epoch)
        x = torch.cat([one for (one,), (two,) in zip(other, cycle(loader))])
"""
AGAIN = """
    for epoch in range(3):
        sampler.set_epoch(epoch)
        batches = cycle(loader)
        (x,) = next(batches)
"""
ASIDE = """
    val_loader = DataLoader(rows, batch_size=8, sampler=DistributedSampler(rows))
    checks = cycle(val_loader)
    for step, (x,) in enumerate(loader):
        pass
"""


@pytest.mark.parametrize(
    ("options", "loop", "wrong"),
    [
        ("", STEPS.replace("{batches}", "itertools.cycle(loader)"), True),
        (", drop_last=True", STEPS.replace("{batches}", "iter(cycle(loader))"), True),
        (", shuffle=True, seed=3", STEPS.replace("{batches}", "endless(loader)"), True),
        ("", "    for step, (x,) in zip(range(40), cycle(loader)):", True),
        ("", STEPS.replace("{batches}", "forever(loader, sampler)"), False),
        (", shuffle=False", STEPS.replace("{batches}", "cycle(loader)"), False),
        ("", "    for (x,) in forever(loader, sampler):", False),
        ("", STEPS.replace("{batches}", "chain.from_iterable(loader for _ in count())"), False),
        ("", ZIPPED, False),
        ("", AGAIN, False),
        ("", ASIDE, False),
    ],
)
def test_whose_pass_it_is(
    options: str, loop: str, wrong: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = PROGRAM.replace("{options}", options).replace("{loop}", loop.strip("\n"))
    (tmp_path / "train.py").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert [one["code"] for one in check()["findings"] if one["code"] == "PT202"] == ["PT202"] * wrong
