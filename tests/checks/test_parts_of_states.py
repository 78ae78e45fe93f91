"""Files that get the optimizer state of one rank's part of a sharded model (PT242)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

CODE = """
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.checkpoint.state_dict import get_optimizer_state_dict
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp import ShardingStrategy


def save(model, opt, folder, epoch):
    if dist.get_rank() != 0:
        return
    state = {"epoch": epoch}
    state["opt"] = opt.state_dict()
    torch.save(state, os.path.join(folder, f"{epoch}.pt"))


def main():
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    model = {wrap}
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for epoch in range(3):
        opt.zero_grad()
        model(torch.randn(4, 16)).mean().backward()
        opt.step()
{body}
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
"""
FLAT = "FSDP(nn.Linear(16, 1))"
WRONG = {
    "by the first rank": (FLAT, "if rank == 0:\n    torch.save(opt.state_dict(), 'last.pt')"),
    "in a helper": (FLAT, "save(model, opt, 'checkpoints', epoch)"),
    "original parameters": (
        "FSDP(nn.Linear(16, 1), use_orig_params=True)",
        "if rank == 0:\n    torch.save({'opt': opt.state_dict(), 'epoch': epoch}, 'last.pt')",
    ),
    "taken by all": (FLAT, "state = opt.state_dict()\nif not rank:\n    torch.save([state, epoch], 'last.pt')"),
    "all into one file": (FLAT, "torch.save({'opt': opt.state_dict()}, f'{epoch}.pt')"),
    "now and then": (FLAT, "if epoch % 2 == 0 and rank == 0:\n    torch.save({'opt': opt.state_dict()}, 'last.pt')"),
}
RIGHT = {
    "gathered": (
        FLAT,
        "state = FSDP.optim_state_dict(model, opt)\nif rank == 0:\n    torch.save({'opt': state}, 'last.pt')",
    ),
    "gathered from its own": (
        FLAT,
        "state = FSDP.optim_state_dict(model, opt, opt.state_dict())\nif rank == 0:\n    torch.save({'opt': state}, 'last.pt')",
    ),
    "gathered by the helper": (
        FLAT,
        "state = get_optimizer_state_dict(model, opt)\nif rank == 0:\n    torch.save({'opt': state}, 'last.pt')",
    ),
    "a file of each": (FLAT, "torch.save({'opt': opt.state_dict()}, f'{epoch}-{rank}.pt')"),
    "a folder of each": (
        FLAT,
        "os.makedirs(str(rank), exist_ok=True)\ntorch.save(opt.state_dict(), os.path.join(str(rank), 'last.pt'))",
    ),
    "not sharded": (
        "FSDP(nn.Linear(16, 1), sharding_strategy=ShardingStrategy.NO_SHARD)",
        "if rank == 0:\n    torch.save({'opt': opt.state_dict()}, 'last.pt')",
    ),
    "copies": (
        "nn.parallel.DistributedDataParallel(nn.Linear(16, 1))",
        "if rank == 0:\n    torch.save({'opt': opt.state_dict()}, 'last.pt')",
    ),
    "another optimizer": (
        FLAT,
        "other = torch.optim.SGD(nn.Linear(2, 2).parameters(), lr=0.1)\nif rank == 0:\n    torch.save(other.state_dict(), 'last.pt')",
    ),
    "only shown": (FLAT, "if rank == 0:\n    print(opt.state_dict())"),
}


def _is_found(case: tuple[str, str], folder: Path, patch: pytest.MonkeyPatch) -> bool:
    patch.chdir(folder)
    text = CODE.replace("{wrap}", case[0]).replace("{body}", "\n".join("        " + one for one in case[1].split("\n")))
    compile(text, "train.py", "exec")
    (folder / "train.py").write_text(text)
    return any(finding["code"] == "PT242" for finding in check()["findings"])


@pytest.mark.parametrize("name", WRONG)
def test_the_other_parts_are_lost(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _is_found(WRONG[name], tmp_path, monkeypatch)


@pytest.mark.parametrize("name", RIGHT)
def test_all_parts_are_saved(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not _is_found(RIGHT[name], tmp_path, monkeypatch)
