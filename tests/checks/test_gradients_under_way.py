"""Gradients that hooks have begun to sum up, and who reads them before anybody waits (PT526)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

CODE = """
import torch
import torch.distributed as dist
from collections import deque
from torch import nn
from torch.nn.utils import clip_grad_norm_, clip_grad_value_


class Overlap:
    def __init__(self, model):
        self.under_way = {holder}
        for p in model.parameters():
            p.register_post_accumulate_grad_hook({hook})

    def start(self, p):
        p.grad.div_(dist.get_world_size())
        work = dist.all_reduce(p.grad, async_op=True)
        {put}

    def wait(self):
        {wait}


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = {model}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu")
    overlap = Overlap(model)
    for _ in range(4):
        optimizer.zero_grad()
        scaler.scale(model(torch.randn(1, 8, 16)).pow(2).mean()).backward()
        {first}
        {second}
        scaler.step(optimizer)
        scaler.update()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
"""

SMALL = "nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1))"
DEEP = "nn.Sequential(*[nn.Linear(16, 16) for _ in range(8)])"
WHOLE = "nn.TransformerEncoderLayer(16, 2, 32)"

HANDLES = {
    "list": (
        "[]",
        "self.under_way.append(work)",
        "for one in self.under_way:\n            one.wait()\n        self.under_way.clear()",
    ),
    "rows": (
        "[]",
        "self.under_way.append((p, work))",
        "for _, one in self.under_way:\n            one.wait()\n        self.under_way = []",
    ),
    "queue": (
        "deque()",
        "self.under_way.append(work)",
        "while self.under_way:\n            self.under_way.popleft().wait()",
    ),
    "by parameter": (
        "{}",
        "self.under_way[p] = work",
        "for one in self.under_way.values():\n            one.wait()\n        self.under_way.clear()",
    ),
    "by parameter, asked for": (
        "{}",
        "self.under_way[p] = work",
        "for p in list(self.under_way):\n            self.under_way.pop(p).wait()",
    ),
    "by parameter, copied": (
        "{}",
        "self.under_way[p] = work",
        "for one in dict(self.under_way).values():\n            one.wait()",
    ),
}

READERS = {
    "clipped": "scaler.unscale_(optimizer)",
    "clipped by norm": "clip_grad_norm_(model.parameters(), 1.0)",
    "clipped by value": "clip_grad_value_([p for p in model.parameters() if p.grad is not None], 1.0)",
    "norm": "print(sum(p.grad.norm() ** 2 for p in model.parameters()))",
    "in a loop": "for p in model.parameters():\n            p.grad.clamp_(-1, 1)",
    "taken": "with torch.no_grad():\n            for p in model.parameters():\n                p.sub_(p.grad, alpha=0.1)",
}


def read_early(folder: Path, monkeypatch: pytest.MonkeyPatch, **parts: str) -> bool:
    """Whether gradients of the program are said to be read too early."""
    given = {"hook": "self.start", "model": SMALL, **parts}
    (folder / "train.py").write_text(CODE.format(**given))
    monkeypatch.chdir(folder)
    return any(finding["code"] == "PT526" for finding in check()["findings"])


@pytest.mark.parametrize("model", [SMALL, DEEP, WHOLE])
@pytest.mark.parametrize("name", HANDLES)
def test_handles_may_lie_anywhere(name: str, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    holder, put, wait = HANDLES[name]
    parts = {"holder": holder, "put": put, "wait": wait, "model": model}
    read = READERS["clipped by norm"]
    assert read_early(tmp_path, monkeypatch, first=read, second="overlap.wait()", **parts)
    assert not read_early(tmp_path, monkeypatch, first="overlap.wait()", second=read, **parts)


@pytest.mark.parametrize("name", READERS)
def test_gradients_are_read_in_many_ways(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    holder, put, wait = HANDLES["list"]
    parts = {"holder": holder, "put": put, "wait": wait}
    assert read_early(tmp_path, monkeypatch, first=READERS[name], second="overlap.wait()", **parts)
    assert not read_early(tmp_path, monkeypatch, first="overlap.wait()", second=READERS[name], **parts)


@pytest.mark.parametrize("model", [DEEP, WHOLE])
@pytest.mark.parametrize(
    "wait",
    [
        "if len(self.under_way) >= 3:\n            [one.wait() for one in self.under_way]\n        self.under_way = []",
        "if len(self.under_way) < 3:\n            raise RuntimeError\n        [one.wait() for one in self.under_way]",
    ],
)
def test_how_often_hooks_are_called_is_not_known(
    model: str, wait: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = {"holder": "[]", "put": "self.under_way.append(work)", "wait": wait, "model": model}
    assert not read_early(tmp_path, monkeypatch, first="overlap.wait()", second=READERS["clipped by norm"], **parts)


@pytest.mark.parametrize("hook", ["lambda p: self.start(p)", "lambda p, own=p: self.start(own)"])
def test_hooks_of_one_loop_are_the_same(hook: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    holder, put, wait = HANDLES["rows"]
    parts = {"holder": holder, "put": put, "wait": wait, "model": WHOLE, "hook": hook}
    assert not read_early(tmp_path, monkeypatch, first="overlap.wait()", second=READERS["norm"], **parts)
    assert read_early(tmp_path, monkeypatch, first=READERS["norm"], second="overlap.wait()", **parts)


REMOVING = """
import contextlib
from operator import methodcaller

import torch
import torch.distributed as dist
import unseen
from torch import nn


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = {model}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        works = []
        handles = [
            p.register_post_accumulate_grad_hook(lambda p, works=works: works.append(dist.all_reduce(p.grad, async_op=True)))
            for p in model.parameters()
        ]
        optimizer.zero_grad()
        model(torch.randn(1, 8, 16)).pow(2).mean().backward()
        {remove}
        for work in works:
            work.wait()
        optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize("model", [SMALL, DEEP, WHOLE])
@pytest.mark.parametrize(
    "remove",
    [
        "for one in handles:\n            one.remove()",
        "list(map(methodcaller('remove'), handles))",
        "with contextlib.ExitStack() as stack:\n            [stack.enter_context(one) for one in handles]",
        "unseen.lose(handles)",
        "if unseen.is_over():\n            [one.remove() for one in handles]",
    ],
)
def test_hooks_are_taken_away(remove: str, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train.py").write_text(REMOVING.format(remove=remove, model=model))
    monkeypatch.chdir(tmp_path)
    assert not [finding for finding in check()["findings"] if finding["code"] == "PT526"]
