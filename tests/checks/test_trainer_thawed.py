"""Parameters that are frozen when a trainer of transformers wraps its model, and trained later: spellings unlike the fixtures."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import Dataset
from transformers import (
    AutoModelForSequenceClassification, BertConfig, BertForSequenceClassification, Trainer, TrainerCallback, TrainingArguments,
)


class Rows(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, i):
        return {{"x": torch.randn(6), "labels": torch.tensor(1.0)}}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.bert = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 8))
        self.classifier = nn.Linear(8, 1)

    def forward(self, x, labels=None):
        return {{"loss": F.mse_loss(self.classifier(self.bert(x))[:, 0], labels)}}

    def freeze(self):
        for weight in self.bert.parameters():
            weight.requires_grad = False

    def thaw(self):
        for weight in self.bert.parameters():
            weight.requires_grad = True


def switch(module, wanted):
    for weight in module.parameters():
        weight.requires_grad_(wanted)


class Own(Trainer):
    {methods}


class Stages(TrainerCallback):
    def __init__(self, net=None):
        self.net = net

    {hooks}


def main():
    net = {model}
    {frozen}
    args = TrainingArguments("out", num_train_epochs=4, report_to=[], use_cpu=True{told})
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    trainer = Own(net, args, train_dataset=Rows(), callbacks=[Stages(net)], optimizers={optimizers})
    {then}


main()
"""
HOOK = """def {hook}(self, args, state, control, model=None, **kwargs):
        if state.{count} == 2:
            {thawed}"""
AT_EPOCH = HOOK.format(hook="on_epoch_begin", count="epoch", thawed="switch(model.bert, True)")
AT_START = "def on_train_begin(self, args, state, control, model=None, **kwargs):\n        {said}"
BERT = "BertForSequenceClassification(BertConfig(num_hidden_layers=2))"
MADE = 'AutoModelForSequenceClassification.from_pretrained("bert")'
FREEZE = "switch(net.bert, False)"
METHOD = """def {name}(self, {given}):
        {code}"""
STEP = METHOD.format(
    name="training_step",
    given="model, inputs, num_items_in_batch=None",
    code="{thawed}\n        return super().training_step(model, inputs, num_items_in_batch)",
)
LOSS = METHOD.format(
    name="compute_loss",
    given="model, inputs, return_outputs=False, num_items_in_batch=None",
    code="{thawed}\n        return super().compute_loss(model, inputs, return_outputs)",
)


def codes(**parts: str) -> list[str]:
    """The rules that have findings in a program with these parts."""
    usual = {
        "methods": "pass",
        "hooks": "pass",
        "model": "Net()",
        "frozen": FREEZE,
        "told": "",
        "optimizers": "(optimizer, None)",
        "then": "trainer.train()",
    }
    Path("train.py").write_text(PROGRAM.format(**{**usual, **parts}), encoding="utf-8")
    return sorted({one["code"] for one in check()["findings"] if one["severity"] != "note"})


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("model", ["Net()", BERT, MADE])
@pytest.mark.parametrize(
    "parts",
    [
        {"hooks": AT_EPOCH},
        {"hooks": HOOK.format(hook="on_step_begin", count="global_step", thawed="model.bert.requires_grad_(True)")},
        {"hooks": HOOK.format(hook="on_step_end", count="global_step", thawed="switch(model, True)")},
        {"hooks": HOOK.format(hook="on_epoch_end", count="epoch", thawed="switch(self.net.bert, True)")},
        {"hooks": AT_EPOCH.replace("model=None, ", "").replace("model.bert", "kwargs['model'].bert")},
        {"hooks": AT_START.format(said="switch(model, True)")},
        {"methods": STEP.format(thawed="if self.state.epoch >= 1:\n            switch(self.model.bert, True)")},
        {"methods": LOSS.format(thawed="if self.state.global_step == 9:\n            switch(model.module.bert, True)")},
        {"then": "trainer.train()\n    switch(net.bert, True)\n    trainer.train()"},
        {"then": "trainer.train()\n    trainer.model.bert.requires_grad_()\n    trainer.train()"},
        {"frozen": "switch(net, False)\n    switch(net.classifier, True)", "hooks": AT_EPOCH},
        {
            "methods": METHOD.format(
                name="create_optimizer",
                given="model=None",
                code="self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)\n        return self.optimizer",
            ),
            "optimizers": "(None, None)",
            "hooks": AT_EPOCH,
        },
        {
            "optimizers": "(None, None)",
            "hooks": HOOK.format(
                hook="on_epoch_begin",
                count="epoch",
                thawed="switch(model.bert, True)\n            kwargs['optimizer'].add_param_group({'params': model.bert.parameters()})",
            ),
        },
    ],
)
def test_thawed_while_the_wrapper_does_not_know(parts: dict[str, str], model: str) -> None:
    assert codes(model=model, **parts) == ["PT286"]


