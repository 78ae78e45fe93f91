"""Optimizers that were made before their model was sharded: given the sharded parameters by hand, which is right, or not (PT201)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

CODE = """
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

{helper}


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(64, 8), torch.randn(64, 1))
    loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data))
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    names = [name for name, _ in model.named_parameters()]
    for layer in model:
        if isinstance(layer, nn.Linear):
            fully_shard(layer)
    fully_shard(model)
{then}
    for x, y in loader:
        optimizer.zero_grad()
        (model(x) - y).pow(2).mean().backward()
        optimizer.step()
    dist.destroy_process_group()


main()
"""
REGROUPED = {
    "zip": (
        """

""",
        """
    sharded = dict(model.named_parameters())
    for group, members in zip(optimizer.param_groups, [names]):
        group["params"] = [sharded[n] for n in members]
    optimizer.state.clear()
""",
    ),
    "zip-helper": (
        """
def moved(optimizer, model, names):
    sharded = dict(model.named_parameters())
    for group, members in zip(optimizer.param_groups, [names]):
        group["params"] = [sharded[n] for n in members]
""",
        """
    moved(optimizer, model, names)
""",
    ),
    "plain": (
        """

""",
        """
    for group in optimizer.param_groups:
        group["params"] = list(model.parameters())
""",
    ),
    "enumerate": (
        """

""",
        """
    layout = [list(model.parameters())]
    for i, group in enumerate(optimizer.param_groups):
        group["params"] = layout[i]
""",
    ),
    "index": (
        """

""",
        """
    optimizer.param_groups[0]["params"] = list(model.parameters())
""",
    ),
    "index-slice": (
        """

""",
        """
    optimizer.param_groups[0]["params"][:] = model.parameters()
""",
    ),
    "name": (
        """

""",
        """
    group = optimizer.param_groups[0]
    group["params"] = list(model.parameters())
""",
    ),
    "unpacked": (
        """

""",
        """
    (group,) = optimizer.param_groups
    group["params"] = list(model.parameters())
""",
    ),
    "clear-add": (
        """

""",
        """
    optimizer.param_groups.clear()
    optimizer.add_param_group({"params": list(model.parameters())})
""",
    ),
    "update": (
        """

""",
        """
    groups = optimizer.param_groups
    for group in groups:
        group.update(params=list(model.parameters()))
""",
    ),
    "update-helper": (
        """
def moved(optimizer, model, names):
    optimizer.param_groups[0].update({"params": list(model.parameters())})
""",
        """
    moved(optimizer, model, names)
""",
    ),
    "init": (
        """

""",
        """
    optimizer.__init__(model.parameters(), lr=0.1)
""",
    ),
    "clear-extend": (
        """

""",
        """
    for group in optimizer.param_groups:
        group["params"].clear()
        group["params"].extend(model.parameters())
""",
    ),
    "items": (
        """
def moved(optimizer, model, names):
    fresh = iter(list(model.parameters()))
    for group in optimizer.param_groups:
        for i in range(len(group["params"])):
            group["params"][i] = next(fresh)
""",
        """
    moved(optimizer, model, names)
""",
    ),
    "store": (
        """

""",
        """
    optimizer.param_groups = [{**optimizer.param_groups[0], "params": list(model.parameters())}]
""",
    ),
    "range": (
        """

""",
        """
    for i in range(len(optimizer.param_groups)):
        optimizer.param_groups[i]["params"] = list(model.parameters())
""",
    ),
    "union": (
        """

""",
        """
    optimizer.param_groups[0] |= {"params": list(model.parameters())}
""",
    ),
    "pop-helper": (
        """
def moved(optimizer, model, names):
    old = optimizer.param_groups.pop()
    optimizer.add_param_group({**old, "params": list(model.parameters())})
""",
        """
    moved(optimizer, model, names)
""",
    ),
    "group-helper": (
        """
def fill(group, model):
    group["params"] = list(model.parameters())
""",
        """
    for group in optimizer.param_groups:
        fill(group, model)
""",
    ),
    "next": (
        """

""",
        """
    group = next(iter(optimizer.param_groups))
    group["params"] = list(model.parameters())
""",
    ),
    "made-anew": (
        """

""",
        """
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
""",
    ),
}
OTHERWISE = {
    "nothing": (
        """

""",
        """
    print(names)
""",
    ),
    "rate": (
        """

""",
        """
    for group in optimizer.param_groups:
        group["lr"] = 0.01
""",
    ),
    "rates": (
        """

""",
        """
    for group, rate in zip(optimizer.param_groups, [0.01]):
        group["lr"] = rate
""",
    ),
    "state": (
        """

""",
        """
    optimizer.state.clear()
""",
    ),
    "looked": (
        """

""",
        """
    print(len(optimizer.param_groups[0]["params"]))
""",
    ),
    "zip-read": (
        """

""",
        """
    for group, members in zip(optimizer.param_groups, [names]):
        print(len(group["params"]), members)
""",
    ),
    "copies": (
        """

""",
        """
    kept = [list(group["params"]) for group in optimizer.param_groups]
    kept[0].clear()
""",
    ),
}


def _is_found(parts: tuple[str, str], folder: Path, patch: pytest.MonkeyPatch) -> bool:
    patch.chdir(folder)
    (folder / "train.py").write_text(CODE.replace("{helper}", parts[0]).replace("{then}", parts[1]))
    return any(finding["code"] == "PT201" for finding in check()["findings"])


@pytest.mark.parametrize("name", REGROUPED)
def test_groups_get_the_sharded_parameters(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not _is_found(REGROUPED[name], tmp_path, monkeypatch)


@pytest.mark.parametrize("name", OTHERWISE)
def test_groups_keep_what_they_hold(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _is_found(OTHERWISE[name], tmp_path, monkeypatch)
