"""Options that used to tell a process its place on the node (RUN307), and the ways in which it may still come from elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
import argparse
import os
import torch
import torch.distributed as dist

def main():
    parser = argparse.ArgumentParser()
    {add}
    args = parser.parse_args()
    {then}
    dist.init_process_group("nccl"{joined})
    torch.cuda.set_device({device})
    total = torch.ones(1, device="cuda")
    dist.all_reduce(total)

main()
"""
ADD = 'parser.add_argument("--local_rank", type=int, default=0)'
STARTER = """
import subprocess, sys
for number in range(2):
    subprocess.Popen([sys.executable, "train.py", f"--local_rank={number}"])
"""
NEW = "torch==2.4.0\n"
OLD = "torch==1.13.1\n"


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder that is looked at."""
    monkeypatch.chdir(tmp_path)


def found(add: str = ADD, then: str = "pass", device: str = "args.local_rank", joined: str = "", **files: str) -> bool:
    """Whether a program has a finding about its option; ``files`` are others by their stems."""
    text = PROGRAM.format(add=add, then=then, device=device, joined=joined)
    Path("train.py").write_text(files.pop("before", "") + text, encoding="utf-8")
    for stem, content in files.items():
        Path(f"{stem}.{'txt' if stem == 'requirements' else 'sh' if stem == 'run' else 'py'}").write_text(content)
    return "RUN307" in {one["code"] for one in check()["findings"]}


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"add": 'parser.add_argument("--local_rank", type=int)'},
        {"add": ADD.replace("=0", "=-1"), "then": "if args.local_rank == -1:\n        return"},
        {"then": 'device = torch.device("cuda", args.local_rank)', "device": "device"},
        {"requirements": NEW},
        {"requirements": "torch>=1.8\n"},
        {"joined": ', init_method="env://"'},
    ],
)
def test_option_that_nobody_passes(parts: dict[str, str]) -> None:
    """No launcher of the release in use passes it, and nothing else tells the number."""
    assert found(**parts)


@pytest.mark.parametrize(
    "parts",
    [
        {"requirements": OLD},
        {"then": 'args.local_rank = int(os.environ["LOCAL_RANK"])'},
        {"then": 'local = int(os.environ.get("LOCAL_RANK", args.local_rank))', "device": "local"},
        {"add": 'parser.add_argument("--local_rank", type=int, default=os.getenv("LOCAL_RANK", 0))'},
        {"add": 'parser.add_argument("--local_rank", "--local-rank", type=int, default=0)'},
        {"add": 'parser.add_argument("--local_rank", type=int, required=True)'},
        {"add": f"{ADD}\n    parser.set_defaults(local_rank=torch.cuda.current_device())"},
        {"then": 'setattr(args, "local_rank", dist.get_node_local_rank())'},
        {"device": "dist.get_rank() % torch.cuda.device_count()"},
        {"joined": ", rank=args.local_rank, world_size=2"},
        {"before": "import deepspeed\n"},
        {"run": "python train.py --local_rank 0 &\npython train.py --local_rank 1\n"},
        {"starter": STARTER},
    ],
)
def test_option_that_may_be_passed(parts: dict[str, str]) -> None:
    """A launcher of an older release, a script or the program itself may tell the number."""
    assert not found(**parts)
