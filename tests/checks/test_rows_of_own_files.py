"""Loops over what each rank has joined of files of its own, and those whose number of rounds was agreed on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
import itertools
import os
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import ConcatDataset, DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
{before}
mine = {mine}
{joined}
{loader}
net = DistributedDataParallel(nn.Linear(8, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
{loop}
    loss = nn.functional.mse_loss(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
dist.destroy_process_group()
"""
LISTED = """
parts = [torch.load(os.path.join("pieces", name)) for name in mine]
x, y = torch.cat([part[0] for part in parts]), torch.cat([part[1] for part in parts])
"""
LOOPED = """
xs, ys = [], []
for name in mine:
    x, y = torch.load(os.path.join("pieces", name))
    xs.append(x)
    ys.append(y)
x, y = torch.cat(xs), torch.cat(ys)
"""
SETS = """
def read(name):
    x, y = torch.load(os.path.join("pieces", name))
    return TensorDataset(x, y)

data = ConcatDataset([read(name) for name in mine])
"""
EVEN = """
for number in range(4 if rank == 0 else 0):
    torch.save((torch.randn(64, 8), torch.randn(64, 1)), os.path.join("pieces", f"{number}.pt"))
dist.barrier()
"""
LEAST = "n = torch.tensor(len(loader))\ndist.all_reduce(n, op=dist.ReduceOp.MIN)\n"
LOADER = "loader = DataLoader(TensorDataset(x, y), batch_size=8, drop_last=True)\n"
PARTS = {
    "before": "",
    "mine": "sorted(os.listdir('pieces'))[rank::world]",
    "joined": LISTED,
    "loader": LOADER,
    "loop": "for x, y in loader:",
}


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        pytest.param({}, True, id="listed"),
        pytest.param({"joined": LOOPED}, True, id="looped"),
        pytest.param({"joined": LISTED.replace("[0]", "['x']").replace("[1]", "['y']")}, True, id="keyed"),
        pytest.param(
            {"mine": "[name for at, name in enumerate(sorted(os.listdir('pieces'))) if at % world == rank]"},
            True,
            id="by-remainder",
        ),
        pytest.param({"joined": SETS, "loader": "loader = DataLoader(data, batch_size=8)"}, True, id="datasets"),
        pytest.param(
            {"loader": "loader = [(x[at : at + 8], y[at : at + 8]) for at in range(0, len(x), 8)]"}, True, id="by-hand"
        ),
        pytest.param(
            {"loader": LOADER + LEAST, "loop": "for x, y in itertools.islice(loader, n.item()):"}, False, id="least"
        ),
        pytest.param(
            {
                "loader": LOADER + LEAST,
                "loop": "for step, (x, y) in enumerate(loader):\n    if step == n.item():\n        break",
            },
            False,
            id="least-by-break",
        ),
        pytest.param({"loader": "x, y = x[:64], y[:64]\n" + LOADER}, False, id="first-rows"),
        pytest.param(
            {
                "loader": "n = torch.tensor(len(x))\ndist.all_reduce(n, op=dist.ReduceOp.MIN)\n"
                "x, y = x[: n.item()], y[: n.item()]\n" + LOADER
            },
            False,
            id="fewest-rows",
        ),
        pytest.param({"before": EVEN}, False, id="even-files"),
        pytest.param(
            {
                "mine": "sorted(os.listdir('pieces'))",
                "loader": "data = TensorDataset(x, y)\n"
                "loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data))",
            },
            False,
            id="all-files",
        ),
        pytest.param(
            {"loader": LOADER + "rows = itertools.cycle(loader)", "loop": "for _ in range(20):\n    x, y = next(rows)"},
            False,
            id="fixed-steps",
        ),
    ],
)
def test_rows_of_own_files_differ_in_number(
    parts: dict[str, str], told: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "train.py").write_text(PROGRAM.format(**{**PARTS, **parts}))
    monkeypatch.chdir(tmp_path)
    assert [finding["code"] for finding in check()["findings"]] == (["PT504"] if told else [])
