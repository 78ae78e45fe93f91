"""What a gradient scaler is asked for in each pass of a window of accumulation, and what at its end (PT207)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

CODE = """
import argparse

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


{helper}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--accum", type=int, default=4)
    parser.add_argument("--single", type=int, default=1)
    parser.add_argument("--clip", type=float, default=1.0)
    args = parser.parse_args()
    dist.init_process_group("nccl")
    data = torch.load("data.pt")
    loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data))
    model = DistributedDataParallel(nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cuda")
    accum = 4
{loop}
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
"""
EACH = """
    for i, rows in enumerate(loader):
        scaler.scale(model(rows).pow(2).mean()).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if {test}:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
"""
END = """
    for i, rows in enumerate(loader):
        scaler.scale(model(rows).pow(2).mean()).backward()
        if {test}:
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
"""
IN_HELPER = """
def clip(scaler, optimizer, model):
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
"""
TRAINER = """
class Trainer:
    def __init__(self, model, optimizer, scaler, accum=4):
        self.model, self.optimizer, self.scaler = model, optimizer, scaler
        self.accum = accum

    def micro(self, i, rows):
        self.scaler.scale(self.model(rows).pow(2).mean()).backward()
        {unscale}
        if (i + 1) % self.accum == 0:
            {at_end}
            self.scaler.step(self.optimizer)
            self.scaler.update()
            self.optimizer.zero_grad()
"""
MICRO = """
    trainer = Trainer(model, optimizer, scaler)
    for i, rows in enumerate(loader):
        trainer.micro(i, rows)
"""
UNSCALE = "self.scaler.unscale_(self.optimizer)"
WRONG = {
    "a number": ("", EACH.replace("{test}", "(i + 1) % accum == 0")),
    "an option": ("", EACH.replace("{test}", "(i + 1) % args.accum == 0")),
    "or at the end": ("", EACH.replace("{test}", "(i + 1) % accum == 0 or i + 1 == len(loader)")),
    "counted from the start": ("", EACH.replace("{test}", "i % accum == accum - 1")),
    "by a name": (
        "",
        EACH.replace("{test}", "last").replace(
            "        scaler.scale", "        last = not (i + 1) % 4\n        scaler.scale"
        ),
    ),
    "the others go on": (
        "",
        EACH.replace("        if {test}:\n", "        if (i + 1) % accum:\n            continue\n")
        .replace("            scaler.", "        scaler.")
        .replace("            optimizer.", "        optimizer."),
    ),
    "where clipping is asked for": (
        "",
        EACH.replace("{test}", "(i + 1) % accum == 0").replace(
            "        scaler.unscale_(optimizer)", "        if args.clip > 0:\n            scaler.unscale_(optimizer)"
        ),
    ),
    "in a helper": (
        IN_HELPER,
        EACH.replace("{test}", "(i + 1) % accum == 0").replace(
            "scaler.unscale_(optimizer)", "clip(scaler, optimizer, model)"
        ),
    ),
    "in a trainer": (TRAINER.replace("{unscale}", UNSCALE).replace("{at_end}", "pass"), MICRO),
    "stepped in each pass": (
        "",
        EACH.replace("{test}", "(i + 1) % accum == 0")
        .replace("        scaler.unscale_(optimizer)\n", "")
        .replace("            scaler.step", "        pass\n        scaler.step")
        .replace("        if ", "        scaler.step(optimizer)\n        if ")
        .replace("        pass\n        scaler.step(optimizer)\n", ""),
    ),
}
RIGHT = {
    "at the end": ("", END.replace("{test}", "(i + 1) % accum == 0")),
    "by a name": (
        "",
        END.replace("{test}", "last").replace(
            "        scaler.scale", "        last = (i + 1) % accum == 0\n        scaler.scale"
        ),
    ),
    "rounds of one": ("", EACH.replace("{test}", "(i + 1) % args.single == 0")),
    "updated in each pass": (
        "",
        EACH.replace("{test}", "i % 10 == 0").replace(
            "            scaler.step(optimizer)\n            scaler.update()\n            optimizer",
            "            print(i)\n        scaler.step(optimizer)\n        scaler.update()\n        optimizer",
        ),
    ),
    "the others go on": (
        "",
        END.replace("        if {test}:\n", "        if (i + 1) % accum != 0:\n            continue\n")
        .replace("            ", "        ")
        .replace("        continue", "            continue"),
    ),
    "two tests": (
        "",
        EACH.replace("{test}", "(i + 1) % accum == 0").replace(
            "        scaler.unscale_(optimizer)",
            "        if i % accum == accum - 1:\n            scaler.unscale_(optimizer)",
        ),
    ),
    "by a flag of its own": (
        "",
        EACH.replace("{test}", "(i + 1) % accum == 0")
        .replace("    for i", "    ready = False\n    for i")
        .replace(
            "        scaler.unscale_(optimizer)",
            "        ready = i % accum == 3\n        if ready:\n            scaler.unscale_(optimizer)",
        ),
    ),
    "in a trainer": (TRAINER.replace("{unscale}", "pass").replace("{at_end}", UNSCALE), MICRO),
    "a loop of micro-batches": (
        "",
        (
            "    for i, rows in enumerate(loader):\n        for part in rows.chunk(accum):\n"
            "            scaler.scale(model(part).pow(2).mean()).backward()\n        scaler.unscale_(optimizer)\n"
            "        scaler.step(optimizer)\n        scaler.update()\n        if i % accum == 0:\n            print(i)\n"
        ),
    ),
    "updated by what it found": (
        "",
        EACH.replace("{test}", "(i + 1) % accum == 0").replace(
            "        if (i", "        if (i + 1) % accum:\n            scaler.update()\n        if (i"
        ),
    ),
}


def _is_found(case: tuple[str, str], folder: Path, patch: pytest.MonkeyPatch) -> bool:
    patch.chdir(folder)
    text = CODE.replace("{helper}", case[0]).replace("{loop}", case[1])
    compile(text, "train.py", "exec")
    (folder / "train.py").write_text(text)
    return any(finding["code"] == "PT207" for finding in check()["findings"])


@pytest.mark.parametrize("name", WRONG)
def test_asked_in_each_pass(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _is_found(WRONG[name], tmp_path, monkeypatch)


@pytest.mark.parametrize("name", RIGHT)
def test_asked_once_in_a_window(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not _is_found(RIGHT[name], tmp_path, monkeypatch)
