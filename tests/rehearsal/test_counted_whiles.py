"""``while`` loops that go through something of known length, each with a number of turns of its own or with the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, TensorDataset

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
stats = torch.ones(3)
rows = {rows}
{loop}
dist.barrier()
dist.destroy_process_group()
"""
LOOPS = [
    "it = iter(rows)\nwhile (row := next(it, None)) is not None:\n    dist.all_reduce(stats)",
    "it = iter(rows)\nrow = next(it, None)\nwhile row is not None:\n    dist.all_reduce(stats)\n    row = next(it, None)",
    "todo = list(rows)\nwhile todo:\n    todo.pop()\n    dist.all_reduce(stats)",
    "todo = list(rows)\nwhile len(todo) > 0:\n    row = todo.pop(0)\n    dist.all_reduce(stats)",
    "i = 0\nwhile i < len(rows):\n    dist.all_reduce(stats)\n    i += 1",
    "i, most = 0, len(rows)\nwhile most > i:\n    dist.all_reduce(stats)\n    i += 1",
]
EVEN = ["list(range(40))[rank::world]", "list(range(40))", "DataLoader(TensorDataset(torch.ones(40, 2)), batch_size=4)"]
OWN = [
    "list(range(41))[rank::world]",
    "list(range(12 + rank))",
    "DataLoader(TensorDataset(torch.ones(40 + 9 * rank, 2)), batch_size=4)",
]


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("rows", [*EVEN, *OWN])
def test_turns_of_ranks(rows: str, loop: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train.py").write_text(PROGRAM.format(rows=rows, loop=loop), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert bool(check()["findings"]) == (rows in OWN)


@pytest.mark.parametrize(
    "loop",
    [
        "i = 0\nwhile i < len(rows):\n    dist.all_reduce(stats)\n    i += 1 if stats[0] > 9 else 2",
        "i, most = 0, 20\nwhile i < len(rows):\n    if i == most:\n        break\n    dist.all_reduce(stats)\n    i += 1",
        "todo = list(rows)\nwhile todo:\n    todo.pop()\n    if len(todo) > 1000:\n        todo.append(1)\n    print(todo)",
    ],
)
def test_what_does_not_tell_the_number(loop: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train.py").write_text(PROGRAM.format(rows=OWN[0], loop=loop), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert check()["findings"] == []
