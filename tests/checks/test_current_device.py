"""Collectives of objects in programs whose processes never set their current device."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

HEAD = """
import os
import torch
import torch.distributed as dist

def main():
    {start}
    number = int(os.environ["LOCAL_RANK"])
    {place}
    {meet}

main()
"""
START = 'dist.init_process_group("nccl")'
PLACE = 'model = torch.nn.Linear(2, 2).to(f"cuda:{number}")'
MEET = "dist.all_gather_object([None] * dist.get_world_size(), number)"


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder that is looked at."""
    monkeypatch.chdir(tmp_path)


def found(text: str, launch: str = "") -> bool:
    """Whether a program is said to meet on the current device."""
    Path("train.py").write_text(text)
    if launch:
        Path("run.sh").write_text(f"{launch} train.py\n")
    return any(finding["code"] == "PT613" for finding in check()["findings"])


def program(start: str = START, place: str = PLACE, meet: str = MEET) -> str:
    """A program that starts its group, puts something on a device, and meets."""
    return HEAD.format(start=start, place=place, meet=meet)


@pytest.mark.parametrize(
    "place",
    [
        PLACE,
        "model = torch.nn.Linear(2, 2).cuda(number)",
        'device = torch.device("cuda", number)',
        'device = torch.device("cuda", index=number)',
        'device = torch.device("cuda", number) if torch.cuda.is_available() else torch.device("cpu")',
        'name = "cuda:%d" % number\n    rows = torch.ones(2).to(name)',
        'name = "cuda:{}".format(number)\n    rows = torch.ones(2).to(name)',
        "rows = torch.ones(2, device=dist.get_rank() % torch.cuda.device_count())",
        "model = torch.nn.parallel.DistributedDataParallel(make(), device_ids=[number])",
    ],
)
def test_whatever_puts_things_on_the_own_device(place: str) -> None:
    assert found(program(place=place))


@pytest.mark.parametrize(
    "meet",
    [
        MEET,
        "dist.gather_object(number, None, dst=0)",
        "dist.broadcast_object_list([number], src=0)",
        "dist.scatter_object_list([None], [1, 2], src=0, group=None)",
        'import torch.distributed.checkpoint as dcp\n    dcp.save({"number": number}, checkpoint_id="here")',
        "if dist.get_world_size() > 1:\n        " + MEET,
    ],
)
def test_whatever_meets_on_the_current_device(meet: str) -> None:
    assert found(program(meet=meet))


@pytest.mark.parametrize(
    "start",
    [
        'dist.init_process_group("gloo")',
        "dist.init_process_group()",
        'dist.init_process_group("cpu:gloo,cuda:nccl")',
        'dist.init_process_group(os.environ["BACKEND"])',
        'dist.init_process_group("nccl", device_id=torch.device("cuda", int(os.environ["LOCAL_RANK"])))',
        'dist.init_process_group("nccl", **options())',
        f'torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))\n    {START}',
        f'torch.accelerator.set_device_index(int(os.environ["LOCAL_RANK"]))\n    {START}',
        f'getattr(torch.cuda, "set_device")(0)\n    {START}',
        f'os.environ["CUDA_VISIBLE_DEVICES"] = os.environ["LOCAL_RANK"]\n    {START}',
        f"from unknown_package import start\n    {START}",
        f"from torch.cuda import set_device as choose\n    choose(1)\n    {START}",
    ],
)
def test_groups_and_programs_of_which_more_is_known_or_less_are_left_alone(start: str) -> None:
    assert not found(program(start=start))


@pytest.mark.parametrize(
    "meet",
    [
        "dist.all_reduce(torch.ones(1, device=number))",
        "dist.barrier()",
        "dist.broadcast_object_list([number], src=0, device=torch.device(number))",
        'dist.all_gather_object([None] * 2, number, group=dist.new_group(backend="gloo"))',
        f"with torch.cuda.device(number):\n        {MEET}",
        f'if dist.get_backend() == "gloo":\n        {MEET}',
        f"if not torch.cuda.is_available():\n        {MEET}",
        f"def never_called():\n        {MEET}",
    ],
)
def test_other_collectives_groups_and_devices_are_left_alone(meet: str) -> None:
    assert not found(program(meet=meet))


def test_without_a_device_of_the_own_nothing_is_said() -> None:
    assert not found(program(place="rows = torch.ones(2)"))


@pytest.mark.parametrize(
    ("launch", "expected"), [("torchrun --nproc_per_node=4", True), ("torchrun --nproc_per_node=1", False)]
)
def test_with_one_process_on_each_node_the_first_device_is_its_own(launch: str, expected: bool) -> None:
    assert found(program(), f"{launch} --nnodes=$NODES --rdzv-endpoint=$HEAD:29500") is expected
