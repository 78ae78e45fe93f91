"""Modules and parameters that are trained beside wrapped or prepared models, and those that only look so."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

HEAD = """
import itertools
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from accelerate import Accelerator
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

class Body(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 6))
    def forward(self, x):
        return self.net(x)

class Centres(nn.Module):
    def __init__(self, number, size):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(number, size))
    def forward(self, found, wanted):
        return F.cross_entropy(F.linear(F.normalize(found), F.normalize(self.weight)), wanted)

class Both(nn.Module):
    def __init__(self, body, other):
        super().__init__()
        self.body, self.other = body, other
    def forward(self, x, y):
        return self.other(self.body(x), y)
"""
PREPARED = (
    HEAD
    + """
def main():
    accelerator = Accelerator()
    data = TensorDataset(torch.randn(64, 8), torch.randint(0, 4, (64,)))
    loader = DataLoader(data, batch_size=8, shuffle=True)
    model = Body()
    {made}
    {opt}
    {prep}
    for x, y in loader:
        optimizer.zero_grad()
        {loss}
        accelerator.backward(loss)
        {after}
        optimizer.step()
        {end}

main()
"""
)
WRAPPED = (
    HEAD
    + """
def main():
    dist.init_process_group("gloo")
    data = TensorDataset(torch.randn(64, 8), torch.randint(0, 4, (64,)))
    loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data))
    model = Body()
    {made}
    {opt}
    {prep}
    for x, y in loader:
        optimizer.zero_grad()
        {loss}
        loss.backward()
        {after}
        optimizer.step()
        {end}
    dist.destroy_process_group()

main()
"""
)
PLAIN = {
    "made": "other = Centres(4, 6)",
    "opt": "optimizer = torch.optim.SGD([{'params': model.parameters()}, {'params': other.parameters()}], lr=0.1)",
    "loss": "loss = other(model(x), y)",
    "after": "pass",
    "end": "pass",
}
ONE = {
    True: "model, optimizer, loader = accelerator.prepare(model, optimizer, loader)",
    False: "model = DistributedDataParallel(model)",
}
SCALE = {
    "made": "scale = nn.Parameter(torch.tensor(1.0))",
    "opt": "optimizer = torch.optim.SGD([*model.parameters(), scale], lr=0.1)",
    "loss": "loss = F.cross_entropy(model(x) * scale.exp(), y)",
}
BAD = {
    "groups": {},
    "chain": {"opt": "optimizer = torch.optim.SGD(itertools.chain(model.parameters(), other.parameters()), lr=0.1)"},
    "filtered": {
        "opt": "both = list(model.parameters()) + list(other.parameters())\n"
        "    optimizer = torch.optim.SGD([p for p in both if p.requires_grad], lr=0.1)"
    },
    "second-optimizer": {
        "opt": "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "    second = torch.optim.SGD(other.parameters(), lr=0.1)",
        "end": "second.step()",
    },
    "group-added": {
        "opt": "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "    optimizer.add_param_group({'params': other.parameters()})"
    },
    "scale": SCALE,
    "directions": {
        **SCALE,
        "made": "scale = nn.Parameter(torch.randn(4, 6))",
        "loss": "loss = F.cross_entropy(F.linear(model(x), scale), y)",
    },
}
GOOD = {
    "frozen": {"made": "other = Centres(4, 6)\n    other.requires_grad_(False)"},
    "not-held": {"opt": "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)"},
    "fixed-parameter": {**SCALE, "made": "scale = nn.Parameter(torch.tensor(1.0), requires_grad=False)"},
    "without-gradient": {
        **SCALE,
        "loss": "with torch.no_grad():\n            factor = scale.exp()\n        loss = F.cross_entropy(model(x) * factor, y)",
    },
    "put-into-the-model": {**SCALE, "made": "scale = nn.Parameter(torch.tensor(1.0))\n    model.scale = scale"},
}
OWN_GOOD = {
    True: {
        "all": {"prep": "model, other, optimizer, loader = accelerator.prepare(model, other, optimizer, loader)"},
        "starred": {
            "prep": "nets = [model, other]\n"
            "    model, other, optimizer, loader = accelerator.prepare(*nets, optimizer, loader)"
        },
        "child": {
            "prep": "both, optimizer, loader = accelerator.prepare(Both(model, other), optimizer, loader)",
            "loss": "loss = both(x, y)",
        },
        "gradients-by-hand": {
            "after": "for p in other.parameters():\n            p.grad = accelerator.reduce(p.grad, reduction='mean')"
        },
        "weights-by-hand": {
            "end": "for p in other.parameters():\n            p.data = accelerator.reduce(p.data, reduction='mean')"
        },
    },
    False: {
        "all": {"prep": "model, other = DistributedDataParallel(model), DistributedDataParallel(other)"},
        "child": {"prep": "both = DistributedDataParallel(Both(model, other))", "loss": "loss = both(x, y)"},
        "gradients-by-hand": {
            "after": "for p in other.parameters():\n            dist.all_reduce(p.grad, op=dist.ReduceOp.AVG)"
        },
        "weights-by-hand": {
            "end": "for p in other.parameters():\n            dist.all_reduce(p.data, op=dist.ReduceOp.AVG)"
        },
    },
}


@pytest.mark.parametrize(
    ("prepared", "parts", "told"),
    [
        pytest.param(prepared, parts, told, id=f"{'prepared' if prepared else 'wrapped'}-{name}")
        for prepared in (True, False)
        for told, cases in ((True, BAD), (False, {**GOOD, **OWN_GOOD[prepared]}))
        for name, parts in cases.items()
    ],
)
def test_parts_beside_are_told(
    prepared: bool, parts: dict[str, str], told: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (PREPARED if prepared else WRAPPED).format(**{**PLAIN, "prep": ONE[prepared], **parts})
    (tmp_path / "train.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    rule = "HF209" if prepared else "PT296"
    assert [finding["code"] for finding in check()["findings"]] == ([rule] if told else [])
