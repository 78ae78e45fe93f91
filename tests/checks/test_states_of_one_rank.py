"""States of optimizers, schedulers and scalers that one rank loads, and the many ways in which others get them, or don't."""

from __future__ import annotations

import pytest

from distlint.checks.meeting_uses import state_loaded_by_some
from distlint.rehearsal.performance import Rehearsal
from tests.conftest import MakeProject

HEAD = """
import functools
import os
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

KEPT = "kept.pt"

def is_first():
    return dist.get_rank() == 0

def load(net, optimizer):
    state = torch.load(KEPT)
    net.load_state_dict(state["net"])
    optimizer.load_state_dict(state["optimizer"])
    return state["epoch"]

def told(value):
    row = [value]
    dist.broadcast_object_list(row, src=0)
    return row[0]
"""

JOB = """
def job(last):
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    scaler = torch.amp.GradScaler("cpu")
    first = 0
{0}
    model = DistributedDataParallel(net)
    for epoch in range(first, last):
        optimizer.zero_grad()
        scaler.scale(model(torch.randn(8, 4)).square().mean()).backward()
        scaler.step(optimizer)
        scaler.update()
        scheduler.step()
    if is_first():
        torch.save(dict(net=net.state_dict(), optimizer=optimizer.state_dict(), epoch=last), KEPT)
    dist.barrier()
"""

PROGRAM = "\ndist.init_process_group('gloo')\nfor last in (2, 4):\n    job(last)\n"
MAIN = "\ndef main():\n    dist.init_process_group('gloo')\n    job(2)\n    job(4)\n\nif __name__ == '__main__':\n    main()\n"

EARLY = """
def resume(net, optimizer):
    if not is_first() or not os.path.exists(KEPT):
        return 0
    return load(net, optimizer)
"""
OBJECT = """
class Kept:
    def __init__(self, net, optimizer):
        self.parts, self.epoch = {"net": net, "optimizer": optimizer}, 0
    def load_state_dict(self, state):
        for name, part in self.parts.items():
            part.load_state_dict(state[name])
        self.epoch = state["epoch"]
"""
DECORATED = """
def first_only(function):
    @functools.wraps(function)
    def inner(*args):
        return function(*args) if is_first() else None
    return inner

@first_only
def resume(net, optimizer):
    return load(net, optimizer) if os.path.exists(KEPT) else 0
"""
SENDING = """
def send(optimizer):
    for group in optimizer.param_groups:
        for one in group["params"]:
            for name in ("exp_avg", "exp_avg_sq"):
                dist.broadcast(optimizer.state[one].setdefault(name, torch.zeros_like(one)), 0)
"""
LOADED = "if is_first() and os.path.exists(KEPT):\n        first = load(net, optimizer)"


def faults(make_project: MakeProject, helpers: str, lines: list[str], end: str) -> list[str]:
    """What is said of a program that takes up its work with such lines."""
    body = JOB.format("\n".join(f"    {line}" for line in lines))
    project = make_project({"train.py": HEAD + helpers + body + end})
    return [one.message for made in Rehearsal.of(project).every_performance() for one in state_loaded_by_some(made)]


@pytest.mark.parametrize("end", [PROGRAM, MAIN])
@pytest.mark.parametrize(
    ("helpers", "lines"),
    [
        ("", [LOADED, "first = told(first)"]),
        (
            "",
            [
                LOADED,
                "number = torch.tensor(first)",
                "dist.all_reduce(number, op=dist.ReduceOp.MAX)",
                "first = int(number)",
            ],
        ),
        (
            "",
            ["first = told(2 if os.path.exists(KEPT) else 0)", "if first and is_first():", "    load(net, optimizer)"],
        ),
        ("", [LOADED, "first = told(first)", "for one in net.parameters():", "    dist.broadcast(one.data, 0)"]),
        (EARLY, ["first = told(resume(net, optimizer))"]),
        (DECORATED, ["first = told(resume(net, optimizer))"]),
        (
            OBJECT,
            [
                "kept = Kept(net, optimizer)",
                "if is_first():",
                "    kept.load_state_dict(torch.load(KEPT))",
                "first = told(kept.epoch)",
            ],
        ),
        (
            "",
            [
                "if is_first():",
                "    try:",
                "        first = load(net, optimizer)",
                "    except OSError:",
                "        pass",
                "first = told(first)",
            ],
        ),
        ("", ["first = load(net, torch.optim.SGD(net.parameters()))", "if is_first():", "    load(net, optimizer)"]),
    ],
)
def test_others_go_on_with_fresh_moments(make_project: MakeProject, helpers: str, lines: list[str], end: str) -> None:
    found = faults(make_project, helpers, lines, end)
    assert found
    assert all("state of this optimizer" in one for one in found)


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("scheduler.load_state_dict(torch.load('rate.pt'))", "scheduler"),
        ("scaler.load_state_dict(torch.load('scale.pt'))", "scaler"),
    ],
)
def test_schedulers_and_scalers_have_states_as_well(make_project: MakeProject, line: str, what: str) -> None:
    assert what in " ".join(faults(make_project, "", ["if is_first():", f"    {line}", "first = told(2)"], MAIN))
    assert faults(make_project, "", ["if os.path.exists(KEPT):", f"    {line}"], MAIN) == []


@pytest.mark.parametrize(
    ("helpers", "lines"),
    [
        ("", ["if os.path.exists(KEPT):", "    first = load(net, optimizer)"]),
        ("", [LOADED, "first, state = told((first, optimizer.state_dict()))", "optimizer.load_state_dict(state)"]),
        (
            "",
            [
                LOADED,
                "state = told(optimizer.state_dict())",
                "if not is_first():",
                "    optimizer.load_state_dict(state)",
            ],
        ),
        (
            "",
            ["state = told(torch.load(KEPT) if is_first() else None)", "optimizer.load_state_dict(state['optimizer'])"],
        ),
        (SENDING, [LOADED, "first = told(first)", "send(optimizer)"]),
        ("import horovod.torch as hvd\n", [LOADED, "hvd.broadcast_optimizer_state(optimizer, root_rank=0)"]),
        ("import pickled\n", [LOADED, "first = told(first)", "pickled.share({'optimizer': optimizer})"]),
        ("", [LOADED, "optimizer.__setstate__(told(optimizer.__getstate__()))"]),
        ("", [LOADED, "first = told(first)", "optimizer = torch.optim.Adam(net.parameters(), lr=0.05)"]),
        ("", ["if is_first():", "    net.load_state_dict(torch.load(KEPT)['net'])"]),
        (
            "",
            [
                "if not is_first():",
                "    dist.barrier()",
                "first = load(net, optimizer)",
                "if is_first():",
                "    dist.barrier()",
            ],
        ),
        (
            "",
            [
                "if is_first():",
                "    state = told(torch.load(KEPT))",
                "    optimizer.load_state_dict(state)",
                "else:",
                "    state = told(None)",
                "    optimizer.load_state_dict(state)",
            ],
        ),
        (
            "",
            [
                "if is_first():",
                "    scheduler.load_state_dict(torch.load(KEPT))",
                "scheduler.last_epoch = told(scheduler.last_epoch)",
            ],
        ),
    ],
)
def test_states_that_others_get_as_well(make_project: MakeProject, helpers: str, lines: list[str]) -> None:
    assert faults(make_project, helpers, lines, MAIN) == []
