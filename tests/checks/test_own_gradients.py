"""Gradients that a process brings together in one tensor: those that are there on it, or one for each parameter."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
import torch
import torch.distributed as dist
from torch import nn
from torch._utils import _flatten_dense_tensors


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Linear(4, 8)
        self.heads = nn.ModuleDict({{"a": nn.Linear(8, 2), "b": nn.Linear(8, 3), "c": nn.Linear(8, 5)}})

    def forward(self, rows, name):
        return self.heads[name](self.trunk(rows))


def average(model):
    {grads}
    flat = {flat}
    dist.all_reduce(flat)


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    generator = torch.Generator().manual_seed({seed})
    names = ["a", "b", "c"]
    for step in range(4):
        rows = torch.randn(8, 4, generator=generator)
        name = names[{pick}]
        optimizer.zero_grad()
        model(rows, name).sum().backward()
        average(model)
        optimizer.step()
    dist.destroy_process_group()


main()
"""
DRAWN = "int(torch.randint(3, (1,), generator=generator))"
THERE = "grads = [p.grad for p in model.parameters() if p.grad is not None]"
JOINED = "torch.cat([one.flatten() for one in grads])"


@pytest.mark.parametrize(
    ("grads", "flat", "pick", "seed", "own"),
    [
        (THERE, JOINED, DRAWN, "dist.get_rank()", True),
        (THERE, JOINED, "int(rows.sum() > 0)", "dist.get_rank()", True),
        (THERE, "_flatten_dense_tensors(grads)", DRAWN, "dist.get_rank()", True),
        (
            "grads = [p.grad.view(-1) for p in model.parameters() if p.grad is not None]",
            "torch.cat(grads)",
            DRAWN,
            "dist.get_rank()",
            True,
        ),
        (THERE, JOINED, DRAWN, "0", False),
        (THERE, JOINED, "step % 3", "dist.get_rank()", False),
        (THERE.replace("model.", "model.trunk."), JOINED, DRAWN, "dist.get_rank()", False),
        (
            "grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in model.parameters()]",
            JOINED,
            DRAWN,
            "dist.get_rank()",
            False,
        ),
        (
            (
                "for p in model.parameters():\n        if p.grad is None:\n            p.grad = torch.zeros_like(p)\n"
                "    grads = [p.grad for p in model.parameters()]"
            ),
            "_flatten_dense_tensors(grads)",
            DRAWN,
            "dist.get_rank()",
            False,
        ),
    ],
)
def test_gradients_that_are_there_are_each_process_own(
    grads: str, flat: str, pick: str, seed: str, *, own: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "train.py").write_text(PROGRAM.format(grads=grads, flat=flat, pick=pick, seed=seed))
    monkeypatch.chdir(tmp_path)
    assert [finding["code"] for finding in check()["findings"]] == (["PT706"] if own else [])
