"""Gradients of a model that is sharded in place are parted as its parameters are: to have one whole takes all processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
import torch, torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor


def norm(grad):
    if isinstance(grad, DTensor):
        grad = grad.full_tensor()
    return grad.norm()


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
    {shard}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for turn in range(4):
        model(torch.ones(2, 4)).mean().backward()
        {told}
        optimizer.step()
        optimizer.zero_grad()
    dist.destroy_process_group()


main()
"""
FIRST = "if dist.get_rank() == 0: print([float(norm(one.grad)) for one in model.parameters()])"
ALL = "norms = [norm(one.grad) for one in model.parameters()]"


@pytest.mark.parametrize(
    ("shard", "told", "found"),
    [
        ("fully_shard(model)", FIRST, True),
        ("fully_shard(model)", ALL, False),
        ("pass", FIRST, False),
    ],
)
def test_whole_gradients(shard: str, told: str, found: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train.py").write_text(PROGRAM.format(shard=shard, told=told))
    monkeypatch.chdir(tmp_path)
    assert [one["code"] for one in check()["findings"] if one["code"] == "PT501"] == ["PT501"] * found
