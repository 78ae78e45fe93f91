"""Values that a module logs of its own part of the data: what goes by them, in many spellings, right and wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

MODULE = """
import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 1)

    def loss_of(self, batch):
        x, y = batch
        return nn.functional.mse_loss(self.net(x), y)

    def training_step(self, batch, batch_idx):
        loss = self.loss_of(batch)
        self.log("train/loss", loss, on_step=False, on_epoch=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=0.1)

"""
TRAIN = """
import lightning as L
from lightning.pytorch.callbacks import Callback, EarlyStopping, ModelCheckpoint
from module import Net
from elsewhere import data


class Watch(Callback):
    def __init__(self, monitor="val/loss", goal=0.3):
        self.monitor = monitor
        self.goal = goal

HOOK

def main():
    trainer = L.Trainer(devices=DEVICES, strategy="ddp", callbacks=[CALLBACKS])
    trainer.fit(Net(), data)


main()
"""
STEP = """    def validation_step(self, batch, batch_idx):
        self.log("val/loss", self.loss_of(batch))
"""
DICT = """    def validation_step(self, batch, batch_idx):
        self.log_dict({"val/rows": len(batch), "val/loss": self.loss_of(batch)}, prog_bar=True)
"""
KEPT = """    def validation_step(self, batch, batch_idx):
        found = {"val/one": 1.0}
        found["val/loss"] = self.loss_of(batch)
        self.log_dict(dictionary=found)
