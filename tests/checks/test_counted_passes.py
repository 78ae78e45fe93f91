"""Passes that are scaled down as some of several, and whether anything counts them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
import argparse
import contextlib
import torch
from torch import nn
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset

N = 4
{top}

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--accum", type=int, default=4)
    args = parser.parse_args()
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps={number})
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 100)
    loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.randn(64, 1)), batch_size=8)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    step = 0
    for epoch in range(3):
        for i, (x, y) in enumerate(loader):
            {body}

if __name__ == "__main__":
    main()
"""
LOSS = "loss = ((model(x) - y) ** 2).mean()\naccelerator.backward(loss)\n"
STEP = LOSS + "optimizer.step()\noptimizer.zero_grad()\n"
CLIP = "if accelerator.sync_gradients:\n    accelerator.clip_grad_norm_(model.parameters(), 1.0)\n"
CLIPPED = LOSS + CLIP + "optimizer.step()\noptimizer.zero_grad()\n"
ASKED = LOSS + "if accelerator.sync_gradients:\n    optimizer.step()\n    optimizer.zero_grad()\n"
FUNCTION = "def one(accelerator, model, optimizer, x, y):\n    " + CLIPPED.replace("\n", "\n    ")
CALL = "one(accelerator, model, optimizer, x, y)\n"
UNCOUNTED = {
    "plain": {"body": STEP},
    "option": {"body": STEP, "number": "args.accum"},
    "clipped": {"body": CLIPPED},
    "asked": {"body": ASKED},
    "counted-for-itself": {"body": STEP + "if accelerator.sync_gradients:\n    step += 1\n    scheduler.step()\n"},
    "shown": {"body": "if i % N == 0:\n    print(accelerator.sync_gradients)\n" + STEP},
    "function": {"body": CALL, "top": FUNCTION},
}


def block(text: str) -> str:
    """A pass in the block that counts."""
    return "with accelerator.accumulate(model):\n    " + text.rstrip().replace("\n", "\n    ")


COUNTED = {
    "plain": {"body": block(STEP)},
    "clipped": {"body": block(CLIPPED)},
    "asked": {"body": block(ASKED)},
    "function": {"body": block(CALL), "top": FUNCTION},
    "one-pass": {"body": CLIPPED, "number": "1"},
    "own-count": {"body": LOSS + "if (i + 1) % N == 0:\n    optimizer.step()\n    optimizer.zero_grad()\n"},
    "set": {"body": "accelerator.sync_gradients = (i + 1) % N == 0\n" + CLIPPED},
    "set-in-state": {"body": "accelerator.gradient_state._set_sync_gradients((i + 1) % N == 0)\n" + CLIPPED},
    "number-set": {"body": "accelerator.gradient_accumulation_steps = 1\n" + STEP},
    "multiplied": {"body": STEP.replace("backward(loss)", "backward(loss * N)")},
    "multiplied-before": {"body": STEP.replace(".mean()", ".mean() * accelerator.gradient_accumulation_steps")},
    "stack": {
        "body": "with contextlib.ExitStack() as stack:\n    stack.enter_context(accelerator.accumulate(model))\n    "
        + STEP.rstrip().replace("\n", "\n    ")
    },
}


def codes(folder: Path, monkeypatch: pytest.MonkeyPatch, parts: dict[str, str]) -> list[str]:
    """The rules that speak of a program."""
    words = {"top": "", "number": "N", **parts}
    words["body"] = words["body"].replace("\n", "\n            ")
    (folder / "train.py").write_text(PROGRAM.format(**words))
    monkeypatch.chdir(folder)
    return [finding["code"] for finding in check()["findings"]]


@pytest.mark.parametrize("parts", UNCOUNTED.values(), ids=UNCOUNTED)
def test_nothing_counts(parts: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asking whether the gradients are complete counts nothing."""
    assert codes(tmp_path, monkeypatch, parts) == ["HF212"]


@pytest.mark.parametrize("parts", COUNTED.values(), ids=COUNTED)
def test_something_counts(parts: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The block, the program itself, or nothing is to be counted."""
    assert "HF212" not in codes(tmp_path, monkeypatch, parts)
