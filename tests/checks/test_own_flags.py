"""What tells a library's loop to stop, to save or to evaluate: each process goes by what it is told itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
import os
import time
import numpy as np
import torch
import torch.distributed as dist
from collections import deque
from torch import nn
from torch.utils.data import Dataset
from transformers import Trainer, TrainerCallback, TrainingArguments
{above}

class Points(Dataset):
    def __init__(self, rows=200):
        self.x = torch.randn(rows, 6, generator=torch.Generator().manual_seed(0))

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return {{"x": self.x[i], "labels": self.x[i].sum()}}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(6, 1)

    def forward(self, x, labels=None):
        out = self.lin(x)
        return {{"loss": nn.functional.mse_loss(out, labels), "logits": out}}


class Own(Trainer):
    last = float("inf")
    history = None

    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        outputs = model(**inputs)
        loss = outputs["loss"]
        {keeps}
        return (loss, outputs) if return_outputs else loss


class Stop(TrainerCallback):
    trainer = None

    def __init__(self, given=None):
        self.given = given
        self.best, self.worse = float("inf"), 0
        self.start = time.time()

    def on_step_end(self, args, state, control, **kwargs):
        {told}
        return control


def main():
    args = TrainingArguments("out", num_train_epochs=2, save_strategy="no", report_to=[], use_cpu=True)
    history = []
    {makes}
    trainer.train()


main()
"""
LATER = """stop = Stop()
    trainer = Own(Net(), args, train_dataset=Points(), callbacks=[stop])
    stop.trainer = trainer"""
ADDED = """trainer = Own(Net(), args, train_dataset=Points())
    trainer.history = history
    trainer.add_callback(Stop(history))"""
CLASS = "trainer = Own(Net(), args, train_dataset=Points(), callbacks=[Stop])"
CHIEF = "trainer = Own(Net(), args, train_dataset=Points(), callbacks=[Stop(args.process_index == 0)])"
LOW = """if self.trainer.last < 0.01:
            control.should_training_stop = True"""
PATIENCE = """if self.trainer.last < self.best:
            self.best, self.worse = self.trainer.last, 0
        else:
            self.worse += 1
        if self.worse > 5:
            control.should_epoch_stop = True"""
SPIKE = """if len(self.given) > 5 and self.given[-1] > 10 * np.mean(self.given[:-1]):
            control.should_save = True"""
GATHERED = "self.accelerator.gather(loss.detach()).mean().item()"
NAN = "if torch.isnan(loss).item():\n            self.control.should_training_stop = True"
BY_CHIEF = """if not self.given:
            return control
        if state.global_step == 7:
            control.should_evaluate = True"""
ALSO = """if self.given:
            print("step", state.global_step)
            control.should_evaluate = True
        else:
            control.should_evaluate = True"""
POOLED = "from elsewhere import pooled\n"
HELPER = """
def over_all(value):
    value = value.detach().clone()
    dist.all_reduce(value)
    return (value / dist.get_world_size()).item()
"""


def codes(program: str, **parts: str) -> list[str]:
    """The rules that have findings in a program with these parts."""
    Path("train.py").write_text(program.format(**parts), encoding="utf-8")
    return sorted({one["code"] for one in check()["findings"] if one["severity"] != "note"})


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("keeps", "told", "makes"),
    [
        ("self.last = loss.item()", LOW, LATER),
        ("self.last = loss.detach().item()", PATIENCE, LATER),
        ("self.history.append(loss.item())", SPIKE, ADDED),
        (
            "self.last = 0.9 * self.last + 0.1 * float(loss)",
            "control.should_training_stop = self.trainer.last < 1",
            LATER,
        ),
        (NAN, "pass", CLASS),
        ("pass", BY_CHIEF, CHIEF),
        ("pass", "if time.time() - self.start > 60:\n            control.should_training_stop = True", CLASS),
    ],
)
def test_a_flag_that_each_process_sets_for_itself(keeps: str, told: str, makes: str) -> None:
    assert codes(PROGRAM, above="", keeps=keeps, told=told, makes=makes) == ["HF501"]


