"""Closures that an optimizer calls as often as their losses say, and what these are on each rank."""

from __future__ import annotations

import pytest

from distlint.checks.meeting_closures import own_searches
from distlint.rehearsal.performance import Rehearsal
from tests.conftest import MakeProject

HEAD = """
import os
from functools import partial
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
inner = nn.Linear(4, 1)
model = DistributedDataParallel(inner)

def rows(seed):
    draw = torch.Generator().manual_seed(seed)
    return torch.randn(8, 4, generator=draw), torch.randn(8, 1, generator=draw)

def average(value):
    value = torch.as_tensor(value).detach().clone()
    dist.all_reduce(value)
    return value / world

def gathered(value):
    parts = [None] * world
    dist.all_gather_object(parts, value)
    return parts

def sent(value):
    value = value.detach().clone()
    dist.broadcast(value, 0)
    return value
"""
OWN = "x, y = rows(rank)\n"
SHARE = "x, y = rows(1)\nx, y = x[rank::world], y[rank::world]\n"
SAME = "x, y = rows(1)\n"
SEARCH = "optimizer = torch.optim.LBFGS(model.parameters(), line_search_fn='strong_wolfe')\n"
PLAIN = "optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter={0})\n"
CLOSURE = """
def closure():
    optimizer.zero_grad()
    loss = nn.functional.mse_loss({0}(x), y)
    loss.backward()
    {1}
    return {2}
"""
LOSS = CLOSURE.format("model", "", "loss")
STEP = "\nfor _ in range(3):\n    optimizer.step(closure)\n"
LOADER = """
data = TensorDataset(torch.randn(64, 4), torch.randn(64, 1))
for x, y in DataLoader(data, batch_size=8, sampler=DistributedSampler(data)):
    def closure():
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        return loss
    optimizer.step(closure)
"""
GIVEN = """
def evaluate(x, y):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    return loss.detach()
"""
PARTS = """
def closure():
    optimizer.zero_grad()
    total = 0.0
    for part, target in zip(x.chunk(4), y.chunk(4)):
        loss = nn.functional.mse_loss(model(part), target) / 4
        loss.backward()
        total += loss.item()
    return {0}
"""
OBJECT = """
class Fit:
    def __init__(self, net):
        self.net = net
        self.optimizer = torch.optim.LBFGS(net.parameters(), max_iter=4, line_search_fn="strong_wolfe")
    def closure(self):
        self.optimizer.zero_grad()
        loss = nn.functional.mse_loss(self.net(x), y)
        loss.backward()
        return {0}
    def run(self):
        self.optimizer.step(self.closure)
Fit(model).run()
"""
SHARED = """
def closure():
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x[rank::world]), y[rank::world]).backward()
    with torch.no_grad():
        return nn.functional.mse_loss(inner(x), y)
"""
BY_HAND = "[dist.all_reduce(one.grad) for one in inner.parameters()]"


def faults(make_project: MakeProject, program: str) -> list[str]:
    """What is said of a program."""
    made = Rehearsal.of(make_project({"train.py": HEAD + program})).every_performance()
    return [one.message for performance in made for one in own_searches(performance)]


@pytest.mark.parametrize(
    "program",
    [
        OWN + SEARCH + LOSS + STEP,
        SHARE + SEARCH + LOSS + STEP,
        OWN + SEARCH + CLOSURE.format("model", "", "loss.item()") + STEP,
        OWN + SEARCH + CLOSURE.format("model", "print(average(loss))", "loss") + STEP,
        OWN + SEARCH + CLOSURE.format("inner", BY_HAND, "loss") + STEP,
        OWN + PLAIN.format(20) + LOSS + STEP,
        OWN + SEARCH + LOSS + "\nfor _ in range(3):\n    print(average(optimizer.step(closure)))\n",
        SEARCH + LOADER,
        OWN + SEARCH + GIVEN + "optimizer.step(lambda: evaluate(x, y))\n",
        OWN + SEARCH + GIVEN + "optimizer.step(closure=partial(evaluate, x, y))\n",
        OWN + SEARCH + PARTS.format("total") + STEP,
        OWN + OBJECT.format("loss"),
    ],
)
def test_an_own_loss_steers_the_search(make_project: MakeProject, program: str) -> None:
    assert faults(make_project, program)


@pytest.mark.parametrize(
    "program",
    [
        OWN + SEARCH + CLOSURE.format("model", "loss = average(loss)", "loss") + STEP,
        OWN + SEARCH + CLOSURE.format("model", "dist.all_reduce(loss, op=dist.ReduceOp.AVG)", "loss") + STEP,
        OWN + SEARCH + CLOSURE.format("model", "", "average(loss).item()") + STEP,
        OWN + SEARCH + CLOSURE.format("model", "", "sent(loss)") + STEP,
        OWN + SEARCH + CLOSURE.format("model", "", "sum(gathered(loss.item())) / world") + STEP,
        OWN + SEARCH + PARTS.format("average(total)") + STEP,
        OWN + OBJECT.format("average(loss)"),
        SAME + SEARCH + LOSS + STEP,
        OWN + PLAIN.format(1) + LOSS + STEP,
        OWN + PLAIN.format("int(os.environ['ITERATIONS'])") + LOSS + STEP,
        OWN + PLAIN.format("20, tolerance_change=0") + LOSS + STEP,
        OWN + "optimizer = torch.optim.Adam(model.parameters())\n" + LOSS + STEP,
        OWN + SEARCH.replace("model", "inner") + CLOSURE.format("inner", "", "loss") + STEP,
        SAME + SEARCH + SHARED + STEP,
    ],
)
def test_what_is_the_same_on_all_ranks_does_not(make_project: MakeProject, program: str) -> None:
    assert faults(make_project, program) == []