@pytest.mark.parametrize("model", ["Net()", BERT, MADE])
@pytest.mark.parametrize(
    "parts",
    [
        {"hooks": f"{AT_EPOCH}\n\n    {AT_START.format(said='switch(model.bert, False)')}", "frozen": "pass"},
        {"hooks": AT_EPOCH, "frozen": f"{FREEZE}\n    switch(net.bert, True)"},
        {"hooks": AT_EPOCH.replace("on_epoch_begin", "on_init_end")},
        {"hooks": AT_EPOCH, "frozen": "switch(net.classifier, False)"},
        {"hooks": AT_EPOCH, "told": ', fsdp="full_shard"', "optimizers": "(None, None)"},
        {"hooks": AT_EPOCH, "told": ', deepspeed="ds.json"'},
        {"hooks": AT_EPOCH.replace("True", "False"), "frozen": "pass"},
        {"then": "trainer.train()\n    switch(net.bert, True)\n    trainer.evaluate()"},
        {"then": "trainer.train()\n    switch(net.bert, True)\n    Own(net, args, train_dataset=Rows()).train()"},
        {"then": "switch(net.bert, True)\n    trainer.train()"},
        {
            "methods": METHOD.format(
                name="create_optimizer",
                given="model=None",
                code="switch(self.model.bert, True)\n        return super().create_optimizer()",
            ),
            "hooks": AT_EPOCH,
        },
        {
            "methods": METHOD.format(
                name="create_optimizer",
                given="model=None",
                code="self.optimizer = torch.optim.SGD(self.model.classifier.parameters(), lr=0.1)\n        return self.optimizer",
            ),
            "optimizers": "(None, None)",
            "hooks": AT_EPOCH,
        },
    ],
)
def test_thawed_where_that_is_right(parts: dict[str, str], model: str) -> None:
    assert codes(model=model, **parts) == []


@pytest.mark.parametrize("model", ["Net()", BERT])
@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({"hooks": AT_EPOCH}, ["HF244"]),
        ({"hooks": AT_EPOCH, "told": ', deepspeed="ds.json"'}, []),
        ({"then": "trainer.train()\n    switch(net.bert, True)\n    trainer.train()"}, ["HF244"]),
        (
            {
                "methods": METHOD.format(
                    name="create_optimizer", given="model=None", code="return super().create_optimizer()"
                ),
                "hooks": AT_EPOCH,
            },
            ["HF244"],
        ),
        ({"hooks": AT_EPOCH, "frozen": "pass"}, []),
    ],
)
def test_the_optimizer_of_the_trainer(parts: dict[str, str], expected: list[str], model: str) -> None:
    assert codes(model=model, optimizers="(None, None)", **parts) == expected


def test_methods_of_the_model_itself() -> None:
    hook = HOOK.format(hook="on_epoch_begin", count="epoch", thawed="model.thaw()")
    assert codes(frozen="net.freeze()", hooks=hook) == ["PT286"]
    assert codes(frozen="net.freeze()\n    net.thaw()", hooks=hook) == []


@pytest.mark.parametrize(
    ("before", "later", "expected"),
    [
        ("net.bert.encoder", "model.bert.encoder", ["PT286"]),
        ("net.bert", "model.bert.encoder.layer[-1]", ["PT286"]),
        ("net.bert.encoder.layer[:6]", "model.bert", ["PT286"]),
        ("net.bert.encoder.layer[:6]", "model.bert.encoder.layer[6:]", []),
        ("net.get_input_embeddings()", "model.get_input_embeddings()", ["PT286"]),
        ("net.bert.embeddings", "model.bert.pooler", []),
    ],
)
def test_parts_of_a_model_of_the_library(before: str, later: str, expected: list[str]) -> None:
    hook = HOOK.format(hook="on_epoch_begin", count="epoch", thawed=f"switch({later}, True)")
    assert codes(model=MADE, frozen=f"switch({before}, False)", hooks=hook) == expected