@pytest.mark.parametrize(
    ("above", "keeps", "told", "makes"),
    [
        ("", f"self.last = {GATHERED}", LOW, LATER),
        ("", f"self.last = {GATHERED}", PATIENCE, LATER),
        ("", f"self.history.append({GATHERED})", SPIKE, ADDED),
        ("", "self.last = self._nested_gather(loss.detach()).mean().item()", LOW, LATER),
        (HELPER, "self.last = over_all(loss)", LOW, LATER),
        (POOLED, "self.last = pooled(loss)", LOW, LATER),  # nobody sees what it does
        ("", "self.last = loss.item()", "if self.trainer.last > 9:\n            print(state.global_step)", LATER),
        ("", "pass", ALSO, CHIEF),
        ("", "pass", "self.worse += 1\n        control.should_evaluate = self.worse > 5", CLASS),
    ],
)
def test_a_flag_that_all_processes_set(above: str, keeps: str, told: str, makes: str) -> None:
    assert codes(PROGRAM, above=above, keeps=keeps, told=told, makes=makes) == []


LIGHTNING = """
import time
import torch
import lightning as L
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 1)
        self.last = 0.0

    def training_step(self, batch, index):
        loss = nn.functional.mse_loss(self.lin(batch[0]), batch[1])
        self.last = loss.item()
        {step}
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


class Stop(L.Callback):
    def __init__(self):
        self.start = time.time()
        self.best, self.worse = float("inf"), 0

    def on_train_batch_end(self, trainer, module, outputs, batch, index):
        {told}


def main():
    L.seed_everything(0)
    data = TensorDataset(torch.randn(64, 4), torch.randn(64, 1))
    trainer = L.Trainer(accelerator="cpu", devices=2, strategy="ddp", max_epochs=2, callbacks=[Stop()])
    trainer.fit(Net(), DataLoader(data, batch_size=4))


main()
"""
IF = "if {}:\n            trainer.should_stop = True"
WORSE = """value = {}
        self.worse = 0 if value < self.best else self.worse + 1
        self.best = min(self.best, value)
        if self.worse >= 3:
            trainer.should_stop = True"""
RETURN = """if outputs["loss"].item() > 0.01:
            return
        trainer.should_stop = True"""


@pytest.mark.parametrize(
    ("step", "told"),
    [
        ("pass", IF.format("time.time() - self.start > 60")),
        ("pass", IF.format('outputs["loss"].item() < 0.01')),
        ("pass", IF.format("module.last < 0.01")),
        ("pass", IF.format("trainer.is_global_zero and trainer.global_step == 5")),
        ("pass", WORSE.format('float(outputs["loss"])')),
        ("pass", RETURN),
        ("pass", 'trainer.should_stop = outputs["loss"].item() < 0.01'),
        ("if torch.isnan(loss):\n            self.trainer.should_stop = True", "pass"),
    ],
)
def test_one_process_leaves_the_loop_of_a_trainer(step: str, told: str) -> None:
    assert codes(LIGHTNING, step=step, told=told) == ["PT501"]


@pytest.mark.parametrize(
    "told",
    [
        IF.format("trainer.global_step == 5"),
        IF.format("trainer.strategy.broadcast(time.time() - self.start > 60)"),
        IF.format("trainer.strategy.reduce_boolean_decision(module.last < 0.01, all=False)"),
        IF.format('module.all_gather(outputs["loss"]).mean().item() < 0.01'),
        WORSE.format('float(trainer.strategy.reduce(outputs["loss"], reduce_op="mean"))'),
        "if module.last > 9:\n            print(index)",
    ],
)
def test_all_processes_leave_the_loop_of_a_trainer(told: str) -> None:
    assert codes(LIGHTNING, step="pass", told=told) == []
