"""Steps inside the library's accumulation that wait for a counter of the program, in many spellings, right and wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

HEAD = """
import torch
import torch.nn as nn
from accelerate import Accelerator
from accelerate.utils import GradientAccumulationPlugin
from torch.utils.data import DataLoader, TensorDataset
from elsewhere import rows

PASSES = 4


def made(count=176):
    return TensorDataset(torch.randn(count, 4), torch.randn(count, 1))


def main():
    accelerator = Accelerator(gradient_accumulation_steps=PASSES)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(made(), batch_size=8)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
"""
PLAIN = """
    step = 0
    for epoch in range(3):
        for x, y in loader:
            with accelerator.accumulate(model):
                accelerator.backward((model(x) - y).square().mean())
                step += 1
                if step % PASSES == 0:
                    optimizer.step()
                    optimizer.zero_grad()
"""
HELPER = """
    count = 0
    for epoch in range(3):
        count = turn(accelerator, model, optimizer, loader, count)


def turn(accelerator, model, optimizer, loader, count):
    for x, y in loader:
        with accelerator.accumulate(model):
            accelerator.backward((model(x) - y).square().mean())
            count += 1
            if not count % accelerator.gradient_accumulation_steps:
                optimizer.step()
                optimizer.zero_grad()
    return count
"""
OBJECT = """
    worker = Worker(accelerator, model, optimizer)
    for epoch in range(3):
        worker.turn(loader)


class Worker:
    def __init__(self, accelerator, model, optimizer):
        self.accelerator, self.model, self.optimizer = accelerator, model, optimizer
        self.seen = 0

    def turn(self, loader):
        for x, y in loader:
            with self.accelerator.accumulate(self.model):
                self.accelerator.backward((self.model(x) - y).square().mean())
                self.seen += 1
                if self.seen % 4 == 0:
                    self.optimizer.step()
                    self.optimizer.zero_grad()
"""
TESTED = (
    PLAIN.replace("step % PASSES == 0", "due(step)")
    + """

def due(number):
    return number % PASSES == 0
"""
)
STATE = PLAIN.replace("step ", "state.step ").replace(
    "    state.step = 0", "    state = SimpleNamespace()\n    state.step = 0"
)
CLEARED = PLAIN.replace("                    optimizer.step()\n", "").replace(
    "                step += 1\n", "                optimizer.step()\n                step += 1\n"
)
FLAG = PLAIN.replace("if step % PASSES == 0:", "due = step % PASSES == 0\n                if due:")


@pytest.mark.parametrize(
    "text",
    [
        HEAD + PLAIN,
        HEAD + PLAIN.replace("for x, y in loader", "for i, (x, y) in enumerate(loader)"),
        HEAD + PLAIN.replace("step % PASSES == 0", "0 == step % 4 and epoch < 9"),
        HEAD + PLAIN.replace("if step % PASSES == 0", "if not (step % PASSES)"),
        HEAD + FLAG,
        HEAD + TESTED,
        HEAD.replace("import torch\n", "import torch\nfrom types import SimpleNamespace\n", 1) + STATE,
        HEAD + CLEARED,
        HEAD + HELPER,
        HEAD + OBJECT,
        HEAD.replace("made()", "rows") + PLAIN,
        HEAD.replace(
            "gradient_accumulation_steps=PASSES", "gradient_accumulation_plugin=GradientAccumulationPlugin(PASSES)"
        )
        + PLAIN,
    ],
)
def test_a_counter_runs_on(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "HF245" in codes(tmp_path, monkeypatch, text)


@pytest.mark.parametrize(
    "text",
    [
        HEAD + PLAIN.replace("        for x, y", "        step = 0\n        for x, y"),
        HEAD
        + PLAIN.replace("                step += 1\n", "").replace(
            "for x, y in loader", "for step, (x, y) in enumerate(loader, 1)"
        ),
        HEAD + PLAIN.replace("if step % PASSES == 0", "if accelerator.sync_gradients"),
        HEAD + PLAIN.replace("    for epoch in range(3):\n        for", "    if True:\n        for"),
        HEAD.replace("made()", "made(192)") + PLAIN,
        HEAD.replace("DataLoader(made(), batch_size=8)", "DataLoader(made(196), batch_size=8, drop_last=True)").replace(
            "PASSES = 4", "PASSES = 2"
        )
        + PLAIN,
        HEAD.replace("model, optimizer, loader =", "model, optimizer =").replace("optimizer, loader)", "optimizer)")
        + PLAIN,
        HEAD.replace(
            "gradient_accumulation_steps=PASSES",
            "gradient_accumulation_plugin=GradientAccumulationPlugin(num_steps=PASSES, sync_with_dataloader=False)",
        )
        + PLAIN,
        HEAD
        + PLAIN.replace("if step % PASSES == 0", "if step % 100 == 0")
        .replace("optimizer.step()", "print(step)")
        .replace("optimizer.zero_grad()", "print(epoch)"),
        HEAD
        + HELPER.replace(
            "turn(accelerator, model, optimizer, loader, count)\n\n",
            "turn(accelerator, model, optimizer, loader, 0)\n\n",
        ),
        HEAD + OBJECT.replace("    def turn(self, loader):\n", "    def turn(self, loader):\n        self.seen = 0\n"),
        HEAD
        + PLAIN.replace(
            "            with", "            if epoch == 1 and step == 5:\n                step = 0\n            with"
        ),
    ],
)
def test_a_counter_starts_anew(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "HF245" not in codes(tmp_path, monkeypatch, text)


def codes(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> list[str]:
    """The codes of the findings about a program."""
    (folder / "train.py").write_text(f"{text}\n\nmain()\n")
    monkeypatch.chdir(folder)
    return [finding["code"] for finding in check()["findings"]]
