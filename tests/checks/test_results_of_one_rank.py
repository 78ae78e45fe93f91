"""What all ranks do with the result of a function that only the first one runs (PT236)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
import os
from pathlib import Path
import torch
import torch.distributed as dist
from accelerate import Accelerator
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.utilities import rank_zero_only

accelerator = Accelerator()


@{decorator}
def made(rows):
    print(len(rows))
    return rows.mean()


def tolerant(value, extra=None):
    return value if extra is None else value + extra


class Other:
    def __init__(self):
        self.scale = torch.ones(1)

    def show(self):
        return self.scale * 2


class Job:
    def __init__(self):
        self.scale = None

    def prepare(self, rows):
        self.scale = made(rows)

    def run(self, rows):
        {run}


def main():
    rows = torch.ones(4)
    {main}


main()
"""
USE = "found = made(rows)\n    print(found + 1)"


@pytest.mark.parametrize(
    ("decorator", "main", "run", "said"),
    [
        ("rank_zero_only", USE, "pass", True),
        ("accelerator.on_main_process", USE, "pass", True),
        ("accelerator.on_local_main_process", USE, "pass", True),
        ("torch.no_grad()", USE, "pass", False),
        ("rank_zero_only", "print(made(rows).item())", "pass", True),
        ("rank_zero_only", "print(made(rows) / 2)", "pass", True),
        ("rank_zero_only", "made(rows)", "pass", False),
        ("rank_zero_only", "found = made(rows)\n    print(found)", "pass", False),
        ("rank_zero_only", "print(tolerant(rows, made(rows)))", "pass", False),
        ("rank_zero_only", "found = made(rows)\n    print(tolerant(rows, found))", "pass", False),
        ("rank_zero_only", "found = made(rows)\n    print(torch.nn.functional.mse_loss(rows, found))", "pass", True),
        ("rank_zero_only", "found = made(rows)\n    if found is not None:\n        print(found + 1)", "pass", False),
        ("rank_zero_only", "found = made(rows)\n    print(1 if found is None else found + 1)", "pass", False),
        ("rank_zero_only", "found = made(rows) or torch.ones(1)\n    print(found + 1)", "pass", False),
        ("rank_zero_only", "found = made(rows)\n    found = torch.ones(1)\n    print(found + 1)", "pass", False),
        ("rank_zero_only", "found = made(rows)\n    if dist.get_rank() == 0:\n        print(found + 1)", "pass", False),
        ("rank_zero_only", "if dist.get_rank() == 0:\n        print(made(rows) + 1)", "pass", False),
        (
            "rank_zero_only",
            "box = [made(rows)]\n    dist.broadcast_object_list(box)\n    print(box[0] + 1)",
            "pass",
            False,
        ),
        ("rank_zero_only", "print(os.path.join(made(rows), 'last.pt'))", "pass", True),
        ("rank_zero_only", "found = made(rows)\n    print(Path(found) / 'last.pt')", "pass", True),
        ("rank_zero_only", "found = made(rows)\n    print(Path('runs') / found)", "pass", True),
        ("rank_zero_only", "found = made(rows)\n    torch.save(rows, f'{found}/rows.pt')", "pass", True),
        ("rank_zero_only", "found = made(rows)\n    torch.save(rows, os.path.join('runs', found))", "pass", True),
        ("rank_zero_only", "found = made(rows)\n    for one in found:\n        print(one)", "pass", True),
        ("rank_zero_only", "first, second = made(rows)", "pass", True),
        ("rank_zero_only", "found = made(rows)\n    saved = [one + 1 for one in found]", "pass", True),
        ("rank_zero_only", "found = made(rows)\n    print(f'{found}/rows.pt')", "pass", False),
        ("rank_zero_only", "found = made(rows)\n    print(f'in {found}')", "pass", False),
        ("rank_zero_only", "found = made(rows)\n    keep = ModelCheckpoint(dirpath=found)", "pass", False),
        ("rank_zero_only", "found = made(rows)\n    print(os.listdir(found))", "pass", False),
        ("rank_zero_only", "print(os.path.join(made(rows) or 'runs', 'last.pt'))", "pass", False),
        (
            "rank_zero_only",
            "found = made(rows)\n    if dist.get_rank() == 0:\n        print(Path(found))",
            "pass",
            False,
        ),
        (
            "rank_zero_only",
            "box = [made(rows)]\n    dist.broadcast_object_list(box)\n    print(Path(box[0]))",
            "pass",
            False,
        ),
        ("rank_zero_only", "Job().prepare(rows)", "return rows * self.scale", True),
        ("rank_zero_only", "Job().prepare(rows)", "return rows if self.scale is None else rows * self.scale", False),
        ("rank_zero_only", "Job().prepare(rows)", "return rows", False),
    ],
)
def test_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, decorator: str, main: str, run: str, said: bool
) -> None:
    (tmp_path / "train.py").write_text(PROGRAM.format(decorator=decorator, main=main, run=run))
    monkeypatch.chdir(tmp_path)
    assert ("PT236" in {finding["code"] for finding in check()["findings"]}) is said
