"""Features that ranks gather for a loss: with their gradients, without them, and without on purpose."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)


def gather(t):
    t = t.contiguous()
    parts = [torch.zeros_like(t) for _ in range(world)]
    dist.all_gather(parts, t)
    {patch}
    return torch.cat(parts, dim=0)


def gather_flat(t):
    whole = t.new_empty((world * t.size(0), t.size(1)))
    dist.all_gather_into_tensor(whole, t)
    return whole


class Own(torch.autograd.Function):
    @staticmethod
    def forward(ctx, t):
        parts = [torch.zeros_like(t) for _ in range(world)]
        dist.all_gather(parts, t)
        return torch.cat(parts)

    @staticmethod
    def backward(ctx, grad):
        dist.all_reduce(grad)
        return grad.chunk(world)[rank]


class Contrast(nn.Module):
    def forward(self, a, b):
        return F.cross_entropy(a @ gather(b).t(), torch.arange(len(a)) + rank * len(a))


class Towers(nn.Module):
    def __init__(self):
        super().__init__()
        self.left = nn.Linear(6, 4)
        self.right = nn.Linear(6, 4)
        {frozen}

    def forward(self, x):
        {right}
        return self.left(x), keys


net = DDP(nn.Linear(6, 4))
towers = DDP(Towers())
opt = torch.optim.SGD([*net.parameters(), *towers.parameters()], lr=0.1)
contrast = Contrast()
queue = torch.randn(16, 4)
for step in range(3):
    x = torch.randn(8, 6)
    labels = torch.arange(8) + rank * 8
{step}
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
PAIR = """
a, b = net(x), net(x + 0.1)
a = F.normalize(a, dim=1)
b = b / b.norm(dim=1, keepdim=True)
"""
TWO_TOWERS = "a, b = towers(x)\nloss = F.cross_entropy(a @ gather(b).t(), labels)"
WRITTEN_OUT = """
every = [torch.empty_like(b) for _ in range(world)]
dist.all_gather(every, b)
loss = (a @ torch.cat(every).t()).mean()
"""
ADDED_BACK = """
every = gather(b) + F.pad(b - b.detach(), (0, 0, rank * 8, (world - 1 - rank) * 8))
loss = (a @ every.t()).mean()
"""
QUEUED = """
loss = F.cross_entropy(a @ b.t(), labels - rank * 8)
queue = torch.cat([gather(b), queue])[:16]
"""
UNRECORDED = """
a = net(x)
with torch.no_grad():
    b = net(x + 0.1)
loss = F.cross_entropy(a @ gather(b).t(), labels)
"""
SHOWN = """
loss = (a @ b.t()).mean()
seen = gather(b).norm(dim=1).mean()
if rank == 0:
    print(seen.item())
"""
HITS = """
loss = F.cross_entropy(a @ b.t(), labels - rank * 8)
with torch.no_grad():
    hits = (a @ gather(b).t()).argmax(1)
loss = loss + 0 * hits.sum()
"""
TRAINED = "keys = self.right(x)"
AWAY = "with torch.no_grad():\n            keys = self.right(x)"


@pytest.mark.parametrize(
    ("step", "patch", "right", "frozen", "wrong"),
    [
        (PAIR + "loss = F.cross_entropy(a @ gather(b).t(), labels)", "", TRAINED, "", True),
        (PAIR + "loss = F.cross_entropy(a @ gather_flat(b).t() / 0.1, labels)", "", TRAINED, "", True),
        (PAIR + "loss = contrast(a, b)", "", TRAINED, "", True),
        ("z = net(x)\nevery = gather(z)\nloss = (every @ every.t()).logsumexp(1).mean()", "", TRAINED, "", True),
        (TWO_TOWERS, "", TRAINED, "", True),
        (PAIR + WRITTEN_OUT, "", TRAINED, "", True),
        (PAIR + "loss = F.cross_entropy(a @ gather(b).t(), labels)", "parts[rank] = t", TRAINED, "", False),
        (
            PAIR + "loss = F.cross_entropy(a @ gather(b).t(), labels)",
            "parts.pop(rank)\n    parts.insert(rank, t)",
            TRAINED,
            "",
            False,
        ),
        (PAIR + ADDED_BACK, "", TRAINED, "", False),
        (PAIR + "loss = F.cross_entropy(a @ Own.apply(b).t(), labels)", "", TRAINED, "", False),
        (PAIR + QUEUED, "", TRAINED, "", False),
        (UNRECORDED, "", TRAINED, "", False),
        (
            "a = net(x)\nb = net(x + 0.1).detach()\nloss = F.cross_entropy(a @ gather(b).t(), labels)",
            "",
            TRAINED,
            "",
            False,
        ),
        (TWO_TOWERS, "", AWAY, "", False),
        (TWO_TOWERS, "", TRAINED, "self.right.requires_grad_(False)", False),
        (PAIR + SHOWN, "", TRAINED, "", False),
        (PAIR + HITS, "", TRAINED, "", False),
    ],
)
def test_gradients_of_gathered_features(
    step: str,
    patch: str,
    right: str,
    frozen: str,
    wrong: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    inside = "\n".join(f"    {line}" for line in step.splitlines())
    program = PROGRAM.replace("{step}", inside).replace("{patch}", patch or "pass").replace("{right}", right)
    (tmp_path / "train.py").write_text(program.replace("{frozen}", frozen or "pass"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert [one["code"] for one in check()["findings"] if one["code"] == "PT247"] == ["PT247"] * wrong
