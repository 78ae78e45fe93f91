"""Lines of each process's own that may not be what the program takes them for, and handlers that leave them out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
import re, torch, torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    lines = open("rows.tsv").read().splitlines(){part}
    model = DDP(nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for line in lines:
        try:
            {taken}
        except (ValueError, AssertionError, AttributeError) as error:
            {handled}
        loss = model(torch.ones(4) * number).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    dist.barrier()


main()
"""
OWN, ALL, LEFT_OUT = "[rank::world]", "", "print(error)\n            continue"


@pytest.mark.parametrize(
    ("part", "taken", "handled", "found"),
    [
        (OWN, 'left, right = line.split("\\t"); number = len(left)', LEFT_OUT, True),
        (OWN, "left, right = line.split(); number = len(left)", LEFT_OUT, True),
        (OWN, 'number = len(re.match(r"\\d+ (\\w+)", line).group(1))', LEFT_OUT, True),
        (OWN, "assert len(line) > 10; number = len(line)", LEFT_OUT, True),
        (ALL, 'left, right = line.split("\\t"); number = len(left)', LEFT_OUT, False),
        (ALL, "assert len(line) > 10; number = len(line)", LEFT_OUT, False),
        (OWN, 'left, right = line.split("\\t"); number = len(left)', "number = 0", False),
        (OWN, 'left, right = line.split("\\t"); number = len(left)', "raise SystemExit(1)", False),
        (OWN, 'left, *right = line.split("\\t"); number = len(left)', LEFT_OUT, False),
        (OWN, "left, right = torch.ones(4).split(2); number = 1", LEFT_OUT, False),
    ],
)
def test_lines_that_fail(
    part: str, taken: str, handled: str, found: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = PROGRAM.format(part=part, taken=taken, handled=handled)
    (tmp_path / "train.py").write_text(program)
    monkeypatch.chdir(tmp_path)
    assert [one["code"] for one in check()["findings"] if one["code"] == "PT505"] == ["PT505"] * found
