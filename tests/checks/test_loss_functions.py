"""Loss functions that a Trainer is given: those that ignore the number of items, and those that are right, in other spellings."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

TEXT = """
from functools import partial
import torch
import torch.nn.functional as F
from torch import nn
from transformers import Trainer, TrainingArguments
from elsewhere import model, rows


BODY


args = TrainingArguments("out", gradient_accumulation_steps=STEPS)
trainer = Trainer(model=model, args=args, train_dataset=rows, compute_loss_func=GIVEN)
trainer.train()
"""
PLAIN = """
def loss_of(outputs, labels, num_items_in_batch=None):
    return F.cross_entropy(outputs["logits"].flatten(0, 1), labels.flatten(), ignore_index=-100)
"""
BOUND = """
def loss_of(outputs, labels, num_items_in_batch=None, smoothing=0.0):
    loss = F.cross_entropy(outputs.logits, labels, label_smoothing=smoothing)
    return loss + 0.1 * outputs.extra
"""
OBJECT = """
class Loss(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.CrossEntropyLoss()

    def forward(self, outputs, labels, **kwargs):
        return self.inner(outputs.logits, labels)
"""
SQUARED = """
def loss_of(outputs, labels, num_items_in_batch):
    return (outputs["logits"] - labels).square().mean()
"""
DIVIDED = """
def loss_of(outputs, labels, num_items_in_batch=None):
    total = F.cross_entropy(outputs["logits"], labels, reduction="sum")
    return total / (num_items_in_batch or len(labels))
"""


@pytest.mark.parametrize(
    ("body", "given", "steps", "expected"),
    [
        (PLAIN, "loss_of", "4", 1),
        (BOUND, "partial(loss_of, smoothing=0.1)", "4", 1),
        (OBJECT, "Loss()", "2", 1),
        (SQUARED, "loss_of", "8", 1),
        (f"STEPS_OF_MINE = 4\n{PLAIN}", "loss_of", "STEPS_OF_MINE", 1),
        (DIVIDED, "loss_of", "4", 0),
        (DIVIDED.replace('"sum"', '"none"').replace("return total", "return total.sum()"), "loss_of", "4", 0),
        (PLAIN, "loss_of", "1", 0),
        (PLAIN, "loss_of", "rows.steps", 0),
        (
            PLAIN.replace("ignore_index=-100)", "ignore_index=-100) / args.gradient_accumulation_steps"),
            "loss_of",
            "4",
            0,
        ),
        (OBJECT.replace("self.inner(outputs.logits, labels)", "outputs.loss_of(labels, **kwargs)"), "Loss()", "4", 0),
        (PLAIN + "\n\nTrainer.loss_is_scaled_for_ga = False", "loss_of", "4", 0),
        (PLAIN, "None", "4", 0),
        ("from elsewhere import loss_of", "loss_of", "4", 0),
    ],
)
def test_a_loss_function_ignores_the_count(
    body: str, given: str, steps: str, expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "train.py").write_text(
        TEXT.replace("BODY", body).replace("STEPS)", f"{steps})").replace("GIVEN", given)
    )
    monkeypatch.chdir(tmp_path)
    assert [one["code"] for one in check()["findings"]].count("HF246") == expected