"""
SHARED = """    def shared(self, batch, stage):
        loss = self.loss_of(batch)
        self.log(f"{stage}/loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        return self.shared(batch, "val")
"""
FUNCTION = """    def validation_step(self, batch, batch_idx):
        noted(self, batch, "val")


def noted(module, batch, stage):
    module.log(f"{stage}/loss", module.loss_of(batch))
"""
EPOCH = """    def on_validation_epoch_start(self):
        self.seen = []

    def validation_step(self, batch, batch_idx):
        self.seen.append(self.loss_of(batch))

    def on_validation_epoch_end(self):
        self.log(name="val/loss", value=torch.stack(self.seen).mean(), sync_dist=False)
"""
LOOP = """    def note(self, stage, **values):
        for name, value in values.items():
            self.log(f"{stage}/{name}", value, on_epoch=True)

    def validation_step(self, batch, batch_idx):
        self.note("val", loss=self.loss_of(batch), rows=len(batch[0]))
"""
COMPREHENSION = """    def note(self, stage, values):
        self.log_dict({f"{stage}/{name}": value for name, value in values.items()})

    def validation_step(self, batch, batch_idx):
        self.note("val", {"loss": self.loss_of(batch)})
"""
ADDED = """    def note(self, name, value, sync=False):
        self.log("val/" + name, value, sync_dist=sync)

    def validation_step(self, batch, batch_idx):
        self.note("loss", self.loss_of(batch))
"""
TEMPLATE = """    part = "val"

    def note(self, *, name, value):
        key = "{}/{name}".format(self.part, name=name)
        self.log(key, value)

    def validation_step(self, batch, batch_idx):
        self.note(name="loss", value=self.loss_of(batch))
"""
RETURNED = """    def named(self, stage, loss, rows):
        return {"%s/loss" % stage: loss, "/".join((stage, "rows")): rows}

    def validation_step(self, batch, batch_idx):
        self.log_dict(self.named("val", self.loss_of(batch), 2.0))
"""
OPTIONS = """    def note(self, stage, **values):
        self.note_all(stage, values, on_epoch=True)

    def note_all(self, stage, values, **options):
        for name, value in zip(["loss"], [values["loss"]]):
            self.log(f"{stage}/{name}", value, **options)

    def validation_step(self, batch, batch_idx):
        self.note("val", loss=self.loss_of(batch))
"""
STOP = """    def on_validation_end(self, trainer, pl_module):
        if trainer.callback_metrics[self.monitor] < self.goal:
            trainer.should_stop = True
"""
ALIAS = """    def on_validation_end(self, trainer, pl_module):
        logs = trainer.callback_metrics
        value = logs.get(self.monitor)
        trainer.should_stop = trainer.should_stop or bool(value < self.goal)
"""
RAISES = """    def on_validation_epoch_end(self, trainer, pl_module):
        value = dict(trainer.callback_metrics)["val/loss"].item()
        if value > 100:
            raise RuntimeError("it diverges")
"""
SAVES = """    def on_validation_epoch_end(self, trainer, pl_module):
        value = trainer.logged_metrics["val/loss"].item()
        better = value < self.goal
        if better:
            self.goal = value
            trainer.save_checkpoint("best.ckpt")
"""
RATE = """    def on_validation_epoch_end(self, trainer, pl_module):
        value = trainer.callback_metrics.get("val/loss")
        for optimizer in trainer.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = 0.1 * float(value)
"""
OWN = """
    def on_validation_epoch_end(self):
        self.trainer.should_stop = bool(self.trainer.callback_metrics["val/loss"] < 0.1)
"""
TRAINED = """    def on_train_epoch_end(self, trainer, pl_module):
        if trainer.callback_metrics["train/loss"] < self.goal:
            trainer.should_stop = True
"""


@pytest.mark.parametrize(
    ("step", "hook", "callbacks"),
    [
        (STEP, STOP, "Watch()"),
        (STEP, STOP, 'Watch("val/loss", goal=0.2)'),
        (STEP, ALIAS, "Watch()"),
        (STEP, RAISES, "Watch()"),
        (STEP, SAVES, "Watch()"),
        (STEP, RATE, "Watch()"),
        (DICT, STOP, "Watch()"),
        (KEPT, STOP, "Watch()"),
        (SHARED, STOP, "Watch()"),
        (FUNCTION, STOP, "Watch()"),
        (EPOCH, STOP, "Watch()"),
        (LOOP, STOP, "Watch()"),
        (COMPREHENSION, STOP, "Watch()"),
        (ADDED, STOP, "Watch()"),
        (TEMPLATE, STOP, "Watch()"),
        (RETURNED, STOP, "Watch()"),
        (OPTIONS, STOP, "Watch()"),
        (STEP, "", 'ModelCheckpoint(monitor="val/loss")'),
        ("", TRAINED, "Watch()"),
        (
            STEP + OWN,
            "",
            "",
        ),
    ],
)
def test_each_process_goes_by_its_own_part(
    step: str, hook: str, callbacks: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert codes(tmp_path, monkeypatch, step, hook, callbacks) == ["PT233"]


@pytest.mark.parametrize(
    ("step", "hook", "callbacks", "devices"),
    [
        (STEP.replace("(batch))", "(batch), sync_dist=True)"), STOP, "Watch()", "2"),
        (DICT.replace("prog_bar", "sync_dist"), STOP, "Watch()", "2"),
        (
            SHARED.replace("loss)\n", "loss, sync_dist=stage == 'val')\n", 1).replace(
                'f"{stage}/loss", loss)', 'f"{stage}/loss", loss, sync_dist=True)'
            ),
            STOP,
            "Watch()",
            "2",
        ),
        (STEP.replace("self.loss_of(batch)", "self.all_gather(self.loss_of(batch)).mean()"), STOP, "Watch()", "2"),
        (
            STEP.replace("self.loss_of(batch)", "self.trainer.strategy.reduce(self.loss_of(batch))"),
            STOP,
            "Watch()",
            "2",
        ),
        (
            EPOCH.replace("torch.stack(self.seen).mean()", "self.all_gather(torch.stack(self.seen)).mean()"),
            STOP,
            "Watch()",
            "2",
        ),
        (LOOP.replace("loss=self.loss_of", "acc=self.loss_of"), STOP, "Watch()", "2"),
        (
            LOOP.replace(
                "            self.log", "            value = self.all_gather(value).mean()\n            self.log"
            ),
            STOP,
            "Watch()",
            "2",
        ),
        (LOOP.replace("self.loss_of(batch)", "self.all_gather(self.loss_of(batch)).mean()"), STOP, "Watch()", "2"),
        (LOOP.replace("on_epoch=True", "sync_dist=stage == 'val'"), STOP, "Watch()", "2"),
        (ADDED.replace("=False", "=True"), STOP, "Watch()", "2"),
        (OPTIONS.replace("on_epoch=True", "sync_dist=True"), STOP, "Watch()", "2"),
        (STEP, "", 'EarlyStopping(monitor="val/loss", patience=2)', "2"),
        (STEP, STOP, "Watch()", "1"),
        (STEP, STOP.replace("self.monitor]", '"val/other"]'), "", "2"),
        (STEP, STOP, 'Watch("val/accuracy")', "2"),
        (
            STEP,
            STOP.replace(
                "if trainer.callback_metrics[self.monitor]",
                "if pl_module.all_gather(trainer.callback_metrics[self.monitor]).mean()",
            ),
            "Watch()",
            "2",
        ),
        (
            STEP,
            ALIAS.replace("value < self.goal)", "trainer.strategy.reduce_boolean_decision(value < self.goal))"),
            "Watch()",
            "2",
        ),
        (
            STEP,
            STOP.replace(
                "trainer.callback_metrics[self.monitor] <",
                "self.mean(trainer, trainer.callback_metrics[self.monitor]) <",
            )
            + "\n    def mean(self, trainer, value):\n        return trainer.strategy.reduce(value)\n",
            "Watch()",
            "2",
        ),
        (
            "",
            "    def on_train_end(self, trainer, pl_module):\n        print(trainer.callback_metrics['train/loss'])\n",
            "Watch()",
            "2",
        ),
        (STEP.replace("self.loss_of(batch)", "float(self.current_epoch)"), STOP, "Watch()", "2"),
    ],
)
def test_all_processes_go_by_the_same(
    step: str, hook: str, callbacks: str, devices: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert codes(tmp_path, monkeypatch, step, hook, callbacks, devices) == []


def codes(
    folder: Path, monkeypatch: pytest.MonkeyPatch, step: str, hook: str, callbacks: str, devices: str = "2"
) -> list[str]:
    """The codes of the findings about a module and its trainer."""
    (folder / "module.py").write_text(MODULE + step)
    text = TRAIN.replace("HOOK", hook).replace("CALLBACKS", callbacks).replace("DEVICES", devices)
    (folder / "train.py").write_text(text)
    monkeypatch.chdir(folder)
    return [finding["code"] for finding in check()["findings"] if finding["severity"] != "note"]
