"""Parameters that are trained from some epoch on, which only the command line or a file tells."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
import sys
import torch
import torch.distributed as dist
import yaml
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body, self.head = nn.Sequential(nn.Linear(4, width), nn.ReLU()), nn.Linear(width, 2)

    def forward(self, x):
        return self.head(self.body(x))

    def tune(self, wanted):
        for weight in self.body.parameters():
            weight.requires_grad = wanted


def wrapped(net, device):
    return DistributedDataParallel(net, device_ids=[device.index] if device.type == "cuda" else None)


def train(model, optimizer):
    generator = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(4):
        loss = model(torch.randn(4, 4, generator=generator)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def main(settings):
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    net = Net(settings["width"]).to(device)
    {frozen}
    model = wrapped(net, device)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(settings["epochs"]):
        if epoch == settings["frozen_epochs"]:
            {then}
        train(model, optimizer)


with open(sys.argv[1]) as file:
    main(yaml.safe_load(file))
"""


@pytest.mark.parametrize(
    ("frozen", "then", "expected"),
    [
        ("net.tune(False)", "net.tune(True)", ["PT286"]),
        ("net.tune(False)", "net.tune(True); model = wrapped(net, device)", []),
        ("pass", "net.tune(True)", []),
        ("net.tune(False)", "print('half of it')", []),
    ],
)
def test_weights_trained_from_some_epoch_on(
    frozen: str, then: str, expected: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wrapper averages the gradients of what needed one when it was made, in whichever epoch others follow."""
    (tmp_path / "train.py").write_text(PROGRAM.format(frozen=frozen, then=then))
    monkeypatch.chdir(tmp_path)
    assert [finding["code"] for finding in check()["findings"]] == expected
