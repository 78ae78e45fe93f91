"""Operations under way that ``map`` and its kin wait for, or would if anybody went through what they give (PT526)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

CODE = """
import itertools
from collections import deque
from functools import partial
from operator import attrgetter, itemgetter, methodcaller

import torch
import torch.distributed as dist
from torch import nn


def ended(work):
    work.wait()
    return work


def awaited(works):
    return map(methodcaller("wait"), works)


class Overlap:
    def __init__(self, model):
        self.parameters = [p for p in model.parameters() if p.requires_grad]
        self.handles, self.works, self.rows = [], [], []

    def start(self, p):
        work = dist.all_reduce(p.grad, async_op=True)
        self.works.append(work)
        self.rows.append((work,))

    def __enter__(self):
        self.handles = [p.register_post_accumulate_grad_hook(self.start) for p in self.parameters]
        return self

    def __exit__(self, kind, error, trace):
        for handle in self.handles:
            handle.remove()
        {wait}
        with torch.no_grad():
            for p in self.parameters:
                p.grad.div_(dist.get_world_size())
        self.works.clear()
        self.rows.clear()


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = {model}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        optimizer.zero_grad()
        with Overlap(model):
            model(torch.randn(1, 8, 16)).pow(2).mean().backward()
        optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
"""

MODELS = {
    "known": "nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1))",
    "deep": "nn.Sequential(*[nn.Linear(16, 16) for _ in range(8)])",
    "whole": "nn.TransformerEncoderLayer(16, 2, 32)",
}
IDLE = [
    'map(methodcaller("wait"), self.works)',
    "map(lambda work: work.wait(), self.works)",
    "map(ended, self.works)",
    "map(dist.Work.wait, self.works)",
    'waits = map(methodcaller("wait"), self.works)',
    "awaited(self.works)",
    'map(methodcaller("wait"), map(itemgetter(0), self.rows))',
    "itertools.starmap(ended, self.rows)",
    "(work.wait() for work in self.works)",
    "(work.wait() for work in self.works if work is not None)",
    'list(map(attrgetter("wait"), self.works))',
]
DONE = [
    'list(map(methodcaller("wait"), self.works))',
    'tuple(map(methodcaller("wait", timeout=None), self.works))',
    'deque(map(methodcaller("wait"), self.works), maxlen=0)',
    'for _ in map(methodcaller("wait"), self.works): pass',
    'for wait in map(attrgetter("wait"), self.works): wait()',
    'all(map(methodcaller("wait"), self.works))',
    "list(map(lambda work: work.wait(), self.works))",
    "[*map(lambda work: work.wait(), self.works)]",
    "sum(map(lambda work: work.wait(), self.works))",
    "set(map(ended, self.works))",
    "list(itertools.starmap(ended, self.rows))",
    "deque(awaited(self.works), maxlen=0)",
    'for _ in filter(methodcaller("wait"), self.works): pass',
    'list(map(methodcaller("wait"), map(itemgetter(0), self.rows)))',
    "deque((work.wait() for work in self.works), maxlen=0)",
    "all(work.wait() for work in self.works)",
    'sorted(self.works, key=methodcaller("wait"))',
    'list(map(lambda wait: wait(), map(attrgetter("wait"), self.works)))',
    "list(map(partial(ended), self.works))",
    "for wait in [work.wait for work in self.works]: wait()",
]


def found(wait: str, model: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> bool:
    (folder / "train.py").write_text(CODE.replace("{wait}", wait).replace("{model}", MODELS[model]))
    monkeypatch.chdir(folder)
    return any(finding["code"] == "PT526" for finding in check()["findings"])


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("wait", IDLE)
def test_nothing_waits_where_nobody_goes_through(
    wait: str, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert found(wait, model, tmp_path, monkeypatch)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("wait", DONE)
def test_whoever_goes_through_waits(wait: str, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not found(wait, model, tmp_path, monkeypatch)
