"""Reentrant checkpoints that keep gradients back where nothing is raised: who says so, and who says nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(4, 8)
        self.block = nn.Linear(8, 8)
        self.head = nn.Linear(8, 1)

    def forward(self, rows):
        rows = self.stem(rows)
        {inside}
        return self.head(rows)


dist.init_process_group("gloo")
net = Net()
net.stem.requires_grad_(False)
{wrapped}
optimizer = torch.optim.SGD({held}, lr=0.1)
for _ in range(3):
    net(torch.randn(2, 4)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""
ALL = "net.parameters()"
SEARCH = "net = DistributedDataParallel(net, find_unused_parameters=True)"
MUTE = "rows = checkpoint(self.block, rows, use_reentrant=True)"


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)


def _found(**parts: str) -> list[str]:
    Path("train.py").write_text(PROGRAM.format(**{"inside": MUTE, "held": ALL, **parts}))
    return [one["code"] for one in check("--select", "PT243")["findings"]]


@pytest.mark.parametrize(
    "wrapped",
    [
        SEARCH,
        "net = DistributedDataParallel(net, static_graph=True)",
        "net = FullyShardedDataParallel(net, use_orig_params=True)",
        "fully_shard(net.block); fully_shard(net)",
        "",
    ],
)
def test_an_optimizer_holds_what_no_gradient_comes_to(wrapped: str) -> None:
    assert _found(wrapped=wrapped) == ["PT243"]


@pytest.mark.parametrize(
    "inside",
    [
        "rows = checkpoint(self.block, rows, use_reentrant=True) if self.training else self.block(rows)",
        "rows = checkpoint(lambda given: self.block(given).relu(), torch.tanh(rows), use_reentrant=True)",
        "rows = checkpoint(self.block, checkpoint(self.stem, rows))",
    ],
)
def test_other_ways_into_the_checkpoint(inside: str) -> None:
    assert _found(wrapped=SEARCH, inside=inside) == ["PT243"]


@pytest.mark.parametrize(
    "inside",
    [
        "rows = checkpoint(self.block, rows, use_reentrant=rows.requires_grad)",
        "rows = checkpoint(self.block, rows) + self.block(rows)",
        "rows = self.block(rows) if self.training else checkpoint(self.block, rows)",
        "rows.requires_grad = True; rows = checkpoint(self.block, rows)",
        "rows = checkpoint(self.block, rows, use_reentrant=False)",
        "rows = rows + self.head.weight.sum(); rows = checkpoint(self.block, rows)",
    ],
)
def test_a_gradient_comes_there(inside: str) -> None:
    assert _found(wrapped=SEARCH, inside=inside) == []


@pytest.mark.parametrize(
    ("wrapped", "held"),
    [
        (SEARCH, "net.module.head.parameters()"),
        (f"net.block.requires_grad_(False)\n{SEARCH}", "[one for one in net.parameters() if one.requires_grad]"),
        (f"net.stem.register_forward_hook(lambda module, given, out: out.requires_grad_())\n{SEARCH}", ALL),
        (f"net.stem.bias.requires_grad_(True)\n{SEARCH}", ALL),
    ],
)
def test_nothing_is_lost(wrapped: str, held: str) -> None:
    assert _found(wrapped=wrapped, held=held) == []
