"""Values that one process alone logs, and that something of all of them asks for (PT233)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
import lightning as L
import torch
from lightning.pytorch.callbacks import Callback, EarlyStopping, ModelCheckpoint
from elsewhere import data


class Seen(Callback):
    def on_validation_epoch_end(self, trainer, pl_module):
        {beside}


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(4, 1)

    def training_step(self, batch, batch_idx):
        return self.net(batch).mean()

    def on_validation_epoch_end(self):
        acc = self.all_gather(torch.ones(1)).mean()
        {log}

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=0.1)


def main():
    trainer = L.Trainer(devices=4, strategy="ddp", callbacks=[{callback}, Seen()])
    trainer.fit(Net(), data)


main()
"""
KEEP = 'ModelCheckpoint(monitor="acc", mode="max")'
ONE = 'if self.trainer.is_global_zero:\n            self.log("acc", acc{})'


@pytest.mark.parametrize(
    ("log", "callback", "beside", "said"),
    [
        (ONE.format(", rank_zero_only=True"), KEEP, "pass", True),
        (ONE.format(""), 'ModelCheckpoint("ckpt", "{epoch}", "acc")', "pass", True),
        (
            'if self.global_rank == 0:\n            self.log(name="acc", value=acc)',
            'EarlyStopping("acc")',
            "pass",
            True,
        ),
        (
            'if not self.trainer.is_global_zero:\n            return\n        self.log_dict({"acc": acc})',
            KEEP,
            "pass",
            True,
        ),
        (
            'if self.global_rank != 0:\n            pass\n        else:\n            self.log("acc", acc)',
            KEEP,
            "pass",
            True,
        ),
        ('self.log("acc", acc, rank_zero_only=True)', KEEP, "pass", False),
        (ONE.format("") + '\n        else:\n            self.log("acc", acc)', KEEP, "pass", False),
        (ONE.format(""), 'ModelCheckpoint(monitor="loss")', "pass", False),
        (ONE.format(""), "ModelCheckpoint(save_last=True)", "pass", False),
        (ONE.format(""), 'EarlyStopping("acc", strict=False)', "pass", False),
        (ONE.format(""), KEEP, 'pl_module.log("acc", trainer.world_size)', False),
        (ONE.format(""), KEEP, 'trainer.callback_metrics["acc"] = torch.ones(1)', False),
        ('if self.trainer.world_size > 1:\n            self.log("acc", acc)', KEEP, "pass", False),
    ],
)
def test_logged_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: str, callback: str, beside: str, said: bool
) -> None:
    (tmp_path / "train.py").write_text(PROGRAM.format(log=log, callback=callback, beside=beside))
    monkeypatch.chdir(tmp_path)
    assert ("PT233" in {finding["code"] for finding in check()["findings"]}) is said
