"""Layers of a model under ZeRO stage 3, whose parameters all processes fetch together each time that one is used."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
import deepspeed
import torch
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

CONFIG = {{
    "train_micro_batch_size_per_gpu": 4,
    "optimizer": {{"type": "AdamW", "params": {{"lr": 1e-3}}}},
    "zero_optimization": {{"stage": {stage}, {more}}},
}}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.base = nn.Linear(8, 8)
        self.extra = nn.Linear(8, {width})
        self.head = nn.Linear(8, 1)

    def forward(self, values, marks):
        found = self.base(values)
        if {test}:
            found = found + self.extra(values).mean()
        return self.head(found).square().mean()


def main():
    deepspeed.init_distributed("gloo")
    data = TensorDataset(torch.randn(64, 8), (torch.rand(64) < 0.1).float())
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=4, sampler=sampler)
    net = Net()
    engine, _, _, _ = deepspeed.initialize(model=net, model_parameters=net.parameters(), config=CONFIG)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for values, marks in loader:
            loss = engine(values, marks)
            engine.backward(loss)
            engine.step()


main()
"""
ALL = '"stage3_param_persistence_threshold": 0'
OWN = "marks.any()"


@pytest.mark.parametrize(
    ("stage", "more", "width", "test", "expected"),
    [
        (3, ALL, 8, OWN, ["PT503"]),
        (3, "", 40_000, OWN, ["PT503"]),
        (3, "", 8, OWN, ["PT503"]),  # its gradient is reduced on some ranks only
        (2, "", 8, OWN, []),
        (2, ALL, 8, OWN, []),
        (3, ALL, 8, "self.training", []),
    ],
)
def test_a_layer_that_only_some_batches_use(
    stage: int,
    more: str,
    width: int,
    test: str,
    expected: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Small parameters stay whole between the steps, but their gradients are reduced by all ranks; under stage 2 all parameters stay so."""
    text = PROGRAM.format(stage=stage, more=more, width=width, test=test)
    (tmp_path / "train.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    assert [finding["code"] for finding in check()["findings"] if finding["code"].startswith("PT")] == expected


SMALL = """
import deepspeed
import torch
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

CONFIG = {{
    "train_micro_batch_size_per_gpu": 4,
    "optimizer": {{"type": "AdamW", "params": {{"lr": 1e-3}}}},
    "zero_optimization": {{"stage": 3}},
}}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.base = nn.Linear(8, 8)
        self.extra = nn.Linear(8, 8)

    def forward(self, values, marks):
        found = self.base(values)
        {used}
        return found.square().mean()


def main():
    deepspeed.init_distributed("gloo")
    data = TensorDataset(torch.randn(64, 8), (torch.rand(64) < 0.1).float())
    loader = DataLoader(data, batch_size=4, sampler=DistributedSampler(data, shuffle=False))
    net = Net()
    {changed}
    engine, _, _, _ = deepspeed.initialize(model=net, model_parameters=net.parameters(), config=CONFIG)
    for values, marks in loader:
        {step}


main()
"""
USED = "if marks.any():\n            found = found + self.extra(values)"
STEP = "loss = engine(values, marks)\n        engine.backward(loss)\n        engine.step()"
SILENT = "with torch.no_grad():\n            print(engine(values, marks))"


@pytest.mark.parametrize(
    ("used", "changed", "step", "expected"),
    [
        (USED, "pass", STEP, ["PT503"]),
        ("if values.mean() > 0:\n            found = self.extra(found)", "pass", STEP, ["PT503"]),
        ("found = found + self.extra(values) * marks.any()", "pass", STEP, []),
        (USED, "net.extra.requires_grad_(False)", STEP, []),
        (USED, "pass", SILENT, []),
        ("if len(values) > 2:\n            found = self.extra(found)", "pass", STEP, []),
    ],
)
def test_gradients_of_a_small_layer_that_only_some_batches_use(
    used: str, changed: str, step: str, expected: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They count where the layer is trained."""
    (tmp_path / "train.py").write_text(SMALL.format(used=used, changed=changed, step=step))
    monkeypatch.chdir(tmp_path)
    assert [finding["code"] for finding in check()["findings"] if finding["code"].startswith("PT")] == expected


IN_FILE = """
import argparse
import deepspeed
import torch
import torch.distributed as dist
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--deepspeed_config", default="ds.json")
args = parser.parse_args()
deepspeed.init_distributed("gloo")
engine, *_ = deepspeed.initialize(model=nn.Linear(8, 8), {given})
rows = torch.ones(2, 8)
for _ in range(9):
    rows = engine(rows)
    if torch.rand(1).item() > dist.get_rank():
        break
dist.barrier()
"""


@pytest.mark.parametrize(
    ("given", "stage", "found"),
    [
        ('config="ds.json"', 3, True),
        ('config_params="ds.json"', 3, True),
        ("config=args.deepspeed_config", 3, True),
        ("args=args", 3, True),
        ('config="ds.json"', 2, False),
        ("args=args", 2, False),
        ('config="other.json"', 3, False),
    ],
)
def test_the_configuration_is_the_file_that_the_engine_reads(
    given: str, stage: int, found: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A path in the call, or in the options that it is handed; of a file that is not there nothing is known."""
    settings = {"stage": stage, "stage3_param_persistence_threshold": 0}
    text = json.dumps({"train_micro_batch_size_per_gpu": 2, "zero_optimization": settings})
    (tmp_path / "ds.json").write_text(text)
    (tmp_path / "train.py").write_text(IN_FILE.format(given=given))
    monkeypatch.chdir(tmp_path)
    assert any(finding["code"] in ("DS502", "PT501", "PT503") for finding in check()["findings"]) is found
