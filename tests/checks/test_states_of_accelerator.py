"""States that an accelerator loads or saves before it knows of anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
import argparse
import os
import torch
from torch import nn
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset

{top}

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--resume", default=None)
    parser.add_argument("--epochs", type=int, default=3)
    args = parser.parse_args()
    accelerator = Accelerator(cpu=True)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.randn(64, 1)), batch_size=8)
    {body}
    for epoch in range(args.epochs):
        for x, y in loader:
            loss = ((model(x) - y) ** 2).mean()
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()

if __name__ == "__main__":
    main()
"""
PREPARE = "model, optimizer, loader = accelerator.prepare(model, optimizer, loader)\n"
LOAD = "if args.resume:\n    accelerator.load_state(args.resume)\n"
READY = "def ready(accelerator, *objects):\n    return accelerator.prepare(*objects)\n"
RESUME = "def resume(accelerator, path):\n    if path:\n        accelerator.load_state(path)\n"
EARLY = {
    "tested": (LOAD + PREPARE, ""),
    "at-once": ('accelerator.load_state("runs/last")\n' + PREPARE, ""),
    "saved": ('accelerator.save_state("runs/first")\n' + PREPARE, ""),
    "parts": (
        LOAD + "model = accelerator.prepare_model(model)\noptimizer = accelerator.prepare_optimizer(optimizer)\n",
        "",
    ),
    "loader-first": ("loader = accelerator.prepare_data_loader(loader)\n" + LOAD + PREPARE, ""),
    "function-loads": ("resume(accelerator, args.resume)\n" + PREPARE, RESUME),
    "function-prepares": (LOAD + "model, optimizer, loader = ready(accelerator, model, optimizer, loader)\n", READY),
    "other-name": ('held = accelerator\nheld.load_state("runs/last")\n' + PREPARE, ""),
    "in-try": ('try:\n    accelerator.load_state("runs/last")\nexcept OSError:\n    print("new")\n' + PREPARE, ""),
}
RIGHT = {
    "tested": (PREPARE + LOAD, ""),
    "loader-behind": (
        "model, optimizer = accelerator.prepare(model, optimizer)\n" + LOAD + "loader = accelerator.prepare(loader)",
        "",
    ),
    "function-loads": (PREPARE + "resume(accelerator, args.resume)\n", RESUME),
    "function-prepares": ("model, optimizer, loader = ready(accelerator, model, optimizer, loader)\n" + LOAD, READY),
    "registered": ("accelerator.register_for_checkpointing(model)\n" + LOAD + PREPARE, ""),
    "some-ways": (
        "if args.epochs > 1:\n    model = accelerator.prepare(model)\n"
        + LOAD
        + "optimizer = accelerator.prepare(optimizer)",
        "",
    ),
    "both-ways": (
        "if args.epochs > 3:\n    model = accelerator.prepare(model)\nelse:\n    model = accelerator.prepare_model(model)\n"
        + LOAD,
        "",
    ),
    "handed-on": ("ready(accelerator)\n" + LOAD + PREPARE, "from mylib import ready\n"),
    "method-kept": (
        "make = accelerator.prepare\nmodel, optimizer, loader = make(model, optimizer, loader)\n" + LOAD,
        "",
    ),
    "mapped": ("model, optimizer, loader = map(accelerator.prepare, (model, optimizer, loader))\n" + LOAD, ""),
    "listed": ("model, optimizer = [accelerator.prepare(one) for one in (model, optimizer)]\n" + LOAD, ""),
}


def codes(folder: Path, monkeypatch: pytest.MonkeyPatch, parts: tuple[str, str]) -> list[str]:
    """The rules that speak of a program."""
    body, top = parts
    (folder / "train.py").write_text(PROGRAM.format(body=body.replace("\n", "\n    "), top=top))
    monkeypatch.chdir(folder)
    return [finding["code"] for finding in check()["findings"]]


@pytest.mark.parametrize("parts", EARLY.values(), ids=EARLY)
def test_before_anything_is_prepared(parts: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing but the random state is loaded or saved."""
    assert codes(tmp_path, monkeypatch, parts) == ["HF243"]


@pytest.mark.parametrize("parts", RIGHT.values(), ids=RIGHT)
def test_behind(parts: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Something is known by then, or may be."""
    assert "HF243" not in codes(tmp_path, monkeypatch, parts)
