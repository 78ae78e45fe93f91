"""Gradients that are clipped together while a scaler has unscaled those of some optimizers only, or of all (PT208)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

CODE = """
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(50, 8)
        self.dense = nn.Linear(8, 1)

    def forward(self, tokens):
        return self.dense(self.table(tokens).mean(1))


def train(model, optimizers, scaler, other):
    for _ in range(4):
        for opt in optimizers:
            opt.zero_grad()
        with torch.autocast("cuda"):
            loss = model(torch.randint(50, (4, 6))).pow(2).mean()
        scaler.scale(loss).backward()
{clip}
        for opt in optimizers:
            scaler.step(opt)
        scaler.update()


def main():
    dist.init_process_group("nccl")
    torch.manual_seed(0)
    model = DistributedDataParallel(Encoder())
    first = torch.optim.SGD(model.module.table.parameters(), lr=0.1)
    second = torch.optim.SGD(model.module.dense.parameters(), lr=0.1)
    third = torch.optim.SGD(nn.Linear(4, 4).parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda"{enabled})
    train(model, {given}, scaler, third)
    dist.destroy_process_group()


main()
"""
BOTH = "(first, second)"
WRONG = {
    "the first": (BOTH, "scaler.unscale_(optimizers[0])\nnn.utils.clip_grad_norm_(model.parameters(), 1.0)"),
    "the last": (
        "[first, second]",
        "scaler.unscale_(optimizers[-1])\nnn.utils.clip_grad_norm_(model.parameters(), 1.0)",
    ),
    "by value": (BOTH, "scaler.unscale_(optimizers[0])\nnn.utils.clip_grad_value_(model.parameters(), 1.0)"),
    "unpacked": (
        BOTH,
        "one, other = optimizers\nscaler.unscale_(other)\nnn.utils.clip_grad_norm_(model.parameters(), 1.0)",
    ),
    "of the inner model": (
        BOTH,
        "scaler.unscale_(optimizers[0])\nnn.utils.clip_grad_norm_(model.module.parameters(), 1.0)",
    ),
    "a slice": (
        BOTH,
        "for opt in optimizers[:1]:\n    scaler.unscale_(opt)\nnn.utils.clip_grad_norm_(model.parameters(), 1.0)",
    ),
}
RIGHT = {
    "a loop": (
        BOTH,
        "for opt in optimizers:\n    scaler.unscale_(opt)\nnn.utils.clip_grad_norm_(model.parameters(), 1.0)",
    ),
    "a list": (BOTH, "[scaler.unscale_(opt) for opt in optimizers]\nnn.utils.clip_grad_norm_(model.parameters(), 1.0)"),
    "one after the other": (
        BOTH,
        "scaler.unscale_(optimizers[0])\nscaler.unscale_(optimizers[1])\nnn.utils.clip_grad_norm_(model.parameters(), 1.0)",
    ),
    "its own part": (
        BOTH,
        "scaler.unscale_(optimizers[1])\nnn.utils.clip_grad_norm_(model.module.dense.parameters(), 1.0)",
    ),
    "each its own part": (
        BOTH,
        (
            "for opt, part in zip(optimizers, (model.module.table, model.module.dense)):\n"
            "    scaler.unscale_(opt)\n    nn.utils.clip_grad_norm_(part.parameters(), 1.0)"
        ),
    ),
    "a limit with the scale": (
        BOTH,
        "scaler.unscale_(optimizers[0])\nnn.utils.clip_grad_norm_(model.parameters(), 1.0 * scaler.get_scale())",
    ),
    "the other one is never stepped": (
        "[first]",
        "scaler.unscale_(optimizers[0])\nnn.utils.clip_grad_norm_(model.parameters(), 1.0)",
    ),
    "a test that is not known": (
        BOTH,
        (
            "for opt in optimizers:\n    if loss.item() > 0 or opt.param_groups:\n        scaler.unscale_(opt)\n"
            "nn.utils.clip_grad_norm_(model.parameters(), 1.0)"
        ),
    ),
}


def _is_found(case: tuple[str, str], folder: Path, patch: pytest.MonkeyPatch, enabled: str = "") -> bool:
    given, clip = case
    lines = "\n".join("        " + line for line in clip.split("\n"))
    words = {"{given}": given, "{clip}": lines, "{enabled}": enabled}
    code = CODE
    for word, text in words.items():
        code = code.replace(word, text)
    patch.chdir(folder)
    (folder / "train.py").write_text(code)
    return any(finding["code"] == "PT208" for finding in check()["findings"])


@pytest.mark.parametrize("name", WRONG)
def test_some_are_still_scaled(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _is_found(WRONG[name], tmp_path, monkeypatch)


@pytest.mark.parametrize("name", RIGHT)
def test_all_are_unscaled(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not _is_found(RIGHT[name], tmp_path, monkeypatch)


def test_a_scaler_that_is_switched_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not _is_found(WRONG["the first"], tmp_path, monkeypatch, ", enabled=False")
