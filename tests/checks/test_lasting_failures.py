"""Helpers that try to read again and give up: as what the failure comes to the caller, and what the ranks make of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

HEAD = """
import os, time
from pathlib import Path
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

class GaveUp(RuntimeError):
    pass

def once(path):
    return torch.load(path)
"""
MAIN = """
def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    model = DDP(nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for path in sorted(Path("data").glob("*.pt"))[rank::world]:
        {taken}
        opt.zero_grad()
        model(x).mean().backward()
        opt.step()
    dist.barrier()
    dist.destroy_process_group()
main()
"""
LEFT_OUT = """try:
            x = read(path)
        except {kind}:
            continue"""
RETURNING = """
def read(path):
    for _ in range(3):
        try:
            return once(path)
        except OSError:
            time.sleep(0.1)
    raise GaveUp(path)
"""
OWN = LEFT_OUT.format(kind="GaveUp")

BAD = {
    "a loop's else": (
        """
def read(path):
    for n in range(3):
        try:
            rows = torch.load(path)
            break
        except OSError as error:
            print(n, error)
    else:
        raise GaveUp(path)
    return rows
""",
        OWN,
    ),
    "behind the loop": (RETURNING, OWN),
    "a base of what is raised": (RETURNING, LEFT_OUT.format(kind="RuntimeError")),
    "a counter": (
        """
def read(path):
    tries = 0
    while True:
        try:
            return torch.load(path)
        except OSError as error:
            tries += 1
            if tries == 3:
                raise GaveUp(path) from error
""",
        OWN,
    ),
    "a counter in the loop's test": (
        """
def read(path):
    left, rows = 3, None
    while rows is None and left:
        try:
            rows = torch.load(path)
        except OSError:
            left -= 1
    if rows is None:
        raise GaveUp(path)
    return rows
""",
        OWN,
    ),
    "the last error": (
        """
def read(path):
    last = None
    for _ in range(3):
        try:
            return torch.load(path)
        except OSError as error:
            last = error
    raise last
""",
        LEFT_OUT.format(kind="OSError"),
    ),
    "the last try": (
        """
def read(path):
    for n in range(3):
        try:
            return torch.load(path)
        except OSError:
            if n == 2:
                raise
""",
        LEFT_OUT.format(kind="OSError"),
    ),
    "leaves when it is read": (
        """
def read(path):
    for _ in range(3):
        try:
            rows = once(path)
        except OSError:
            time.sleep(0.1)
        else:
            return rows
    raise GaveUp(path)
""",
        OWN,
    ),
}

GOOD = {
    "nobody handles it": (RETURNING, "x = read(path)"),
    "raised again": (RETURNING, LEFT_OUT.format(kind="GaveUp").replace("continue", "raise")),
    "another exception": (RETURNING, LEFT_OUT.format(kind="StopIteration")),
    "another class of the project": (f"class Other(Exception):\n    pass\n{RETURNING}", LEFT_OUT.format(kind="Other")),
    "something in its place": (RETURNING, OWN.replace("continue", "x = torch.zeros(4, 4)")),
    "a default in the helper": (RETURNING.replace("raise GaveUp(path)", "return torch.zeros(4, 4)"), OWN),
    "a file of all ranks": (RETURNING, OWN.replace("read(path)", 'read(Path("all.pt"))')),
    "agreed": (
        RETURNING,
        """x, ok = None, torch.ones(1)
        try:
            x = read(path)
        except GaveUp:
            ok.zero_()
        dist.all_reduce(ok, op=dist.ReduceOp.MIN)
        if not ok.item():
            continue""",
    ),
    "what is raised has nothing to do with it": (
        """
def read(path, mode="tensors"):
    if mode != "tensors":
        raise GaveUp(mode)
    try:
        return torch.load(path)
    except OSError:
        return torch.zeros(4, 4)
""",
        OWN,
    ),
}


def codes(folder: Path, helper: str, taken: str, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The codes of what is found in a program."""
    (folder / "train.py").write_text(HEAD + helper + MAIN.format(taken=taken), encoding="utf-8")
    monkeypatch.chdir(folder)
    return {finding["code"] for finding in check()["findings"]}


@pytest.mark.parametrize("name", BAD, ids=str)
def test_who_gives_up_leaves_out_a_step(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "PT505" in codes(tmp_path, *BAD[name], monkeypatch)


@pytest.mark.parametrize("name", GOOD, ids=str)
def test_ranks_that_meet_after_all_are_left_alone(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not codes(tmp_path, *GOOD[name], monkeypatch) & {"PT501", "PT505"}
