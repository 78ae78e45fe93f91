"""Folders of distributed checkpoints with a time in their name: of each rank's clock, or of one for all."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
import os, time
from datetime import date, datetime
from pathlib import Path
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint import FileSystemWriter
from torch.distributed.fsdp import fully_shard


class Run:
    def __init__(self, root):
        self.folder = Path(root) / datetime.now().isoformat()


def agreed(name):
    box = [name if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(box, src=0)
    return box[0]


def main():
    dist.init_process_group("gloo")
    model = nn.Linear(8, 8)
    fully_shard(model)
    {before}
    for step in range(2):
        model(torch.ones(2, 8)).sum().backward()
        {save}
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
"""
BY_ID = "dcp.save(model.state_dict(), checkpoint_id={})"
BY_WRITER = "dcp.save(model.state_dict(), storage_writer=FileSystemWriter({}))"
SECONDS = "name = 'runs/' + time.strftime('%Y%m%d-%H%M%S')"


@pytest.mark.parametrize(
    ("before", "save", "wrong"),
    [
        (SECONDS, BY_ID.format("os.path.join(name, str(step))"), True),
        ("name = f'runs/{int(time.time())}'", BY_ID.format("name"), True),
        ("run = Run('runs')", BY_ID.format("run.folder / f'step-{step}'"), True),
        (SECONDS, BY_WRITER.format("name"), True),
        (SECONDS, "writer = FileSystemWriter(name)\n        dcp.save(model.state_dict(), storage_writer=writer)", True),
        ("name = agreed(time.strftime('%Y%m%d-%H%M%S'))", BY_ID.format("name"), False),
        (SECONDS + "\n    name = agreed(name)", BY_WRITER.format("name"), False),
        ("name = f'runs/{date.today()}'", BY_ID.format("name"), False),
        ("name = 'runs/' + time.strftime('%Y%m%d-%H')", BY_ID.format("name"), False),
        ("name = os.environ.get('RUN', 'runs/one')", BY_ID.format("name"), False),
        (SECONDS, "dcp.save({'m': 1}, checkpoint_id=name + str(dist.get_rank()), no_dist=True)", False),
    ],
)
def test_whose_time_it_is(before: str, save: str, wrong: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = PROGRAM.replace("{before}", before).replace("{save}", save)
    (tmp_path / "train.py").write_text(program, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert [one["code"] for one in check()["findings"]] == ["PT249"] * wrong
