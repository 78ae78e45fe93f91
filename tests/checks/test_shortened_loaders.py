"""Loaders without their first batches, kept for the epoch that was broken off or for all (HF247)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
import argparse
import torch
from accelerate import Accelerator, skip_first_batches
from torch.utils.data import DataLoader, TensorDataset
from tqdm import tqdm

ap = argparse.ArgumentParser()
ap.add_argument("--resume", default="")
ap.add_argument("--done", type=int, default=0)
args = ap.parse_args()
accelerator = Accelerator()
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = DataLoader(TensorDataset(torch.randn(64, 4)), batch_size=4)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)


def step(x):
    accelerator.backward(model(x).mean())
    optimizer.step()
    optimizer.zero_grad()


def run_epoch(batches):
    for (x,) in batches:
        step(x)


def run_without(batches, done):
    for (x,) in accelerator.skip_first_batches(batches, done):
        step(x)


def resumed(batches):
    accelerator.load_state(args.resume)
    return args.done // len(batches), accelerator.skip_first_batches(batches, args.done % len(batches))


class Job:
    def __init__(self, batches):
        self.batches, self.whole = batches, batches

    def resume(self):
        self.batches = accelerator.skip_first_batches(self.batches, args.done)

    def run(self):
        for epoch in range(3):
            run_epoch(self.batches)
            {own}


start = args.done // len(loader)
done = args.done % len(loader)
first = True
{body}
"""

PUT_BACK = "self.batches = self.whole"
WRONG = [
    "loader = accelerator.skip_first_batches(loader, done)\nfor epoch in range(start, 9):\n    run_epoch(loader)",
    (
        "if args.resume:\n    loader = skip_first_batches(loader, num_batches=done)\n"
        "for epoch in range(start, 9):\n    for i, (x,) in enumerate(tqdm(loader)):\n        step(x)"
    ),
    (
        "left = accelerator.skip_first_batches(loader, done) if args.resume else loader\n"
        "for epoch in range(start, 9):\n    for (x,) in left:\n        step(x)"
    ),
    "for epoch in range(start, 9):\n    for (x,) in accelerator.skip_first_batches(loader, done):\n        step(x)",
    (
        "for epoch in range(start, 9):\n    if args.resume:\n        left = accelerator.skip_first_batches(loader, done)\n"
        "    else:\n        left = loader\n    run_epoch(left)"
    ),
    "start, loader = resumed(loader)\nfor epoch in range(start, 9):\n    run_epoch(batches=loader)",
    (
        "epoch = start\nleft = accelerator.skip_first_batches(loader, done)\n"
        "while epoch < 9:\n    for (x,) in left:\n        step(x)\n    epoch += 1"
    ),
    "for epoch in range(start, 9):\n    run_without(loader, done)",
    "for epoch in range(start, 9):\n    loader = accelerator.skip_first_batches(loader, done)\n    run_epoch(loader)",
]
RIGHT = [
    (
        "left = accelerator.skip_first_batches(loader, done)\n"
        "for epoch in range(start, 9):\n    run_epoch(left if epoch == start else loader)"
    ),
    (
        "left = accelerator.skip_first_batches(loader, done)\n"
        "for epoch in range(start, 9):\n    for (x,) in left:\n        step(x)\n    left = loader"
    ),
    (
        "for epoch in range(start, 9):\n    left = loader\n    if args.resume and epoch == start:\n"
        "        left = accelerator.skip_first_batches(loader, done)\n    run_epoch(left)"
    ),
    "for epoch in range(start, 9):\n    for (x,) in accelerator.skip_first_batches(loader, done):\n        step(x)\n    done = 0",
    "for epoch in range(start, 9):\n    run_without(loader, done if epoch == start else 0)",
    "for epoch in range(start, 9):\n    run_without(loader, done * (epoch == start))",
    (
        "for epoch in range(start, 9):\n    if first:\n        left = accelerator.skip_first_batches(loader, done)\n"
        "        first = False\n    else:\n        left = loader\n    run_epoch(left)"
    ),
    "run_epoch(accelerator.skip_first_batches(loader, done))\nfor epoch in range(start + 1, 9):\n    run_epoch(loader)",
    "left = accelerator.skip_first_batches(loader, done)\nrun_epoch(left)\nfor epoch in range(start + 1, 9):\n    run_epoch(loader)",
    "left = accelerator.skip_first_batches(loader, 0)\nfor epoch in range(start, 9):\n    run_epoch(left)",
    (
        "whole = loader\nloader = accelerator.skip_first_batches(loader, done)\nfor epoch in range(start, 9):\n"
        "    if epoch > start:\n        loader = whole\n    run_epoch(loader)"
    ),
    (
        "left = accelerator.skip_first_batches(loader, done)\nfor epoch in range(start, 9):\n"
        "    if left is not None:\n        run_epoch(left)\n        left = None\n    else:\n        run_epoch(loader)"
    ),
    "for part in [loader, DataLoader([1])]:\n    run_without(part, done)",
    "while True:\n    run_without(loader, done)\n    break",
]


def _said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, own: str = PUT_BACK) -> bool:
    (tmp_path / "train.py").write_text(PROGRAM.format(body=body, own=own))
    monkeypatch.chdir(tmp_path)
    return "HF247" in {finding["code"] for finding in check()["findings"]}


@pytest.mark.parametrize("body", WRONG)
def test_kept_for_all_epochs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    assert _said(tmp_path, monkeypatch, body)


@pytest.mark.parametrize("body", RIGHT)
def test_used_in_one_epoch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    assert not _said(tmp_path, monkeypatch, body)


@pytest.mark.parametrize(("own", "said"), [("pass", True), (PUT_BACK, False)])
def test_an_attribute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: str, said: bool) -> None:
    assert _said(tmp_path, monkeypatch, "job = Job(loader)\njob.resume()\njob.run()", own) is said
