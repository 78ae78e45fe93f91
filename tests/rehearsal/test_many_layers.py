"""Layers of models that have more of them than turns of a loop are followed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
import torch
import torch.distributed as dist
import torch.nn as nn
from functools import reduce
from torch.nn.parallel import DistributedDataParallel as DDP


class Deep(nn.Module):
    def __init__(self, dim=16, depth=10):
        super().__init__()
        self.depth = depth
        self.blocks = {made}
        self.gates = nn.ModuleList([nn.Linear(dim, dim) for _ in range(4)])
        self.head = nn.Linear(dim, 10)

    def forward(self, x):
        {body}
        return self.head(x)


def main():
    dist.init_process_group("gloo")
    model = DDP(Deep())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(10):
        opt.zero_grad()
        model(torch.randn(4, 16)).sum().backward()
        opt.step()
    dist.destroy_process_group()


main()
"""
LIST = "nn.ModuleList([nn.Linear(dim, dim) for _ in range(depth)])"
TABLE = "nn.ModuleDict({str(i): nn.Linear(dim, dim) for i in range(depth)})"
ROW = "nn.Sequential(*[nn.Linear(dim, dim) for _ in range(depth)])"
GATES = "\n        for g in self.gates:\n            x = g(x)"
WAYS = {
    "for": (LIST, "for b in self.blocks:\n            x = b(x)"),
    "zip": (LIST, "for b, c in zip(self.blocks, self.blocks):\n            x = b(x) * c(x)"),
    "enumerate": (LIST, "for i, b in enumerate(self.blocks):\n            x = b(x) * i"),
    "range": (LIST, "for i in range(self.depth):\n            x = self.blocks[i](x)"),
    "reversed": (LIST, "for b in reversed(self.blocks):\n            x = b(x)"),
    "comprehension": (LIST, "x = sum([b(x) for b in self.blocks])"),
    "while": (
        LIST,
        "i = 0\n        while i < len(self.blocks):\n            x = self.blocks[i](x)\n            i += 1",
    ),
    "reduce": (LIST, "x = reduce(lambda v, b: b(v), self.blocks, x)"),
    "halves": (
        LIST,
        "for b in self.blocks[:5]:\n            x = b(x)\n        for b in self.blocks[5:]:\n            x = b(x)",
    ),
    "items": (TABLE, "for name, b in self.blocks.items():\n            x = b(x)"),
    "row": (ROW, "x = self.blocks(x)"),
    "map": (LIST, "x = sum(map(lambda b: b(x), self.blocks))"),
}


def found(made: str, body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The codes of what is found in a program whose model has these layers."""
    (tmp_path / "train.py").write_text(PROGRAM.replace("{made}", made).replace("{body}", body), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return [finding["code"] for finding in check()["findings"]]


@pytest.mark.parametrize("way", WAYS)
def test_all_layers_are_used(way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, body = WAYS[way]
    assert found(made, body + GATES, tmp_path, monkeypatch) == []


@pytest.mark.parametrize("way", ["for", "enumerate", "range", "reversed"])
def test_others_are_not(way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, body = WAYS[way]
    assert found(made, body, tmp_path, monkeypatch) == ["PT289"]
