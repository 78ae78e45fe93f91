"""Sums over prepared loaders that count the samples which only fill up, and the many ways in which a program divides them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

START = """
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset

"""

END = """
def main():
    accelerator = Accelerator(cpu=True)
    data = TensorDataset(torch.randn(10, 4), torch.zeros(10, dtype=torch.long))
    other = TensorDataset(torch.randn(12, 4), torch.zeros(12, dtype=torch.long))
    model, loader = accelerator.prepare(torch.nn.Linear(4, 2), DataLoader(data, batch_size=3))
    {0}

main()
"""

OBJECT = """
class Scorer:
    def __init__(self, accelerator, size):
        self.accelerator = accelerator
        self.size = size
    @torch.no_grad()
    def __call__(self, model, loader):
        hits = torch.zeros(())
        for x, y in loader:
            hits += (model(x).argmax(-1) == y).sum()
        hits = self.accelerator.{0}
        return {1}
"""

FUNCTION = """
def total(accelerator, value):
    return accelerator.reduce(value, reduction="sum")
def gathered(accelerator, value):
    return accelerator.gather(value).sum()
def each(accelerator, value):
    return accelerator.gather(value)
@torch.no_grad()
def evaluate(accelerator, model, loader, size=None):
    hits, seen = torch.zeros(1), torch.zeros(1)
    for x, y in loader:
        right = (model(x).argmax(-1) == y).sum()
        seen += len(y)
        {0}
    {1}
"""

CALL = "score = Scorer(accelerator, {0})\n    print(score(model, loader))"
ADDED = 'reduce(hits, reduction="sum")'


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder that is looked at."""
    monkeypatch.chdir(tmp_path)


def found(script: str) -> bool:
    """Whether a script has a finding about samples that fill up."""
    Path("train.py").write_text(script, encoding="utf-8")
    return "HF219" in {one["code"] for one in check()["findings"]}


@pytest.mark.parametrize(
    ("added", "result", "size", "bad"),
    [
        (ADDED, "hits.item() / self.size", "len(data)", True),
        (ADDED, "{'top1': (hits / self.size).item()}", "len(loader.dataset)", True),
        (ADDED, "hits.item() / max(1, self.size)", "len(data)", True),
        ("gather(hits).sum()", "hits.item() / self.size", "len(data)", True),
        # the mean of what all have, the batches of one, another set of data, and a number that is not known
        ("gather(hits)", "hits / self.size", "len(data)", False),
        ('reduce(hits, reduction="mean")', "hits.item() / self.size", "len(data)", False),
        (ADDED, "hits.item() / self.size", "len(loader)", False),
        (ADDED, "hits.item() / self.size", "len(other)", False),
        (ADDED, "hits.item() / self.size", "accelerator.num_processes", False),
        (ADDED, "hits.item(), self.size", "len(data)", False),
    ],
)
def test_objects_that_score(added: str, result: str, size: str, bad: bool) -> None:
    """An object that is called itself keeps the number of samples that it divides by."""
    body = OBJECT.replace("{0}", added).replace("{1}", result)
    assert found(START + body + END.replace("{0}", CALL.replace("{0}", size))) is bad


@pytest.mark.parametrize(
    ("counting", "after", "call", "bad"),
    [
        ("hits += right", "return total(accelerator, hits).item() / len(loader.dataset)", "", True),
        ("hits += right", "return gathered(accelerator, hits).item() / size", "", True),
        ("hits += right", "return each(accelerator, hits).sum().item() / size", "", True),
        ("hits += right", "n = size\n    return torch.sum(accelerator.gather(hits)) / n", "", True),
        ("hits += right", "return total(accelerator, hits).item()", "print({call} / len(data))", True),
        ("hits += right", "return total(accelerator, hits), 1", "hits, n = {call}\n    print(hits / len(data))", True),
        (
            "hits += right",
            "hits = total(accelerator, hits)\n    return hits.item()",
            "right = {call}\n    print(right / len(loader.dataset))",
            True,
        ),
        ('hits += accelerator.reduce(right, "sum")', "return hits.item() / size", "", True),
        ("right = total(accelerator, right)\n        hits += right", "return hits.item() / size", "", True),
        ("hits += accelerator.gather(right).sum()", "return hits.item() / size", "", True),
        # samples are left out, or counted in the same way, or what is divided is something else
        ("hits += accelerator.gather_for_metrics(right).sum()", "return hits.item() / size", "", False),
        ("hits += right", "return total(accelerator, hits) / total(accelerator, seen)", "", False),
        ("hits += right", "return each(accelerator, hits)[0] / size", "", False),
        (
            "hits += right",
            "return total(accelerator, hits), total(accelerator, seen)",
            "a, b = {call}\n    print(a / b)",
            False,
        ),
        ("hits += right", "return total(accelerator, hits).item()", "print({call}, 3 / len(data))", False),
        ("hits += right", "return total(accelerator, hits).item()", "print({call} / len(other))", False),
        ("hits += right", "return total(accelerator, hits), 3", "hits, n = {call}\n    print(n / len(data))", False),
        ("hits += right", "return hits.item() / size", "", False),
    ],
)
def test_functions_that_evaluate(counting: str, after: str, call: str, bad: bool) -> None:
    """Helpers add up, and the caller of the function divides, or the function itself."""
    body = FUNCTION.replace("{0}", counting).replace("{1}", after)
    calling = "evaluate(accelerator, model, loader, len(data))"
    last = call.replace("{call}", calling) if call else f"print({calling})"
    assert found(START + body + END.replace("{0}", last)) is bad
