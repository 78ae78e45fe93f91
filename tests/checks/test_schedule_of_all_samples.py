"""Schedules that are sized with the batches of all processes, and those that are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

HEAD = """
import argparse
import math
import os
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset, DistributedSampler
from torch.optim.lr_scheduler import OneCycleLR, CosineAnnealingLR, LambdaLR, LinearLR, SequentialLR
"""
SAMPLED = """
def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--batch-size", type=int, default=8)
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--local_rank", type=int, default=0)
    p.add_argument("--accum", type=int, default=2)
    return p.parse_args()

{top}
def main():
    args = parse()
    dist.init_process_group("gloo")
    rank, world_size = dist.get_rank(), dist.get_world_size()
    dataset = TensorDataset(torch.randn(256, 4), torch.randn(256, 1))
    val_set = TensorDataset(torch.randn(64, 4), torch.randn(64, 1))
    {pre}
    sampler = DistributedSampler(dataset, shuffle=True)
    loader = DataLoader(dataset, batch_size={bs}, sampler=sampler)
    model = DDP(nn.Linear(4, 1))
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    {sched}
    step = 0
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for x, y in loader:
            {rate}
            loss = ((model(x) - y) ** 2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            {step}
            step += 1
        {end}
    if rank == 0:
        print(opt.param_groups[0]["lr"])
    dist.destroy_process_group()

main()
"""
PREPARED = """
from accelerate import Accelerator
def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--batch-size", type=int, default=8)
    p.add_argument("--epochs", type=int, default=3)
    return p.parse_args()

def main():
    args = parse()
    accelerator = Accelerator({acc})
    dataset = TensorDataset(torch.randn(256, 4), torch.randn(256, 1))
    loader = DataLoader(dataset, batch_size=args.batch_size, shuffle=True)
    model = nn.Linear(4, 1)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    {sched}
    {prep}
    {sched2}
    for epoch in range(args.epochs):
        for x, y in loader:
            loss = ((model(x) - y) ** 2).mean()
            opt.zero_grad()
            accelerator.backward(loss)
            opt.step()
            {step}
    accelerator.print(opt.param_groups[0]["lr"])

main()
"""
OF_SAMPLED = {
    "sched": "pass",
    "step": "scheduler.step()",
    "bs": "args.batch_size",
    "pre": "pass",
    "rate": "pass",
    "end": "pass",
    "top": "",
}
OF_PREPARED = {
    "sched": "pass",
    "sched2": "pass",
    "prep": "model, opt, loader = accelerator.prepare(model, opt, loader)",
    "step": "scheduler.step()",
    "acc": "",
}


def codes(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The rules that speak of a program."""
    (tmp_path / "train.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    return [finding["code"] for finding in check()["findings"]]


@pytest.mark.parametrize(
    ("parts", "too_long"),
    [
        pytest.param(
            {
                "sched": "scheduler = OneCycleLR(opt, max_lr=1e-2, total_steps=len(dataset) // args.batch_size * args.epochs)"
            },
            True,
            id="onecycle",
        ),
        pytest.param(
            {
                "sched": "scheduler = OneCycleLR(opt, 1e-2, epochs=args.epochs, steps_per_epoch=math.ceil(len(dataset) / args.batch_size))"
            },
            True,
            id="onecycle-spe",
        ),
        pytest.param(
            {"sched": "scheduler = OneCycleLR(opt, 1e-2, epochs=args.epochs, steps_per_epoch=len(loader))"},
            False,
            id="onecycle-right",
        ),
        pytest.param(
            {
                "sched": "scheduler = OneCycleLR(opt, 1e-2, total_steps=args.epochs * len(dataset) // (args.batch_size * world_size))"
            },
            False,
            id="world-right",
        ),
        pytest.param(
            {
                "sched": (
                    "n = len(dataset) // world_size\n"
                    "    steps = n // args.batch_size\n"
                    "    scheduler = CosineAnnealingLR(opt, T_max=steps * args.epochs)"
                )
            },
            False,
            id="world2-right",
        ),
        pytest.param(
            {
                "sched": (
                    "steps = len(sampler) // args.batch_size\n"
                    "    scheduler = CosineAnnealingLR(opt, T_max=steps * args.epochs)"
                )
            },
            False,
            id="sampler-right",
        ),
        pytest.param(
            {
                "sched": "scheduler = CosineAnnealingLR(opt, T_max=args.epochs)",
                "step": "pass",
                "end": "scheduler.step()",
            },
            False,
            id="epoch-right",
        ),
        pytest.param(
            {
                "sched": (
                    "steps = len(dataset) // args.batch_size\n"
                    "    scheduler = CosineAnnealingLR(opt, T_max=steps * args.epochs)"
                ),
                "bs": "args.batch_size // world_size",
            },
            False,
            id="global-right",
        ),
        pytest.param(
            {
                "sched": (
                    "total_batch_size = args.batch_size * world_size\n"
                    "    steps = len(dataset) // total_batch_size\n"
                    "    scheduler = CosineAnnealingLR(opt, T_max=steps * args.epochs)"
                )
            },
            False,
            id="global2-right",
        ),
        pytest.param(
            {
                "sched": (
                    "steps = len(dataset) // args.batch_size\n"
                    "    scheduler = CosineAnnealingLR(opt, T_max=steps * args.epochs)"
                ),
                "bs": "per_gpu",
                "pre": "per_gpu = args.batch_size // world_size",
            },
            False,
            id="global3-right",
        ),
        pytest.param(
            {
                "sched": (
                    "steps = len(dataset) // batch\n    scheduler = CosineAnnealingLR(opt, T_max=steps * args.epochs)"
                ),
                "pre": ("batch = args.batch_size\n    args.batch_size = args.batch_size // world_size"),
            },
            False,
            id="setargs-right",
        ),
        pytest.param(
            {
                "sched": (
                    "steps = args.epochs * (len(dataset) // args.batch_size)\n"
                    "    scheduler = CosineAnnealingLR(opt, steps)"
                )
            },
            True,
            id="cos",
        ),
        pytest.param(
            {
                "sched": (
                    "steps = len(dataset) // 8\n    scheduler = CosineAnnealingLR(opt, T_max=steps * args.epochs)"
                ),
                "bs": "8",
            },
            True,
            id="const",
        ),
        pytest.param(
            {
                "sched": (
                    "n = len(dataset)\n"
                    "    steps = n // BS * args.epochs\n"
                    "    scheduler = LambdaLR(opt, lambda s: max(0.0, 1 - s / steps))"
                ),
                "bs": "BS",
                "top": ("BS = 8\n"),
            },
            True,
            id="consts",
        ),
        pytest.param(
            {
                "sched": (
                    "steps = len(dataset) // args.batch_size * args.epochs\n"
                    "    def decay(s):\n"
                    "        return 0.5 * (1 + math.cos(math.pi * s / steps))\n"
                    "    scheduler = LambdaLR(opt, decay)"
                )
            },
            True,
            id="lambda",
        ),
        pytest.param(
            {
                "sched": (
                    "steps = len(loader) * args.epochs\n"
                    "    def decay(s):\n"
                    "        return 0.5 * (1 + math.cos(math.pi * s / steps))\n"
                    "    scheduler = LambdaLR(opt, decay)"
                )
            },
            False,
            id="lambda-right",
        ),
        pytest.param(
            {
                "sched": (
                    "total = len(dataset) // args.batch_size * args.epochs\n"
                    "    scheduler = get_linear_schedule_with_warmup(opt, int(0.1 * total), total)"
                ),
                "top": ("from transformers import get_linear_schedule_with_warmup\n"),
            },
            True,
            id="tf",
        ),
        pytest.param(
            {
                "sched": (
                    "total = len(loader) * args.epochs\n"
                    "    scheduler = get_linear_schedule_with_warmup(opt, int(0.1 * total), total)"
                ),
                "top": ("from transformers import get_linear_schedule_with_warmup\n"),
            },
            False,
            id="tf-right",
        ),
        pytest.param(
            {
                "sched": "total = len(dataset) // args.batch_size * args.epochs",
                "step": "pass",
                "rate": (
                    "for g in opt.param_groups:\n"
                    '                g["lr"] = 1e-3 * 0.5 * (1 + math.cos(math.pi * step / total))'
                ),
            },
            True,
            id="hand",
        ),
        pytest.param(
            {
                "sched": "total = len(loader) * args.epochs",
                "step": "pass",
                "rate": (
                    "for g in opt.param_groups:\n"
                    '                g["lr"] = 1e-3 * 0.5 * (1 + math.cos(math.pi * step / total))'
                ),
            },
            False,
            id="hand-right",
        ),
        pytest.param(
            {
                "sched": "total = len(dataset) // args.batch_size * args.epochs",
                "step": "pass",
                "rate": "adjust(opt, step, total)",
                "top": (
                    "def adjust(optimizer, step, total):\n"
                    "    lr = 1e-3 * (1 - step / total)\n"
                    "    for group in optimizer.param_groups:\n"
                    '        group["lr"] = lr\n'
                ),
            },
            True,
            id="handfn",
        ),
        pytest.param(
            {
                "sched": "scheduler = Warmup(opt, 1e-3, len(dataset) // args.batch_size * args.epochs)",
                "top": (
                    "class Warmup:\n"
                    "    def __init__(self, optimizer, base, total):\n"
                    "        self.optimizer, self.base = optimizer, base\n"
                    "        self.total = total\n"
                    "        self.n = 0\n"
                    "\n"
                    "    def step(self):\n"
                    "        self.n += 1\n"
                    "        lr = self.base * min(1.0, self.n / (0.1 * self.total)) * max(0.0, 1 - self.n / self.total)\n"
                    "        for group in self.optimizer.param_groups:\n"
                    '            group["lr"] = lr\n'
                ),
            },
            True,
            id="cls",
        ),
        pytest.param(
            {
                "sched": "scheduler = Warmup(opt, 1e-3, len(loader) * args.epochs)",
                "top": (
                    "class Warmup:\n"
                    "    def __init__(self, optimizer, base, total):\n"
                    "        self.optimizer, self.base = optimizer, base\n"
                    "        self.total = total\n"
                    "        self.n = 0\n"
                    "\n"
                    "    def step(self):\n"
                    "        self.n += 1\n"
                    "        lr = self.base * min(1.0, self.n / (0.1 * self.total)) * max(0.0, 1 - self.n / self.total)\n"
                    "        for group in self.optimizer.param_groups:\n"
                    '            group["lr"] = lr\n'
                ),
            },
            False,
            id="cls-right",
        ),
        pytest.param(
            {
                "sched": (
                    "half = torch.utils.data.Subset(dataset, range(128))\n"
                    "    steps = len(half) // args.batch_size\n"
                    "    scheduler = CosineAnnealingLR(opt, T_max=steps * args.epochs)"
                )
            },
            False,
            id="subset-right",
        ),
        pytest.param(
            {
                "sched": (
                    "steps = len(dataset) // (args.batch_size * args.accum) * args.epochs\n"
                    "    scheduler = CosineAnnealingLR(opt, T_max=steps)"
                ),
                "step": ("if (step + 1) % args.accum == 0:\n                scheduler.step()"),
            },
            True,
            id="accum",
        ),
        pytest.param(
            {
                "sched": (
                    "steps = len(dataset) // args.batch_size * args.epochs\n"
                    "    warm = LinearLR(opt, 0.1, total_iters=steps // 10)\n"
                    "    cosine = CosineAnnealingLR(opt, steps)\n"
                    "    scheduler = SequentialLR(opt, [warm, cosine], milestones=[steps // 10])"
                )
            },
            True,
            id="seqlr",
        ),
        pytest.param(
            {
                "sched": (
                    "steps = sampler.num_samples // args.batch_size * args.epochs\n"
                    "    scheduler = CosineAnnealingLR(opt, T_max=steps)"
                )
            },
            False,
            id="numsamples-right",
        ),
        pytest.param(
            {
                "sched": "scheduler = CosineAnnealingLR(opt, T_max=steps_of(len(dataset), args.batch_size) * args.epochs)",
                "top": ("def steps_of(n, batch):\n    return math.ceil(n / batch / dist.get_world_size())\n"),
            },
            False,
            id="getws-right",
        ),
        pytest.param(
            {
                "sched": "scheduler = CosineAnnealingLR(opt, T_max=steps_of(dataset, args.batch_size) * args.epochs)",
                "top": ("def steps_of(data, batch):\n    return math.ceil(len(data) / batch)\n"),
            },
            True,
            id="fn",
        ),
        pytest.param(
            {
                "sched": "scheduler = build(opt, len(dataset) // args.batch_size, args.epochs)",
                "top": (
                    "def build(optimizer, per_epoch, epochs):\n"
                    "    return OneCycleLR(optimizer, max_lr=0.1, steps_per_epoch=per_epoch, epochs=epochs)\n"
                ),
            },
            True,
            id="builder",
        ),
        pytest.param(
            {
                "sched": (
                    'ws = int(os.environ["WORLD_SIZE"])\n'
                    "    scheduler = CosineAnnealingLR(opt, T_max=len(dataset) // ws // args.batch_size * args.epochs)"
                )
            },
            False,
            id="env-right",
        ),
        pytest.param(
            {
                "sched": (
                    "print(len(dataset) // args.batch_size)\n"
                    "    scheduler = CosineAnnealingLR(opt, T_max=len(loader) * args.epochs)"
                )
            },
            False,
            id="log-right",
        ),
        pytest.param(
            {
                "sched": (
                    "per = len(dataset) // args.batch_size\n"
                    "    scheduler = CosineAnnealingLR(opt, T_max=per * args.epochs)"
                ),
                "step": ("for _ in range(world_size):\n                scheduler.step()"),
            },
            False,
            id="many-right",
        ),
    ],
)
def test_samples_of_all(parts: dict[str, str], too_long: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps that are counted over all samples make a schedule too long, those of one process do not."""
    assert codes(HEAD + SAMPLED.format(**{**OF_SAMPLED, **parts}), tmp_path, monkeypatch) == (
        ["PT223"] if too_long else []
    )


@pytest.mark.parametrize(
    ("parts", "too_long"),
    [
        pytest.param({"sched": "scheduler = CosineAnnealingLR(opt, len(loader) * args.epochs)"}, True, id="raw"),
        pytest.param(
            {"sched": "total = len(loader) * args.epochs", "sched2": "scheduler = CosineAnnealingLR(opt, T_max=total)"},
            True,
            id="raw2",
        ),
        pytest.param(
            {
                "sched2": "scheduler = OneCycleLR(opt, 0.1, total_steps=args.epochs * math.ceil(len(dataset) / args.batch_size))"
            },
            True,
            id="data",
        ),
        pytest.param(
            {"sched2": "scheduler = CosineAnnealingLR(opt, T_max=len(loader) * args.epochs)"}, False, id="after-right"
        ),
        pytest.param(
            {
                "sched": "scheduler = CosineAnnealingLR(opt, T_max=len(loader) * args.epochs)",
                "prep": "model, opt, loader, scheduler = accelerator.prepare(model, opt, loader, scheduler)",
            },
            False,
            id="prepared-right",
        ),
        pytest.param(
            {
                "sched": "scheduler = CosineAnnealingLR(opt, T_max=len(loader) * args.epochs)",
                "acc": "split_batches=True",
            },
            False,
            id="split-right",
        ),
        pytest.param(
            {
                "sched": "scheduler = CosineAnnealingLR(opt, T_max=len(loader) * args.epochs // accelerator.num_processes)"
            },
            False,
            id="np-right",
        ),
        pytest.param(
            {
                "sched": "scheduler = CosineAnnealingLR(opt, T_max=len(loader) * args.epochs)",
                "step": ("for _ in range(accelerator.num_processes):\n                scheduler.step()"),
            },
            False,
            id="loopn-right",
        ),
        pytest.param(
            {
                "sched": "scheduler = CosineAnnealingLR(opt, T_max=len(loader) * args.epochs)",
                "sched2": "scheduler = accelerator.prepare(scheduler)",
            },
            False,
            id="late-right",
        ),
        pytest.param(
            {
                "sched": ("n = len(loader)\n    print(n)\n    scheduler = CosineAnnealingLR(opt, T_max=args.epochs)"),
                "step": "pass",
            },
            False,
            id="epoch-right",
        ),
    ],
)
def test_batches_of_all(parts: dict[str, str], too_long: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same with the batches that a loader had before it was prepared."""
    assert codes(HEAD + PREPARED.format(**{**OF_PREPARED, **parts}), tmp_path, monkeypatch) == (
        ["HF241"] if too_long else []
    )
