"""Models that are thawed piece by piece: wrapped anew each time, which is right, or not (PT286)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

CODE = """
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = {body}
        self.head = nn.Linear(8, 1)

    def forward(self, x):
        for block in self.body:
            x = block(x)
        return self.head(x)


class Schedule:
    def __init__(self, net):
        self.net = net
{closed}
        for block in self.closed:
            block.requires_grad_(False)

    def advance(self, epoch, optimizer):
        if epoch < 1 or not self.closed:
            return False
{opened}
        block.requires_grad_(True)
        optimizer.add_param_group({"params": list(block.parameters())})
        return True


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(64, 8), torch.randn(64, 1))
    loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data))
    net = Net()
    schedule = Schedule(net)
    optimizer = torch.optim.SGD(net.head.parameters(), lr=0.1)
    model = DistributedDataParallel(net)
    for epoch in range(4):
        loader.sampler.set_epoch(epoch)
{advance}
        for x, y in loader:
            optimizer.zero_grad()
            (model(x) - y).pow(2).mean().backward()
            optimizer.step()
    dist.destroy_process_group()


main()
"""
LIST = "nn.ModuleList([nn.Linear(8, 8) for _ in range(3)])"
SEQUENCE = "nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8))"
CASES = {
    "a list of the blocks": (LIST, "list(net.body)", "self.closed.pop()"),
    "a comprehension": (LIST, "[block for block in net.body]", "self.closed.pop(0)"),
    "turned round": (LIST, "list(reversed(net.body))", "self.closed.pop(0)"),
    "a slice": (LIST, "list(net.body[:2])", "self.closed.pop()"),
    "unpacked": (SEQUENCE, "[*net.body]", "self.closed.pop()"),
    "the children": (SEQUENCE, "list(net.body.children())", "self.closed.pop()"),
    "in a tuple": (LIST, "tuple(net.body)", "self.closed[-1]\n        self.closed = self.closed[:-1]"),
    "a queue": (LIST, "deque(net.body)", "self.closed.popleft()"),
    "several lists": (LIST, "sum(([block] for block in net.body), [])", "self.closed.pop()"),
}
ANEW = {
    "told by the schedule": "        if schedule.advance(epoch, optimizer):\n            model = DistributedDataParallel(net)\n",
    "told and stored": (
        "        opened = schedule.advance(epoch, optimizer)\n        if opened:\n            del model\n"
        "            model = DistributedDataParallel(net)\n"
    ),
    "in each epoch": "        schedule.advance(epoch, optimizer)\n        model = DistributedDataParallel(net)\n",
    "out of the old wrapper": (
        "        if schedule.advance(epoch, optimizer):\n            model = DistributedDataParallel(model.module)\n"
    ),
}
NOT_ANEW = {
    "nothing": "        schedule.advance(epoch, optimizer)\n",
    "only told of": "        if schedule.advance(epoch, optimizer):\n            print('opened')\n",
    "only a new mode": "        if schedule.advance(epoch, optimizer):\n            model.train()\n",
}


def _is_found(case: str, advance: str, folder: Path, patch: pytest.MonkeyPatch) -> bool:
    body, closed, opened = CASES[case]
    words = {"{body}": body, "{closed}": f"        self.closed = {closed}", "{opened}": f"        block = {opened}"}
    code = CODE.replace("import torch\n", "from collections import deque\n\nimport torch\n", 1)
    for word, text in {**words, "{advance}": advance}.items():
        code = code.replace(word, text)
    patch.chdir(folder)
    (folder / "train.py").write_text(code)
    return any(finding["code"] == "PT286" for finding in check()["findings"])


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("anew", ANEW)
def test_it_is_wrapped_anew(case: str, anew: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not _is_found(case, ANEW[anew], tmp_path, monkeypatch)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("otherwise", NOT_ANEW)
def test_it_keeps_its_wrapper(case: str, otherwise: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _is_found(case, NOT_ANEW[otherwise], tmp_path, monkeypatch)
