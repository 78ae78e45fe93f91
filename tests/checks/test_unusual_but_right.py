"""Programs that meet in unusual ways and are right, each beside a wrong one: futures, cleared lists, agreed rounds, part meshes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

HEAD = """
import argparse
import os
import random
import torch
import torch.distributed as dist
from accelerate import Accelerator
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import Shard, distribute_tensor
from torch.nn.parallel import DistributedDataParallel as DDP


def main(args=None):
"""
START = """
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
model = nn.Linear(4, 1)
stats = torch.full((3,), float(rank))
"""
TAIL = """

if __name__ == "__main__":
    main()
"""
GRADIENTS = "model(torch.ones(2, 4)).sum().backward()\n"
FUTURES = f"{GRADIENTS}futures = [dist.all_reduce(p.grad, async_op=True).get_future() for p in model.parameters()]\n"
HOOKS = """
deep = nn.Sequential(*[nn.Linear(4, 4) for _ in range(9)])
pending = []
for p in deep.parameters():
    p.register_post_accumulate_grad_hook(lambda p: pending.append(dist.all_reduce(p.grad, async_op=True)))
opt = torch.optim.SGD(deep.parameters(), lr=0.1)
for _ in range(3):
    opt.zero_grad()
    deep(torch.ones(2, 4)).sum().backward()
    {end}
    opt.step()
"""
SHARE = """
def share(make):
    if rank == 0:
        made = make()
        dist.broadcast_object_list([made], src=0)
        return made
    box = [None]
    dist.broadcast_object_list(box, src=0)
    return {got}
run = share(lambda: {{"name": os.urandom(4).hex(), "steps": random.choice([3, 20, 30])}})
for _ in range(run["steps"]):
    dist.all_reduce(stats)
    if rank == 0:
        dist.reduce(stats, dst=0)
    else:
        dist.reduce(stats, dst=0)
"""
ROUNDS = """
rows = torch.ones(20 + 13 * rank, 4)
batches = [rows[i : i + 5] for i in range(0, len(rows), 5)]
ddp = DDP(model)
agreed = torch.tensor([len(batches)])
{agree}
most = int(agreed.item())
for i, batch in enumerate(batches):
    if i == most:
        break
    ddp(batch).sum().backward()
dist.barrier()
"""
MESH = """
mesh = DeviceMesh("cpu", list(range({count})))
if {inside}:
    table = distribute_tensor(torch.ones(4, 4), mesh, [Shard(0)])
    print(table.full_tensor())
dist.barrier()
"""
FIRST = """
accelerator = Accelerator(cpu=True)
def rows():
    with accelerator.main_process_first():
        if os.path.exists("rows.pt"):
            {leave}
        torch.save([1.0, 2.0], "rows.pt")
    return [1.0, 2.0]
found = rows()
model = accelerator.prepare(model)
"""
PROGRAMS = [
    ("a future", FUTURES + "for one in futures:\n    one.wait()\nprint(model.weight.grad.sum())", ""),
    ("a future", FUTURES + "print(model.weight.grad.sum())\nfor one in futures:\n    one.wait()", "PT526"),
    (
        "then",
        "f = dist.all_reduce(stats, async_op=True).get_future().then(lambda f: f.value()[0])\nprint(f.wait())",
        "",
    ),
    (
        "then",
        "f = dist.all_reduce(stats, async_op=True).get_future().then(lambda f: f.value()[0])\nprint(stats.sum())",
        "PT526",
    ),
    ("hooks", HOOKS.format(end="for one in pending:\n        one.wait()\n    pending.clear()"), ""),
    ("hooks", HOOKS.format(end="pending.clear()"), "PT526"),
    ("sent by one", SHARE.format(got="box[0]"), ""),
    ("agreed", ROUNDS.format(agree="dist.all_reduce(agreed, op=dist.ReduceOp.MIN)"), ""),
    ("agreed", ROUNDS.format(agree=""), "PT504"),
    ("part mesh", MESH.format(count=1, inside="mesh.get_coordinate() is not None"), ""),
    ("part mesh", MESH.format(count="world", inside="rank == 0"), "PT501"),
    ("left early", FIRST.format(leave='return torch.load("rows.pt")'), ""),
    ("left early", FIRST.format(leave="if not accelerator.is_main_process:\n                dist.barrier()"), "PT501"),
]


@pytest.mark.parametrize(
    ("what", "body", "code"), PROGRAMS, ids=[f"{what}-{code or 'right'}" for what, _, code in PROGRAMS]
)
def test_what_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, body: str, code: str) -> None:
    lines = "".join(f"    {line}\n" for line in (START + body).splitlines())
    (tmp_path / "train.py").write_text(HEAD + lines + TAIL, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    found = {finding["code"] for finding in check()["findings"]}
    assert found == ({code} if code else set()), what
