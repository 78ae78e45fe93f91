"""A trainer's model saved by the main process alone, where all have to come because it is parted between them (HF248)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
import json
import torch
from transformers import AutoModelForSequenceClassification, Trainer, TrainingArguments
from data import rows


class Saving(Trainer):
    def finish(self):
        self.save_model("own")


def store(trainer, folder):
    trainer.save_model(folder)


def main():
    given = json.load(open("fsdp.json"))
    model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased")
    args = TrainingArguments(output_dir="out", per_device_train_batch_size=4, {arguments})
    trainer = Trainer(model=model, args=args, train_dataset=rows())
    trainer.train()
{save}


if __name__ == "__main__":
    main()
"""
DEEPSPEED = 'deepspeed={{"zero_optimization": {{"stage": {}}}, "train_batch_size": "auto"}}'
MAIN = "    if trainer.is_world_process_zero():\n        trainer.save_model('final')"


@pytest.mark.parametrize(
    ("arguments", "save", "said"),
    [
        ('fsdp="full_shard auto_wrap"', MAIN, True),
        ("fsdp=True", MAIN, True),
        ('fsdp=["shard_grad_op"], fsdp_config={"state_dict_type": "FULL_STATE_DICT"}', MAIN, True),
        ('fsdp="full_shard"', "    if args.process_index == 0:\n        trainer.save_model()", True),
        ('fsdp="full_shard"', "    if args.should_save:\n        store(trainer, 'final')", True),
        (
            'fsdp="full_shard"',
            "    if not trainer.is_world_process_zero():\n        return\n    trainer.save_model('x')",
            True,
        ),
        ('fsdp="full_shard"', "    if trainer.accelerator.is_main_process:\n        trainer.save_model('x')", True),
        (DEEPSPEED.format(3), MAIN, True),
        (DEEPSPEED.format(2), MAIN, False),
        ("bf16=True", MAIN, False),
        ("fsdp=''", MAIN, False),
        ("fsdp=given", MAIN, False),
        ('fsdp="full_shard", fsdp_config={"state_dict_type": "SHARDED_STATE_DICT"}', MAIN, False),
        ('fsdp="full_shard", fsdp_config=given', MAIN, False),
        ('fsdp="full_shard"', "    trainer.save_model('final')", False),
        ('fsdp="full_shard"', "    if args.world_size > 1:\n        trainer.save_model('final')", False),
        (
            'fsdp="full_shard"',
            "    if trainer.is_world_process_zero():\n        trainer.save_model('a')\n    else:\n        trainer.save_model('a')",
            False,
        ),
        (
            'fsdp="full_shard"',
            "    if trainer.is_world_process_zero():\n        trainer.log({'a': 1})\n    trainer.save_model()",
            False,
        ),
    ],
)
def test_saved_by_the_main_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: str, save: str, said: bool
) -> None:
    (tmp_path / "train.py").write_text(PROGRAM.format(arguments=arguments, save=save))
    monkeypatch.chdir(tmp_path)
    assert ("HF248" in {finding["code"] for finding in check()["findings"]}) is said
