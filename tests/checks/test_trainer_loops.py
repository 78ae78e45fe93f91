"""The loop that a library's trainer makes around what the program gave it, in spellings unlike the fixtures."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
import lightning as L
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import ConcatDataset, DataLoader, Subset, TensorDataset
{above}

class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 3)
        {init}

    def training_step(self, batch, index):
        x = batch[0]
        {step}

    {methods}


def main():
    trainer = L.Trainer(accelerator="gpu", devices={devices}, strategy="ddp", {options})
    trainer.fit({given})


main()
"""
SHARE = """def train_dataloader(self):
        rows = TensorDataset(torch.randn({rows}, 4))
        share = Subset(rows, range(self.global_rank, len(rows), self.trainer.world_size))
        return DataLoader(share, batch_size={batch}, drop_last={drops})"""
LOADER = "Net(), DataLoader(TensorDataset(torch.randn(64, 4)), batch_size=4)"
WHOLE = "return self.layer(x).square().mean()"
OFF = "use_distributed_sampler=False"


def codes(**parts: str) -> list[str]:
    """The rules that have findings in a program with these parts."""
    usual = {"above": "", "init": "pass", "step": WHOLE, "methods": "", "devices": "2", "options": "", "given": LOADER}
    Path("train.py").write_text(PROGRAM.format(**{**usual, **parts}), encoding="utf-8")
    return sorted({one["code"] for one in check()["findings"] if one["severity"] != "note"})


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_rank_with_more_batches_makes_more_steps() -> None:
    share = SHARE.format(rows=33, batch=4, drops=False)
    assert codes(methods=share, options=OFF, given="Net()") == ["PT501"]


@pytest.mark.parametrize(
    ("rows", "drops", "options"),
    [
        (32, False, OFF),
        (33, True, OFF),  # the row that is over is in no batch
        (41, False, ""),  # the trainer's own sampler leaves 11 of 21 rows and 10 of 20
        (33, False, f"{OFF}, max_steps=3"),
        (33, False, f"{OFF}, limit_train_batches=2"),
    ],
)
def test_a_loop_that_ends_together_is_right(rows: int, options: str, *, drops: bool) -> None:
    share = SHARE.format(rows=rows, batch=4, drops=drops)
    assert codes(methods=share, options=options, given="Net()") == []


@pytest.mark.parametrize(
    "step",
    [
        "if (x > 3).any():\n            return torch.tensor(0.0, requires_grad=True)\n        return self.layer(x).mean()",
        "return self.layer(x).mean() if (x < 3).all() else torch.zeros((), requires_grad=True)",
    ],
)
def test_a_loss_that_no_parameter_has_part_in_on_some_ranks(step: str) -> None:
    assert codes(step=step) == ["PT501"]


@pytest.mark.parametrize(
    "step",
    [
        "if index % 5 == 0:\n            return torch.zeros((), requires_grad=True)\n        return self.layer(x).mean()",
        "weight = torch.ones(()) if (x < 3).all() else torch.zeros(())\n        return weight * self.layer(x).mean()",
        "term = self.layer(x).abs().mean() if (x < 3).all() else torch.zeros(())\n        return term + self.layer(x).mean()",
        "loss = torch.zeros(()) if (x > 3).any() else self.layer(x).mean()\n        loss += self.layer(x).mean()\n        return loss",
    ],
)
def test_a_loss_in_which_all_ranks_have_part_is_right(step: str) -> None:
    assert codes(step=step) == []


@pytest.mark.parametrize(
    "parts",
    [
        {"init": "self.mean = torch.zeros(4).cuda()"},
        {"init": "self.mean = torch.zeros(4, device='cuda')"},
        {"init": "where = 'cuda' if torch.cuda.is_available() else 'cpu'; self.mean = torch.zeros(4).to(where)"},
        {"above": "MEAN = torch.zeros(4).to('cuda:0')", "step": "return self.layer(x - MEAN).mean()"},
    ],
)
def test_a_tensor_is_put_on_the_first_device_too_early(parts: dict[str, str]) -> None:
    assert codes(**{"step": "return self.layer(x - self.mean).mean()", **parts}) == ["PT612"]


@pytest.mark.parametrize(
    "parts",
    [
        {"init": "self.register_buffer('mean', torch.zeros(4).cuda())"},
        {"init": "self.mean = nn.Parameter(torch.zeros(4, device='cuda'))"},
        {"init": "self.mean = torch.zeros(4).cuda()", "devices": "1"},
        {"init": "self.mean = torch.zeros(4).cuda()", "step": "return self.layer(x - self.mean.to(x.device)).mean()"},
        {
            "init": "self.mean = torch.zeros(4).cuda()",
            "methods": "def on_fit_start(self):\n        self.mean = self.mean.to(self.device)",
        },
        {"methods": "def setup(self, stage):\n        self.mean = torch.zeros(4).cuda()"},
        {
            "init": "self.mean = torch.zeros(4).cuda()",
            "step": "self.log('mean', self.mean * 2)\n        return self.layer(x).mean()",
        },
        {"init": "self.mean = nn.Linear(4, 4).cuda()", "step": "return self.layer(x - self.mean(x)).mean()"},
        {"above": "torch.cuda.set_device(1)", "init": "self.mean = torch.zeros(4).cuda()"},
    ],
)
def test_a_tensor_that_is_moved_with_the_module_or_used_alone_is_right(parts: dict[str, str]) -> None:
    assert codes(**{"step": "return self.layer(x - self.mean).mean()", **parts}) == []
