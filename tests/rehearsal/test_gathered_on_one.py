"""What is gathered on one process, and which process all take for the sender of the next operation."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
import torch
import torch.distributed as dist


def gathered(score, rank, world):
    mine = torch.tensor([score])
    table = [torch.zeros_like(mine) for _ in range(world)]
    dist.gather(mine, table if rank == 0 else None, dst=0)
    return torch.cat(table)


def objects(score, rank, world):
    table = [None] * world
    dist.gather_object(score, table if rank == 0 else None, dst=0)
    return table


def everywhere(score, rank, world):
    mine = torch.tensor([score])
    table = [torch.zeros_like(mine) for _ in range(world)]
    dist.all_gather(table, mine)
    return torch.cat(table)


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    net = torch.nn.Linear(4, 1)
    score = float(rank)
    {best}
    for weight in net.parameters():
        dist.broadcast(weight.data, src=best)
    dist.destroy_process_group()


main()
"""


@pytest.mark.parametrize(
    ("best", "wrong"),
    [
        ("best = int(gathered(score, rank, world).argmin())", True),
        ("best = gathered(score, rank, world).argmax().item()", True),
        ("best = int(everywhere(score, rank, world).argmin())", False),
        (
            (
                "best = gathered(score, rank, world).argmin().reshape(1)\n"
                "    dist.broadcast(best, src=0)\n    best = int(best)"
            ),
            False,
        ),
        (
            (
                "box = [None]\n    table = objects(score, rank, world)\n    if rank == 0:\n"
                "        box[0] = table.index(max(table))\n    dist.broadcast_object_list(box, src=0)\n    best = box[0]"
            ),
            False,
        ),
        ("table = objects(score, rank, world)\n    if rank == 0:\n        print(table)\n    best = 0", False),
    ],
)
def test_the_sender(best: str, wrong: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train.py").write_text(PROGRAM.replace("{best}", best), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert {finding["code"] for finding in check()["findings"]} == ({"PT515"} if wrong else set())
