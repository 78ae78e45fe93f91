"""Values that each process of a Lightning trainer logs for itself, and whether the trainer has several processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
import argparse

import lightning as L
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--devices", type=int, default=1)
args = parser.parse_args()


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.lin, self.seen = torch.nn.Linear(4, 1), []

    def validation_step(self, batch, index):
        self.seen.append(self.lin(batch[0]))

    def on_validation_epoch_end(self):
        seen = {seen}
        self.log("spread", seen.std())


trainer = L.Trainer({options})
trainer.fit(Net())
print(trainer.callback_metrics["spread"].item())
"""
OWN = "torch.cat(self.seen)"


@pytest.mark.parametrize(
    ("options", "seen", "wrong"),
    [
        ('devices=2, strategy="ddp"', OWN, True),
        ('devices=args.devices, strategy="ddp"', OWN, True),
        ("devices=4", OWN, True),
        ("devices=args.devices", OWN, False),
        ('devices=1, strategy="ddp"', OWN, False),
        ('devices=args.devices, strategy="ddp"', f"self.all_gather({OWN}).flatten()", False),
    ],
)
def test_a_figure_of_one_process(
    options: str, seen: str, wrong: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "train.py").write_text(PROGRAM.format(options=options, seen=seen), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert [finding["code"] for finding in check()["findings"]] == ["PT233"] * wrong
