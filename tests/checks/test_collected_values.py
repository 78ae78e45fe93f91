"""Evaluations that collect the samples which fill up the last batches, in spellings unlike the fixtures."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
import torch
import torch.nn as nn
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset

ROWS = {rows}
{text}

def main():
    accelerator = Accelerator(cpu=True)
    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    train = DataLoader(TensorDataset(torch.randn(320, 4), torch.randint(0, 3, (320,))), batch_size=8)
    test = DataLoader(TensorDataset(torch.randn(ROWS, 4), torch.randint(0, 3, (ROWS,))), batch_size=8)
    model, optimizer, train, test = accelerator.prepare(model, optimizer, train, test)
    for x, y in train:
        optimizer.zero_grad()
        accelerator.backward(nn.functional.cross_entropy(model(x), y))
        optimizer.step()
    accelerator.print(evaluated(accelerator, model, test))


main()
"""
HELP = """
def collected(accelerator, *tensors):
    return accelerator.{0}(tensors)


@torch.no_grad()
def evaluated(accelerator, model, loader):
    right = count = 0
    for x, y in loader:
        out, y = collected(accelerator, model(x).argmax(-1), y)
        right += (out == y).sum().item()
        count += len(y)
    return right / count
"""
ONE = """
def everyone(accelerator, tensor):
    tensor = accelerator.pad_across_processes(tensor, dim=0)
    return accelerator.{0}(tensor)


@torch.no_grad()
def evaluated(accelerator, model, loader):
    outs, ys = [], []
    for x, y in loader:
        outs.append(everyone(accelerator, model(x).argmax(-1)).cpu())
        ys.append(everyone(accelerator, y).cpu())
    return (torch.cat(outs) == torch.cat(ys)).float().mean().item()
"""
CLS = """
class Confusion:
    def __init__(self, accelerator):
        self.accelerator = accelerator
        self.matrix = torch.zeros(3, 3)

    def _all(self, *tensors):
        return self.accelerator.{0}(tensors)

    def add(self, out, y):
        out, y = self._all(out, y)
        for one, other in zip(y.tolist(), out.tolist()):
            self.matrix[one, other] += 1

    def accuracy(self):
        return (self.matrix.diag().sum() / self.matrix.sum()).item()


@torch.no_grad()
def evaluated(accelerator, model, loader):
    matrix = Confusion(accelerator)
    for x, y in loader:
        matrix.add(model(x).argmax(-1), y)
    return matrix.accuracy()
"""
DIRECT = """
class Accuracy:
    def __init__(self, accelerator):
        self.accelerator, self.right, self.count = accelerator, 0, 0

    def update(self, out, y):
        out, y = self.accelerator.{0}(out), self.accelerator.{0}(y)
        self.right += (out == y).sum().item()
        self.count += y.shape[0]

    def value(self):
        return self.right / self.count


@torch.no_grad()
def evaluated(accelerator, model, loader):
    meter = Accuracy(accelerator)
    for x, y in loader:
        meter.update(model(x).argmax(-1), y)
    return meter.value()
"""
END = """
@torch.no_grad()
def evaluated(accelerator, model, loader):
    outs, ys = [], []
    for x, y in loader:
        outs.append(model(x).argmax(-1))
        ys.append(y)
    outs, ys = accelerator.gather((torch.cat(outs), torch.cat(ys))){0}
    return (outs == ys).float().mean().item()
"""
LOSS = """
def everyone(accelerator, tensor):
    return accelerator.gather(tensor)


@torch.no_grad()
def evaluated(accelerator, model, loader):
    losses = []
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        losses.append(everyone(accelerator, loss).mean().item())
    return sum(losses) / len(losses)
"""


def codes(text: str, rows: int) -> list[str]:
    """The rules that have findings in a program with this evaluation, over so many rows."""
    Path("train.py").write_text(PROGRAM.format(text=text, rows=rows), encoding="utf-8")
    return sorted({one["code"] for one in check()["findings"] if one["severity"] != "note"})


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("text", [HELP, ONE, CLS, DIRECT])
@pytest.mark.parametrize(
    ("name", "rows", "found"), [("gather", 67, ["HF219"]), ("gather", 64, []), ("gather_for_metrics", 67, [])]
)
def test_what_helpers_and_meters_collect(text: str, name: str, rows: int, found: list[str]) -> None:
    assert codes(text.format(name), rows) == found


@pytest.mark.parametrize(("cut", "found"), [("", ["HF219"]), ("\n    outs, ys = outs[:ROWS], ys[:ROWS]", [])])
def test_what_is_collected_behind_the_loop(cut: str, found: list[str]) -> None:
    assert codes(END.format(cut), 67) == found


def test_losses_are_no_values_of_samples() -> None:
    assert codes(LOSS, 67) == []
