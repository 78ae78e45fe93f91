"""Where the forward pass stands whose backward pass is under ``no_sync`` (PT241)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

CODE = """
from contextlib import ExitStack, nullcontext

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def loss_of(model, rows):
    return model(rows).pow(2).mean()


def back(model, loss, last):
    if last:
        loss.backward()
        return
    with model.no_sync():
        loss.backward()


def main():
    dist.init_process_group("nccl")
    data = torch.load("data.pt")
    loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data))
    model = DistributedDataParallel(nn.Linear(16, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cuda")
    for i, rows in enumerate(loader):
        last = (i + 1) % 4 == 0
{turn}
        if last:
            opt.step()
            opt.zero_grad()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
"""
WRONG = {
    "in both branches": (
        "loss = loss_of(model, rows)\n"
        "if last:\n"
        "    loss.backward()\n"
        "else:\n"
        "    with model.no_sync():\n"
        "        loss.backward()"
    ),
    "chosen context": (
        "loss = loss_of(model, rows)\nwith nullcontext() if last else model.no_sync():\n    loss.backward()"
    ),
    "a named context": (
        "loss = model(rows).sum()\nctx = model.no_sync if not last else nullcontext\nwith ctx():\n    loss.backward()"
    ),
    "in a helper": "back(model, loss_of(model, rows), last)",
    "scaled": (
        "with torch.autocast('cuda'):\n"
        "    loss = loss_of(model, rows)\n"
        "with nullcontext() if last else model.no_sync():\n"
        "    scaler.scale(loss).backward()"
    ),
    "an exit stack": (
        "loss = loss_of(model, rows)\n"
        "with ExitStack() as stack:\n"
        "    if not last:\n"
        "        stack.enter_context(model.no_sync())\n"
        "    loss.backward()"
    ),
}
RIGHT = {
    "both inside": "with nullcontext() if last else model.no_sync():\n    loss_of(model, rows).backward()",
    "both inside a named context": (
        "ctx = nullcontext if last else model.no_sync\nwith ctx():\n    loss = model(rows).sum()\n    loss.backward()"
    ),
    "the backward pass outside": (
        "with nullcontext() if last else model.no_sync():\n    loss = loss_of(model, rows)\nloss.backward()"
    ),
    "another model": (
        "other = nn.Linear(16, 1)\n"
        "loss = other(rows).sum()\n"
        "with model.no_sync():\n"
        "    loss.backward()\n"
        "loss_of(model, rows).backward()"
    ),
    "looked at before": (
        "with torch.no_grad():\n"
        "    print(loss_of(model, rows).item())\n"
        "with nullcontext() if last else model.no_sync():\n"
        "    loss_of(model, rows).backward()"
    ),
    "a window": (
        "*parts, end = rows.chunk(4)\n"
        "with model.no_sync():\n"
        "    for part in parts:\n"
        "        loss_of(model, part).backward()\n"
        "loss_of(model, end).backward()"
    ),
    "an exit stack": (
        "with ExitStack() as stack:\n"
        "    if not last:\n"
        "        stack.enter_context(model.no_sync())\n"
        "    loss = loss_of(model, rows)\n"
        "    loss.backward()"
    ),
    "past the wrapper": "loss = model.module(rows).sum()\nwith model.no_sync():\n    loss.backward()",
    "nothing to keep": "loss = loss_of(model, rows)\nwith torch.enable_grad():\n    loss.backward()",
}


def _is_found(turn: str, folder: Path, patch: pytest.MonkeyPatch) -> bool:
    patch.chdir(folder)
    lines = "\n".join("        " + line for line in turn.split("\n"))
    (folder / "train.py").write_text(CODE.replace("{turn}", lines))
    return any(finding["code"] == "PT241" for finding in check()["findings"])


@pytest.mark.parametrize("name", WRONG)
def test_forward_pass_outside(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _is_found(WRONG[name], tmp_path, monkeypatch)


@pytest.mark.parametrize("name", RIGHT)
def test_forward_pass_with_its_backward_pass(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not _is_found(RIGHT[name], tmp_path, monkeypatch)
