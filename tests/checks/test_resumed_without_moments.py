"""Checkpoints that a program loads only where it is told to, into the state of an optimizer that has none yet (PT219)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

CODE = """
import argparse
import os

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import get_optimizer_state_dict, get_state_dict, set_optimizer_state_dict
from torch.distributed.fsdp import fully_shard
from torch.utils.data import DataLoader, DistributedSampler


def load(model, opt, folder):
    state = {"model": model.state_dict(), "opt": opt.state_dict()}
    dcp.load(state, checkpoint_id=folder)
    model.load_state_dict(state["model"])
    opt.load_state_dict(state["opt"])


def train(model, opt, loader):
    for rows in loader:
        opt.zero_grad()
        model(rows).pow(2).mean().backward()
        opt.step()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--resume", default="")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--eval", action="store_true")
    args = parser.parse_args()
    dist.init_process_group("nccl")
    data = torch.load("data.pt")
    loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data))
    model = nn.Linear(16, 16)
    fully_shard(model)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
{body}
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
"""
TRAIN = "\nfor epoch in range(args.epochs):\n    train(model, opt, loader)"
TAKE = 'state = {"opt": opt.state_dict(), "epoch": 0}'
WRONG = {
    "where asked for": "if args.resume:\n    load(model, opt, args.resume)" + TRAIN,
    "where there is one": "if os.path.isdir('ckpt'):\n    load(model, opt, 'ckpt')\nelse:\n    print('new')" + TRAIN,
    "two tests": "if args.resume:\n    if os.path.isdir(args.resume):\n        load(model, opt, args.resume)" + TRAIN,
    "goes on at its epoch": (
        f"start = 0\nif args.resume:\n    {TAKE}\n    dcp.load(state, checkpoint_id=args.resume)\n"
        "    opt.load_state_dict(state['opt'])\n    start = state['epoch']\n"
        "for epoch in range(start, args.epochs):\n    train(model, opt, loader)"
    ),
    "taken before": (
        f"{TAKE}\nif args.resume:\n    dcp.load(state, checkpoint_id=args.resume)\n    opt.load_state_dict(state['opt'])"
        + TRAIN
    ),
    "unless it is evaluated": "if args.resume:\n    load(model, opt, args.resume)\nif args.eval:\n    print(model)\nelse:"
    + TRAIN.replace("\n", "\n    "),
}
RIGHT = {
    "by the helpers": (
        "if args.resume:\n    state = {'opt': get_optimizer_state_dict(model, opt)}\n    dcp.load(state, checkpoint_id=args.resume)\n"
        "    set_optimizer_state_dict(model, opt, state['opt'])" + TRAIN
    ),
    "stepped before": (
        "for p in model.parameters():\n    p.grad = torch.zeros_like(p)\nopt.step()\nif args.resume:\n    load(model, opt, args.resume)"
        + TRAIN
    ),
    "stepped before where asked for": (
        "if args.resume:\n"
        "    for p in model.parameters():\n"
        "        p.grad = torch.zeros_like(p)\n"
        "    opt.step()\n"
        "    load(model, opt, args.resume)" + TRAIN
    ),
    "trained otherwise only": "if args.resume:\n    load(model, opt, args.resume)\n    print(model)\nelse:"
    + TRAIN.replace("\n", "\n    "),
    "back to the last one": (
        "for epoch in range(args.epochs):\n"
        "    if os.path.exists('broken'):\n"
        "        load(model, opt, 'last')\n"
        "    train(model, opt, loader)"
    ),
    "back to the last one until it is done": (
        "while not os.path.exists('done'):\n"
        "    if os.path.exists('broken'):\n"
        "        load(model, opt, 'last')\n"
        "    train(model, opt, loader)"
    ),
    "without moments": "opt = torch.optim.SGD(model.parameters(), lr=0.1)\nif args.resume:\n    load(model, opt, args.resume)"
    + TRAIN,
    "never loaded": (
        "if args.resume:\n"
        f"    {TAKE}\n"
        "    print(state)\n"
        "else:\n"
        f"    dcp.load({{'model': model.state_dict()}}, checkpoint_id='x')" + TRAIN
    ),
    "only the weights": "if args.resume:\n    state = {'model': model.state_dict()}\n    dcp.load(state, checkpoint_id=args.resume)"
    + TRAIN,
}


def _is_found(body: str, folder: Path, patch: pytest.MonkeyPatch) -> bool:
    patch.chdir(folder)
    text = CODE.replace("{body}", "\n".join("    " + line for line in body.split("\n")))
    compile(text, "train.py", "exec")
    (folder / "train.py").write_text(text)
    return any(finding["code"] == "PT219" for finding in check()["findings"])


@pytest.mark.parametrize("name", WRONG)
def test_moments_are_left_in_the_checkpoint(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _is_found(WRONG[name], tmp_path, monkeypatch)


@pytest.mark.parametrize("name", RIGHT)
def test_moments_are_there_or_not_wanted(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not _is_found(RIGHT[name], tmp_path, monkeypatch)
