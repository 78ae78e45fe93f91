"""Optimizers that are handed to a Trainer, with FSDP and without (HF249)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
import json
import torch
from transformers import AutoModelForSequenceClassification, Trainer, TrainingArguments
from data import rows


class Weighted(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        return model(**inputs).loss * 2


class Own(Trainer):
    def __init__(self, optimizers, **kwargs):
        super().__init__(**kwargs)


def made(model):
    return torch.optim.AdamW(model.parameters(), lr=1e-5)


given = json.load(open("given.json"))
model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased")
optimizer = made(model)
plan = torch.optim.lr_scheduler.LinearLR(optimizer)
pair = (optimizer, None)
args = TrainingArguments(output_dir="out", per_device_train_batch_size=4, {arguments})
trainer = {trainer}
trainer.train()
"""


@pytest.mark.parametrize(
    ("arguments", "trainer", "said"),
    [
        ('fsdp="full_shard"', "Trainer(model, args, train_dataset=rows(), optimizers=(optimizer, plan))", True),
        ("fsdp=True", "Trainer(model=model, args=args, train_dataset=rows(), optimizers=(optimizer, None))", True),
        ('fsdp=["full_shard", "auto_wrap"]', "Trainer(args=args, model=model, optimizers=pair)", True),
        ('fsdp="full_shard"', "Weighted(model, args, train_dataset=rows(), optimizers=(made(model), None))", True),
        ('fsdp="shard_grad_op"', "Trainer(model, args, optimizers=(None, plan))", True),
        ('fsdp="full_shard"', "Trainer(model, args, train_dataset=rows())", False),
        ('fsdp="full_shard"', "Trainer(model, args, optimizers=(None, None))", False),
        ('fsdp=""', "Trainer(model, args, optimizers=(optimizer, plan))", False),
        ("fsdp=given", "Trainer(model, args, optimizers=(optimizer, plan))", False),
        ("**given", "Trainer(model, args, optimizers=(optimizer, plan))", False),
        ("bf16=True", "Trainer(model, args, optimizers=(optimizer, plan))", False),
        ('fsdp="full_shard"', "Own(model=model, args=args, optimizers=(optimizer, plan))", False),
        ('fsdp="full_shard"', "Trainer(model, args, optimizers=(given.get('optimizer'), None))", False),
    ],
)
def test_handed_optimizers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: str, trainer: str, said: bool
) -> None:
    (tmp_path / "train.py").write_text(PROGRAM.format(arguments=arguments, trainer=trainer))
    monkeypatch.chdir(tmp_path)
    assert ("HF249" in {finding["code"] for finding in check()["findings"]}) is said
