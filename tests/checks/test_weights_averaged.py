"""Models that each rank trains alone and whose weights are averaged now and then (local SGD), beside those of which nothing is (PT235)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

CODE = """
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

{helper}


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(64, 30), torch.randn(64, 1))
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=8, sampler=sampler)
    model = nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Linear(64, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for i, (x, y) in enumerate(loader):
            opt.zero_grad()
            loss = (model(x) - y).pow(2).mean()
            loss.backward()
            opt.step()
            if (i + 1) % 2 == 0:
                together(model)
    dist.destroy_process_group()


main()
"""
AVERAGED = {
    "a vector": """
@torch.no_grad()
def together(model):
    flat = parameters_to_vector(model.parameters())
    dist.all_reduce(flat)
    vector_to_parameters(flat / dist.get_world_size(), model.parameters())
""",
    "joined by hand": """
@torch.no_grad()
def together(model):
    flat = torch.cat([p.data.reshape(-1) for p in model.parameters()])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    at = 0
    for p in model.parameters():
        p.copy_(flat[at : at + p.numel()].view_as(p))
        at += p.numel()
""",
    "copies": """
@torch.no_grad()
def together(model):
    for p in model.parameters():
        mean = p.detach().clone()
        dist.all_reduce(mean)
        p.copy_(mean / dist.get_world_size())
""",
    "in place": """
def together(model):
    for p in model.parameters():
        dist.all_reduce(p.data)
        p.data /= dist.get_world_size()
""",
    "stored as data": """
def together(model):
    for p in model.parameters():
        mean = p.data / dist.get_world_size()
        dist.all_reduce(mean)
        p.data = mean
""",
    "tensors of a state": """
def together(model):
    state = model.state_dict()
    for value in state.values():
        dist.all_reduce(value)
        value /= dist.get_world_size()
""",
    "a state that is loaded": """
def together(model):
    state = {k: v.clone() for k, v in model.state_dict().items()}
    for k in state:
        dist.all_reduce(state[k])
        state[k] = state[k] / dist.get_world_size()
    model.load_state_dict(state)
""",
    "flat tensors": """
from torch._utils import _flatten_dense_tensors, _unflatten_dense_tensors


def together(model):
    held = [p.data for p in model.parameters()]
    flat = _flatten_dense_tensors(held)
    dist.all_reduce(flat)
    flat.div_(dist.get_world_size())
    for p, new in zip(held, _unflatten_dense_tensors(flat, held)):
        p.copy_(new)
""",
    "gathered vectors": """
@torch.no_grad()
def together(model):
    flat = parameters_to_vector(model.parameters())
    rows = [torch.empty_like(flat) for _ in range(dist.get_world_size())]
    dist.all_gather(rows, flat)
    vector_to_parameters(torch.stack(rows).mean(0), model.parameters())
""",
    "an averager of the library": """
import torch.distributed.algorithms.model_averaging.averagers as averagers

HELD = averagers.PeriodicModelAverager(period=1)


def together(model):
    HELD.average_parameters(model.parameters())
""",
    "states as objects": """
def together(model):
    states = [None] * dist.get_world_size()
    dist.all_gather_object(states, model.state_dict())
    model.load_state_dict({k: sum(one[k] for one in states) / len(states) for k in states[0]})
""",
    "reduced and sent": """
@torch.no_grad()
def together(model):
    flat = parameters_to_vector(model.parameters())
    dist.reduce(flat, dst=0)
    flat /= dist.get_world_size()
    dist.broadcast(flat, src=0)
    vector_to_parameters(flat, model.parameters())
""",
    "differences": """
START = {}


@torch.no_grad()
def together(model):
    for name, p in model.named_parameters():
        before = START.setdefault(name, torch.zeros_like(p))
        delta = p - before
        dist.all_reduce(delta)
        before.add_(delta, alpha=1 / dist.get_world_size())
        p.copy_(before)
""",
    "an object that begins and ends": """
class Averager:
    def __init__(self):
        self.flat = self.work = None

    def start(self, model):
        self.flat = parameters_to_vector(model.parameters()).detach().clone()
        self.work = dist.all_reduce(self.flat, async_op=True)

    @torch.no_grad()
    def finish(self, model):
        self.work.wait()
        self.flat.div_(dist.get_world_size())
        vector_to_parameters(self.flat, model.parameters())


HELD = Averager()


def together(model):
    HELD.start(model)
    HELD.finish(model)
""",
}
APART = {
    "nothing": """
def together(model):
    print(sum(p.numel() for p in model.parameters()))
""",
    "a norm is summed up": """
def together(model):
    norm = parameters_to_vector(model.parameters()).norm()
    dist.all_reduce(norm)
    print(norm.item())
""",
    "each rank keeps an average of its own": """
KEPT = {}


@torch.no_grad()
def together(model):
    for name, p in model.named_parameters():
        KEPT.setdefault(name, p.clone()).lerp_(p, 0.1)
""",
    "a digest is compared": """
def together(model):
    digest = torch.stack([p.detach().double().sum() for p in model.parameters()]).sum()
    low = digest.clone()
    dist.all_reduce(low, op=dist.ReduceOp.MIN)
    print(low.item())
""",
    "weights are clamped": """
@torch.no_grad()
def together(model):
    for p in model.parameters():
        p.clamp_(-1, 1)
""",
    "outputs are summed up": """
@torch.no_grad()
def together(model):
    shown = model(torch.ones(64, 30))
    dist.all_reduce(shown)
    print(shown.mean().item())
""",
}


def _is_found(helper: str, folder: Path, patch: pytest.MonkeyPatch) -> bool:
    patch.chdir(folder)
    (folder / "train.py").write_text(CODE.replace("{helper}", helper))
    return any(finding["code"] == "PT235" for finding in check()["findings"])


@pytest.mark.parametrize("name", AVERAGED)
def test_weights_are_averaged(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not _is_found(AVERAGED[name], tmp_path, monkeypatch)


@pytest.mark.parametrize("name", APART)
def test_each_rank_trains_alone(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _is_found(APART[name], tmp_path, monkeypatch)
