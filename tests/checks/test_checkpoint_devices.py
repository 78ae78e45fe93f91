"""Which checkpoints every rank loads onto the device of the one that saved them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
import os
import deepspeed
import torch
import torch.distributed as dist
from accelerate import Accelerator
from torch import nn


def build(path):
    model = nn.Linear(4, 4)
    model.load_state_dict(torch.load(path))
    return model


def main():
    {start}
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    model = build("{read}").cuda()
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), "out/last.pt")


main()
"""
NCCL = 'dist.init_process_group("nccl")'


@pytest.mark.parametrize(
    ("start", "read", "is_found"),
    [
        (NCCL, "out/last.pt", True),
        (NCCL, "weights/first.pt", False),
        ("dist.init_process_group()", "out/last.pt", True),
        ('dist.init_process_group("gloo")', "out/last.pt", False),
        ("deepspeed.init_distributed()", "out/last.pt", True),
        ('deepspeed.init_distributed(dist_backend="gloo")', "out/last.pt", False),
        ('deepspeed.init_distributed("nccl")', "out/last.pt", True),
        ("Accelerator()", "out/last.pt", True),
        ("Accelerator(cpu=True)", "out/last.pt", False),
    ],
)
def test_groups_have_devices_and_files_names(
    start: str, read: str, is_found: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "train.py").write_text(PROGRAM.format(start=start, read=read))
    monkeypatch.chdir(tmp_path)
    assert ("PT608" in [one["code"] for one in check("--select", "PT608")["findings"]]) is is_found


@pytest.mark.parametrize(
    ("read", "written", "is_found"),
    [
        ('f"{torch.__version__}.pt"', 'f"{torch.initial_seed()}.pt"', False),
        ('os.path.join(torch.hub.get_dir(), "net.pt")', 'f"{torch.initial_seed()}.pt"', False),
        ('f"{name}.pt"', 'f"{name}.pt"', True),
    ],
)
def test_names_of_libraries_and_kinds_of_files_tell_nothing(
    read: str, written: str, is_found: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = PROGRAM.format(start=NCCL, read="READ").replace('"READ"', read).replace('"out/last.pt"', written)
    (tmp_path / "train.py").write_text(code.replace("def main():", "name = 'last'\n\n\ndef main():"))
    monkeypatch.chdir(tmp_path)
    assert ("PT608" in [one["code"] for one in check("--select", "PT608")["findings"]]) is is_found
