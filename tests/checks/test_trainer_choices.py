"""What a trainer decides by, where classes of the project work it out: spellings unlike the fixtures."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

HEAD = """\
import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from tqdm import tqdm
from transformers import EarlyStoppingCallback, Trainer, TrainingArguments
from sklearn.metrics import accuracy_score
from elsewhere import gather_everywhere, pooled

torch.manual_seed(0)
rows = TensorDataset(torch.randn(64, 4), torch.randn(64))


class Own(Trainer):
"""
TAIL = """

args = TrainingArguments("out", eval_strategy="epoch", {told})
trainer = Own(nn.Linear(4, 1), args, eval_dataset=rows{more})
trainer.train()
"""
BEST = 'save_strategy="epoch", load_best_model_at_end=True, metric_for_best_model="off"'
STOPPING = 'save_strategy="epoch", metric_for_best_model="eval_off"'
LOOP = """
    def evaluate(self, eval_dataset=None, ignore_keys=None, metric_key_prefix="eval"):
        total, count = 0.0, 0
        for inputs in {loader}:
            inputs = self._prepare_inputs(inputs)
            total += (self.model(inputs["x"]) - inputs["y"]).abs().sum().item()
            count += 1
        {end}
"""
OWN = "self.get_eval_dataloader(eval_dataset)"
MEAN = 'return {"eval_off": total / count}'
STEPS = """
    def evaluate(self, *args, **kwargs):
        losses = []
        for step, inputs in enumerate(tqdm(self.get_eval_dataloader())):
            loss, _, _ = self.prediction_step(self.model, inputs, prediction_loss_only=True)
            losses.append(loss.item())
        return dict(eval_loss=np.mean(losses))
"""
ARRAYS = """
    def evaluate(self, *args, **kwargs):
        found, right = [], []
        for inputs in self.get_eval_dataloader():
            found.append(self.model(inputs["x"]).argmax(-1).cpu().numpy())
            right.append(inputs["y"].cpu().numpy())
        metrics = super().evaluate(*args, **kwargs)
        metrics.update(eval_off=accuracy_score(np.concatenate(right), np.concatenate(found)))
        return metrics
"""
PICKED = """
    def evaluate(self, *args, **kwargs):
        scores = []
        for inputs in self.get_eval_dataloader():
            scores.append(self.model(inputs["x"]).log_softmax(-1).gather(1, inputs["y"].long()[:, None]))
        return {"eval_off": torch.cat(scores).mean().item()}
"""
TOGETHER = """
    def _together(self, total):
        every = [None] * dist.get_world_size()
        dist.all_gather_object(every, total)
        return {"eval_off": sum(every)}
"""
PREPARED = """
    def get_eval_dataloader(self, eval_dataset=None):
        return self.accelerator.prepare(DataLoader(rows, batch_size=4))
"""


@pytest.mark.parametrize(
    ("body", "told", "more"),
    [
        (LOOP.format(loader=OWN, end=MEAN), BEST, ""),
        (LOOP.format(loader=OWN, end=MEAN), STOPPING, ", callbacks=[EarlyStoppingCallback(2)]"),
        (
            LOOP.format(loader=OWN, end=MEAN),
            'metric_for_best_model="off", lr_scheduler_type="reduce_lr_on_plateau"',
            "",
        ),
        (LOOP.format(loader=OWN, end=MEAN) + PREPARED, BEST, ""),
        (STEPS, 'load_best_model_at_end=True, save_strategy="epoch"', ""),
        (ARRAYS, BEST, ""),
        (PICKED, BEST, ""),
    ],
)
def test_each_rank_decides_by_a_figure_of_its_own(
    body: str, told: str, more: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert codes(tmp_path, monkeypatch, body, told, more) == ["HF238"]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (LOOP.format(loader=OWN, end=MEAN), 'save_strategy="epoch"'),
        (LOOP.format(loader=OWN, end=MEAN), 'save_strategy="epoch", load_best_model_at_end=True'),
        (LOOP.format(loader="DataLoader(rows)", end=MEAN), BEST),
        (LOOP.format(loader=OWN, end='return {"eval_off": gather_everywhere(total) / count}'), BEST),
        (LOOP.format(loader=OWN, end='return {"eval_off": pooled(total) / count}'), BEST),
        (
            LOOP.format(loader=OWN, end="box = [total]\n        dist.broadcast_object_list(box)\n        ")
            + 'return {"eval_off": box[0]}\n',
            BEST,
        ),
        (LOOP.format(loader=OWN, end="return self._together(total)") + TOGETHER, BEST),
    ],
)
def test_all_ranks_decide_alike(body: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert codes(tmp_path, monkeypatch, body, told) == []


def codes(folder: Path, monkeypatch: pytest.MonkeyPatch, body: str, told: str, more: str = "") -> list[str]:
    """The codes of the findings about a program that trains with a trainer of its own."""
    (folder / "train.py").write_text(HEAD + body + TAIL.format(told=told, more=more))
    monkeypatch.chdir(folder)
    return [finding["code"] for finding in check()["findings"] if finding["severity"] != "note"]


RESUMED = """
import os
import torch.distributed as dist
import transformers.trainer_utils as utils
from transformers import Trainer, TrainingArguments
from transformers.trainer_utils import get_last_checkpoint
from elsewhere import model, rows

rank = int(os.environ["RANK"])


def found(place):
    return get_last_checkpoint(place) if os.path.isdir(place) else None


folder = os.path.join("runs", {name})
args = TrainingArguments(output_dir=folder, max_steps=8{more})
trainer = Trainer(model=model, args=args, train_dataset=rows)
"""
OWN_NAME = 'f"part-{rank}"'


@pytest.mark.parametrize(
    ("body", "name", "more", "expected"),
    [
        ("trainer.train(resume_from_checkpoint=get_last_checkpoint(args.output_dir))", OWN_NAME, "", ["HF227"]),
        ("trainer.train(utils.get_last_checkpoint(folder))", OWN_NAME, "", ["HF227"]),
        ("trainer.train(resume_from_checkpoint=found(args.output_dir))", OWN_NAME, "", ["HF227"]),
        (
            "start = args.resume_from_checkpoint or found(folder)\ntrainer.train(resume_from_checkpoint=start)",
            OWN_NAME,
            "",
            ["HF227"],
        ),
        ("trainer.train(resume_from_checkpoint=get_last_checkpoint(args.output_dir))", '"all"', "", []),
        ('trainer.train(resume_from_checkpoint=get_last_checkpoint("start"))', OWN_NAME, "", []),
        ("print(get_last_checkpoint(folder))\ntrainer.train()", OWN_NAME, "", []),
        ("trainer.train(found(folder))", OWN_NAME, ", save_on_each_node=True", []),
        ("box = [found(folder)]\ndist.broadcast_object_list(box)\ntrainer.train(box[0])", OWN_NAME, "", []),
    ],
)
def test_each_rank_resumes_from_a_place_of_its_own(
    body: str, name: str, more: str, expected: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "train.py").write_text(RESUMED.format(name=name, more=more) + body)
    monkeypatch.chdir(tmp_path)
    assert [finding["code"] for finding in check()["findings"] if finding["severity"] != "note"] == expected
