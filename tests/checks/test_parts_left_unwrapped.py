"""Models of which some parts are wrapped, and layers of theirs that nobody cares for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.up = nn.Linear(dim, 2 * dim)
        self.down = nn.Linear(2 * dim, dim)

    def forward(self, x):
        return x + self.down(F.relu(self.up(self.norm(x))))


class Model(nn.Module):
    def __init__(self, dim=16, depth=2):
        super().__init__()
        self.embed = nn.Embedding(16, dim)
        self.layers = nn.ModuleList(Block(dim) for _ in range(depth))
        self.head = nn.Linear(dim, 16)

    def forward(self, x):
        h = self.embed(x)
        for layer in self.layers:
            h = layer(h)
        return self.head(h)


class Bare(nn.Module):
    def __init__(self, dim=16, depth=2):
        super().__init__()
        {own}
        self.layers = nn.ModuleList([Block(dim) for _ in range(depth)])

    def forward(self, x):
        h = F.one_hot(x, 16).float() {plus}
        for layer in self.layers:
            h = layer(h)
        return h


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone, self.head = Bare(), nn.Linear(16, 16)

    def forward(self, x):
        return self.head(self.backbone(x))


def blocks(model, world):
    mesh = init_device_mesh("cpu", (world,))
    last = len(model.layers) - 1
    for number, layer in enumerate(model.layers):
        fully_shard(layer, mesh=mesh, reshard_after_forward=number < last)
    return model


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = {kind}()
    {wrap}
    optimizer = torch.optim.AdamW({held}, lr=1e-3)
    drawn = torch.Generator().manual_seed(100 + dist.get_rank())
    for step in range(5):
        x = torch.randint(0, 16, (4, 9), generator=drawn)
        loss = F.cross_entropy(model(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())
        loss.backward()
        {between}
        optimizer.step()
        optimizer.zero_grad()
    dist.destroy_process_group()


main()
"""
EACH = "for layer in model.layers: fully_shard(layer)"
KIND = "for one in model.modules():\n        if isinstance(one, Block): fully_shard(one)"
ALL_BACKWARDS = (
    "for one in reversed(list(model.modules())):\n        if isinstance(one, (Block, Model)): fully_shard(one)"
)
FROZEN = "for one in (model.embed, model.head):\n        for p in one.parameters(): p.requires_grad = False\n    "
SUMMED = (
    "for p in [*model.embed.parameters(), *model.head.parameters()]:\n"
    "            dist.all_reduce(p.grad)\n"
    "            p.grad /= dist.get_world_size()"
)
IN_LIST = "for i in range(2): model.layers[i] = DistributedDataParallel(model.layers[i])"
REST = "model.embed = DistributedDataParallel(model.embed); model.head = DistributedDataParallel(model.head)\n    "


@pytest.mark.parametrize(
    ("kind", "wrap", "more", "wrong"),
    [
        ("Model", EACH, {}, True),
        ("Model", "model = blocks(model, dist.get_world_size())", {}, True),
        ("Model", KIND, {}, True),
        ("Model", "for _, layer in model.layers.named_children(): fully_shard(layer)", {}, True),
        ("Model", "for i in range(len(model.layers)): fully_shard(model.layers[i])", {}, True),
        ("Model", "fully_shard(model.embed); " + "[fully_shard(layer) for layer in model.layers]", {}, True),
        ("Model", "fully_shard([model.embed, model.head])", {}, True),
        ("Model", EACH, {"held": "[p for p in model.parameters() if p.requires_grad]"}, True),
        ("Bare", EACH, {"own": "self.pos = nn.Parameter(torch.zeros(8, dim))", "plus": "+ self.pos"}, True),
        ("Classifier", "model.backbone = DistributedDataParallel(model.backbone)", {}, True),
        ("Model", IN_LIST, {}, True),
        ("Model", f"{EACH}\n    fully_shard(model)", {}, False),
        ("Model", "fully_shard(blocks(model, dist.get_world_size()))", {}, False),
        ("Model", f"{KIND}\n    fully_shard(model)", {}, False),
        ("Model", ALL_BACKWARDS, {}, False),
        ("Model", f"fully_shard([model.embed, model.head])\n    {EACH}", {}, False),
        ("Bare", EACH, {}, False),
        ("Model", FROZEN + EACH, {}, False),
        ("Model", EACH, {"between": SUMMED}, False),
        ("Model", EACH, {"held": "model.layers.parameters()"}, False),
        ("Model", EACH, {"held": '[{"params": layer.parameters()} for layer in model.layers]'}, False),
        ("Model", REST + IN_LIST, {}, False),
    ],
)
def test_parts_left_unwrapped(
    kind: str, wrap: str, more: dict[str, str], wrong: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = PROGRAM
    words = {"kind": kind, "wrap": wrap, "held": "model.parameters()", "between": "", "own": "", "plus": "", **more}
    for name, word in words.items():
        text = text.replace("{" + name + "}", word)
    (tmp_path / "train.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    assert {finding["code"] for finding in check()["findings"]} == ({"PT296"} if wrong else set())
