"""Models of a library with a pooler that nobody uses: words of a trainer that the program gives itself, and other spellings."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

LAUNCH = 'torchrun --nproc_per_node 2 train.py "$@"\n'
TRAINED = """
import sys
import torch
from torch import nn
from transformers import AutoModel, BertConfig, BertModel, HfArgumentParser, PreTrainedModel, Trainer, TrainingArguments
from elsewhere import rows, words_of_mine

WORDS = ["--output_dir", "out", "--max_steps", "8", "--use_cpu", str(not torch.cuda.is_available()), "--gradient_checkpointing", "true"]


class Scoring(PreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.bert = BertModel(config)
        self.score = nn.Linear(config.hidden_size, 1)

    def forward(self, input_ids, labels=None):
        hidden = self.bert(input_ids=input_ids).last_hidden_state
        logits = self.score(hidden.mean(1)).squeeze(-1)
        return {"loss": nn.functional.mse_loss(logits, labels), "logits": logits}


def main(argv):
    HERE
    Trainer(model=Scoring(BertConfig()), args=args, train_dataset=rows).train()


if __name__ == "__main__":
    main(sys.argv[1:])
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses(WORDS + argv)", 1),
        ("args = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses(args=WORDS)[0]", 1),
        ("(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses([*WORDS, *sys.argv[1:]])", 1),
        (
            "words = WORDS + argv\n    (args,) = HfArgumentParser((TrainingArguments,)).parse_args_into_dataclasses(words)",
            1,
        ),
        (
            "(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses(WORDS + ['--bf16', 'no'] + argv)",
            1,
        ),
        ("(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses(WORDS + words_of_mine)", 0),
        ("(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses(words_of_mine() + argv)", 0),
        (
            (
                "words = WORDS + ['--ddp_find_unused_parameters', 'true']\n"
                "    (args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses(words + argv)"
            ),
            0,
        ),
        (
            "(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses(WORDS[:6] + argv)",
            0,
        ),
        (
            "(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses([*WORDS, '--gradient_checkpointing=false'])",
            0,
        ),
        ("(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()", 0),
    ],
)
def test_words_that_the_program_gives_itself(
    body: str, expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "launch.sh").write_text(LAUNCH)
    assert len(found(tmp_path, monkeypatch, TRAINED.replace("HERE", body))) == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ('--gradient_checkpointing --output_dir out "$@"', 1),
        ("--output_dir out --gradient_checkpointing true $*", 1),
        ("--output_dir out --gradient_checkpointing $ARGS", 0),
        ('--output_dir out --gradient_checkpointing --ddp_find_unused_parameters true "$@"', 0),
    ],
)
def test_words_of_whoever_starts_the_script(
    words: str, expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "launch.sh").write_text(LAUNCH.replace('"$@"', words))
    body = "(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()"
    assert len(found(tmp_path, monkeypatch, TRAINED.replace("HERE", body))) == expected


WRAPPED = """
import os
import torch
import torch.distributed as dist
from accelerate import Accelerator
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from transformers import AutoConfig, AutoModel, BertConfig, BertModel, RobertaConfig, RobertaModel


class Net(nn.Module):
    def __init__(self, config):
        super().__init__()
        MADE
        self.head = nn.Linear(8, 2)

    def forward(self, ids, mask=None):
        USED
        return self.head(hidden.mean(1))


def build():
    return Net(BertConfig(hidden_size=8))


def main():
    net = build()
    WRAP
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(3):
        loss = net(torch.ones(2, 4).long()).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()


main()
"""
MADE = "self.body = BertModel(config)"
USED = "hidden = self.body(ids, attention_mask=mask).last_hidden_state"
WRAP = "dist.init_process_group('gloo')\n    net = DDP(net)"


@pytest.mark.parametrize(
    ("made", "used", "wrap", "expected"),
    [
        (MADE, USED, WRAP, 1),
        ("self.body = AutoModel.from_pretrained('bert-base-cased')", USED, WRAP, 1),
        ("self.body = RobertaModel(RobertaConfig())", USED, WRAP, 1),
        ("body = BertModel(config)\n        self.body = body", USED, WRAP, 1),
        (
            "self.body = self.made(config)\n\n    def made(self, config):\n        return BertModel(config)\n\n    def more(self):",
            USED,
            WRAP,
            1,
        ),
        (MADE, "hidden = self.body(ids)[0]", WRAP, 1),
        (MADE, "hidden, _ = self.body(ids, return_dict=False)", WRAP, 1),
        (MADE, "out = self.body(input_ids=ids)\n        hidden = out['last_hidden_state']", WRAP, 1),
        (MADE, "hidden = self.body(ids, output_hidden_states=True).hidden_states[-1]", WRAP, 1),
        (
            MADE,
            "hidden = self.encoded(ids)\n\n    def encoded(self, ids):\n        return self.body(ids)[0]\n\n    def more(self, hidden):",
            WRAP,
            1,
        ),
        (MADE, USED, "dist.init_process_group('gloo')\n    net = DDP(module=net, broadcast_buffers=False)", 1),
        (MADE, USED, "acc = Accelerator()\n    net = acc.prepare(net)", 1),
        (MADE, USED, "acc = Accelerator()\n    net = acc.prepare_model(net)", 1),
        (MADE, USED, "dist.init_process_group('gloo')\n    net = DDP(net, find_unused_parameters=True)", 0),
        ("self.body = BertModel(config, add_pooling_layer=False)", USED, WRAP, 0),
        ("self.body = BertModel(config, False)", USED, WRAP, 0),
        ("self.body = AutoModel.from_config(config, add_pooling_layer=False)", USED, WRAP, 0),
        (MADE, "hidden = self.body(ids)[1][:, None]", WRAP, 0),
        (MADE, "hidden = self.body(ids).pooler_output[:, None]", WRAP, 0),
        (MADE, "_, hidden = self.body(ids, return_dict=False)", WRAP, 0),
        (MADE + "\n        self.body.pooler = None", USED, WRAP, 0),
        (MADE + "\n        del self.body.pooler", USED, WRAP, 0),
        (MADE, "out = self.body(ids)\n        hidden = out[0] + out['pooler_output'][:, None]", WRAP, 0),
        (MADE, "out = self.body(ids)\n        hidden = out.to_tuple()[-1][:, None]", WRAP, 0),
        (MADE, USED, WRAP + "\n    for p in net.module.body.parameters():\n        p.requires_grad_(False)", 0),
    ],
)
def test_models_in_other_spellings(
    made: str, used: str, wrap: str, expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = WRAPPED.replace("MADE", made).replace("USED", used).replace("WRAP", wrap)
    assert len(found(tmp_path, monkeypatch, text)) == expected


def found(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> list[str]:
    """The findings about parts of library models that nobody uses."""
    (folder / "train.py").write_text(text)
    monkeypatch.chdir(folder)
    return [one["message"] for one in check()["findings"] if one["code"] == "HF229"]
