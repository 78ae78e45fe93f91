"""Splits of data that every process of a job draws for itself, in hooks and in functions that are named like one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

LIGHTNING = """
import os
import lightning as L
import torch
from torch.utils.data import random_split


class Data(L.LightningDataModule):
    def {hook}(self, stage=None):
        self.fit, self.kept = random_split(list(range(60)), [48, 12])


L.seed_everything(7 + int(os.environ["LOCAL_RANK"]))
L.Trainer(devices=2, strategy="{strategy}").fit(L.LightningModule(), datamodule=Data())
"""
PLAIN = """
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, random_split


def prepare_data():
    return random_split(list(range(60)), [48, 12])


dist.init_process_group("gloo")
torch.manual_seed(7 + dist.get_rank())
fit, kept = prepare_data()
loader = DataLoader(fit, sampler=DistributedSampler(fit))
"""


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        (LIGHTNING.format(hook="setup", strategy="ddp"), True),
        (LIGHTNING.format(hook="prepare_data", strategy="ddp"), False),  # one process alone calls it
        (LIGHTNING.format(hook="setup", strategy="auto").replace("devices=2", "devices=1"), False),
        (PLAIN, True),
    ],
)
def test_splits(text: str, is_found: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    assert ("PT252" in [one["code"] for one in check("--select", "PT252")["findings"]]) is is_found
