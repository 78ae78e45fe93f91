"""Models that are frozen, saved, handed on and sent about: what the rehearsal shows of programs unlike the fixtures."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

HEAD = """\
import sys
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))


def trained(model):
    opt = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.ones(8, 4)).mean().backward()
        opt.step()


def heads(names):
    return nn.ModuleDict({name: nn.Linear(4, 1) for name in names})

"""
TAIL = """
dist.barrier()
dist.destroy_process_group()
"""

BAD = {
    "frozen by a keyword": (
        "PT292",
        """
model = DDP(net)
for p in net[0].parameters():
    p.requires_grad_(requires_grad=False)
trained(model)
""",
    ),
    "frozen by the beginning of a name": (
        "PT292",
        """
model = DDP(net)
for name, p in model.module.named_parameters():
    if name.startswith("0."):
        p.requires_grad = False
trained(model)
""",
    ),
    "views of some of a dictionary of modules": (
        "PT289",
        """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = heads(["a", "b"])

    def forward(self, x):
        return sum(head(x) for name, head in self.heads.items() if name != "b")

trained(DDP(Net()))
""",
    ),
    "saved by a helper that is handed the state": (
        "PT280",
        """
def keep(state, path):
    if rank == 0:
        torch.save(state, path)

model = DDP(net)
trained(model)
keep({"model": model.state_dict()}, "last.pt")
dist.barrier()
net.load_state_dict(torch.load("last.pt")["model"])
""",
    ),
    "operations under way in rows of a list": (
        "PT526",
        """
def started(pieces):
    rows = []
    for piece in pieces:
        rows.append((piece, dist.all_reduce(piece, async_op=True)))
    return rows

pieces = [torch.ones(2) * i for i in range(len(sys.argv) + 2)]
rows = started(pieces)
print(sum(piece.sum().item() for piece, _ in rows))
""",
    ),
    "a size by what each rank drew": (
        "PT708",
        """
torch.manual_seed(rank)
mask = torch.rand(64) > 0.5
model = DDP(nn.Linear(int(mask.sum()), 1))
""",
    ),
}
GOOD = {
    "frozen by a flag that is not known": (
        "PT292",
        """
model = DDP(net)
for p in net.parameters():
    p.requires_grad_(len(sys.argv) < 5)
trained(model)
""",
    ),
    "frozen and thawed again": (
        "PT292",
        """
model = DDP(net)
for p in net[0].parameters():
    p.requires_grad_(False)
trained(nn.Linear(4, 1))
for p in net[0].parameters():
    p.requires_grad_(True)
trained(model)
""",
    ),
    "frozen by a name that no parameter has": (
        "PT292",
        """
model = DDP(net)
for name, p in model.module.named_parameters():
    if name.startswith("backbone."):
        p.requires_grad = False
trained(model)
""",
    ),
    "views of all of a dictionary of modules": (
        "PT289",
        """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = heads(["a", "b"])

    def forward(self, x):
        return sum(head(x) for head in self.heads.values())

trained(DDP(Net()))
""",
    ),
    "saved by a helper that is handed the state of the module": (
        "PT280",
        """
def keep(state, path):
    if rank == 0:
        torch.save(state, path)

model = DDP(net)
trained(model)
keep({"model": model.module.state_dict()}, "last.pt")
dist.barrier()
net.load_state_dict(torch.load("last.pt")["model"])
""",
    ),
    "operations in rows of a list that are waited for": (
        "PT526",
        """
pieces = [torch.ones(2) * i for i in range(len(sys.argv) + 2)]
rows = []
for piece in pieces:
    rows.append((piece, dist.all_reduce(piece, async_op=True)))
for piece, work in rows:
    work.wait()
    print(piece.sum().item())
""",
    ),
    "a size by what all drew": (
        "PT708",
        """
mask = torch.rand(64) > 0.5
model = DDP(nn.Linear(int(mask.sum()), 1))
""",
    ),
}


def codes(folder: Path, body: str, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The codes that are found in a program."""
    (folder / "train.py").write_text(HEAD + body + TAIL)
    monkeypatch.chdir(folder)
    return {finding["code"] for finding in check()["findings"]}


@pytest.mark.parametrize("name", BAD, ids=str)
def test_a_fault_of_a_model_is_found(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, body = BAD[name]
    assert code in codes(tmp_path, body, monkeypatch)


@pytest.mark.parametrize("name", GOOD, ids=str)
def test_models_that_are_right_are_left_alone(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, body = GOOD[name]
    assert code not in codes(tmp_path, body, monkeypatch)
