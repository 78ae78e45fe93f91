"""Schedules of programs that go on where a checkpoint was written: restored in some way, or begun anew (PT245)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.optim.lr_scheduler import (
    CosineAnnealingLR, ExponentialLR, LambdaLR, LinearLR, OneCycleLR, ReduceLROnPlateau, SequentialLR, StepLR
)

EPOCHS = 10


def save(path, net, opt, epoch, sched=None):
    torch.save({{"net": net.state_dict(), "opt": opt.state_dict(), "epoch": epoch}}, path)


def save_all(path, *parts):
    torch.save([one.state_dict() for one in parts], path)


def restore(net, opt):
    if not os.path.exists("last.pt"):
        return 0
    state = torch.load("last.pt", map_location="cpu")
    net.load_state_dict(state["net"])
    opt.load_state_dict(state["opt"])
    return state["epoch"] + 1


def run_epoch(model, opt, sched):
    for _ in range(20):
        opt.zero_grad()
        model(torch.randn(4, 4)).mean().backward()
        opt.step()
        sched.step()


def main():
    dist.init_process_group("gloo")
    net = torch.nn.Linear(4, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
{body}
    dist.destroy_process_group()


main()
"""
TAIL = """
    model = DDP(net)
    for epoch in range(start, EPOCHS):
        run_epoch(model, opt, sched)
        if dist.get_rank() == 0:
            {save}
"""
SAVE = 'save("last.pt", net, opt, epoch)'


@pytest.mark.parametrize(
    ("body", "save", "said"),
    [
        ("    sched = OneCycleLR(opt, 0.1, total_steps=200)\n    start = restore(net, opt)", SAVE, True),
        ("    start = restore(net, opt)\n    sched = LambdaLR(opt, lambda step: 1 - step / 200)", SAVE, True),
        (
            "    sched = CosineAnnealingLR(opt, T_max=200)\n    start = restore(net, opt)\n    print(sched.get_last_lr())",
            SAVE,
            True,
        ),
        ("    sched = StepLR(optimizer=opt, step_size=50)\n    start = restore(opt=opt, net=net)", SAVE, True),
        (
            (
                "    parts = [LinearLR(opt), CosineAnnealingLR(opt, 180)]\n    sched = SequentialLR(opt, parts, [20])\n"
                "    start = restore(net, opt)"
            ),
            SAVE,
            True,
        ),
        (
            (
                "    sched = OneCycleLR(opt, 0.1, total_steps=200)\n    state = torch.load('last.pt')\n"
                "    net.load_state_dict(state['net'])\n"
                "    opt.load_state_dict(state.get('opt'))\n    start = state.pop('epoch') + 1"
            ),
            SAVE,
            True,
        ),
        (
            "    start = restore(net, opt)\n    sched = LambdaLR(opt, lambda step: 1 - (start * 20 + step) / 200)",
            SAVE,
            False,
        ),
        ("    start = restore(net, opt)\n    sched = StepLR(opt, 50, last_epoch=start * 20 - 1)", SAVE, False),
        ("    start = restore(net, opt)\n    sched = CosineAnnealingLR(opt, (EPOCHS - start) * 20)", SAVE, False),
        ("    sched = ExponentialLR(opt, 0.99)\n    start = restore(net, opt)", SAVE, False),
        (
            "    sched = StepLR(opt, 50)\n    start = restore(net, opt)\n    for _ in range(start * 20):\n        sched.step()",
            SAVE,
            False,
        ),
        ("    sched = StepLR(opt, 50)\n    start = restore(net, opt)\n    sched.last_epoch = start * 20", SAVE, False),
        ("    sched = StepLR(opt, 50)\n    start = restore(net, opt)", "save_all('last.pt', net, opt, sched)", False),
        (
            (
                "    sched = StepLR(opt, 50)\n    start = restore(net, opt)\n    if start:\n"
                "        sched.load_state_dict(torch.load('sched.pt'))"
            ),
            SAVE,
            False,
        ),
        (
            "    sched = StepLR(opt, 50)\n    start = restore(net, opt)\n    vars(sched).update(torch.load('s.pt'))",
            SAVE,
            False,
        ),
        ("    sched = StepLR(opt, 50)\n    start = 0", SAVE, False),
    ],
)
def test_schedules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, save: str, said: bool) -> None:
    (tmp_path / "train.py").write_text(PROGRAM.format(body=body + TAIL.format(save=save)))
    monkeypatch.chdir(tmp_path)
    assert ("PT245" in {finding["code"] for finding in check()["findings"]}) is said
