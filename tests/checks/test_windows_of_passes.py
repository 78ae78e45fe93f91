"""Windows of passes under ``no_sync``, where one place decides on the pass and another on the step (PT212)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

CODE = """
from contextlib import ExitStack, contextmanager, nullcontext
from itertools import islice

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

{helper}


def main():
    dist.init_process_group("gloo")
    data = TensorDataset(torch.randn(160, 16))
    loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data, shuffle=False))
    model = DistributedDataParallel(nn.Linear(16, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    many = len(loader)
{loop}
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
"""
STEP = """
        with nullcontext() if averages else model.no_sync():
            model(rows).pow(2).mean().backward()
        if steps:
            opt.step()
            opt.zero_grad()
"""
IN_WINDOW = """
            with nullcontext() if averages else model.no_sync():
                model(rows).pow(2).mean().backward()
        opt.step()
        opt.zero_grad()
"""
_ACCUMULATOR = """
class Accumulator:
    def __init__(self, model, optimizer, every):
        self.model, self.optimizer, self.every = model, optimizer, every
        self.pending = 0
        self.last = False

    def closes(self):
        return self.pending + 1 == self.every

    @property
    def closing(self):
        return self.pending + 1 == self.every

    @contextmanager
    def micro_step(self, last):
{micro_step}
        self.pending += 1
        if self.pending == self.every:
            self.apply()

    def apply(self):
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.pending = 0

    def flush(self):
        if self.pending:
            for p in self.model.parameters():
                p.grad.mul_(self.every / self.pending)
            self.apply()
"""
_BY_ARGUMENT = """        sync = self.closes(){or_last}
        with nullcontext() if sync else self.model.no_sync():
            yield 1.0 / self.every
"""
_BY_ATTRIBUTE = """        self.last = last
        with nullcontext() if self.closes(){or_last} else self.model.no_sync():
            yield
"""
_BY_PROPERTY = """        sync = self.closing{or_last}
        around = nullcontext() if sync else self.model.no_sync()
        with around:
            yield
"""
_IN_TWO_PLACES = """        if self.closes(){or_last}:
            yield
        else:
            with self.model.no_sync():
                yield
"""
_BY_STACK = """        with ExitStack() as stack:
            if not (self.closes(){or_last}):
                stack.enter_context(self.model.no_sync())
            yield
"""
_TURNED_ROUND = """        keeps = not self.closes(){or_last}
        with self.model.no_sync() if keeps else nullcontext():
            yield
"""
_MICRO_STEPS = """
    rounds = Accumulator(model, opt, 4)
    for epoch in range(2):
        for i, (rows,) in enumerate(loader):
            with rounds.micro_step(last=i + 1 == len(loader)):
                model(rows).pow(2).mean().backward()
        rounds.flush()
"""
CASES = {
    "pairs beside the loader": (
        "def plan(many):\n    return [(i % 4 == 0{or_last}, i % 4 == 0 or i == many) for i in range(1, many + 1)]",
        "    for (rows,), (averages, steps) in zip(loader, plan(many)):" + STEP,
        " or i == many",
    ),
    "an iterator of the project": (
        (
            "class Turns:\n"
            "    def __init__(self, loader):\n        self.loader = loader\n"
            "    def __len__(self):\n        return len(self.loader)\n"
            "    def __iter__(self):\n        self.batches, self.i = iter(self.loader), 0\n        return self\n"
            "    def __next__(self):\n        (rows,) = next(self.batches)\n        self.i += 1\n"
            "        full, last = self.i % 4 == 0, self.i == len(self.loader)\n"
            "        return rows, full{or_last}, full or last"
        ),
        "    for rows, averages, steps in Turns(loader):" + STEP,
        " or last",
    ),
    "parts of an iterator": (
        "",
        "    batches = iter(loader)\n    while True:\n        window = list(islice(batches, 4))\n"
        "        if not window:\n            break\n        for i, (rows,) in enumerate(window, 1):\n"
        "            averages = i == 4{or_last}" + IN_WINDOW,
        " or i == len(window)",
    ),
    "slices of a list": (
        (
            "def windows(batches):\n    for start in range(0, len(batches), 4):\n        part = batches[start : start + 4]\n"
            "        yield [(rows, i == 4{or_last}) for i, (rows,) in enumerate(part, 1)]"
        ),
        "    for window in windows(list(loader)):\n        for rows, averages in window:" + IN_WINDOW,
        " or i == len(part)",
    ),
    "an object of the project is the context": (
        (
            "class Around:\n"
            "    def __init__(self, model, many):\n        self.model, self.many, self.i = model, many, 0\n"
            "    def __enter__(self):\n        self.i += 1\n        self.inside = ExitStack()\n"
            "        if not (self.i % 4 == 0{or_last}):\n            self.inside.enter_context(self.model.no_sync())\n"
            "    def __exit__(self, *error):\n        self.inside.close()"
        ),
        (
            "    around = Around(model, many)\n    for (rows,) in loader:\n        with around:\n"
            "            model(rows).pow(2).mean().backward()\n"
            "        if around.i % 4 == 0 or around.i == many:\n            opt.step()\n            opt.zero_grad()\n"
        ),
        " or self.i == self.many",
    ),
    "a stack that hands on what it holds": (
        "",
        (
            "    for i, (rows,) in enumerate(loader, 1):\n        with ExitStack() as stack:\n"
            "            if not (i % 4 == 0{or_last}):\n                stack.enter_context(model.no_sync())\n"
            "            kept = stack.pop_all()\n        model(rows).pow(2).mean().backward()\n        kept.close()\n"
            "        if i % 4 == 0 or i == many:\n            opt.step()\n            opt.zero_grad()\n"
        ),
        " or i == many",
    ),
    "a generator that is told of the last pass": (
        _ACCUMULATOR.replace("{micro_step}", _BY_ARGUMENT),
        _MICRO_STEPS,
        " or last",
    ),
    "a generator that keeps what it was told": (
        _ACCUMULATOR.replace("{micro_step}", _BY_ATTRIBUTE),
        _MICRO_STEPS,
        " or self.last",
    ),
    "a generator that asks a property": (
        _ACCUMULATOR.replace("{micro_step}", _BY_PROPERTY),
        _MICRO_STEPS,
        " or last",
    ),
    "a generator that yields in two places": (
        _ACCUMULATOR.replace("{micro_step}", _IN_TWO_PLACES),
        _MICRO_STEPS,
        " or last",
    ),
    "a generator around a stack": (
        _ACCUMULATOR.replace("{micro_step}", _BY_STACK),
        _MICRO_STEPS,
        " or last",
    ),
    "a generator with a flag that is turned round": (
        _ACCUMULATOR.replace("{micro_step}", _TURNED_ROUND),
        _MICRO_STEPS,
        " and not last",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_last_window_is_not_full(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    helper, loop, or_last = CASES[name]
    monkeypatch.chdir(tmp_path)
    for also, wrong in ("", True), (or_last, False):
        parts = {"{helper}": helper, "{loop}": loop, "{or_last}": also}
        code = CODE
        for word, text in parts.items():
            code = code.replace(word, text)
        (tmp_path / "train.py").write_text(code)
        assert any(finding["code"] == "PT212" for finding in check()["findings"]) is wrong, also


TAIL_LEFT = """
    rounds = Accumulator(model, opt, 4)
    for rows, in loader:
        with rounds.micro_step(False):
            model(rows).pow(2).mean().backward()
"""


@pytest.mark.parametrize("micro_step", [_BY_ARGUMENT, _BY_ATTRIBUTE, _BY_PROPERTY, _IN_TWO_PLACES, _TURNED_ROUND])
def test_windows_that_are_not_full_are_left(micro_step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    helper = _ACCUMULATOR.replace("{micro_step}", micro_step.replace("{or_last}", ""))
    (tmp_path / "train.py").write_text(CODE.replace("{helper}", helper).replace("{loop}", TAIL_LEFT))
    assert not [finding for finding in check()["findings"] if finding["code"] == "PT212"]
