"""Moving averages that are copied before the wrapper sends the weights (PT214), in the ways in which they are updated."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
import copy

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class Average:
    def __init__(self, model, decay=0.99):
        self.decay = decay
        self.module = copy.deepcopy(model)

    @torch.no_grad()
    def update(self, model):
        state = model.state_dict()
        for name, value in self.module.state_dict().items():
            {update}


def main():
    dist.init_process_group("gloo")
    torch.manual_seed({seed})
    net = torch.nn.Linear(4, 1)
    {first}
    {second}
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(4):
        loss = model(torch.randn(2, 4)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        average.update(net)
    print(average.module(torch.randn(2, 4)).sum().item())
    dist.destroy_process_group()


main()
"""

COPY = "average = Average(net)"
WRAP = "model = DistributedDataParallel(net)"
STEP = "value.mul_(self.decay).add_(state[name], alpha=1 - self.decay)"
UPDATES = (
    STEP,
    f"if value.dtype.is_floating_point:\n                {STEP}\n            else:\n                value.copy_(state[name])",
    f"if value.is_floating_point():\n                {STEP}\n            else:\n                value.copy_(state[name])",
    f"if not torch.is_floating_point(value):\n                value.copy_(state[name])\n                continue\n            {STEP}",
    f"if value.dtype.is_complex:\n                value.copy_(state[name])\n            else:\n                {STEP}",
)


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder that is looked at."""
    monkeypatch.chdir(tmp_path)


def found(**parts: str) -> bool:
    """Whether a program has a finding about a copy that is made too early."""
    Path("train.py").write_text(PROGRAM.format(**parts), encoding="utf-8")
    return "PT214" in {one["code"] for one in check()["findings"]}


@pytest.mark.parametrize("update", UPDATES)
def test_copy_that_keeps_what_its_rank_has_drawn(update: str) -> None:
    """A test for the kind of the numbers does not make the copy the same everywhere."""
    assert found(update=update, seed="dist.get_rank()", first=COPY, second=WRAP)


@pytest.mark.parametrize(
    ("update", "seed", "first", "second"),
    [
        (UPDATES[1], "dist.get_rank()", WRAP, COPY),
        (UPDATES[1], "7", COPY, WRAP),
        ("value.copy_(state[name])", "dist.get_rank()", COPY, WRAP),
    ],
)
def test_copy_that_is_the_same_everywhere(update: str, seed: str, first: str, second: str) -> None:
    """It is made behind the wrapper, drawn alike, or gets the weights of the model."""
    assert not found(update=update, seed=seed, first=first, second=second)
