"""Steps of a trainer of transformers, as classes, callbacks and functions of a program make them: spellings unlike the fixtures."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
from dataclasses import dataclass, field
import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.utils.data import Dataset
from transformers import HfArgumentParser, Trainer, TrainerCallback, TrainingArguments
{above}

class Rows(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, i):
        x = torch.randn(6, generator=torch.Generator().manual_seed(i))
        return {{"x": x, "labels": x.sum(), "weight": torch.tensor(float(i % 3))}}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(6, 1)

    def forward(self, x, labels=None, weight=None):
        out = self.lin(x)[:, 0]
        return {{"loss": F.mse_loss(out, labels), "logits": out}}


class Own(Trainer):
    {methods}


class Follow(TrainerCallback):
    {hooks}


def main():
    {arguments}
    trainer = Own(model=Net(), args=args, train_dataset=Rows(), eval_dataset=Rows(), callbacks=[Follow()]{given})
    trainer.train()
    {then}


if __name__ == "__main__":
    main()
"""
ARGUMENTS = 'args = TrainingArguments("out", max_steps=8, report_to=[], use_cpu=True, eval_strategy="epoch")'
LOSS = """def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        outputs = model(inputs["x"], inputs["labels"])
        count = (inputs["weight"] > 0).sum().float()
        {reduced}
        loss = outputs["loss"] / count
        return (loss, outputs) if return_outputs else loss"""
ASYNC = "dist.all_reduce(count, async_op=True)"


def codes(**parts: str) -> list[str]:
    """The rules that have findings in a program with these parts."""
    usual = {"above": "", "methods": "pass", "hooks": "pass", "arguments": ARGUMENTS, "given": "", "then": "pass"}
    Path("train.py").write_text(PROGRAM.format(**{**usual, **parts}), encoding="utf-8")
    return sorted({one["code"] for one in check()["findings"] if one["severity"] != "note"})


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    "reduced",
    [
        f"if model.training and self.args.world_size > 1:\n            {ASYNC}",
        f"if self.args.world_size > 1 and self.model.training:\n            {ASYNC}",
        f"if self.accelerator.num_processes > 1:\n            work = {ASYNC}",
        f"if self.is_in_train and self.args.local_rank != -1:\n            self.work = {ASYNC}",
        f"if not model.training:\n            return (outputs['loss'], outputs)\n        {ASYNC}",
        f"several = dist.get_world_size() > 1 if model.training else False\n        if several:\n            {ASYNC}",
        f"if self.state.global_step % 2 == 0:\n            {ASYNC}\n            count = count / 2",
        f"with self.compute_loss_context_manager():\n            {ASYNC}",
        f"self.log({{'count': 1.0}})\n        {ASYNC}",
        f"if dist.is_initialized():\n            {ASYNC}",
    ],
)
def test_a_count_is_used_before_it_is_there(reduced: str) -> None:
    assert codes(methods=LOSS.format(reduced=reduced)) == ["PT526"]


@pytest.mark.parametrize(
    "reduced",
    [
        "if model.training and self.args.world_size > 1:\n            dist.all_reduce(count)",
        f"if model.training:\n            {ASYNC}.wait()",
        f"work = {ASYNC} if model.training else None\n        if work is not None:\n            work.wait()",
        f"if self.args.world_size == 1:\n            {ASYNC}",
        f"if not self.model.training:\n            {ASYNC}.wait()",
        "pass",
        f"works = []\n        if model.training:\n            works.append({ASYNC})\n        for one in works:\n            one.wait()",
    ],
)
def test_a_count_that_is_waited_for_is_right(reduced: str) -> None:
    assert codes(methods=LOSS.format(reduced=reduced)) == []


OF_STEP = """def training_step(self, model, inputs, num_items_in_batch=None):
        loss = super().training_step(model, inputs, num_items_in_batch)
        if self.args.world_size > 1:
            total = loss.detach().clone()
            {reduced}
            self.last = total.item()
        return loss"""
OF_HOOK = """def on_step_end(self, args, state, control, **kwargs):
        if args.world_size > 1:
            total = torch.ones(1)
            {reduced}
            if total.item() > 9:
                control.should_training_stop = True
        return control"""
OF_METRICS = """
def metrics(found):
    total = torch.cuda.memory_allocated() * torch.ones(1)
    {reduced}
    return {{"rows": total.item()}}
"""
OF_LOSS = """
def own_loss(outputs, labels, num_items_in_batch=None):
    total = labels.sum()
    {reduced}
    return outputs["loss"] / total
"""
OF_HELPER = """
def summed(args, total):
    if args.world_size == 1:
        return total
    {reduced}
    return total
"""
_TOTAL = "dist.all_reduce(total, async_op=True)"
_PLACES = [
    lambda reduced: {"methods": OF_STEP.format(reduced=reduced)},
    lambda reduced: {"hooks": OF_HOOK.format(reduced=reduced)},
    lambda reduced: {"above": OF_METRICS.format(reduced=reduced), "given": ", compute_metrics=metrics"},
    lambda reduced: {"above": OF_LOSS.format(reduced=reduced), "given": ", compute_loss_func=own_loss"},
    lambda reduced: {
        "above": OF_HELPER.format(reduced=reduced),
        "methods": LOSS.format(reduced="count = summed(self.args, count) / 2"),
    },
]


@pytest.mark.parametrize("place", range(len(_PLACES)))
@pytest.mark.parametrize(
    "arguments",
    [
        ARGUMENTS,
        "args = told()",
        "rows, args = HfArgumentParser((Told, TrainingArguments)).parse_args_into_dataclasses()",
        "(args,) = HfArgumentParser(More).parse_args_into_dataclasses()",
    ],
)
def test_wherever_a_trainer_calls_the_program(place: int, arguments: str) -> None:
    told = f"""
def told():
    return {ARGUMENTS.removeprefix("args = ")}

@dataclass
class Told:
    rows: int = field(default=4)

@dataclass
class More(TrainingArguments):
    rows: int = field(default=4)
"""
    evaluated = "trainer.evaluate()"
    for reduced, expected in ((_TOTAL, ["PT526"]), (f"{_TOTAL}.wait()", [])):
        parts = _PLACES[place](reduced)
        above = told + parts.pop("above", "")
        assert codes(above=above, arguments=arguments, then=evaluated, **parts) == expected, reduced
