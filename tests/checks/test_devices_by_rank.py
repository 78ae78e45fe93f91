"""Ranks that a program counts over the nodes itself, and whether it takes a device by them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
import argparse, os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.nn.parallel import DistributedDataParallel as DDP


{work}


def main():
    parser = argparse.ArgumentParser()
    for name in ("nodes", "gpus", "nr", "local_rank"):
        parser.add_argument("--" + name, type=int, default=1)
    args = parser.parse_args()
    args.world_size = args.nodes * args.gpus
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "10.0.0.1", "29500"
    {start}


main()
"""
SPAWN = "mp.spawn(work, nprocs=args.gpus, args=(args,))"
PROCESSES = (
    "started = [mp.Process(target=work, args=(i, args)) for i in range(args.gpus)]\n"
    "    for one in started:\n        one.start()"
)
RANK = "args.nr * args.gpus + gpu"


def is_found(work: str, start: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether a device is said to be chosen by the rank in the whole job."""
    (tmp_path / "train.py").write_text(PROGRAM.format(work=work, start=start))
    monkeypatch.chdir(tmp_path)
    return any(finding["code"] == "PT102" for finding in check()["findings"])


def worker(use: str, rank: str = RANK, first: str = "gpu, args") -> str:
    """A function for one process that joins the job with a rank, and puts something on a device."""
    return (
        f"def work({first}):\n    rank = {rank}\n"
        f'    dist.init_process_group("nccl", rank=rank, world_size=args.world_size)\n    {use}'
    )


USES = [
    "torch.cuda.set_device({})",
    'print(torch.ones(1, device=torch.device("cuda", {})))',
    'print(torch.ones(1, device=f"cuda:{{{}}}"))',
    'print(torch.ones(1).to("cuda:%d" % {}))',
    'print(torch.ones(1).to("cuda:{{}}".format({})))',
    'print(torch.ones(1).to("cuda:" + str({})))',
    'print(torch.ones(1).to(torch.device(f"cuda:{{{}}}" if torch.cuda.is_available() else "cpu")))',
    "print(torch.ones(1).cuda({}))",
    "print(torch.ones(1).to(device={}))",
    "print(DDP(nn.Linear(4, 1), device_ids=[{}] if torch.cuda.is_available() else None))",
    "print(FSDP(nn.Linear(4, 1), device_id={}))",
]


@pytest.mark.parametrize("use", USES)
def test_every_way_to_take_a_device_counts(use: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_found(worker(use.format("rank")), SPAWN, tmp_path, monkeypatch)


@pytest.mark.parametrize("index", ["gpu", "rank % args.gpus", "rank - args.nr * args.gpus", "args.local_rank"])
@pytest.mark.parametrize("use", USES[:3])
def test_the_number_on_the_node_is_a_device(
    use: str, index: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not is_found(worker(use.format(index)), SPAWN, tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("rank", "start", "first"),
    [
        (RANK, SPAWN, "gpu, args"),
        ("gpu + args.gpus * args.nr", SPAWN, "gpu, args"),
        (RANK, PROCESSES, "gpu, args"),
        ('int(os.environ.get("NODE_RANK", 0)) * torch.cuda.device_count() + gpu', SPAWN, "gpu, args"),
        ("base + gpu", "mp.spawn(work, nprocs=args.gpus, args=(args.nr * args.gpus, args))", "gpu, base, args"),
        ("args.nr * args.gpus + args.local_rank", "work(args)", "args"),
    ],
)
def test_ranks_are_counted_in_many_ways(
    rank: str, start: str, first: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert is_found(worker("torch.cuda.set_device(rank)", rank, first), start, tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("work", "wrong"),
    [
        (worker("torch.cuda.set_device(dist.get_rank())"), True),
        (worker("torch.cuda.set_device(dist.get_rank())", "gpu"), False),
        (worker("torch.cuda.set_device(rank)", "args.nr + gpu"), False),
        (worker("torch.cuda.set_device(args.nr * args.gpus + gpu)", "gpu"), False),
        (worker("print(nn.Linear(4, 4).to(gpu * 2), nn.Linear(4, 4).to(gpu * 2 + 1))", "gpu"), False),
        (worker("print(torch.tensor(rank).to(torch.float32), torch.tensor([rank]).cuda(gpu))"), False),
        (
            (
                f'def work(gpu, args):\n    os.environ["RANK"] = str({RANK})\n    dist.init_process_group("nccl")\n'
                '    torch.cuda.set_device(int(os.environ["RANK"]))'
            ),
            True,
        ),
        (
            (
                f'def work(gpu, args):\n    os.environ["RANK"] = str({RANK})\n    dist.init_process_group("nccl")\n'
                "    torch.cuda.set_device(gpu)"
            ),
            False,
        ),
        (
            (
                "class Worker:\n    def __init__(self, local, args):\n        self.args, self.local = args, local\n"
                "        self.rank = args.nr * args.gpus\n        self.rank += local\n\n    def run(self):\n"
                '        dist.init_process_group("nccl", rank=self.rank, world_size=self.args.world_size)\n'
                "        torch.cuda.set_device(self.local)\n\n\ndef work(gpu, args):\n    Worker(gpu, args).run()"
            ),
            False,
        ),
        (
            (
                "class Worker:\n    def __init__(self, local, args):\n        self.args, self.local = args, local\n"
                "        self.rank = args.nr * args.gpus + local\n\n    def run(self):\n"
                '        dist.init_process_group("nccl", rank=self.rank, world_size=self.args.world_size)\n'
                "        torch.cuda.set_device(self.rank)\n\n\ndef work(gpu, args):\n    Worker(gpu, args).run()"
            ),
            True,
        ),
    ],
)
def test_who_joins_with_which_rank_decides(
    work: str, *, wrong: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert is_found(work, SPAWN, tmp_path, monkeypatch) == wrong


@pytest.mark.parametrize(
    ("nodes", "wrong"),
    [("1", False), ("${NNODES:-1}", True), ("$NNODES", True), ("4", True), ('"${1:-1}"', True)],
)
def test_a_launch_that_may_have_several_nodes(
    nodes: str, wrong: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launch = f"torchrun --nnodes {nodes} --node_rank ${{NODE_RANK:-0}} --nproc_per_node 4 --master_addr host train.py\n"
    (tmp_path / "launch.sh").write_text(launch, encoding="utf-8")
    work = (
        "def work():\n    cuda = torch.cuda.is_available()\n"
        '    device = torch.device("cuda", int(os.environ["RANK"])) if cuda else torch.device("cpu")\n'
        '    dist.init_process_group("nccl" if cuda else "gloo")\n    print(nn.Linear(4, 1).to(device))'
    )
    assert is_found(work, "work()", tmp_path, monkeypatch) == wrong
